# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The subnet managers of a node as one look found them. Pure."""

from __future__ import annotations

import posixpath
import typing as t

from .._errors import Refused
from .._tools._node_names import BEGIN, END
from ._conf import DECLARED
from ._options import HIDDEN, looks_secret
from ._partitions._file import outline_of, refusal_of
from ._places import PUBLIC, SETTINGS, SYSTEMD

# The entry of the record for the package of opensm.
PACKAGE = "package"


class Predecessor(t.NamedTuple):
    """A subnet manager that ours replaces, what was adopted of one, or ours as the last run declared it."""

    source: str
    """Where its keys come from, for messages: the process, its file."""
    keys: t.Mapping[str, tuple[str, ...]] = {}
    """The values of the keys of opensm.conf that differ from the defaults; an argument of its command line wins over the file."""
    partitions: str = ""
    """The content of its partitions.conf."""
    partitions_source: str = ""
    guid: str = ""
    """The port GUID that it is bound to; "" where it chooses by itself."""
    runs: bool = True
    """Otherwise it is what the packages would run with the files that are there."""
    ours: bool = False

    @property
    def effective_partitions(self) -> str:
        """Those that the fabric has of the file: opensm goes on without one that has an error."""
        return "" if self.refusal else self.partitions

    @property
    def refusal(self) -> str:
        """Why opensm does not take the file of partitions, in its words; "" where it does."""
        return refusal_of(self.partitions)


class Foreign(t.NamedTuple):
    """An opensm of other software on this host, such as UFM or a container. It is never stopped here."""

    pid: int
    owner: str
    """In words: `unit ufm-enterprise.service`."""
    guids: tuple[str, ...] = ()
    """The ports that it is bound to; none where that is not known."""


def _public(name: str, text: str) -> str:
    if name not in PUBLIC:
        return HIDDEN
    return text if name == DECLARED else outline_of(text)


class Found(t.NamedTuple):
    """Units, processes and files."""

    masked: tuple[str, ...] = ()
    """Those of PACKAGED that can't be started."""
    running: tuple[str, ...] = ()
    """Units, ours and packaged ones, that are active or about to be."""
    replaced: tuple[str, ...] = ()
    """Those of our units whose program or libraries were removed or replaced since they started."""
    enabled: tuple[str, ...] = ()
    """Our instances that start at boot."""
    strays: tuple[int, ...] = ()
    """Process IDs of opensm outside of these units."""
    files: t.Mapping[str, str] = {}
    """Our files that exist, with their content."""
    node_names: str = ""
    """The file of the names of nodes, which is shared."""
    template: str = ""
    """What the installed opensm generates; "" before it is installed, and where nothing needs it."""
    unmaskable: tuple[str, ...] = ()
    """Those of PACKAGED that an administrator has replaced with a unit file of their own."""
    recorded: tuple[str, ...] = ()
    """What the role is on record for: units that it masked, and PACKAGE."""
    predecessors: tuple[Predecessor, ...] = ()
    """The subnet managers of others that run here, or would run with the files that are there."""

    foreign: tuple[Foreign, ...] = ()
    bound: t.Mapping[str, tuple[str, ...]] = {}
    """By the name of a packaged unit, or the ID of a process of `strays`: the port GUIDs that it is bound to, as far as they are known."""

    @property
    def left_alone(self) -> list[str]:
        """What of others runs here and goes on, in words."""
        words = "an opensm of others (%s, process %d%s) runs here and is left alone: stop it where it belongs, if it is not meant"
        return [words % (foreign.owner, foreign.pid, ", port GUID %s" % ", ".join(foreign.guids) if foreign.guids else "") for foreign in self.foreign]

    @property
    def fabrics(self) -> list[str]:
        """Those with files of ours."""
        paths = (path[len(SETTINGS) + 1 :].split("/") for path in self.files if path.startswith(SETTINGS + "/"))
        return list(dict.fromkeys(parts[0] for parts in paths if len(parts) == 2))

    def public(self) -> Found:
        """What the plan of a host without a subnet manager depends on. It has no secrets, and a size that does not depend on the fabric."""
        names = BEGIN + END if BEGIN in self.node_names else ""
        files = {path: _public(posixpath.basename(path), text) for path, text in self.files.items()}
        shown = tuple(
            predecessor._replace(keys={key: (HIDDEN,) if looks_secret(key) else own for key, own in predecessor.keys.items()})
            for predecessor in self.predecessors
        )
        return self._replace(files=files, node_names=names, template="", predecessors=shown)

    def require_maskable(self) -> None:
        """Raises Refused where a unit of an administrator is in the way."""
        if self.unmaskable:
            raise Refused("%s/%s is a unit of your own, which can't be masked: remove it (or rename it) and run again" % (SYSTEMD, self.unmaskable[0]))
