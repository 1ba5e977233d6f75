# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every write to a file goes through `_host/_write.py`. Exceptions are listed with the reason why they are safe."""

from __future__ import annotations

import ast
import pathlib
import re
import typing as t

from support import sources

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLUGINS = ROOT / "plugins"

OWN_FOLDER = "in a folder that this run has made for itself, with a name that nobody knows, for its owner alone"
JOB_FOLDER = "a script of a job: it can import nothing of the collection, and writes below /var/lib/rdma.ofed, which is root's"
ROOT_FOLDER = "moves or links files in a folder that root alone can write to"
KERNEL = "an attribute of the kernel, in sysfs"
RUN_FOLDER = "below the temporary folder of ansible-core, which is for its owner alone"
EXCEPTIONS = {
    "module_utils/_host/_files.py: os.rename": "what `replace_file` has written",
    "module_utils/_host/_image.py: os.symlink": OWN_FOLDER,
    "module_utils/_host/_job.py: os.replace": ROOT_FOLDER,
    "module_utils/_host/_job_runner.py: open": JOB_FOLDER,
    "module_utils/_host/_job_runner.py: os.rename": JOB_FOLDER,
    "module_utils/_host/_download.py: open": JOB_FOLDER,
    "module_utils/_host/_download.py: os.rename": JOB_FOLDER,
    "module_utils/_gpudirect/_legacy_build.py: open": JOB_FOLDER,
    "module_utils/_gpudirect/_legacy_build.py: os.chmod": JOB_FOLDER,
    "module_utils/_gpudirect/_legacy_build.py: os.rename": JOB_FOLDER,
    "module_utils/_gpudirect/_legacy_build.py: shutil.move": JOB_FOLDER,
    "module_utils/_kernel/_packages.py: open": JOB_FOLDER,
    "module_utils/_kernel/_bundle/_converge.py: os.chmod": ROOT_FOLDER,
    "module_utils/_firmware/_image/_fetch.py: os.rename": "what mkstemp has made, in a folder that root alone can write to",
    "module_utils/_firmware/_image/_fetch.py: tempfile.mkstemp": "a new file with a name that nobody knows",
    "module_utils/_ipoib/_backends/_netplan_backend.py: os.link": ROOT_FOLDER,
    "module_utils/_ipoib/_backends/_netplan_backend.py: os.replace": ROOT_FOLDER,
    "module_utils/_ipnet/_apply.py: open": "a value of the kernel, below /proc/sys",
    "module_utils/_ipoib/_kernel.py: open": KERNEL,
    "module_utils/_opensm/_apply.py: os.symlink": ROOT_FOLDER,
    "module_utils/_packages/_converge.py: os.rename": ROOT_FOLDER,
    "module_utils/_stack/_bundle_place.py: os.chmod": ROOT_FOLDER,
    "module_utils/_stack/_bundle_place.py: shutil.move": ROOT_FOLDER,
    "module_utils/_stack/_foreseen.py: open": OWN_FOLDER,
    "module_utils/_stack/_foreseen.py: os.open": OWN_FOLDER,
    "module_utils/_stack/_foreseen.py: os.chmod": OWN_FOLDER,
    "module_utils/_stack/_foreseen.py: os.link": OWN_FOLDER,
    "module_utils/_stack/_foreseen.py: shutil.copyfile": OWN_FOLDER,
    "module_utils/_support/_collect.py: os.chmod": OWN_FOLDER,
    "module_utils/_support/_collect.py: tarfile.open": OWN_FOLDER,
    "plugin_utils/_files.py: os.replace": "what mkstemp has made, on the controller",
    "plugin_utils/_files.py: tempfile.mkstemp": "a new file with a name that nobody knows, on the controller",
    "plugin_utils/_looks.py: open": RUN_FOLDER,
    "plugin_utils/_looks.py: os.replace": RUN_FOLDER,
    "plugin_utils/_support_join.py: tarfile.open": "what mkstemp has made, on the controller",
    "plugin_utils/_support_join.py: os.replace": "what mkstemp has made, on the controller",
    "plugin_utils/_support_join.py: tempfile.mkstemp": "a new file with a name that nobody knows, on the controller",
    "action/driver_stack.py: tarfile.open": OWN_FOLDER,
}
ALWAYS = re.compile(
    r"(os\.(rename|replace|renames|link|symlink|chmod|chown|lchown|truncate|mkfifo|mknod|open)|shutil\.(copy\w*|move|chown)|tempfile\.(mkstemp|mktemp)"
    r"|\w+(\.\w+)*\.(write_text|write_bytes))\Z"
)
READS = ("r", "rb", "r:", "r:gz", None)


def _writes(tree: ast.Module) -> t.Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name in ("open", "tarfile.open", "gzip.open", "lzma.open", "io.open", "bz2.open"):
            mode = node.args[1] if len(node.args) > 1 else next((word.value for word in node.keywords if word.arg == "mode"), None)
            modes = [each.value for each in ast.walk(mode) if isinstance(each, ast.Constant)] if mode is not None else [None]
            if not all(each in READS for each in modes if isinstance(each, str) or each is None):
                yield name
        elif ALWAYS.match(name):
            yield name


def test_each_write_goes_through_the_one_function() -> None:
    found = {
        "%s: %s" % (path.relative_to(PLUGINS).as_posix(), name)
        for path in sorted(PLUGINS.rglob("*.py"))
        if path.name != "_write.py"
        for name in _writes(sources.tree(path))
    }
    assert sorted(found - set(EXCEPTIONS)) == [], "write with replace_file of _host/_write.py, or say here why that is safe"
    assert sorted(set(EXCEPTIONS) - found) == [], "these exceptions are not needed"


def test_shell_texts_write_to_no_place_of_others() -> None:
    """Scripts for nodes and units are texts in the plugins and files of the roles."""
    forms = re.compile(r">\s*[\"']?/(?:tmp|var/tmp|dev/shm|run/lock)\b|\bmktemp\s+-u\b|/run/lock/(?!rdma\.ofed)")
    files = [path for folder in ("plugins", "roles", "playbooks") for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".yml", ".j2", ".sh")]
    assert [str(path) for path in files if forms.search(path.read_text(encoding="utf-8"))] == []
