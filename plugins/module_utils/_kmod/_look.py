# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kernel modules of a node: loaded, available, listed for boot, and their options."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import stat
import typing as t

from .._distro._registry import FAMILIES, by_name
from .._facts._machine import read_machine, read_os
from .._facts._ports import read_port
from .._facts._railrule import FIXED
from .._facts._sysfs import PCI_ADDRESS, content, pci_address, rdma_devices, real_path
from .._facts._sysfs import entries as names_in
from .._foreign import decimal, hexadecimal
from .._host._files import HEADER, read_text, under
from .._host._initramfs import builder_of
from .._tools._modinfo import parse_parameters
from . import _config as config
from . import _engines as engines
from . import _limits as limits
from ._daemons import read_daemons
from ._found import Device, Found, Seen, narrowed
from ._handmade import Reader, SeenOfStack, seen_of_stack
from ._names import Catalogue, canonical, parse_alias, parse_dep
from ._others import read_others
from ._saved import LEDGER

if t.TYPE_CHECKING:
    from .._host._node import Node
    from .._host._run import Runner

# modprobe.d(5) and modules-load.d(5): a file hides files of the same name in the directories listed after its own.
_PLACES = ("etc", "run", "usr/local/lib", "usr/lib", "lib")

# The number in its name was 40 in older releases.
_DRACUT_NETWORK = "usr/lib/dracut/modules.d/[0-9][0-9]network"

