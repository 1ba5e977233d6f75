#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: driver_stack
short_description: Install, upgrade, replace and remove MLNX_OFED and DOCA-OFED
version_added: 1.0.0
description:
  - Brings a node to a release of MLNX_OFED, by its installer or from a repository, or to a profile of DOCA-OFED, from
    whatever stack is there, and back to none.
  - The installed packages decide what has to be done; the installer is not used to detect state.
  - The work is a job of its own on the node, which outlives the connection. While it runs, its stage and the time are
    shown. A run that finds a running job of an earlier run waits for that first.
  - The next run repairs an installation that was interrupted by a power cut or a kill, and continues from what is installed then.
  - Packages that are not part of the RDMA stack and would be removed with the old one end the run before the first
    change, unless O(allow_removal) names them.
  - A stack that is in use is replaced or removed only with O(allow_upgrade).
  - The module neither loads nor unloads a driver, and does not reboot.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
  - rdma.ofed.job
options:
  state:
    description:
      - V(absent) removes the stack of a vendor, with its configuration and the repository that an earlier run declared.
        Packages that others need, and those in O(keep), return to the version of the distribution. A stack of the
        distribution is left alone.
    type: str
    choices: [present, absent]
    default: present
  source:
    description: The vendor's stack. It is ignored with O(state=absent).
    type: str
    choices: [mlnx_ofed, doca]
    default: mlnx_ofed
  version:
    description:
      - The release of MLNX_OFED as in the file C(.mlnx) of a bundle, such as V(23.10-0.5.5.0), or the version of DOCA, such
        as V(2.9.1). The default is the release in the name of the bundle.
      - With a repository and without a version, any installed version is accepted.
    type: str
  bundle:
    description:
      - The bundle of MLNX_OFED for O(method=installer). The absolute path of an unpacked one, of a C(.tgz) or of an
        C(.iso), or the URL of one of the latter two, for which O(bundle_checksum) is needed.
      - The download is part of the job. Its progress is shown, and it counts towards O(timeout). A run after an interrupted
        one resumes the download.
      - It is unpacked once, below C(/var/lib/rdma.ofed/bundles), and removed from there after success. An ISO image is
        mounted where the node has loop devices, and otherwise unpacked by C(bsdtar), C(xorriso) or C(7z).
    type: str
  bundle_checksum:
    description: The checksum of the bundle, V(sha256:) and 64 hexadecimal digits. It is compared before the bundle is unpacked.
    type: str
  method:
    description:
      - How to install MLNX_OFED. V(repository) installs its metapackages with the package manager. DOCA always comes from a
        repository.
    type: str
    choices: [installer, repository]
    default: installer
  packages:
    description:
      - The package set of MLNX_OFED, for example V(all), V(basic), V(hpc), V(guest), V(hypervisor), V(kernel-only) or
        V(user-space-only); V(all) is the default. With C(-user-only) at its end, as in V(basic-user-only), it is the part of a set in user space.
      - The profile of DOCA, V(doca-ofed) (the default), V(doca-all), V(doca-networking), V(doca-roce) or V(doca-host-basic).
    type: str
  installer_options:
    description:
      - Further options of C(mlnxofedinstall), as it spells them, each with what stands after it, as in V(--kernel 5.10.0-28-amd64).
      - Options that the release does not know are refused, and the message names the nearest one that it knows. The installer
        itself would interpret a misspelt C(--without-...) as the name of a package.
      - What the tables of the collection do not have for the release is looked for in what the installer of the bundle prints with C(--help).
    type: list
    elements: str
    default: []
  repository:
    description:
      - The repository, as a URL or as the absolute path of a folder of the node. For apt, it is a flat one, with
        C(Packages) directly in it.
    type: str
  repository_key:
    description:
      - The public key that the repository is signed with, as a URL with C(https), the absolute path of a file on the node, or the key itself.
    type: str
  repository_trusted:
    description: Whether to use the repository without a key.
    type: bool
    default: false
  allow_removal:
    description:
      - Packages outside the RDMA stack that may be removed where they block a change. They are not installed again.
    type: list
    elements: str
    default: []
  allow_upgrade:
    description:
      - Whether a stack that is in use may be replaced by another release or source, or removed. Without it, such a change is in
        C(pending), and the stack is left alone.
      - A vendor's stack is in use where it is installed, that of the distribution where RDMA has users. A job that was interrupted
        is completed in any case.
      - The stack of an image that brings its own, such as DGX OS, counts as in use. A change of it is refused, and its packages are not protected.
    type: bool
    default: false
  keep:
    description:
      - With O(state=absent), packages that stay, in the version of the distribution, on Debian and Ubuntu. On other distributions,
        all packages stay that the distribution has as well.
    type: list
    elements: str
    default: []
  keep_purposes:
    description: Packages to O(keep) as well, by their purposes. M(rdma.ofed.packages) lists these.
    type: list
    elements: str
    default: []
  firmware_update:
    description: Whether the installer, or the package C(mlnx-fw-updater), may burn firmware.
    type: bool
    default: false
  protect_packages:
    description:
      - Whether the packages of the stack are kept at their versions, so that an update of the system does not replace them by those of the
        distribution, of EPEL or of CUDA. Packages of ready-made modules are not kept, because they change with the kernel.
      - With apt, this is a file of preferences. With dnf, these are lines in the list of the plugin C(versionlock), after O(method=installer).
        Without that plugin the module warns. What came from O(repository) needs none with dnf, because that has priority. zypper does
        not change the vendor of a package by itself.
    type: bool
    default: true
  openib_conf:
    description:
      - Keys of C(/etc/infiniband/openib.conf) and their values. All other lines of the file are kept, and a copy of the file
        is made.
      - Only keys that C(openibd) reads are accepted. Values are literal. C(openibd) reads the file when it starts.
    type: dict
    default: {}
  ulps:
    description:
      - Upper-layer protocols whose packages are installed, out of V(ibacm), V(srp), V(iser), V(nfsrdma) and V(nvmf).
        M(rdma.ofed.ulps) turns them on.
      - With O(method=installer), the package set must contain the packages of the vendor. V(nfsrdma) and V(nvmf) need the
        options C(--with-nfsrdma) and C(--with-nvmf).
    type: list
    elements: str
    default: []
  timeout:
    description: The time limit of the whole installation, download included, in seconds.
    type: int
    default: 7200
