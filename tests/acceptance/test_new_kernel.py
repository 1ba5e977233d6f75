# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A kernel of the distribution, installed by apt, gets the modules of the stack and then those that depend on them, from the real dkms.

The modules have the versions of their symbols and no code, so there is no compiler: a package provides the names of what dkms and kernel headers need of one.
"""

from __future__ import annotations

import collections.abc
import pathlib
import subprocess

import pytest
from cluster import Cluster
from common import ROOT
from proofs import REAL

NODE = "node3"
FILES = (ROOT / "tests/acceptance/toy_module.py", ROOT / "tests/lab/stacks/vendor/kmodfile.py")
COMPILER = """Package: lab-compiler
Version: 1
Architecture: all
Maintainer: lab <lab@example.invalid>
Provides: gcc, c-compiler, make, dpkg-dev, patch, initramfs-tools, linux-initramfs-tool, linux-compiler-gcc-12-x86
Description: names of packages that build modules
"""
CONF = """PACKAGE_NAME=%(name)s
PACKAGE_VERSION=1
MAKE[0]="python3 /srv/toy_module.py ./%(module)s.ko $kernelver %(needs)s"
CLEAN=true
BUILT_MODULE_NAME[0]=%(module)s
DEST_MODULE_LOCATION[0]=/updates/dkms
AUTOINSTALL=yes
"""
# The name of the second one precedes that of the stack.
SOURCES = ({"name": "mlnx-ofed-kernel", "module": "ib_core", "needs": ""}, {"name": "client", "module": "client", "needs": "ib_core"})
# dkms 3.0 of Debian 12 does not read /etc/dkms when it puts sources in order.
SCRIPTS = ("/etc/kernel/header_postinst.d/00-rdma-ofed", "/etc/kernel/postinst.d/00-rdma-ofed")
PLAY = """
- hosts: %s
  gather_facts: false
  become: true
  tasks:
    - rdma.ofed.rdma_facts: {gather: [kernels]}
    - rdma.ofed.third_party_modules:
      register: ordered
    - ansible.builtin.debug:
        msg: "changes={{ ordered.changes | to_json }} due={{ ansible_facts['rdma']['kernels']['dkms_order_due'] | to_json }}"
"""
PREPARE = """set -e
mkdir -p /usr/lib/dkms && mv /srv/kmodfile.py /usr/lib/dkms/
mkdir -p /tmp/compiler/DEBIAN && cat >/tmp/compiler/DEBIAN/control <<'END'
%sEND
dpkg-deb --build /tmp/compiler /tmp/compiler.deb && dpkg --install /tmp/compiler.deb
apt-get update -q && apt-get install --yes --no-install-recommends dkms
mkdir -p /lib/modules/$(uname -r)/build/include
"""


def shell(lab: Cluster, script: str) -> str:
    done = lab.shell(NODE, script, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def sources(lab: Cluster) -> collections.abc.Iterator[None]:
    """Provide dkms with a stack and a client that was built on it, for the running kernel."""
    for path in FILES:
        subprocess.run(["docker", "cp", str(path), "%s-%s:/srv/" % (lab.lab[-1], NODE)], check=True, timeout=300)
    shell(lab, PREPARE % COMPILER)
    for source in SOURCES:
        folder = "/usr/src/%s-1" % source["name"]
        shell(
            lab,
            "mkdir -p %s && cat >%s/dkms.conf <<'END'\n%sEND\n: >%s/Makefile; dkms install -m %s -v 1"
            % (folder, folder, CONF % source, folder, source["name"]),
        )
    yield
    names = " ".join("/usr/src/%s-1" % source["name"] for source in SOURCES)
    shell(
        lab,
        "for name in client mlnx-ofed-kernel; do dkms remove $name/1 --all; done; rm -rf %s /etc/kernel/*/00-rdma-ofed /srv/toy_module.py /tmp/compiler*; "
        "DEBIAN_FRONTEND=noninteractive apt-get purge --yes --autoremove dkms lab-compiler 'linux-image-*-cloud-amd64' 'linux-headers-*' 'linux-kbuild-*'; "
        "rm -rf /usr/lib/dkms /var/lib/dkms /lib/modules/$(uname -r)/build; depmod" % names,
    )


def new_kernel(lab: Cluster, nth: int) -> str:
    """Install a kernel with its headers, and return its release."""
    names = shell(lab, "apt-cache search --names-only '^linux-image-6.1[0-9.-]*-cloud-amd64$' | grep -v meta | sort --version-sort").splitlines()
    release = names[-nth].split()[0][len("linux-image-") :]
    shell(lab, "DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends linux-image-%s linux-headers-%s" % (release, release))
    return release


def fits(lab: Cluster, kernel: str) -> bool:
    """Tell whether the client of a kernel was built on the stack that is installed for it."""
    base = "/lib/modules/%s/updates/dkms" % kernel
    shell(lab, "test -f %s/ib_core.ko" % base)
    offered = shell(lab, "modprobe --show-exports %s/ib_core.ko" % base).split()
    needed = shell(lab, "modprobe --dump-modversions %s/client.ko 2>&1 || true" % base).split()
    return offered[0] in needed


def assert_said(lab: Cluster, play: pathlib.Path, *words: str, arguments: collections.abc.Sequence[str] = ()) -> None:
    run = lab.play(str(play), *arguments)
    # The output is wrapped at blanks.
    output = " ".join(run.output.split())
    assert run.status == 0 and [word for word in words if word not in output] == [], run.output


@pytest.mark.long
@pytest.mark.proves("third_party", debian12=REAL)
def test_a_new_kernel_gets_the_stack_before_what_depends_on_it(lab: Cluster, sources: None, tmp_path: pathlib.Path) -> None:
    play = tmp_path / "order.yml"
    play.write_text(PLAY % NODE, encoding="utf-8")
    # By itself, dkms builds the client first: on the ib_core of the kernel.
    assert not fits(lab, new_kernel(lab, 1))
    for check in (["--check"], []):
        assert_said(lab, play, *("create file %s" % script for script in SCRIPTS), arguments=check)
    assert_said(lab, play, "changes=[] due=[]")
    assert fits(lab, new_kernel(lab, 2))
    shell(lab, "dkms remove mlnx-ofed-kernel/1 --all")
    assert_said(lab, play, *("remove file %s" % script for script in SCRIPTS))
    shell(lab, "".join("test ! -e %s; " % script for script in SCRIPTS))
