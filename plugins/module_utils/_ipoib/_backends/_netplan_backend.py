# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""netplan as a back-end: its files are rendered again, and its renderer is told of them.

`netplan apply` would restart the renderer and touch every interface of the node; `netplan generate` touches none, if
what it writes for systemd-networkd is kept from being new where it says the same.

netplan writes its files for all interfaces of the node again, also whenever systemd reads its units again. networkd (252)
knows a file by inode and time: at its next reload it reconfigures whatever has a new file, and the interface of the
connection gives its lease back (seen: no address for two seconds). So the files are put aside as hard links before they
are written again, and take their places back where the text is the same.
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
from . import _netplan, _networkd, _networkmanager
from ._networkd_backend import NETWORKD, NetworkdDriver
from ._networkmanager_backend import NETWORKMANAGER, NetworkManagerDriver

if t.TYPE_CHECKING:
    from ..._host._run import Runner
    from .._identity import Identity
    from .._todo import IpoibPlan

RENDERERS: t.Mapping[str, Backend] = {_netplan.NETWORKD: NETWORKD, _netplan.NETWORKMANAGER: NETWORKMANAGER}
FOLDER = "/run/systemd/network"
# Hidden, so no daemon reads what is in it; of the same file system, so it can hold links.
ASIDE = FOLDER + "/.rdma-ofed"
PATTERN = "10-netplan-*"

# Putting files aside and back, for a shell.
SHELL_PUT_ASIDE = "mkdir -p %s; ln %s/%s %s/" % (ASIDE, FOLDER, PATTERN, ASIDE)
SHELL_PUT_BACK = "for old in %s/*; do ! cmp -s $old %s/${old##*/} || mv -f $old %s/; done; rm -rf %s" % (ASIDE, FOLDER, FOLDER, ASIDE)
# One of the files that netplan writes for networkd.
GENERATED = FOLDER + "/10-netplan.network"


class _Generating(Driver):
    """What netplan adds to the driver of its renderer: its files are written again before that is told of them."""

    def forget(self, paths: t.Sequence[str]) -> None:
        if _netplan.PATH in paths:
            self.finish()

    def finish(self) -> None:
        if self._run.has("netplan"):
            self._generate()
            super().forget((GENERATED,))

    def apply(self, todo: IpoibPlan, changed: t.Sequence[str], found: Found) -> None:
        # Also without a change of files: the run that wrote them may have ended before this step.
        self._generate()
        # netplan has written files just now; those whose text is another are configured by the reload.
        super().apply(todo, [*changed, GENERATED] if _netplan.PATH in changed else changed, found)

    def _generate(self) -> None:
        self._tools.put_aside()
        self._run(["netplan", "generate"])


class NetplanNetworkdDriver(_Generating, NetworkdDriver):
    """networkd, with files of netplan."""


class NetplanNetworkManagerDriver(_Generating, NetworkManagerDriver):
    """NetworkManager, with profiles of netplan."""


def renderer_of(files: Files) -> str:
    """The word of `RENDERERS` that the administrator's files say."""
    stated = [match for path in _netplan.own_files(files) for match in re.findall(r"^[^\S\n]*renderer\s*:\s*[\"']?(\w+)", files[path], re.MULTILINE)]
    return _netplan.NETWORKMANAGER if stated and stated[0] == _netplan.NETWORKMANAGER else _netplan.NETWORKD


def _content(path: str) -> bytes | None:
    """None for a file that is not there. One that can't be read is an error: what is aside would be the only copy."""
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


class Netplan(Backend):
    name = "netplan"
    format = _netplan
    see = "'netplan get', 'networkctl status' or 'nmcli device'"
    tool = "netplan"
    patterns = (*(directory + "/*.yaml" for directory in _netplan.DIRECTORIES), _networkd.DIRECTORY + "/*.network.d/50-rdma-ofed.conf")
    modes: t.Mapping[str, int] = {_netplan.DIRECTORY: _netplan.MODE}
    renders_through = (NETWORKD.name, NETWORKMANAGER.name)
    strips = True
    acts_on_files = True
    # An interrupted run may have nothing else left to do, and netplan may not have written its files again.
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
        # The list of features: not every release prints its version.
        if found.claim is not None and not re.search(r"\binfiniband\b", run(["netplan", "info"], ok=None).stdout):
            settings["infiniband_mode"] = "no"
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

    def needs_boot_unit(self, found: Found) -> bool:
        return RENDERERS[self.renderer(found)].needs_boot_unit(found)

    def held(self, found: Found) -> frozenset[str] | None:
        return RENDERERS[self.renderer(found)].held(found)

    def drive(self, tools: Tools, found: Found, interfaces: Interfaces = ()) -> Driver:
        if self.renderer(found) == _netplan.NETWORKD:
            return NetplanNetworkdDriver(tools)
        # Which profiles are netplan's, and which are written beside it.
        beside = _netplan.outside(interfaces)

        def call(name: str) -> str:
            return (_networkmanager.connection_id if name in beside else _networkmanager.generated_id)(name)

        return NetplanNetworkManagerDriver(tools, call)

    def tells(self, found: Found) -> tuple[str, ...]:
        # As the renderer, networkd is told once, in the end: told before, it would make the new bond by itself, and with ports that
        # can't have its MTU yet. A bond that a port was refused by has an Ethernet's largest MTU from then on.
        return (self.name, NETWORKD.name) if self.renderer(found) == _netplan.NETWORKD else (self.name,)

    def put_aside(self, root: str) -> None:
        """What is aside already stays: an interrupted run has put it there, and networkd was told of nothing else since."""
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
                # Between two names of one file, this does nothing.
                os.replace(link, path)
        shutil.rmtree(aside, ignore_errors=True)

    def shell_files(self, lines: list[str], touched: t.Collection[str]) -> list[str]:
        around = [SHELL_PUT_ASIDE, *lines, "netplan generate", SHELL_PUT_BACK]
        return around if self.name in touched else lines


NETPLAN = Netplan()
