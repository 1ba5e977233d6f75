# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every function of the collection that takes external text, found by the names and types of its parameters."""

from __future__ import annotations

import functools
import importlib
import inspect
import pathlib
import sys
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils import _foreign
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _portname
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import Source
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import OperatingSystem
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _linkplan, _registry
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Record
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import Identity
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._file import Absentee
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import Inventory
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import Layout, Needed, check_content
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_options import Installer
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _mlxlink

ROOT = pathlib.Path(__file__).resolve().parents[2]
UTILS = ROOT / "plugins/module_utils"
PACKAGE = "ansible_collections.rdma.ofed.plugins.module_utils"

# Parameter names that the collection uses for external text.
_NAMES_TEXT = """
after before config content cpuinfo data end error help_text hwaddr line listing location log main marker old output rest said shown speed status stderr
stdout symbols template text value version word xml
"""
NAMES = frozenset(_NAMES_TEXT.split())
# Functions with these parameters touch a node.
TOUCHING = frozenset(["root", "run", "module", "work"])
# Values for parameters that hold no external text.
BY_TYPE: t.Mapping[str, t.Any] = {"bool": True, "int": 4, "int | None": 4, "float": 4.0, "t.Any": "4"}
WORDS: t.Mapping[str, str] = {"byteorder": "little", "path": "/etc/x.conf", "kind": "array of uint", "protocol": "tcp", "packaging": "rpm", "family": "Debian"}

OBJECTS: t.Mapping[str, t.Any] = {
    "Identity": Identity("ib0", "0x0002c903000f0001"),
    "Instance": Instance("ib", "0x0002c903000f0001", 13, adopted={"routing_engine": ("updn", "minhop"), "max_wire_smps": ("4",)}),
    "Inventory": Inventory({"all": ["node1"]}, {"node1": ["0x0002c903000f0001"]}),
    "Declared": {"ib_ipoib": ("send_queue_size",)},
    "t.Callable[[str], bool]": str.isidentifier,
    "t.Collection[int]": (1, 4),
    "OperatingSystem": OperatingSystem("Debian", "debian", "12"),
    "t.Iterable[Item]": (),
    "t.Sequence[Absentee]": (Absentee(1, "node1", "full"),),
    "t.Sequence[Source]": (Source("nvidia", "535.104.05"),),
}

# Functions whose text the collection writes or has validated, with the reason.
OTHERS: t.Mapping[str, str] = {
    "_errors": "words for people",
    "_firmware._config._plan.refused_together": "typed data: `wanted` is no text",
    "_firmware._devices.matches": "typed data: `value` is declared",
    "_host._download.report": "its own words",
    "_host._write": "writes what is to be written",
    "_kernel._packages.build_doca": "a command line",
    "_codes.normal_guid": "validated by is_guid",
    "_opensm._lacks.lacks": "`template` is what parse_conf reads",
    "_protocols._catalogue.vendor_packages": "of typed names; kernel_packages reads the version for it",
    "_reload._plan.loading": "its own words",
    "_stack._plan.checking": "a command line, of a validated version",
    "_words": "words for people",
}


class Target(t.NamedTuple):
    """A function that takes one damaged text. It may raise `allowed` only."""

    name: str
    call: t.Callable[[str], t.Any]
    allowed: tuple[type[Exception], ...] = (RdmaError,)


def modules() -> list[str]:
    """Return the dotted names of all modules below module_utils."""
    paths = (path.relative_to(UTILS) for path in UTILS.rglob("*.py") if path.name != "__init__.py")
    return sorted(".".join(path.with_suffix("").parts) for path in paths)


def is_text(name: str, annotation: str) -> bool:
    return (name in NAMES and annotation in ("str", "bytes")) or (name == "files" and annotation in ("Files", "t.Mapping[str, str]"))


def functions() -> dict[str, t.Callable[..., t.Any]]:
    """Return the public functions that take external text and do not touch a node."""
    found = {}
    for module in modules():
        for name, function in vars(importlib.import_module("%s.%s" % (PACKAGE, module))).items():
            dotted = "%s.%s" % (module, name)
            if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != "%s.%s" % (PACKAGE, module):
                continue
            parameters = inspect.signature(function).parameters
            listed = any(dotted == other or dotted.startswith(other + ".") for other in OTHERS)
            if not listed and not TOUCHING.intersection(parameters) and any(is_text(each.name, str(each.annotation)) for each in parameters.values()):
                found[dotted] = function
    return found


