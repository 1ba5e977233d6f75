# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Change the zones of firewalld and the rules of ufw. Each step is safe to repeat."""

from __future__ import annotations

import typing as t

from ..._host._files import apply_file, file_change, read_text, under
from ..._ipoib import _registry
from ..._tools import _firewalld, _ufw
from ._plan import BOOT, RULE

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ..._host._run import Runner
    from ..._plan import Change
    from ._found import Firewall, Profile


def carry_out(module: AnsibleModule, run: Runner, change: Change, *, found: Firewall, declared: t.Container[str], root: str) -> None:
    """Make one change. `declared`: the interfaces whose traffic is to be accepted. Raises CommandFailed where a command fails."""
    name = change.subject
    if change.aspect == RULE:
        run(_ufw.allow(name) if change.after else _ufw.forget(name))
    elif change.aspect == BOOT:
        _at_boot(module, run, change, found=found, root=root)
    elif name in declared:
        run(_firewalld.enter(name, change.after))
    else:
        # NetworkManager may have taken it out already.
        run(_firewalld.leave(name, change.before), ok=(0, *_firewalld.ELSEWHERE))


def _at_boot(module: AnsibleModule, run: Runner, change: Change, *, found: Firewall, root: str) -> None:
    name, firewalld = change.subject, found.firewalld
    profile = firewalld.profiles.get(name)
    if not change.after and firewalld.listed(name)[0] == change.before:
        # firewall-cmd would edit the profile of NetworkManager in place of the zone. A daemon that runs notices the file.
        run(_firewalld.unbind(name, change.before, firewalld.running and profile is None and name not in firewalld.elsewhere))
    if profile is not None and (change.after or profile.zone == change.before):
        _in_profile(module, run, change, profile=profile, root=root)
    elif change.after:
        run(_firewalld.bind(name, change.after, firewalld.running))


def _in_profile(module: AnsibleModule, run: Runner, change: Change, *, profile: Profile, root: str) -> None:
    name = change.subject
    backend = next(each for each in _registry.BACKENDS if each.zone_file(name) == profile.path)
    before = read_text(under(root, profile.path))
    todo = file_change(profile.path, before, backend.zoned(before, change.after))
    if todo is not None:
        apply_file(module, todo, mode=_registry.file_mode(profile.path), root=root)
    backend.tell_zone(run, name, profile.path)
