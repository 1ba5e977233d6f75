# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is planned for files of others is what modprobe reads afterwards."""

from __future__ import annotations

import posixpath
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._kmod._check import check
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import NAMING_PATH, OPTIONS_PATH, Naming, options_text, parse_modprobe
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found, Other
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import Line
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._plan import conflicts, options_of, plan, rule_changed, warnings
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._takeover import Part, effective, part_of, takeover
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from hypothesis import given
from hypothesis import strategies as st

FOLDER = "/etc/modprobe.d/"
NAMES = ("a.conf", "rdma-gpu.conf", "rdma-ofed-x.conf", "zz.conf")
MODULES = ("ib_ipoib", "mlx5_core")
OPTIONS = st.dictionaries(st.sampled_from(MODULES), st.dictionaries(st.sampled_from(("a", "b")), st.sampled_from(("1", "2")), min_size=1), max_size=2)
WORDS = st.lists(st.tuples(st.sampled_from(("a", "b", "c")), st.sampled_from(("1", "2"))), min_size=1, max_size=4)
LINE = st.builds(lambda module, words: "options %s %s" % (module, " ".join("%s=%s" % word for word in words)), st.sampled_from(MODULES), WORDS)
TEXT = st.lists(st.one_of(LINE, st.sampled_from(("# a", "", "blacklist x"))), min_size=1, max_size=4).map("\n".join)


def found_of(texts: t.Mapping[str, str], ours: str) -> Found:
    """Return the node with these files of others and our file."""
    directives = tuple(directive for path, text in texts.items() for directive in parse_modprobe(path, text))
    return Found(files={OPTIONS_PATH: ours}, directives=directives, others={path: Other(text, path) for path, text in texts.items() if "options" in text})


def read(texts: t.Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the options that count: the last one in the order of the names of files."""
    options = {}
    for path in sorted(texts, key=posixpath.basename):
        for line in texts[path].splitlines():
            fields = line.split()
            if fields[:1] == ["options"]:
                options.update({(fields[1], word.split("=")[0]): word.split("=")[1] for word in fields[2:]})
    return options


@given(st.dictionaries(st.sampled_from(NAMES), TEXT), OPTIONS, OPTIONS)
def test_what_counts_is_what_is_declared(files: dict[str, str], former: dict[str, dict[str, str]], options: dict[str, dict[str, str]]) -> None:
    texts = {FOLDER + name: text for name, text in files.items()}
    ours = options_text(former)
    found, wanted = found_of(texts, ours), Wanted(options=options, adopt=True)
    before = {**texts, OPTIONS_PATH: ours}
    after = dict(before)
    for change in plan(wanted, found).about(Kind.FILE):
        assert before[change.subject] == change.before
        after[change.subject] = change.after
    declared = {(module, name): value for module, parameters in options.items() for name, value in parameters.items()}
    had, has = read(before), read(after)
    assert {key: has[key] for key in declared} == declared
    # What others set besides stays as it was. Our former options go.
    theirs = {key: value for key, value in read(texts).items() if key not in declared}
    assert {key: value for key, value in has.items() if key not in declared} == theirs
    moved = options_of(wanted, found)
    changed = {module for module in MODULES if {key: had[key] for key in had if key[0] == module} != {key: has[key] for key in has if key[0] == module}}
    # Our own options that change count as changed, also where a file of others hides them.
    assert changed <= moved.changed and not changed.intersection(moved.moved)
    assert not conflicts(wanted, found)
    others = {path: text for path, text in after.items() if path != OPTIONS_PATH and text}
    again = found_of(others, after[OPTIONS_PATH])
    assert not plan(wanted, again) and not warnings(wanted._replace(load_now=False), again)
    assert {(module, name): value for module, row in effective(again.directives, after[OPTIONS_PATH]).items() for name, (value, _path) in row.items()} == has


def test_limits_go_until_none_below_the_declared_one_counts() -> None:
    """Each one that goes may have hidden another one. What is high enough stays."""
    path = "/etc/security/limits.d/site.conf"
    text = "* soft memlock 64\n* - memlock 128\n* hard memlock 4096\n* soft memlock 32\n"
    lines = (Line(path, 1, "64", "soft"), Line(path, 2, "128"), Line(path, 3, "4096", "hard"), Line(path, 4, "32", "soft"))
    found = Found(session_limits=lines, may_raise=True, others={path: Other(text, path)})
    (file,) = takeover(Wanted(memlock="4096", adopt=True), found).adopted
    assert file.after == "* hard memlock 4096\n"
    assert not takeover(Wanted(memlock="keep", adopt=True), found).adopted
    assert not takeover(Wanted(memlock="4096"), found).adopted


def test_limits_of_two_resources_go_from_one_file() -> None:
    path = "/etc/security/limits.d/site.conf"
    text = "* - memlock 64\n* - nofile 1024\n* - nproc 100\n"
    lines = (Line(path, 1, "64"), Line(path, 2, "1024", resource="nofile"))
    found = Found(session_limits=lines, may_raise=True, others={path: Other(text, path)})
    (file,) = takeover(Wanted(memlock="unlimited", nofile="65536", adopt=True), found).adopted
    assert file.after == "* - nproc 100\n"
    (file,) = takeover(Wanted(memlock="unlimited", adopt=True), found).adopted
    assert file.after == "* - nofile 1024\n* - nproc 100\n"


def test_images_of_dracut_are_out_of_date_where_a_rule_is_replaced() -> None:
    text, wanted = "# names\n" + Naming("persistent").rules, Wanted(device_names="kernel", adopt=True)
    found = Found(files={NAMING_PATH: text}, others={NAMING_PATH: Other(text, NAMING_PATH)}, dracut=True)
    assert rule_changed(wanted, found) and not check(wanted, found)
    assert [change.after for change in plan(wanted, found).about(Kind.FILE)] == ["# names\n" + Naming("kernel").rules]
    after = found._replace(files={NAMING_PATH: "# names\n" + Naming("kernel").rules}, others={})
    assert not rule_changed(wanted, after) and not plan(wanted, after)


def test_a_rule_that_can_not_be_replaced_is_refused_with_the_reason() -> None:
    text = 'ACTION=="add", SUBSYSTEM=="infiniband", KERNEL=="mlx5_0", PROGRAM="rdma_rename %k NAME_PCI"\n'
    found = Found(files={NAMING_PATH: text}, others={NAMING_PATH: Other(text, NAMING_PATH)})
    (problem,) = check(Wanted(device_names="kernel", adopt=True), found)
    assert problem.hint.endswith("kernel_modules_adopt leaves line 1, because the rule has conditions of its own: remove the file first")
    (problem,) = check(Wanted(device_names="kernel"), found._replace(others=None))
    assert problem.hint.endswith("another rule: replace the rule with kernel_modules_adopt: true, or remove the file first")


def test_what_files_are_about() -> None:
    assert part_of("/etc/modprobe.d/x.conf") is Part.OPTIONS
    assert part_of("/etc/modules") is part_of("/etc/modules-load.d/x.conf") is Part.MODULES
    assert part_of("/etc/security/limits.conf") is Part.SESSIONS
    assert part_of("/etc/systemd/system.conf") is Part.SERVICES