attributes:
  check_mode:
    details: A bundle that is not on the node is not inspected. The package manager simulates the removals in any case.
requirements:
  - On the node, what the installer of MLNX_OFED needs, C(perl) above all.
notes:
  - A selection of packages and options can't be read from a node. It is kept in C(/var/lib/rdma.ofed/stack.json). Where the
    task differs from that, the installer runs again. Without the file, the release alone decides.
  - On Debian and Ubuntu, what a new repository would do is simulated on a copy of apt's lists before it is declared.
seealso:
  - module: rdma.ofed.rdma_facts
  - module: rdma.ofed.ulps
"""

EXAMPLES = r"""
- name: Install MLNX_OFED from a bundle on the controller
  rdma.ofed.driver_stack:
    bundle: /srv/ofed/MLNX_OFED_LINUX-23.10-0.5.5.0-ubuntu22.04-x86_64.tgz
    bundle_on: controller
    packages: hpc

- name: Install MLNX_OFED from a server, for a kernel that it has no packages for
  rdma.ofed.driver_stack:
    bundle: https://mirror.example.org/MLNX_OFED_LINUX-23.10-0.5.5.0-rhel9.3-x86_64.tgz
    bundle_checksum: "sha256:{{ ofed_sha256 }}"
    installer_options: [--add-kernel-support, --skip-distro-check]

- name: Install DOCA-OFED from a mirror of the site
  rdma.ofed.driver_stack:
    source: doca
    version: "2.9.1"
    repository: https://mirror.example.org/doca/2.9.1/ubuntu22.04/x86_64
    repository_key: https://mirror.example.org/doca/GPG-KEY-Mellanox.pub

- name: Go back to what the distribution has
  rdma.ofed.driver_stack:
    state: absent
