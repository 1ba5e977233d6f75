# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the subnet managers of a node: units, files, processes, and the settings of foreign subnet managers. Read-only."""

from __future__ import annotations

import os
import re
import tempfile
import typing as t
from types import MappingProxyType

from .._codes import is_guid, normal_guid
from .._facts._sysfs import attribute, entries, link_name
from .._foreign import decimal
from .._host._files import read_text, under
from .._host._units import is_masked, systemd_runs, units_like
from .._tools._node_names import DEFAULT_PATH, OTHER_PATHS
from . import _places
from ._cmdline import CONFIG, keys_of
from ._conf import CONF, same, values
from ._found import NODE_NAMES, Foreign, Found, Predecessor, Whole
from ._options import HIDDEN, UNSET
from ._processes import Process, read_processes

if t.TYPE_CHECKING:
    from .._facts._ports import Port
    from .._host._node import Node
    from .._host._run import Runner

WANTS = _places.SYSTEMD + "/multi-user.target.wants"

_UNIT = re.compile(r"^(?:rdma-opensm@.+|opensmd?(?:@.+)?)\.service$")
# Replacing a stack deletes the program and libraries on disk, but a process keeps running the copies in memory.
_LIBRARIES = ("libopensm", "libosm", "libib")
_DELETED = " (deleted)"
# Where builds of opensm look for their files: Debian and the vendor in the first, Red Hat and SUSE in the second. The template names the right one.
FOLDERS = ("/etc/opensm", "/etc/rdma")
# The keys that name a file without secrets, with settings of the fabric.
_NAMING = ("root_guid_file", "qos_policy_file", NODE_NAMES)
# Where packages have their units. systemd makes units of scripts, too.
_UNIT_FOLDERS = ("/usr/lib/systemd/system", "/lib/systemd/system")
_SCRIPTS = "/etc/init.d"
# Suffixes under which package managers keep an administrator's modified files.
_SAVED = (".rpmsave", ".rpmorig", ".dpkg-old")


def _apart(processes: t.Iterable[Process], units: t.Collection[str]) -> list[Process]:
    """The processes that belong to none of `units`."""
    return [process for process in processes if not process.units & set(units)]


def _bound(processes: t.Sequence[Process], running: t.Sequence[str], strays: t.Iterable[Process]) -> dict[str, tuple[str, ...]]:
    """See `Found.bound`. A template unit without a process of its own starts instances, and stops with them."""
    found: dict[str, tuple[str, ...]] = {str(process.pid): process.guids for process in strays}
    packaged = [unit for unit in running if not _places.fabric_of(unit)]
    for unit in packaged:
        guids = [guid for process in processes if unit in process.units for guid in process.guids]
        instance = unit.partition("@")[2].rpartition(".")[0]
        found[unit] = tuple(dict.fromkeys(guids or ([normal_guid(instance)] if is_guid(instance) else [])))
    parts = tuple(dict.fromkeys(guid for unit in packaged if "@" in unit for guid in found[unit]))
    return {name: guids or (parts if name in packaged else ()) for name, guids in found.items() if guids or (name in packaged and parts)}


def _runs_replaced(pid: int, root: str) -> bool:
    """Whether the program of a process, or one of its libraries of the RDMA stack, has been removed from the disk."""
    place = under(root, "/proc/%d" % pid)
    names = (line.rpartition("/")[2] for line in attribute(place, "maps").splitlines() if line.endswith(_DELETED))
    return link_name(place, "exe").endswith(_DELETED) or any(name.startswith(_LIBRARIES) and ".so" in name for name in names)


def _read_template(run: Runner) -> str:
    """The configuration that the installed opensm generates; "" where none is installed."""
    if not run.has("opensm"):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, CONF)
        # Without `-F` opensm would write its present configuration as the defaults.
        run(["opensm", "-F", "/dev/null", "-c", path])
        return read_text(path)


