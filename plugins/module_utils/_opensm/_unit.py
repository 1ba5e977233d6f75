# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An instance of opensm: its files and its systemd unit. The unit is our own, because packaged units report "active" while nothing runs. Pure."""

from __future__ import annotations

import os
import typing as t

from .._codes import is_secret
from .._host._files import HEADER
from .._tools._node_names import DEFAULT_PATH
from . import _places
from ._conf import ADOPTED, CONF, DECLARED, RELOAD, RESTART, RUNNING, effect, parse_conf
from ._fabrics import DEFAULT_PREFIX
from ._master import Known
from ._options import render
from ._partitions._file import Absentee, recall, regrouped
from ._placement import MASTER

# A key of a vendor's opensm (5.6.0), read at start-up only: the priority that a master announces if it exceeds its sm_priority, by default 14.
# The master would hand over to no host below that. With 0 a master announces its sm_priority, as other builds do.
MASTER_PRIORITY = "master_sm_priority"

# With this key opensm flushes each line of its log at once. Otherwise the end of a sweep is logged when the buffer is full, which takes weeks.
FLUSH = "force_log_flush"

# openibd may unload a driver that the initramfs has loaded, so it comes first.
# The process stays in the foreground, so systemd notices when it ends. A driver can load late, so opensm is started only once its port
# exists: each start without the port would count towards the start limit.
# An opensm that crashes repeatedly stays down: with each start it would take the fabric back from the standby.
# It needs root's files and management datagrams, and no capability. It is not confined to device nodes by class, because the name of that
# class differs between kernels. Only root may read what it writes: the log contains the key of a manager whose key does not match.
UNIT_TEXT = (
    HEADER
    + """\
[Unit]
Description=InfiniBand subnet manager of fabric %i
Documentation=man:opensm(8)
After=openibd.service rdma-load-modules@rdma.service rdma-load-modules@infiniband.service rdma-hw.target network-pre.target
Before=network.target remote-fs-pre.target
StartLimitIntervalSec=300
StartLimitBurst=6

[Service]
Type=simple
Environment=OSM_CACHE_DIR=/var/cache/opensm/%i OSM_TMP_DIR=/var/cache/opensm/%i
CacheDirectory=opensm/%i
LogsDirectory=opensm/%i
ExecStartPre=+-/sbin/modprobe -bq ib_umad
ExecStart=/bin/sh -c 'guid=$$(sed -n "s/^guid 0x//p" /etc/rdma-ofed/opensm/%i/opensm.conf); \\
    until for umad in /sys/class/infiniband_mad/umad*; do cat /sys/class/infiniband/$$(cat $$umad/ibdev)/ports/$$(cat $$umad/port)/gids/0; \\
    done 2>/dev/null | tr -d : | grep -qi "$$guid$$"; do sleep 2; done; \\
    exec /usr/sbin/opensm --config /etc/rdma-ofed/opensm/%i/opensm.conf'
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=2
TimeoutStopSec=20
OOMScoreAdjust=-900
UMask=0077
LockPersonality=true
NoNewPrivileges=true
ProtectControlGroups=true
ProtectHome=true
ProtectKernelModules=true
ProtectKernelTunables=true
ProtectSystem=full
RestrictRealtime=true
RestrictSUIDSGID=true

[Install]
WantedBy=multi-user.target
"""
)

# opensm writes each key that differs from its default, secrets included, to stdout and to syslog, or to the console if syslog accepts nothing.
# Its own log, which only root can read, has everything that is needed.
SILENCE_TEXT = (
    HEADER
    + """\
[Service]
StandardOutput=null
InaccessiblePaths=-/run/systemd/journal/dev-log -/dev/log -/dev/console
"""
)

_ROTATED = """\
%s {
    size 10M
    rotate 5
    compress
    missingok
    notifempty
    postrotate
        systemctl kill --signal=USR1 %s >/dev/null 2>&1 || true
    endscript
}
"""


