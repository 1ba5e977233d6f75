# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""netplan as a back-end: regenerate its files, then notify its renderer.

`netplan apply` would restart the renderer and disturb every interface of the node. `netplan generate` disturbs none, as long as
unchanged files for systemd-networkd do not look new.

netplan writes its files for all interfaces of the node, and does so whenever systemd reloads its units. networkd (252)
identifies a file by inode and time: at its next reload it reconfigures every interface whose file is new, and the management
interface loses its DHCP lease (observed: no address for two seconds). Therefore the files are put aside as hard links before they
are rewritten, and restored where the text is unchanged.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import typing as t

from ..._host._files import under
from ..._plan import Change, Kind
from .._backend import Backend, Driver, Evidence, Files, Interfaces, Tools
from .._found import Claim, Found, Place, Presence
from . import _netplan, _netplan_reader, _networkd, _networkmanager
from ._networkd_backend import NETWORKD, NetworkdDriver
from ._networkmanager_backend import NETWORKMANAGER, NetworkManagerDriver
from ._yaml_marks import HAS_YAML

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from .._identity import Identity
    from .._todo import IpoibPlan

RENDERERS: t.Mapping[str, Backend] = {_netplan.NETWORKD: NETWORKD, _netplan.NETWORKMANAGER: NETWORKMANAGER}
FOLDER = "/run/systemd/network"
# Hidden, so that no daemon reads its content; on the same file system, so that it can hold hard links.
ASIDE = FOLDER + "/.rdma-ofed"
PATTERN = "10-netplan-*"

# Shell commands that put files aside and back.
SHELL_PUT_ASIDE = "mkdir -p %s; ln %s/%s %s/" % (ASIDE, FOLDER, PATTERN, ASIDE)
SHELL_PUT_BACK = "for old in %s/*; do ! cmp -s $old %s/${old##*/} || mv -f $old %s/; done; rm -rf %s" % (ASIDE, FOLDER, FOLDER, ASIDE)
# A path that stands for the files netplan writes for networkd.
GENERATED = FOLDER + "/10-netplan.network"


class _Generating(Driver):
    """Extends the driver of its renderer: netplan regenerates its files before the renderer is notified."""

    def forget(self, paths: t.Sequence[str]) -> None:
        if _netplan.PATH in paths:
            self.finish()

    def give_back(self, names: t.Mapping[str, str], found: Found) -> None:
        self.finish()
        super().give_back(names, found)

    def finish(self) -> None:
        if self._run.has("netplan"):
            self._generate()
            super().forget((GENERATED,))

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        # Also if no file changed: the run that wrote the files may have been interrupted before this step.
        self._generate()
        # netplan has just regenerated its files; the reload configures the interfaces whose files have changed.
        super().apply(todo, [*changed, GENERATED] if any(map(_netplan.is_yaml, changed)) else changed, found)

    def _generate(self) -> None:
        self._tools.put_aside()
        self._run(["netplan", "generate"])


class NetplanNetworkdDriver(_Generating, NetworkdDriver):
    """networkd with files from netplan."""


class NetplanNetworkManagerDriver(_Generating, NetworkManagerDriver):
    """NetworkManager with profiles from netplan."""


def renderer_of(files: Files) -> str:
    """The renderer, out of `RENDERERS`, that the administrator's files select."""
    stated = [match for path in _netplan.own_files(files) for match in re.findall(r"^[^\S\n]*renderer\s*:\s*[\"']?(\w+)", files[path], re.MULTILINE)]
    return _netplan.NETWORKMANAGER if stated and stated[0] == _netplan.NETWORKMANAGER else _netplan.NETWORKD