class _Reader:
    """Reads the settings of subnet managers. Without the template of the installed opensm, the defaults are unknown."""

    def __init__(self, root: str, template: str = "") -> None:
        self._root = root
        self._defaults = values(template)
        named = self._defaults.get("partition_config_file", ())
        # A replaced build kept its files elsewhere.
        self._folders = tuple(dict.fromkeys([*(os.path.dirname(path) for path in named), *FOLDERS]))

    def of_process(self, pid: int) -> Predecessor:
        """The settings of a running opensm."""
        place = under(self._root, "/proc/%d" % pid)
        arguments = keys_of(attribute(place, "cmdline").rstrip("\0").split("\0")[1:])
        try:
            folder = os.readlink(os.path.join(place, "cwd"))
        except OSError:
            folder = "/"
        return self.read("process %d" % pid, ("", *_SAVED), arguments=arguments, folder=folder)

    def read(self, name: str, saved: t.Sequence[str], *, arguments: t.Mapping[str, str] = MappingProxyType({}), folder: str = "/") -> Predecessor:
        """Read the files of a subnet manager. `saved`: suffixes that the file names may have, in order of preference."""

        def choose(named: str | None, default: str) -> tuple[str, str]:
            """The path and content of the first file of that name that exists; else the default path and ""."""
            paths = [os.path.normpath(os.path.join(folder, named))] if named is not None else ["%s/%s" % (place, default) for place in self._folders]
            paths = [path + end for end in saved for path in paths]
            contents = ((path, read_text(under(self._root, path))) for path in paths if os.path.isfile(under(self._root, path)))
            return next((pair for pair in contents if pair[1]), (paths[0], ""))

        conf, text = choose(arguments.get(CONFIG), CONF)
        keys = {**values(text), **{key: (value,) for key, value in arguments.items() if key != CONFIG}}
        named = keys.get("partition_config_file", (UNSET,))[-1]
        source, partitions = choose(None if named in (UNSET, "") else named, _places.PARTITIONS)
        guid = keys.get("guid", ("",))[-1]
        digits = decimal(guid)
        guid = guid if digits is None else hex(digits)
        return Predecessor(
            source=", ".join(filter(None, [name, conf])),
            keys={key: own for key, own in keys.items() if not same(own, self._defaults.get(key, ()))},
            partitions=partitions,
            partitions_source=source,
            guid=normal_guid(guid) if is_guid(guid) else "",
            runs=name != "",
        )


def _read_predecessors(run: Runner, root: str, foreign: t.Sequence[int], *, files: bool) -> tuple[Predecessor, ...]:
    """The running subnet managers; where none runs and `files` is true, the one that the files of an installed opensm configure."""

    def read(reader: _Reader) -> list[Predecessor]:
        found = [reader.of_process(pid) for pid in foreign]
        if files and not foreign and run.has("opensm"):
            # Saved files of an earlier build come first, and the files of the installed opensm last: a package may have replaced the earlier files.
            found = [reader.read("", [end]) for end in (*reversed(_SAVED), "")]
        return [predecessor for predecessor in found if predecessor.runs or predecessor.keys or predecessor.partitions]

    # Reading the defaults takes a process, so they are read only when they matter.
    found = read(_Reader(root))
    return tuple(read(_Reader(root, _read_template(run))) if any(predecessor.keys for predecessor in found) else found)


def _read_hidden(path: str) -> str:
    """HIDDEN as a placeholder for the content of a file, without read permission; "" where read_text returns ""."""
    return HIDDEN if os.path.isfile(path) and os.path.getsize(path) else ""


def _is_installed(unit: str, root: str) -> bool:
    paths = [*("%s/%s" % (folder, unit) for folder in _UNIT_FOLDERS), "%s/%s" % (_SCRIPTS, unit.rpartition(".")[0])]
    return any(os.path.isfile(under(root, path)) for path in paths)


def virtual_functions(ports: t.Iterable[Port], root: str = "/") -> tuple[str, ...]:
    """The InfiniBand adapters among those of the ports that have virtual functions, by PCI address."""
    adapters = {port.pci for port in ports if port.infiniband and port.pci}
    return tuple(sorted(pci for pci in adapters if decimal(attribute(under(root, "/sys/bus/pci/devices"), pci, "sriov_numvfs"), 0)))


