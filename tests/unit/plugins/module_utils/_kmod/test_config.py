# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import (
    BEGIN,
    END,
    load_text,
    options_text,
    parse_assignments,
    parse_list,
    parse_modprobe,
    parse_options,
    with_block,
    without_block,
)
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import Catalogue, parse_alias, parse_dep
from hypothesis import given
from hypothesis import strategies as st

# From rdma-core 44 on Debian 12.
INFINIBAND_CONF = """\
# These modules are loaded by the system if any InfiniBand device is installed
# InfiniBand over IP netdevice
ib_ipoib

# Access to fabric management SMPs and GMPs from userspace.
ib_umad

# SCSI Remote Protocol target support
# ib_srpt
"""

MODPROBE = """\
# comment
options ib-ipoib send_queue_size=128 \\
  recv_queue_size=128
blacklist ib_srp
install rds /bin/true
install mlx4_core /sbin/modprobe --ignore-install mlx4_core $CMDLINE_OPTS && /usr/lib/mlx4-setup.sh
softdep
options mlx5_core
"""

NAMES = st.text("abcdefgh_0123456789", min_size=1, max_size=8)
LINES = st.lists(st.sampled_from(["ib_iser", "# ib_isert", "", "rdma_ucm", BEGIN.strip(), END.strip()]), max_size=8)


def test_lists_know_names_and_lines() -> None:
    assert [(entry.name, entry.line) for entry in parse_list("/f", INFINIBAND_CONF)] == [("ib_ipoib", 3), ("ib_umad", 6)]
    assert [entry.name for entry in parse_list("/f", "; no\n  xprt-rdma  # yes\n")] == ["xprt_rdma"]


def test_modprobe_lines_continue() -> None:
    found = parse_modprobe("/f", MODPROBE)
    assert [(directive.kind, directive.module, directive.line) for directive in found] == [
        ("options", "ib_ipoib", 2),
        ("blacklist", "ib_srp", 4),
        ("install", "rds", 5),
        ("install", "mlx4_core", 6),
        ("options", "mlx5_core", 8),
    ]
    assert parse_assignments(found[0].rest) == {"send_queue_size": "128", "recv_queue_size": "128"}
    assert found[2].rest == "/bin/true"


def test_assignments_with_quotes_and_without_value() -> None:
    assert parse_assignments('a="x y" b c=1,2') == {"a": '"x y"', "b": "", "c": "1,2"}


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.text("0123456789,-YN", min_size=1), min_size=1)))
def test_options_come_back_as_they_were_written(options: dict[str, dict[str, str]]) -> None:
    text = options_text(options)
    assert parse_options(text) == options
    assert options_text(dict(reversed(list(options.items())))) == text


def test_nothing_to_say_is_no_file() -> None:
    assert options_text({}) == options_text({"ib_ipoib": {}}) == load_text([]) == ""
    assert load_text({"b", "a"}) == HEADER + "a\nb\n"


@given(LINES, st.sets(NAMES), st.booleans())
def test_blocks_keep_the_lines_of_others(lines: list[str], names: set[str], newline: bool) -> None:
    text = "\n".join(lines) + ("\n" if newline and lines else "")
    once = with_block(text, names)
    assert with_block(once, names) == once
    assert without_block(once).splitlines() == without_block(text).splitlines()
    assert names <= {entry.name for entry in parse_list("", once)}
    assert BEGIN not in without_block(text)


def test_block_without_end_loses_only_its_marker() -> None:
    assert without_block("a\n" + BEGIN + "b\nc\n") == "a\nb\nc\n"
    assert without_block("a\n" + END + "b") == "a\nb"
    assert without_block(BEGIN + "a\n" + BEGIN + "b\n" + END + "c\n") == "a\nc\n"


def test_catalogue_of_a_kernel() -> None:
    loadable = parse_dep(
        "kernel/drivers/infiniband/ulp/ipoib/ib_ipoib.ko.xz: kernel/net/x.ko.xz\nkernel/net/sunrpc/xprtrdma/rpcrdma.ko:\nupdates/dkms/mlx-compat.ko.zst:\n"
    )
    assert loadable == {"ib_ipoib", "rpcrdma", "mlx_compat"}
    aliases, by_device = parse_alias(
        "# Aliases extracted from modules themselves.\nalias svcrdma rpcrdma\nalias xprtrdma rpcrdma\nalias rpcrdma6 rpcrdma\n"
        "alias pci:v000015B3d00001013sv*sd*bc*sc*i* mlx5_core\nalias rtnl-link-ipoib ib_ipoib\nalias fs-* x\n"
    )
    assert by_device == {"mlx5_core"}
    catalogue = Catalogue(loadable, parse_dep("kernel/lib/libcrc32c.ko\n"), aliases, by_device)
    assert [catalogue.resolve(name) for name in ("ib-ipoib", "svcrdma", "libcrc32c", "rtnl-link-ipoib", "ib_ipob")] == [
        "ib_ipoib",
        "rpcrdma",
        "libcrc32c",
        "ib_ipoib",
        "",
    ]
    assert catalogue.nearest("ib_ipob") == ["ib_ipoib"]
    assert not Catalogue()