"""

RETURN = r"""
changes:
  description: The changes made, or in check mode to be made, in order, in words.
  returned: success
  type: list
  elements: str
  sample: ["stack: inbox 44.0 -> mlnx_ofed 23.10-0.5.5.0"]
pending:
  description:
    - What becomes effective only after a reload of the driver, and with C(needs) V(upgrade) what requires O(allow_upgrade).
    - Each entry has C(kind), C(subject), C(aspect), C(before), C(after), C(needs) and C(why).
    - Of C(openib.conf), there is one entry for each key, of the kind V(openib_conf).
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: openib_conf, subject: IPOIB_LOAD, aspect: "", before: "no", after: "yes", needs: driver_reload, why: []}
reboot_required:
  description: Whether a reboot is needed. A new driver can be loaded without one.
  returned: success
  type: bool
  sample: false
reasons:
  description: Why something is not as declared although nothing failed. Always empty.
  returned: success
  type: list
  elements: str
  sample: []
stack:
  description: The RDMA stack of the node, before and after.
  returned: success
  type: dict
  contains:
    before:
      description: The C(kind), which is V(inbox), V(mlnx_ofed), V(doca) or V(none), and the C(version) of the stack that was found.
      type: dict
      sample: {kind: inbox, version: "44.0"}
    after:
      description:
        - The same after the task. In check mode, what it would be; the version is empty where only the repository knows it.
      type: dict
      sample: {kind: mlnx_ofed, version: 23.10-0.5.5.0}
    withheld:
      description: Whether a change of the stack requires O(allow_upgrade), and was not made. It is in C(pending).
      type: bool
      sample: false
    replaced:
      description: Whether another stack was installed, or the same one again because it was not whole.
      type: bool
      sample: true
packages_changed:
  description: Whether anything except C(openib.conf) was changed. In check mode, whether it would be.
  returned: success
  type: bool
  sample: true
third_party:
  description:
    - The third-party modules that were built on the stack that is replaced, for the running kernel and the one that boots next. They do not fit another
      build of the stack. M(rdma.ofed.third_party_modules) rebuilds them.
    - Each has C(name), C(kernel), C(path), C(source) in DKMS, C(stack), C(symbols), and C(command), which rebuilds it with DKMS.
  returned: success
  type: list
  elements: dict
  sample:
    - {name: lustre, kernel: 6.1.0-50-amd64, path: updates/dkms/lustre.ko, source: lustre-client/2.15.5, stack: mlnx_ofed 23.10-0.5.5.0,
       symbols: [rdma_connect], command: dkms install -m lustre-client -v 2.15.5 -k 6.1.0-50-amd64}
job:
  description: The job that did the work.
  returned: when there was something to do for a job
  type: dict
  contains:
    id: {description: Its identifier., type: str}
    running: {description: Whether it still runs., type: bool}
    stage: {description: 'What it does, or did last.', type: str}
    detail: {description: 'The progress of the stage, where it is known. Empty at the end.', type: str}
    step: {description: The number of the step., type: int}
    steps: {description: The number of all steps., type: int}
    elapsed: {description: 'The seconds since it began, or that it took.', type: int}
    log: {description: The path of its output on the node., type: str, sample: /var/lib/rdma.ofed/jobs/driver-stack/log}
installer_said:
  description: The last lines of the installer's log.
  returned: failure of the installer
  type: list
  elements: str
  sample: ["Failed to install rdma-core DEB"]
dependants:
  description: Packages that are no part of the RDMA stack and would be removed.
  returned: failure because of them
  type: list
  elements: str
  sample: [libpcap0.8]
problems:
  description: Everything that is wrong with the input, one entry each.
  returned: failure because of wrong input
  type: list
  elements: str
  sample: ["ofed_version is '23.10'; allowed: a release of MLNX_OFED as in its file .mlnx, such as 23.10-0.5.5.0"]
"""

from ..module_utils._host._answer import answer
from ..module_utils._schema._driver_stack import OPTIONS
from ..module_utils._stack._converge import converge


def main() -> None:
    answer(OPTIONS, converge, root=True)


if __name__ == "__main__":
    main()