class Instance(t.NamedTuple):
    """One subnet manager of this host. opensm binds to one port, so each fabric has an instance."""

    fabric: str
    guid: str
    """Port GUID, never the node GUID. Until the instance is bound: the declared GUID, "" for any."""
    priority: int
    log_file: str = ""
    """Path of the log; "" for the default."""
    role: str = MASTER
    subnet_prefix: str = DEFAULT_PREFIX
    options: t.Mapping[str, t.Any] = {}
    """Further keys of opensm.conf."""
    partitions: str = ""
    """Content of partitions.conf; "" for none: all ports are then full members of the default partition."""
    root_guids: str = ""
    qos_policy: str = ""
    port: str = ""
    """The declared port; "" for any."""
    designated: str = ""
    """The host that is to be master, for messages; "" where unknown."""
    known: Known = Known()
    absentees: tuple[Absentee, ...] = ()
    """Members of partitions whose ports are not known in this run."""
    kept_hosts: tuple[str, ...] = ()
    """The absentees that keep their ports from the present file."""
    missing_hosts: tuple[str, ...] = ()
    """The absentees that the partitions are rendered without."""
    declared: frozenset[str] = frozenset()
    """The keys of opensm.conf that the inventory declares for this fabric or another fabric of the host."""
    adopted: t.Mapping[str, tuple[str, ...]] = {}
    """Undeclared keys of the previous subnet manager."""
    adopted_partitions: str = ""
    """Undeclared partition statements of the previous subnet manager."""

    @property
    def unit(self) -> str:
        return _places.unit_name(self.fabric)

    @property
    def log(self) -> str:
        return self.log_file or "/var/log/opensm/%s/opensm.log" % self.fabric

    @property
    def adopted_values(self) -> dict[str, t.Any]:
        """The adopted keys in the form of declared ones."""
        return {key: own[0] if len(own) == 1 else list(own) for key, own in self.adopted.items()}

    def path(self, name: str) -> str:
        return _places.file_path(self.fabric, name)

    def values(self) -> dict[str, t.Any]:
        """The keys of opensm.conf that the role sets. They name the partitions file even where there is none, so a new file needs no restart."""
        keys: dict[str, t.Any] = {
            "guid": self.guid,
            "subnet_prefix": self.subnet_prefix,
            "sm_priority": self.priority,
            "log_file": self.log,
            # A last resort, in MB, where nothing rotates the log.
            "log_max_size": 128,
            "dump_files_dir": "/var/cache/opensm/%s/" % self.fabric,
            "partition_config_file": self.path(_places.PARTITIONS),
            "node_name_map_name": DEFAULT_PATH,
        }
        named = (("root_guid_file", _places.ROOT_GUIDS, self.root_guids), ("qos_policy_file", _places.QOS_POLICY, self.qos_policy))
        keys.update({key: self.path(name) for key, name, text in named if text})
        return {**keys, **self.options, **self.adopted_values}

    def own_keys(self) -> list[str]:
        """The declared keys of this fabric, sorted."""
        values = self.values()
        elsewhere = {"subnet_prefix"} if self.subnet_prefix == DEFAULT_PREFIX else set()
        return sorted(key for key in self.declared - elsewhere if key in values)

    def recalling(self, files: t.Mapping[str, str], owned: t.Collection[str] = ()) -> Instance:
        """The instance with the ports of absentees from its present file, where it has them. `owned`: port GUIDs known in this run."""
        found = recall(self.partitions, files.get(self.path(_places.PARTITIONS), ""), self.absentees, owned=owned)
        return self._replace(partitions=found.text, kept_hosts=found.kept, missing_hosts=found.missing) if self.absentees else self

    def conf(self, template: str = "") -> str:
        """The text of opensm.conf, made from the template of the installed opensm. Raises InvalidInput for keys and values that it does not allow."""
        own: dict[str, t.Any] = {MASTER_PRIORITY: 0, FLUSH: True}
        known = parse_conf(template)
        return render(template, {**{key: value for key, value in own.items() if key in known}, **self.values()})

    def files(self, template: str = "") -> dict[str, str]:
        """The content of each file of the instance; "" for a file that must not exist. Raises InvalidInput like `conf`."""
        adopted = "".join("%s %s\n" % (key, value) for key, own in sorted(self.adopted.items()) for value in own)
        texts = {
            CONF: self.conf(template),
            _places.PARTITIONS: "\n".join(text for text in (self.partitions or (HEADER if self.adopted_partitions else ""), self.adopted_partitions) if text),
            _places.ROOT_GUIDS: self.root_guids,
            _places.QOS_POLICY: self.qos_policy,
            ADOPTED: HEADER + adopted if adopted else "",
            _places.ADOPTED_PARTITIONS: HEADER + self.adopted_partitions if self.adopted_partitions else "",
            DECLARED: "".join([HEADER, *(key + "\n" for key in self.own_keys())]) if self.own_keys() else "",
        }
        silence = SILENCE_TEXT if any(is_secret(key) for key in (*self.options, *self.adopted)) else ""
        return {**{self.path(name): text for name, text in texts.items()}, _places.silence_path(self.fabric): silence}


def file_effect(path: str, before: str, after: str) -> str:
    """The state of a running opensm with regard to the new content of one of its files."""
    name = os.path.basename(path)
    if before == after or name in _places.RECORDS:
        return RUNNING
    if name == CONF:
        return effect(before, after)
    if name == _places.PARTITIONS and regrouped(before, after):
        return RESTART
    return RELOAD if name in _places.READ_AGAIN else RESTART


def rotation_text(instances: t.Iterable[Instance]) -> str:
    """The logrotate configuration. opensm reopens its log on SIGUSR1."""
    return HEADER + "".join(_ROTATED % (instance.log, instance.unit) for instance in instances)
