# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The configuration of the instances: from the module's options, on top of what the installed opensm generates."""

from __future__ import annotations

import os
import tempfile
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import identify
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._nodenames import Named, broken_lines
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._nodenames import render as render_names
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import template_command
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options_effect import redact_diff, separates
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options_input import Paths, declared, names, qos_policy_text, root_guids_text
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import CONF
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _saquery

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import Known
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import Found
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance

OPTIONS = ("log_flags", "log_max_size", "options", "qos", "qos_policy", "root_guids", "routing_engine", "secret_options", "sm_key")


def option_variables(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The module's options for opensm.conf by the names of the role's variables, as far as they are set."""
    return {"opensm_" + name: params[name] for name in OPTIONS if params.get(name) is not None}


def read_template(run: Runner) -> str:
    """What the installed opensm generates; "" where none is installed."""
    if not run.has("opensm"):
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, CONF)
        run(template_command(path))
        return read_text(path)


def configured(instance: Instance, params: t.Mapping[str, t.Any], template: str) -> Instance:
    """The instance with the declared options and partitions."""
    variables = option_variables(params)
    return instance._replace(
        template=template,
        # The paths of files are the instance's own.
        options=declared(variables, Paths()),
        names=names(variables),
        partitions=(params.get("partitions") or {}).get(instance.fabric, ""),
        root_guids=root_guids_text(params.get("root_guids") or ()),
        qos_policy=qos_policy_text(params.get("qos_policy") or ""),
    )


def named_nodes(params: t.Mapping[str, t.Any], found: Found) -> str | None:
    """The file of the names of nodes as it shall be; None where nothing is said about names."""
    given = params.get("node_names")
    if given is None:
        return found.node_names
    hosts = {host: Named(hcas or {}, hcas is not None) for host, hcas in (given.get("hosts") or {}).items()}
    return render_names(found.node_names, hosts, given.get("names") or {})


def name_reasons(found: Found) -> list[str]:
    """Lines of an administrator for which opensm and the diagnostics take no names at all."""
    return ["the file of the names of nodes is dropped whole: %s" % line for line in broken_lines(found.node_names)]


def require_one_key(run: Runner, instance: Instance, port: Port, found: Found, known: Known) -> None:
    """Managers with different keys ignore each other, and each would be master: raises Refused where that would come about."""
    path = instance.path(CONF)
    if instance.unit not in found.running or not separates(found.files.get(path, ""), instance.conf()):
        return
    records = _saquery.sm_records(run, port.device, port.port) or ()
    others = [identify(run, port, record, known).name for record in records if record.guid != instance.guid]
    if others:
        raise Refused(
            "opensm_sm_key of fabric %s is another one, and %s would not know this host any more: two masters. "
            "Nothing was changed here. Set opensm_standby: false and run the role, then change the key, then set opensm_standby: true again"
            % (instance.fabric, ", ".join(others))
        )


def without_secrets(result: dict[str, t.Any], instances: t.Sequence[Instance], found: Found) -> dict[str, t.Any]:
    """The result of a module whose diff shows no key."""
    paths = {path for path in (*found.files, *(instance.path(CONF) for instance in instances)) if os.path.basename(path) == CONF}
    return {**result, "diff": redact_diff(result["diff"], paths)}
