# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decide whether the kernel that boots next has the vendor's driver, what each policy does about it, and how to build the driver. Pure.

Drivers are built with DKMS, with the bundle of MLNX_OFED, or with DOCA's own builder. Prebuilt modules have no source in DKMS.
For those, the vendor builds packages for another kernel with mlnx_add_kernel_support.sh of the bundle, or with
doca-kernel-support. Only the module packages from these builds are installed: the installer would first remove and then
reinstall the whole stack.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import Refused, Unsupported
from .._facts._kernels import is_driver
from .._facts._trust import words
from .._host._step import Step, script_argv
from .._plan import Change, Kind, Plan
from .._stack._bundle import Place
from .._stack._installer_options import names_of, value_of
from .._stack._plan import checking
from ._found import Found
from ._packages import DRIVERS

BUILDING = "building the driver for kernel "
INSTALLING = "installing the driver for kernel "
WORK = "/var/lib/rdma.ofed/kernel-support"
DOCA_TOOL = "/opt/mellanox/doca/tools/doca-kernel-support"
SCRIPT = "kernel_packages.py"
NO_PACKAGE = "no package has kernel %s, so the package manager can't hold it: update it the way it was installed, and build its driver"
_DOCA_PACKAGE = "doca-extra"
_SUPPORTER = "mlnx_add_kernel_support.sh"
_NAME = "bundle"
_KMP = re.compile(r"^kmod-|-kmp-")
_BUILT_BY: t.Mapping[str, str] = {"dkms": "DKMS", "bundle": _SUPPORTER, "doca": "doca-kernel-support"}
# The tools that building modules requires, besides the headers. Their packages have these names on all distributions.
TOOLS = ("gcc", "make", "perl")


def is_prebuilt(found: Found) -> bool:
    """Whether the driver was installed as prebuilt modules."""
    return any(name in DRIVERS for name in found.prebuilt)


def has_driver(found: Found) -> bool:
    """Whether the vendor's driver is installed at all. A user-space stack has none."""
    return any(kernel.stack == "ofed" for kernel in found.kernels) or any(is_driver(source) for source in found.sources) or is_prebuilt(found)


def lacking(found: Found) -> str:
    """What the kernel that boots next lacks, in words; "" where it lacks nothing."""
    if not has_driver(found) or not found.target:
        return ""
    kernel = next((kernel for kernel in found.kernels if kernel.release == found.target), None)
    what = "kernel %s, which boots next (%s)" % (found.target, found.evidence) if found.next_boot else "kernel %s, which runs" % found.target
    if kernel is None:
        return "%s, has no modules in /lib/modules" % what
    if kernel.stack != "ofed":
        return "%s, would start with %s" % (what, "the driver of the distribution" if kernel.stack == "inbox" else "no RDMA driver")
    return ""


def unsigned(found: Found) -> str:
    """Why the kernel that boots next would not load the driver, with the steps to fix that; "" where it would."""
    if not has_driver(found) or lacking(found) or not found.target or not found.untrusted:
        return ""
    return "the driver for kernel %s would not load: %s" % (found.target, words(found.untrusted))


class KernelPlan(t.NamedTuple):
    """What is to be done."""

    plan: Plan = Plan()
    steps: tuple[Step, ...] = ()
    way: str = ""
    """How the driver is built: `dkms`, `bundle`, `doca`; "" where it is not built."""
    prerequisites: tuple[str, ...] = ()
    """Packages that the steps install first."""
    reasons: tuple[str, ...] = ()
    """What the policy can't do, in words."""


def release_of(found: Found) -> str:
    """The release of MLNX_OFED, complete where it is known."""
    recorded = str(found.record.get("version") or "")
    return recorded if recorded.startswith(found.stack.ofed_version) else found.stack.ofed_version


def ways_out(found: Found) -> str:
    """The next steps, where nothing can be built."""
    others = [kernel.release for kernel in found.kernels if kernel.stack == "ofed"]
    ways = ["install the driver with its DKMS packages, without --without-dkms and --add-kernel-support, and ofed_kernel_policy: build"]
    if found.stack.kind == "mlnx_ofed":
        ways.insert(0, "declare ofed_bundle, the bundle of MLNX_OFED %s, whose %s builds it for that kernel" % (release_of(found), _SUPPORTER))
    if others:
        ways.append("boot %s next, and hold back new kernels with ofed_kernel_policy: pin" % ", ".join(others))
    return ", or ".join(ways)


def _way(found: Found, has_bundle: bool) -> str:
    if any(is_driver(source) for source in found.sources):
        return "dkms"
    if is_prebuilt(found) and found.stack.kind == "doca":
        return "doca"
    if is_prebuilt(found) and found.stack.kind == "mlnx_ofed" and has_bundle:
        return "bundle"
    raise Refused("%s. DKMS has no source of the driver to build it from: %s" % (lacking(found), ways_out(found)))


def headers_of(found: Found, kernel: str) -> tuple[str, ...]:
    """The package with the missing headers of a kernel; empty where they are installed. Raises Refused where its name is unknown."""
    if kernel in found.headers:
        return ()
    owners = found.owners.get(kernel, ())
    name = found.distribution.headers_of(kernel, owners)
    if not name:
        words = "the headers of kernel %s are not installed, and the driver can't be built without them: %s"
        raise Refused(words % (kernel, found.distribution.how_to_get_headers(owners)))
    return (name,)


def prerequisites(found: Found, kernel: str) -> tuple[str, ...]:
    """The missing packages that a build with a vendor's script requires."""
    return (*headers_of(found, kernel), *(tool for tool in TOOLS if tool not in found.tools))


