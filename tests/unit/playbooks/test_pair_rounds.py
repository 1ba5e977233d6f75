# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rounds of the playbook pair_test on four hosts, which are all this machine, with a stand-in for the module that measures."""

from __future__ import annotations

import collections
import json
import pathlib
import sys

from support import playbook_runs

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOSTS = ["node1", "node2", "node4", "node5"]
# Two pairs per round. The port is the host name. The server fails on node4, and the client ends with an error on node5.
MODULE = """#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
kinds = {"role": "str", "tests": "list", "port": "str", "fabric": "str", "seconds": "int", "size": "int", "tcp_port": "int", "peer": "dict"}
module = AnsibleModule({name: {"type": kind} for name, kind in kinds.items()}, supports_check_mode=True)
role, host = module.params["role"], module.params["port"]
with open(%r, "a") as log:
    log.write("%%s %%s %%s\\n" %% (role, host, (module.params["peer"] or {}).get("address", "")))
if (role, host) in (("server", "node4"), ("client", "node5")):
    module.fail_json(msg="it broke")
end = {"fabric": "ib", "gbps": 100, "lid": 1, "ip_address": "", "tests": ["ib_write_bw"], "left_out": {}}
figure = {"test": "ib_write_bw", "gbps": 97.5, "usec": None, "loss": None, "problem": ""}
module.exit_json(changed=False, end=end, failed_tests={}, figures=[figure])
"""


def test_every_pair_is_measured_once_and_every_server_is_stopped(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    playbook_runs.collection_of(tmp_path, {"modules/ib_pair_test.py": MODULE % str(log)})
    variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "pair_test_port": "{{ inventory_hostname }}"}
    inventory = {"rdma": {"hosts": dict.fromkeys(HOSTS), "vars": variables}}
    (tmp_path / "inventory.yml").write_text(json.dumps(inventory))
    argv = ["-i", "inventory.yml", "rdma.ofed.pair_test", "-e", "pair_test_report_dir=%s" % tmp_path]
    done = playbook_runs.run("playbook", *argv, folder=tmp_path, collections=tmp_path)
    assert done.status == 2, done.output
    report = json.loads((tmp_path / "pair-test.json").read_text())
    met = collections.Counter(frozenset((result["client"], result["server"])) for result in report["results"])
    assert len(met) == 6 and set(met.values()) == {1}, done.output
    failed = {(result["client"], result["server"]): result["problem"] for result in report["results"] if result["problem"]}
    assert all(client == "node5" or server == "node4" for client, server in failed)
    assert {words for pair, words in failed.items() if pair[1] == "node4"} == {"the server of node4 did not start: it broke"}
    assert {words for pair, words in failed.items() if pair[1] != "node4"} == {"it broke"}
    calls = collections.Counter(tuple(line.split()[:2]) for line in log.read_text().splitlines())
    assert all(calls[("server", host)] == calls[("stop", host)] for host in HOSTS)
    assert sum(calls[("server", host)] for host in HOSTS) == 6
