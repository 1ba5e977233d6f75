# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names chosen by others, and what they would do if treated as more than text."""

from __future__ import annotations

# A name that creates this file if it is evaluated as a template.
MARK = "/tmp/rdma-ofed-hostile"

TEMPLATES = (
    "{{ lookup('pipe', 'touch %s') }}" % MARK,
    "{{lookup('pipe','touch${IFS}%s')}}" % MARK,
    "{%% set x = lookup('pipe', 'touch %s') %%}node1" % MARK,
    "{# node1 #}",
    "!unsafe {{ 7 * 7 }}",
)
SHELL = ("$(touch %s)" % MARK, "`touch %s`" % MARK, "node1; touch %s" % MARK, "node1 | sh", "-oProxyCommand=touch%s" % MARK, "--help", "node1 & true", "'\"")
PATHS = ("../../etc/passwd", "/etc/passwd", "..", ".", "a/b", "node1\0.json")
LINES = ("node1\nnode2", "node1\r\nALL=full ;", "node1\x0bx", "node1\x1cx", "node1\x85x", "node1\u2028x", "node1\u2029x")
TERMINAL = ("\x1b[2J\x1b[1;1HOK", "\x1b]0;title\x07", "node1\b\b\b\b\b", "\x9b31m", "node1\rOK    ", "\x7f", "\x00")
BIDIRECTIONAL = ("node\u202e1edon", "\u2066node1\u2069", "node\u200f1", "node\u200b1", "\ufeffnode1", "node\U000e00411", "node\udcff1")
SLURM = ("x,y;z[1-99]", "node[1-9999]", "node1 Switches=a", "x,y", "ALL", "node1#", "node[", "node=1")
MARKUP = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)",
    "]]>",
    '" onload="alert(1)',
    "&amp;",
    '"} 1\nx{a="',
    "\\",
    '\\"',
    "{}",
    "a|b",
    "*",
    "# node1",
)

NAMES = (*TEMPLATES, *SHELL, *PATHS, *LINES, *TERMINAL, *BIDIRECTIONAL, *SLURM, *MARKUP)