def look(run: Runner, root: str = "/", *, public: bool = False, stack_replaced: bool = False, template: bool = False, manages: bool = True) -> Found:
    """One look. It takes one process, systemctl; the rest is read from files. Without a running systemd no unit counts as running.

    `public`: only what may leave the node, see `Found.public()`.
    `stack_replaced`: report all of our units as running a replaced program. For check mode, where the old program is still on disk.
    `template`: also let the installed opensm generate its configuration.
    `manages`: whether a subnet manager of ours may run here. If not, files of foreign managers that do not run are not read, since nothing replaces them.
    """
    running: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    boots: tuple[str, ...] = ()
    if systemd_runs(root):
        shown = units_like(run, "opensm*", "rdma-opensm@*")
        running = tuple(sorted(name for name, unit in shown.items() if _UNIT.match(name) and unit.runs))
        boots = tuple(sorted(name for name, unit in shown.items() if _UNIT.match(name) and not _places.fabric_of(name) and unit.enabled == "enabled"))
        live = [name for name in running if _places.fabric_of(name) and shown[name].main_pid]
        replaced = tuple(name for name in live if stack_replaced or _runs_replaced(shown[name].main_pid, root))
    fabrics = entries(under(root, _places.SETTINGS))
    settings = ["%s/%s/%s" % (_places.SETTINGS, fabric, name) for fabric in fabrics for name in _places.FILES]
    paths = [_places.TEMPLATE, _places.ROTATION, *settings, *(_places.silence_path(fabric) for fabric in fabrics)]
    hidden = {path: public and os.path.basename(path) not in _places.PUBLIC for path in paths}
    contents = {path: (_read_hidden if hidden[path] else read_text)(under(root, path)) for path in paths}
    own = [name for name in running if _places.fabric_of(name)]
    processes = read_processes(root)
    foreign = [process for process in _apart(processes, running) if process.owner]
    strays = [process for process in _apart(processes, running) if not process.owner]
    replaceable = [process.pid for process in _apart(processes, own) if process not in foreign]
    predecessors = _read_predecessors(run, root, replaceable, files=manages and not any(contents.values()))
    packaged = {unit: under(root, "%s/%s" % (_places.SYSTEMD, unit)) for unit in _places.PACKAGED}
    found = Found(
        masked=tuple(unit for unit, path in packaged.items() if is_masked(path)),
        running=running,
        replaced=replaced,
        enabled=tuple(name for name in entries(under(root, WANTS)) if _places.fabric_of(name)),
        strays=tuple(process.pid for process in strays),
        foreign=tuple(Foreign(process.pid, process.owner, process.guids) for process in foreign),
        boots=boots,
        installed=tuple(unit for unit in packaged if _is_installed(unit, root)),
        bound=_bound(processes, running, strays),
        files={path: text for path, text in contents.items() if text},
        node_names=read_text(under(root, DEFAULT_PATH)),
        template=_read_template(run) if template else "",
        recorded=tuple(line for line in read_text(under(root, _places.RECORD)).splitlines() if line and not line.startswith("#")),
        predecessors=predecessors,
        unmaskable=tuple(unit for unit, path in packaged.items() if os.path.exists(path) and not os.path.islink(path)),
    )
    return found.public() if public else found


def seen(node: Node, hints: t.Mapping[str, t.Any]) -> Found | Whole:
    """The look of the concern, reduced to what may leave the node. For a discovery, that is all except secrets."""
    if not hints.get("whole"):
        return look(node.run, node.root, public=True, manages=hints["manages"])
    found = look(node.run, node.root)
    if found.fabrics or any(predecessor.runs for predecessor in found.predecessors):
        found = found._replace(template=_read_template(node.run))
    named = [own[-1] for predecessor in found.predecessors for key, own in predecessor.keys.items() if key in _NAMING]
    texts = {path: read_text(under(node.root, path)) for path in (*named, *OTHER_PATHS) if path.startswith("/")}
    return Whole(found.without_secrets(), {path: text for path, text in texts.items() if text})