def _content(path: str) -> bytes | None:
    """The content; None for a missing file. An unreadable file is an error, because the copy put aside would be the only one."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


class Netplan(Backend):
    name = "netplan"
    format = _netplan
    reader = _netplan_reader
    see = "'netplan get', 'networkctl status' or 'nmcli device'"
    tool = "netplan"
    patterns = (*(directory + "/*.yaml" for directory in _netplan.DIRECTORIES), _networkd.DIRECTORY + "/*.network.d/50-rdma-ofed.conf")
    modes: t.Mapping[str, int] = {_netplan.DIRECTORY: _netplan.MODE}
    renders_through = (NETWORKD.name, NETWORKMANAGER.name)
    strips = True
    acts_on_files = True
    # An interrupted run may have nothing else left to do, and netplan may not have rewritten its files.
    leftover = Change(Kind.UNIT, NETWORKD.service, "generated_files", "put aside", "in place")

    def claim(self, evidence: Evidence) -> Claim | None:
        own = _netplan.own_files(evidence.files)
        if not own or self.tool not in evidence.tools:
            return None
        return Claim("%s exists" % own[0], 2, renderer=RENDERERS[renderer_of(evidence.files)].name)

    def missing(self, evidence: Evidence) -> str:
        word = renderer_of(evidence.files)
        service = RENDERERS[word].service
        inactive = "" if evidence.is_active(service) else "netplan's renderer here is %s, but %s is not active: start and enable it" % (word, service)
        return super().missing(evidence) or inactive

    def look(self, run: Runner, evidence: Evidence, root: str) -> Presence:
        found = self.recognise(evidence)
        settings = {"renderer": renderer_of(evidence.files)}
        # Use the list of features: not every release prints its version. Once interfaces were taken over, ours may be the only file.
        used = found.claim is not None or _netplan.PATH in evidence.files
        if used and not re.search(r"\binfiniband\b", run(["netplan", "info"], ok=None).stdout):
            settings["infiniband_mode"] = "no"
        if not HAS_YAML:
            settings["yaml"] = "no"
        return found._replace(settings=settings, unfinished=os.path.isdir(under(root, ASIDE)))

    def renderer(self, found: Found) -> str:
        return self.presence(found).settings.get("renderer", _netplan.NETWORKD)

    def _infiniband_mode(self, found: Found) -> bool:
        return self.presence(found).settings.get("infiniband_mode", "yes") == "yes"

    def render(self, interfaces: Interfaces, found: Found) -> dict[str, str]:
        return _netplan.render(interfaces, self.renderer(found), self._infiniband_mode(found))

    def faults(self, interfaces: Interfaces, found: Found) -> tuple[str, ...]:
        return tuple(str(problem) for problem in _netplan.problems(interfaces, self.renderer(found), self._infiniband_mode(found)))

    def dissent(self, name: str, found: Found) -> str:
        return RENDERERS[self.renderer(found)].dissent(name, found)

    def retry(self, name: str, found: Found) -> str:
        return NETWORKD.retry(name, found) if self.renderer(found) == _netplan.NETWORKD else ""

    def aloof(self, interface: Identity, found: Found) -> tuple[Place, ...]:
        if self.renderer(found) == _netplan.NETWORKD:
            return _netplan.aloof(interface, found.files)
        return NETWORKMANAGER.aloof(interface, found)

    def unsaid(self, interface: Identity, path: str, files: Files, *, names: t.Mapping[str, str]) -> tuple[str, ...]:
        return _netplan.unsaid(interface, path, files, names=names, renderer=renderer_of(files))

    def sways(self, before: Files, after: Files) -> tuple[str, ...]:
        renderer = renderer_of(before)
        return () if renderer_of(after) == renderer else ("renderer: %s, which no other file of netplan selects," % renderer,)

    def interrupts(self, found: Found) -> bool:
        return RENDERERS[self.renderer(found)].interrupts(found)

    def handicap(self, found: Found) -> str:
        if self.presence(found).settings.get("yaml", "yes") == "yes":
            return ""
        return "the Python that runs the module on the node lacks PyYAML, without which interfaces can't be taken out of netplan's files: install python3-yaml"

    def needs_boot_unit(self, found: Found) -> bool:
        return RENDERERS[self.renderer(found)].needs_boot_unit(found)

    def held(self, found: Found) -> frozenset[str] | None:
        return RENDERERS[self.renderer(found)].held(found)

    def drive(self, tools: Tools, found: Found, interfaces: Interfaces = ()) -> Driver:
        if self.renderer(found) == _netplan.NETWORKD:
            return NetplanNetworkdDriver(tools)
        # The profiles made by netplan, and those written beside it.
        beside = _netplan.outside(interfaces)

        def call(name: str) -> str:
            return (_networkmanager.connection_id if name in beside else _networkmanager.generated_id)(name)

        return NetplanNetworkManagerDriver(tools, call)

    def tells(self, found: Found) -> tuple[str, ...]:
        # As the renderer, networkd is notified once, at the end. Earlier it would create the new bond itself, with ports that can't have its
        # MTU yet. Once a bond has been refused a port, its maximum MTU is that of Ethernet.
        return (self.name, NETWORKD.name) if self.renderer(found) == _netplan.NETWORKD else (self.name,)

    def put_aside(self, root: str) -> None:
        """Link the files aside. Files already aside stay: an interrupted run put them there, and networkd has read no others since."""
        aside = under(root, ASIDE)
        for path in glob.glob(os.path.join(under(root, FOLDER), PATTERN)):
            os.makedirs(aside, exist_ok=True)
            link = os.path.join(aside, os.path.basename(path))
            if not os.path.lexists(link):
                os.link(path, link)

    def put_back(self, root: str) -> None:
        aside = under(root, ASIDE)
        for link in glob.glob(os.path.join(aside, PATTERN)):
            path = os.path.join(under(root, FOLDER), os.path.basename(link))
            if _content(link) == _content(path):
                # If both names are links to one file, this does nothing.
                os.replace(link, path)
        shutil.rmtree(aside, ignore_errors=True)

    def shell_files(self, lines: list[str], touched: t.Collection[str]) -> list[str]:
        around = [SHELL_PUT_ASIDE, *lines, "netplan generate", SHELL_PUT_BACK]
        return around if self.name in touched else lines


NETPLAN = Netplan()
