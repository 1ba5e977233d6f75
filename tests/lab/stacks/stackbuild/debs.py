# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs dpkg-deb: builds packages from a directory and converts the distribution's packages to the vendor's."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
import typing as t

from . import control

MAINTAINER = "rdma.ofed lab <lab@example.invalid>"


class StackError(Exception):
    """A build failure with the next step."""


class Debian(t.NamedTuple):
    """The metadata of a package."""

    name: str
    version: str
    arch: str = "all"
    fields: t.Mapping[str, str] = {}
    scripts: t.Mapping[str, str] = {}
    conffiles: tuple[str, ...] = ()


def run(*argv: str, cwd: pathlib.Path | None = None) -> str:
    try:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError as exc:
        raise StackError("%s is not on this machine: the stand-ins are built on Debian." % argv[0]) from exc
    if done.returncode:
        raise StackError("'%s' failed: %s" % (" ".join(argv), (done.stderr or done.stdout).strip()))
    return done.stdout


def _pack(tree: pathlib.Path, into: pathlib.Path, name: str, version: str, arch: str) -> pathlib.Path:
    into.mkdir(parents=True, exist_ok=True)
    target = into / ("%s_%s_%s.deb" % (name, version.partition(":")[2] or version, arch))
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(tree), str(target))
    return target


def _write_control(tree: pathlib.Path, fields: t.Mapping[str, str], scripts: t.Mapping[str, str], conffiles: t.Iterable[str]) -> None:
    folder = tree / "DEBIAN"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    (folder / "control").write_text(control.render(fields), encoding="utf-8")
    for name, text in scripts.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    files = [name for name in conffiles if (tree / name.lstrip("/")).exists()]
    if files:
        (folder / "conffiles").write_text("".join(name + "\n" for name in files), encoding="utf-8")
    else:
        (folder / "conffiles").unlink(missing_ok=True)


def make(package: Debian, files: t.Mapping[str, str | bytes], into: pathlib.Path, executables: t.Collection[str] = ()) -> pathlib.Path:
    """Build a package of these files (contents by path)."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch, "tree")
        document = "/usr/share/doc/%s/README" % package.name
        contents: dict[str, str | bytes] = {document: "A stand-in for tests: there is nothing of the vendor's in it.\n", **files}
        for path, content in contents.items():
            file = tree / path.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
            file.chmod(0o755 if path in executables else 0o644)
        head = {"Package": package.name, "Version": package.version, "Architecture": package.arch, "Maintainer": MAINTAINER}
        tail = {"Section": "net", "Priority": "optional", "Description": "stand-in for %s of the vendor" % package.name, **package.fields}
        _write_control(tree, {**head, **tail}, package.scripts, package.conffiles)
        return _pack(tree, into, package.name, package.version, package.arch)


def fields_of(deb: pathlib.Path) -> control.Fields:
    return control.parse(run("dpkg-deb", "--field", str(deb)))


def repack(
    sources: t.Sequence[pathlib.Path],
    versions: t.Mapping[str, str],
    renamed: t.Mapping[str, str],
    into: pathlib.Path,
    edit: t.Callable[[pathlib.Path], t.Mapping[str, str] | None] = lambda tree: None,
    extra: t.Mapping[str, str] | None = None,
) -> control.Fields:
    """Build one vendor package from one or more packages of the distribution. Returns its fields.

    `edit` may change the unpacked tree. It returns maintainer scripts to replace the distribution's.
    """
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch, "tree")
        found: control.Fields = {}
        for source in sources:
            part = pathlib.Path(scratch, "part")
            run("dpkg-deb", "--raw-extract", str(source), str(part))
            fields = control.revised(fields_of(source), versions, renamed)
            shutil.copytree(part, tree, symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(part)
            for name in control.RELATIONS:
                joined = [*control.relations(found.get(name, "")), *control.relations(fields.get(name, ""))]
                fields[name] = ", ".join(dict.fromkeys(joined))
            found = {name: value for name, value in fields.items() if value}
        found.update(extra or {})
        scripts = edit(tree)
        if scripts is not None:
            for name in ("preinst", "postinst", "prerm", "postrm", "templates", "config", "triggers"):
                (tree / "DEBIAN" / name).unlink(missing_ok=True)
        (tree / "DEBIAN/md5sums").unlink(missing_ok=True)
        kept = tree / "DEBIAN/conffiles"
        conffiles = kept.read_text(encoding="utf-8").split() if kept.exists() else []
        # Conffiles that the edit added are in etc too.
        conffiles = list(dict.fromkeys([*conffiles, *("/" + str(path.relative_to(tree)) for path in (tree / "etc").rglob("*") if path.is_file())]))
        _write_control(tree, found, scripts or {}, conffiles)
        _pack(tree, into, found["Package"], found["Version"], found["Architecture"])
        return found
