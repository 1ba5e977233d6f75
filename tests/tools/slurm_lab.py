# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian's Slurm on nodes of a lab. It has no cgroups and no accounting: nothing that a container cannot provide."""

from __future__ import annotations

USER, UID = "alice", 1500
"""An ordinary user who submits jobs."""

_CONFIG = {
    "ClusterName": "lab",
    "SlurmctldHost": "node1",
    "AuthType": "auth/munge",
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "SelectType": "select/cons_tres",
    "MpiDefault": "none",
    "ReturnToService": "2",
    "SchedulerParameters": "sched_interval=1",
    "StateSaveLocation": "/var/lib/slurm/slurmctld",
    "SlurmdSpoolDir": "/var/lib/slurm/slurmd",
}
_INSTALL = """\
set -e
mkdir -p /etc/slurm
cat >/etc/slurm/slurm.conf <<'EOF'
%(config)sEOF
export DEBIAN_FRONTEND=noninteractive
apt-get install -qq -y --no-install-recommends slurm-client munge %(packages)s >/dev/null
printf '%%064d' 0 >/etc/munge/munge.key
id %(user)s >/dev/null 2>&1 || useradd --create-home --uid %(uid)d %(user)s
%(prepare)s
systemctl restart munge
systemctl restart %(daemons)s
"""


def configuration(nodes: str, *more: str, partition: str = "Nodes=ALL", **settings: str) -> str:
    """The text of slurm.conf. `nodes`: the value of the first NodeName, `more`: those of others; one processor each. `settings`: other values than usual."""
    lines = ["%s=%s" % pair for pair in {**_CONFIG, **settings}.items()]
    lines += ["NodeName=%s CPUs=1 State=UNKNOWN" % each for each in (nodes, *more)]
    return "".join(line + "\n" for line in (*lines, "PartitionName=all %s Default=YES MaxTime=INFINITE State=UP" % partition))


def installation(config: str, daemons: str, *, packages: str = "", prepare: str = ":") -> str:
    """A script for one node. `daemons`: its packages of Slurm, which are services as well. `prepare`: commands before they start."""
    values = {"config": config, "daemons": daemons, "packages": "%s %s" % (daemons, packages), "prepare": prepare, "user": USER, "uid": UID}
    return _INSTALL % values
