# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Enable and disable upper-layer protocols."""

from __future__ import annotations

import os
import typing as t

from .._facts._ulps import RECORD, Record, record_text
from .._host._files import apply_file, file_change, read_text
from .._host._units import Systemd
from .._kmod._apply import load
from .._kmod._config import ULPS_PATH, load_text
from .._kmod._found import Found as KernelModules
from .._tools import _openibd
from . import _plan as planner
from ._catalogue import PROTOCOLS, modules_of
from ._found import Found
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


def apply(module: AnsibleModule, run: Runner, *, wanted: Wanted, found: Found, modules: KernelModules, root: str = "/") -> None:
    """Make the node as wanted. A protocol is recorded before it is enabled, and removed from the record after it is disabled."""

    def write(path: str, before: str, after: str) -> None:
        change = file_change(path, before, after)
        if change is not None:
            apply_file(module, change, backup=path == _openibd.PATH, root=root)

    def write_record(record: Record) -> None:
        write("/" + RECORD, read_text(os.path.join(root, RECORD)), record_text(record))

    write_record(planner.record_meanwhile(wanted, found))
    # srp_daemon starts on one port after another, which takes time.
    systemd = Systemd(run)
    systemd.disable_and_stop(*planner.units_off(wanted, found))
    write(ULPS_PATH, found.load_text, load_text(modules_of(wanted.names)))
    if found.conf_text:
        write(_openibd.PATH, found.conf_text, _openibd.edited(found.conf_text, planner.conf_values(wanted, found)))
    missing = sorted({modules.catalogue.resolve(name) or name for name in modules_of(wanted.names) if name not in found.loaded})
    if wanted.start and missing:
        load(run, missing, modules, root=root)
    services = [service for name in wanted.names for service in PROTOCOLS[name].services if found.unit(service.name).exists]
    systemd.enable(*(service.name for service in services if not planner.is_enabled(found.unit(service.name))))
    systemd.start(*(service.name for service in services if planner.runs(service, wanted, found) and not found.unit(service.name).runs))
    write_record(planner.record_after(wanted, found))