_LIMITS = ("etc/security/limits.conf", "etc/security/limits.d/*.conf")
_SYSTEM = ("etc/systemd/system.conf", "usr/lib/systemd/system.conf.d/*.conf", "etc/systemd/system.conf.d/*.conf")
_UNIT_PLACES = ("etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
_SHELL = ("/bin/sh", "-c", "; ".join("ulimit %s" % resource.flag for resource in limits.RESOURCES.values()))
# root has other limits than other users.
_PROBES: t.Mapping[str, tuple[str, ...]] = {
    limits.SESSION: ("su", "-l", "-s", _SHELL[0], *_SHELL[1:], "nobody"),
    limits.SERVICE: ("systemd-run", "--quiet", "--wait", "--pipe", "--collect", *_SHELL),
}
# CAP_SYS_RESOURCE
_RESOURCE = 1 << 24

# The policy of rdma-core, and where a rule names one.
_BY_DEFAULT = "NAME_FALLBACK"
_RENAMES = re.compile(r"^[^#\n]*\brdma_rename %k (NAME_[A-Z]+)", re.MULTILINE)

_OWN = (config.DRACUT_PATH, config.HOOK_PATH, config.OPTIONS_PATH, config.NAMING_PATH, config.LOAD_PATH, *limits.PATHS, *limits.UNIT_PATHS.values())
_RDMA_UNIT = "rdma-load-modules@.service"


def _configuration(root: str, directories: t.Sequence[str], *own: str) -> t.Iterator[tuple[str, str]]:
    """Path and text of each effective file, except the collection's own, in reading order. Of files with one name, that in the first directory counts."""
    files: dict[str, str] = {}
    for directory in directories:
        for place in _PLACES:
            for name in names_in(root, place, directory):
                if name.endswith(".conf"):
                    files.setdefault(name, "/%s/%s/%s" % (place, directory, name))
    for name in sorted(files):
        if files[name] not in own:
            yield files[name], read_text(under(root, files[name]))


def _releases(root: str) -> tuple[str, ...]:
    base = under(root, "lib/modules")
    return tuple(name for name in names_in(base) if os.path.isfile(os.path.join(base, name, "modules.dep")))


def read_catalogue(root: str, releases: t.Iterable[str]) -> Catalogue:
    """The modules of the kernels, from the files of depmod in /lib/modules."""
    bases = [under(root, os.path.join("lib/modules", release)) for release in releases]
    loadable, builtin, aliases = (
        "\n".join(read_text(os.path.join(base, name)) for base in bases) for name in ("modules.dep", "modules.builtin", "modules.alias")
    )
    return Catalogue(parse_dep(loadable), parse_dep(builtin), *parse_alias(aliases))


def read_loaded(root: str) -> dict[str, bool]:
    """Parse /proc/modules: name, size, references, users; users end with `[permanent]` where a module can't be unloaded."""
    rows = [line.split() for line in read_text(under(root, "proc/modules")).splitlines()]
    return {fields[0]: "[permanent]" in "".join(fields[3:4]) for fields in rows}


def read_live(root: str, module: str) -> dict[str, str]:
    """The readable parameters of a loaded module; some are write-only."""
    base = under(root, os.path.join("sys/module", module, "parameters"))
    live = {}
    for name in names_in(base):
        path = os.path.join(base, name)
        with contextlib.suppress(OSError):
            if os.stat(path).st_mode & stat.S_IRUSR:
                live[name] = read_text(path).strip()
    return live


def known_parameters(run: Runner, release: str, module: str) -> dict[str, str] | None:
    """The parameters that modinfo lists, with their types; None if unknown."""
    if not release or not run.has("modinfo"):
        return None
    output = run(["modinfo", "-k", release, "-p", module], ok=None)
    return parse_parameters(output.stdout) if output.rc == 0 else None


def lists_of_devices(root: str = "/") -> tuple[str, ...]:
    """The lists that udev has loaded for the RDMA devices of this node; none where no udev runs, as in containers."""
    ports = glob.glob(os.path.join(root, "sys/class/infiniband/*/ports/*/link_layer"))
    if not ports or not os.path.exists(os.path.join(root, "run/udev/control")):
        return ()
    infiniband = any(read_text(port).strip() == "InfiniBand" for port in ports)
    return (config.RDMA_PATH, config.INFINIBAND_PATH) if infiniband else (config.RDMA_PATH,)


def _has_rdma_core(root: str) -> bool:
    """Whether rdma-core is installed. Its lists are conffiles that outlive the package, but only its unit loads them."""
    return any(os.path.isfile(under(root, os.path.join(place, _RDMA_UNIT))) for place in ("usr/lib/systemd/system", "lib/systemd/system", "etc/systemd/system"))


def _texts(root: str, patterns: t.Iterable[str]) -> dict[str, str]:
    """The texts of foreign files with limits, by path, in reading order."""
    paths = [path for pattern in patterns for path in sorted(glob.glob(under(root, pattern)))]
    shown = {"/" + os.path.relpath(path, root): path for path in paths}
    return {name: read_text(path) for name, path in shown.items() if name not in limits.PATHS}


def unit_limits(root: str) -> dict[str, tuple[limits.Line, ...]]:
    """The limits in foreign files of the units of daemons: the file of the unit, then its drop-ins and those of all services, in the order of their names."""
    found = {}
    for unit, own in limits.UNIT_PATHS.items():
        path = next((path for path in ("/%s/%s" % (place, unit) for place in _UNIT_PLACES) if os.path.lexists(under(root, path))), "")
        # A link with another target is another name of a unit, or masks it.
        if path and os.path.basename(os.path.realpath(under(root, path))) == unit:
            texts = {path: read_text(under(root, path)), **dict(_configuration(root, ("systemd/system/%s.d" % unit, "systemd/system/service.d"), own))}
            lines = tuple(line for name, text in texts.items() for line in limits.read_unit(name, text))
            found.update({unit: lines} if lines else {})
    return found


def container_limits(root: str) -> tuple[limits.Line, ...]:
    """The limits that container engines set for all containers."""
    docker = engines.read_docker(engines.DOCKER_PATH, read_text(under(root, engines.DOCKER_PATH)))
    return (*docker, *engines.read_podman(_texts(root, engines.PODMAN_PATHS)))


def may_raise_limits(root: str) -> bool:
    """Whether PID 1 has the capability to raise limits. Containers often lack it."""
    lines = read_text(under(root, "proc/1/status")).splitlines()
    capabilities = next((line.partition(":")[2].strip() for line in lines if line.startswith("CapEff:")), "")
    return bool(hexadecimal(capabilities, 0) & _RESOURCE)


def _adapters(root: str) -> tuple[Device, ...]:
    """The RDMA devices that are directly below their PCI function, with the GUIDs of their ports."""
    base = under(root, "sys/class/infiniband")
    places = {name: os.path.basename(real_path(base, name, "device")) for name in rdma_devices(root)}
    return tuple(
        Device(name, pci, tuple(guid for guid in (read_port(root, name, port).port_guid for port in names_in(base, name, "ports")) if guid))
        for name, pci in places.items()
        if PCI_ADDRESS.match(pci)
    )


def _stack_naming(root: str) -> str:
    """The policy in the rule that one of the administrator would override."""
    name = os.path.basename(config.NAMING_PATH)
    texts = (read_text(under(root, os.path.join(place, "udev/rules.d", name))) for place in _PLACES[1:])
    found = _RENAMES.findall(next(filter(None, texts), ""))
    return str(found[-1]) if found else ""


def _renames(root: str) -> bool | None:
    """Whether rdma_rename has the policy for fixed names. It has no option that tells."""
    programs = (content(under(root, os.path.join(place, "udev/rdma_rename"))) for place in _PLACES[2:])
    program = next(filter(None, programs), b"")
    return FIXED.encode() in program if program else None


class Scope(t.NamedTuple):
    """What a look is about."""

    options: t.Collection[str] = ()
    """The modules whose parameters are read."""
    adopt: t.Optional[t.Collection[str]] = None
    """Where settings are to be taken over from files of others: the modules to load."""
    daemons: t.Tuple[limits.Limit, ...] = ()
    """The declared limits, where daemons that have less and pass it on are of interest."""


_NO_OPTIONS = Scope()


def _concerned(scope: Scope, catalogue: Catalogue, texts: t.Mapping[str, str]) -> dict[str, str]:
    """The files of others, out of `texts`, that load a module of the scope or have options of one."""
    modules = {catalogue.resolve(name) or canonical(name) for name in scope.adopt or ()}
    names = {canonical(name) for name in scope.options}
    found = {}
    for path, text in texts.items():
        listed = {catalogue.resolve(entry.name) or entry.name for entry in config.parse_list(path, text)}
        set_up = {directive.module for directive in config.parse_modprobe(path, text) if directive.kind == "options"}
        if not names.isdisjoint(set_up) if "/modprobe.d/" in path else not modules.isdisjoint(listed):
            found[path] = text
    return found


def look(
    run: Runner, release: str, scope: Scope = _NO_OPTIONS, *, load_now: bool = True, assume_rdma_core: bool = False, root: str = "/", image: bool = False
) -> Found:
    """The state of the node. `release`: the running kernel.

    Without `load_now`, and in the tree of an image, the installed kernels count instead of the running one. With `assume_rdma_core`,
    a node without the package is described as it will be after the installation.
    """
    load_now = load_now and not image
    installed = _releases(root)
    kernels = [release] if load_now else installed
    catalogue = read_catalogue(root, [kernel for kernel in kernels if kernel in installed])
    loaded = read_loaded(root)
    live, parameters = {}, {}
    for name in sorted(set(scope.options)):
        module = catalogue.resolve(name) or canonical(name)
        live[module] = read_live(root, module) if module in loaded else {}
        if module in catalogue.loadable:
            known = known_parameters(run, release if release in kernels else installed[-1], module)
            if known is not None:
                parameters[module] = {**dict.fromkeys(live[module], ""), **known}
    rdma_core = _has_rdma_core(root)
    lists = {path: read_text(under(root, path)) for path in (config.RDMA_PATH, config.INFINIBAND_PATH)}
    assumed = assume_rdma_core and not rdma_core
    if assumed:
        defaults = config.default_lists(by_name(read_os(root).family) or FAMILIES[0])
        lists = {path: text or defaults[path] for path, text in lists.items()}
        rdma_core = True
        coming = [catalogue.resolve(entry.name) for path in lists_of_devices(root) for entry in config.parse_list(path, lists[path])]
        loaded = {**{module: False for module in coming if module and load_now}, **loaded}
    builder = builder_of(run)
    files = list({**lists, config.RDMA_PATH: config.without_block(lists[config.RDMA_PATH])}.items()) if rdma_core else []
    lists_of_others = dict(_configuration(root, ("modules-load.d",), config.LOAD_PATH, config.ULPS_PATH))
    files += lists_of_others.items()
    modprobe = dict(_configuration(root, ("modprobe.d",), config.OPTIONS_PATH))
    sessions, services = _texts(root, _LIMITS), _texts(root, _SYSTEM)
    session_limits = tuple(line for path, text in sessions.items() for line in limits.read_sessions(path, text))
    service_limits = tuple(line for path, text in services.items() for line in limits.read_services(path, text))
    of_units = unit_limits(root)
    own = {path: read_text(under(root, path)) for path in _OWN}
    saved = LEDGER.read(root)
    others = None
    if scope.adopt is not None:
        concerned = {
            **_concerned(scope, catalogue, {**modprobe, **lists_of_others}),
            **{line.path: {**sessions, **services}[line.path] for line in (*session_limits, *service_limits)},
            **{line.path: read_text(under(root, line.path)) for lines in of_units.values() for line in lines},
            config.NAMING_PATH: own[config.NAMING_PATH],
        }
        # Other roles of the collection have files in these folders, too.
        others = read_others(run, {path: text for path, text in concerned.items() if text and not text.startswith(HEADER)}, root)
    return Found(
        release=release,
        installed=installed,
        catalogue=catalogue,
        loaded=loaded,
        live=live,
        parameters=parameters,
        rdma_core=rdma_core,
        files={**{path: read_text(under(root, path)) for path in saved}, config.RDMA_PATH: lists[config.RDMA_PATH], **own},
        dracut=builder is not None and builder.tool == "dracut",
        dracut_network=bool(glob.glob(under(root, _DRACUT_NETWORK))),
        initramfs_tools=builder is not None and builder.tool == "update-initramfs",
        entries=tuple(entry for path, text in files for entry in config.parse_list(path, text)),
        directives=tuple(directive for path, text in modprobe.items() for directive in config.parse_modprobe(path, text)),
        stale=tuple(path for path in read_text(under(root, config.STALE_PATH)).splitlines() if path and os.path.isfile(under(root, path))),
        container=bool(read_machine(root).container),
        session_limits=session_limits,
        service_limits=service_limits,
        unit_limits=of_units,
        container_limits=container_limits(root),
        daemons=read_daemons(run, root, scope.daemons) if scope.daemons else None,
        # No container boots an image.
        may_raise=image or may_raise_limits(root),
        devices=tuple(name for name in rdma_devices(root) if pci_address(root, "sys/class/infiniband", name, "device")),
        adapters=_adapters(root),
        stack_naming=_BY_DEFAULT if assumed else _stack_naming(root),
        renames=_renames(root),
        others=others,
        saved=saved,
        most_files=decimal(read_text(under(root, "proc/sys/fs/nr_open")).strip(), 0),
    )


def read_limits(run: Runner) -> dict[str, dict[str, str]]:
    """The limits of a session and of a service, both started for this purpose, by resource."""
    found: dict[str, dict[str, str]] = {}
    for name, argv in _PROBES.items():
        output = run(argv, ok=None, timeout=20) if run.has(argv[0]) else None
        for resource, value in zip(limits.RESOURCES, output.stdout.split() if output is not None and output.rc == 0 else ()):
            if value == limits.UNLIMITED or decimal(value) is not None:
                found.setdefault(resource, {})[name] = value
    return found


def with_limits(node: Node, seen: Seen) -> Seen:
    """Add the limits: this starts a session and a service."""
    return seen._replace(limits=read_limits(node.run))


def declared_limits(hints: t.Mapping[str, t.Any]) -> tuple[limits.Limit, ...]:
    """The limits that daemons are compared with, from the hints. All that is known of locked memory is of interest to a discovery."""
    if hints.get("of_stack"):
        return (limits.Limit(limits.MEMLOCK.name, limits.UNLIMITED),)
    return tuple(limits.Limit(*pair) for pair in hints.get("daemons", ()))


def seen(node: Node, hints: t.Mapping[str, t.Any]) -> Seen | SeenOfStack:
    """The look of the concern, for the modules that `hints` names; see `_concern.hints`. For a discovery, it is for whatever module of the stack there is."""
    scope = Scope(hints["options"], hints["names"] if hints.get("adopt") else None, declared_limits(hints))
    found = look(node.run, node.release, scope, root=node.root, image=node.image)
    if hints.get("of_stack"):
        reader = Reader(lambda module: read_live(node.root, module), lambda module: known_parameters(node.run, node.release, module))
        of_stack = seen_of_stack(found, reader, root=node.root, usual=hints["names"])
        return of_stack._replace(seen=with_limits(node, of_stack.seen))
    seen = Seen(frozenset(hints["names"]), frozenset(hints["options"]), narrowed(found, hints["names"]))
    return with_limits(node, seen) if hints.get("limits") else seen