def _value(parameter: inspect.Parameter, text: str) -> t.Any:
    """Return a value for a parameter. Raises LookupError if no suitable value is known."""
    annotation = str(parameter.annotation)
    if parameter.name == "files":
        return dict.fromkeys(paths_of_ours(), text)
    if parameter.name in NAMES and annotation in ("str", "bytes"):
        return text if annotation == "str" else text.encode("utf-8", "surrogateescape" if text.isascii() else "replace")
    if annotation == "str":
        return WORDS.get(parameter.name, "ib0")
    if annotation in BY_TYPE:
        return BY_TYPE[annotation]
    if "Mapping" in annotation:
        return {"ib0": "10.0.0.1"}
    if any(word in annotation for word in ("Sequence[str]", "Iterable[str]", "Collection[str]", "Container[str]", "tuple[str")):
        return ("ib0", "Removing", "Installing")
    if annotation in OBJECTS:
        return OBJECTS[annotation]
    raise LookupError("%s: %s" % (parameter.name, annotation))


@functools.lru_cache(maxsize=None)
def paths_of_ours() -> tuple[str, ...]:
    """Return the files of an interface for all back ends."""
    formats = [
        *("/etc/netplan/90-rdma-ofed.yaml", "/etc/NetworkManager/system-connections/rdma-ib0.nmconnection", "/etc/systemd/network/10-rdma-ib0.network"),
        *("/etc/network/interfaces.d/rdma-ib0", "/etc/network/interfaces", "/etc/sysconfig/network-scripts/ifcfg-ib0", "/etc/sysconfig/network/ifcfg-ib0"),
        *("/etc/systemd/system/rdma-ofed-link-rxe0.service", "/etc/systemd/system/rdma-ofed-ipoib.service", "/etc/systemd/network/50-rdma-ib0.network"),
    ]
    return tuple(formats)


def _automatic(name: str, function: t.Callable[..., t.Any]) -> Target:
    parameters = list(inspect.signature(function).parameters.values())
    needed = [each for each in parameters if each.default is each.empty or is_text(each.name, str(each.annotation))]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def call(text: str) -> t.Any:
        found = function(
            *(_value(each, text) for each in needed if each.kind in kinds and each.default is each.empty),
            **{each.name: _value(each, text) for each in needed if each.kind == each.KEYWORD_ONLY or (each.kind in kinds and each.default is not each.empty)},
        )
        return list(found) if inspect.isgenerator(found) else found

    for each in needed:
        _value(each, "")
    documented = (function.__doc__ or "").partition("Raises ")[2].partition(".")[0]
    # Modules that are scripts of their own have an exception Failed, whose text is their final message.
    failed = vars(sys.modules[function.__module__]).get("Failed", RdmaError)
    return Target(name, call, (RdmaError, failed, *(kind for kind in (ValueError, TypeError) if kind.__name__ in documented)))


def _job_state(text: str) -> None:
    """Read the two records of a job, either of which may be damaged."""
    good_job, good_state = {"id": "a", "steps": [1], "memo": {}}, {"id": "a", "stage": "s", "failed": "", "step": 1, "rc": 0, "started": 1.0, "finished": 2.0}
    found = _foreign.read_table(text)
    for job, state in ((found, found), (found, good_state), (good_job, found), ({**good_job, **found}, {**good_state, **found})):
        shown = _job.state_of(job, state, running=True, log="", now=5.0)
        if shown is not None:
            _job.progress("node1", shown.result())


def _plans(text: str) -> None:
    """Plan with the record of an existing interface that is to be removed."""
    for path in paths_of_ours():
        for record in _registry.recorded({path: text}).values():
            assert isinstance(record, Record)
            _linkplan.canonical(record.addresses)


def _values(text: str) -> None:
    for read in (_mlxlink.number_of, _mlxlink.count_of, _mlxlink.ber_of, _mlxlink.speeds_of):
        read(text)


def _releases(text: str) -> None:
    """Run everything that depends on the name of a release."""
    installer = Installer(text, "deb")
    installer.sets()
    installer.vocabulary()
    installer.doubts(("ib0", "Removing"), "xlio")
    installer.problems("x", ("--ib0", "Removing"), ask=True)
    installer.refused_by_help("--xlio")
    check_content("here", Layout(text, "x86_64", True), Needed("23.10-0.5.5.0", "x86_64"))


# Code that no single function reaches, or that needs its text in a special form.
MORE: t.Mapping[str, t.Callable[[str], t.Any]] = {
    "a job": _job_state,
    "records of interfaces": _plans,
    "values of mlxlink": _values,
    "releases of MLNX_OFED": _releases,
    # These accept values of any type.
    "_facts._portname.parse": _portname.parse,
    "_facts._portname.parse_function": _portname.parse_function,
}


def without_target() -> list[str]:
    """Return the functions for which no arguments are known."""
    missing = []
    for name, function in functions().items():
        try:
            _automatic(name, function)
        except LookupError as exc:
            missing.append("%s: %s" % (name, exc.args[0]))
    return missing


@functools.lru_cache(maxsize=None)
def targets() -> t.Mapping[str, Target]:
    """Return all targets by name."""
    lacking = {line.partition(":")[0] for line in without_target()}
    found = [_automatic(name, function) for name, function in functions().items() if name not in lacking]
    return {target.name: target for target in (*found, *(Target(name, call) for name, call in MORE.items()))}
