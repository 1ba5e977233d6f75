# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The subnet managers of a node, as one look found them. Pure."""

from __future__ import annotations

import posixpath
import typing as t

from .._errors import Refused
from .._tools._node_names import BEGIN, END
from ._conf import ADOPTED, CONF, DECLARED, redact
from ._options import HIDDEN, looks_secret
from ._partitions._file import outline_of, refusal_of
from ._places import PUBLIC, SETTINGS, SYSTEMD

# The record entry for the package of opensm.
PACKAGE = "package"
# The key with the path of the node-name map.
NODE_NAMES = "node_name_map_name"


class Predecessor(t.NamedTuple):
    """A subnet manager that ours replaces, the settings adopted from one, or our own as the last run declared it."""

    source: str
    """The source of its keys, for messages: its process or its file."""
    keys: t.Mapping[str, tuple[str, ...]] = {}
    """The keys of opensm.conf whose values differ from the defaults. An argument of its command line overrides the file."""
    partitions: str = ""
    """The content of its partitions.conf."""
    partitions_source: str = ""
    guid: str = ""
    """The port GUID that it is bound to; "" where it chooses a port itself."""
    runs: bool = True
    """Whether it runs. Otherwise it is what the packages would start with the present files."""
    ours: bool = False

    @property
    def effective_partitions(self) -> str:
        """The partitions of the file that take effect: opensm ignores a file that has an error."""
        return "" if self.refusal else self.partitions

    @property
    def refusal(self) -> str:
        """Why opensm refuses the partitions file, in its own words; "" where it accepts it."""
        return refusal_of(self.partitions)


class Foreign(t.NamedTuple):
    """An opensm of other software on this host, such as UFM or a container. The role never stops it."""

    pid: int
    owner: str
    """In words: `unit ufm-enterprise.service`."""
    guids: tuple[str, ...] = ()
    """The GUIDs of the ports that it is bound to; empty where they are not known."""


def _public(name: str, text: str) -> str:
    if name not in PUBLIC:
        return HIDDEN
    return text if name == DECLARED else outline_of(text)


class Found(t.NamedTuple):
    """Units, processes and files of subnet managers."""

    masked: tuple[str, ...] = ()
    """The units of PACKAGED that are masked."""
    running: tuple[str, ...] = ()
    """Units, ours and packaged, that are active or activating."""
    replaced: tuple[str, ...] = ()
    """Our units whose program or libraries were removed or replaced since they started."""
    enabled: tuple[str, ...] = ()
    """Our instances that start at boot."""
    strays: tuple[int, ...] = ()
    """Process IDs of opensm outside of these units."""
    files: t.Mapping[str, str] = {}
    """Our files that exist, with their content."""
    node_names: str = ""
    """The content of the node-name map, which is shared."""
    template: str = ""
    """The configuration that the installed opensm generates; "" before it is installed, and where the template is not needed."""
    unmaskable: tuple[str, ...] = ()
    """The units of PACKAGED that an administrator has replaced with a unit file in /etc."""
    recorded: tuple[str, ...] = ()
    """What the record of the role holds: units that it masked, what these did before (RAN, BOOTED), and PACKAGE."""
    predecessors: tuple[Predecessor, ...] = ()
    """The subnet managers not set up by the role that run here or would run with the present files."""

    foreign: tuple[Foreign, ...] = ()
    boots: tuple[str, ...] = ()
    """The units of PACKAGED, and instances of them, that start at boot."""
    installed: tuple[str, ...] = ()
    """The units of PACKAGED that a package has brought, masked or not."""
    bound: t.Mapping[str, tuple[str, ...]] = {}
    """The port GUIDs that a packaged unit (by name) or a process of `strays` (by ID) is bound to, as far as they are known."""

    @property
    def left_alone(self) -> list[str]:
        """The subnet managers of others that run here and keep running, in words."""
        words = "an opensm that does not belong to this collection (%s, process %d%s) runs here and is left alone: stop it if it is not intended"
        return [words % (foreign.owner, foreign.pid, ", port GUID %s" % ", ".join(foreign.guids) if foreign.guids else "") for foreign in self.foreign]

    @property
    def fabrics(self) -> list[str]:
        """The fabrics with files of ours."""
        paths = (path[len(SETTINGS) + 1 :].split("/") for path in self.files if path.startswith(SETTINGS + "/"))
        return list(dict.fromkeys(parts[0] for parts in paths if len(parts) == 2))

    def public(self) -> Found:
        """The part that the plan of a host without a subnet manager depends on. It has no secrets, and its size does not depend on the fabric."""
        names = BEGIN + END if BEGIN in self.node_names else ""
        files = {path: _public(posixpath.basename(path), text) for path, text in self.files.items()}
        return self._replace(files=files, node_names=names, template="", predecessors=self._shown)

    def without_secrets(self) -> Found:
        """All of it, with the values of secret keys hidden."""
        files = {path: redact("", text)[1] if posixpath.basename(path) in (CONF, ADOPTED) else text for path, text in self.files.items()}
        return self._replace(files=files, predecessors=self._shown)

    @property
    def _shown(self) -> tuple[Predecessor, ...]:
        return tuple(
            predecessor._replace(keys={key: (HIDDEN,) if looks_secret(key) else own for key, own in predecessor.keys.items()})
            for predecessor in self.predecessors
        )

    def require_maskable(self) -> None:
        """Raise Refused where a unit file of an administrator prevents masking."""
        if self.unmaskable:
            raise Refused("%s/%s is your own unit file, so the unit can't be masked: remove or rename it, and run again" % (SYSTEMD, self.unmaskable[0]))


class Whole(t.NamedTuple):
    """What the look reports for a discovery."""

    found: Found = Found()
    named: t.Mapping[str, str] = {}
    """The files with root GUIDs, a QoS policy or names of nodes that the keys of predecessors name, and node-name maps in other places than ours."""