def installing(found: Found, names: t.Sequence[str]) -> tuple[Step, ...]:
    """The step that installs packages for a build."""
    return (Step("installing " + ", ".join(names), (*found.distribution.manager.add, *names)),) if names else ()


def _left_behind(found: Found) -> list[str]:
    """The kernels that lose their prebuilt modules, because dpkg installs a package in one version only. RPM installs versions side by side."""
    if found.distribution.manager.packaging != "deb":
        return []
    versions = " ".join("%s " % version for version in found.prebuilt.values())
    return [kernel.release for kernel in found.kernels if kernel.release != found.target and "kver.%s " % kernel.release in versions]


def build(found: Found, has_bundle: bool, place: Place) -> KernelPlan:
    """What has to be done; empty where the kernel has its driver. Raises Refused where the driver can't be built."""
    wrong = lacking(found)
    if not wrong:
        return KernelPlan()
    way = _way(found, has_bundle)
    if not any(kernel.release == found.target for kernel in found.kernels):
        raise Refused("%s: reinstall its package, or remove it" % wrong)
    made = Change(Kind.KERNEL, found.target, "", "without the driver", "driver built by %s" % _BUILT_BY[way])
    # The running kernel then has the driver only in memory.
    needs = {found.running: "reboot"}
    left = () if way == "dkms" else _left_behind(found)
    gone = [Change(Kind.KERNEL, release, "", "with the driver", "without", needs.get(release, "")) for release in left]
    extra = (_DOCA_PACKAGE,) if way == "doca" and not found.doca_tool else ()
    needed = headers_of(found, found.target) if way == "dkms" else (*prerequisites(found, found.target), *extra)
    return KernelPlan(Plan((made, *gone)), _steps(way, needed, found, place=place), way, needed)


def support_argv(tree: str, kernel: str, *, work: str, name: str, kmp: bool, distro: str) -> tuple[str, ...]:
    """The command that builds, from the bundle in `tree`, the archive `work`/`name`.tgz with modules for a kernel."""
    return (
        "%s/%s" % (tree, _SUPPORTER),
        *("--mlnx_ofed", tree, "--make-tgz", "--yes", "--skip-repo"),
        *("--kernel", kernel, "--kernel-sources", "/lib/modules/%s/build" % kernel),
        *("--tmpdir", work, "--name", name),
        *(("--kmp",) if kmp else ()),
        *(("--distro", distro) if distro else ()),
    )


def _bundle_argv(found: Found, tree: str) -> tuple[str, ...]:
    """The command line, with the options of the stack's installation."""
    options = [str(option) for option in found.record.get("installer_options") or ()]
    kmp = "--kmp" in names_of(options) or any(_KMP.search(name) for name in found.prebuilt)
    return support_argv(tree, found.target, work=WORK, name=_NAME, kmp=kmp, distro=value_of(options, "--distro"))


def _steps(way: str, needed: t.Sequence[str], found: Found, *, place: Place) -> tuple[Step, ...]:
    """The steps of the job."""
    first = installing(found, needed)
    stage = BUILDING + found.target
    if way == "dkms":
        # Exit status 11 means that one of several sources was not built. The look afterwards tells which one.
        return (*first, Step(stage, ("dkms", "autoinstall", "-k", found.target), ok=(0, 11)))
    clean = Step("cleaning up", ("rm", "-rf", "--", WORK))
    install = (found.distribution.manager.packaging, found.target, WORK, *sorted(found.prebuilt))
    if way == "doca":
        builder = Step(stage, script_argv(SCRIPT, "doca", DOCA_TOOL, found.target, WORK))
        return (*first, builder, Step(INSTALLING + found.target, script_argv(SCRIPT, "install", "", *install)), clean)
    # Exit status 30 means that the bundle already has modules for this kernel.
    builder = Step(stage, _bundle_argv(found, place.tree), ok=(0, 30), directory=place.tree)
    installer = Step(INSTALLING + found.target, script_argv(SCRIPT, "install", place.tree, *install))
    return (*place.unpack, checking(release_of(found), place), *first, builder, installer, *place.clean, clean)


def _pin(found: Found) -> KernelPlan:
    wrong = lacking(found)
    if wrong:
        raise Refused("%s, and holding kernels back does not help now: %s" % (wrong, ways_out(found)))
    if not has_driver(found):
        return KernelPlan()
    loose = [name for name in found.kernel_packages if name not in found.held]
    # A kernel without a package, such as a self-compiled one. Holding packages would not affect it.
    foreign = (found.target,) if found.target and not found.owners.get(found.target) else ()
    reasons = tuple(NO_PACKAGE % release for release in foreign)
    if not loose:
        return KernelPlan(reasons=reasons)
    if not found.can_lock:
        package = found.distribution.manager.lock_package
        raise Unsupported("kernels can't be held without dnf's plugin versionlock and its list: install %s, and keep it enabled" % package)
    changes = tuple(Change(Kind.PACKAGE, name, "hold", "free", "held") for name in loose)
    return KernelPlan(Plan(changes), (Step("holding the kernels", (*found.distribution.manager.hold, *loose)),), reasons=reasons)


def plan(policy: str, found: Found, *, has_bundle: bool = False, place: Place | None = None) -> KernelPlan:
    """The changes that the policy requires. Raises Refused where they are impossible. `place`: where the bundle is, or will be."""
    if policy == "build":
        return build(found, has_bundle, place or Place(""))
    if policy == "pin":
        return _pin(found)
    wrong = lacking(found)
    if wrong:
        raise Refused("%s: %s" % (wrong, ways_out(found)))
    return KernelPlan()
