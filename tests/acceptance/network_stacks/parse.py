# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs in a throwaway container: lets each network stack parse the golden files of its configuration.

Prints a JSON object with the complaints about each golden file in /golden, by name; an empty list means none.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import gi

gi.require_version("NM", "1.0")
from gi.repository import NM, GLib

NETWORKD = pathlib.Path("/etc/systemd/network")
PROFILES = "NetworkManager/system-connections"
# netplan writes settings that networkd 252 does not know; the boot unit sets the mode there.
KNOWN = re.compile(r"/10-netplan-.*: Unknown section 'IPoIB'. Ignoring.")
# networkd's messages about its configuration begin with the file name.
COMPLAINT = re.compile(r"^/\S+\.(network|netdev|conf|link)[: ]")


def unpack(golden: pathlib.Path, root: pathlib.Path) -> None:
    for part in golden.read_text(encoding="utf-8").split("==> ")[1:]:
        path, _newline, text = part.partition("\n")
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        target.chmod(0o600)


def run(*argv: str) -> tuple[int, str]:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=30, check=False)
    return done.returncode, done.stdout


def profiles(root: pathlib.Path) -> list[str]:
    """Parse keyfiles with libnm, which shares its code with the daemon."""
    found = []
    for path in sorted([*root.glob("etc/%s/*" % PROFILES), *root.glob("run/%s/*" % PROFILES)]):
        keyfile = GLib.KeyFile.new()
        keyfile.load_from_file(str(path), GLib.KeyFileFlags.NONE)
        warnings: list[str] = []

        def handle(_keyfile: object, _connection: object, kind: object, data: object, seen: list[str]) -> bool:
            seen.append("%s: %s" % (kind, data))
            return True

        try:
            connection = NM.keyfile_read(keyfile, str(path.parent), NM.KeyfileHandlerFlags.NONE, handle, warnings)
            if "uuid=" not in path.read_text(encoding="utf-8"):
                connection.get_setting_connection().props.uuid = NM.utils_uuid_generate()
            connection.normalize(None)
            connection.verify()
            infiniband = connection.get_setting_infiniband()
            if infiniband is None and connection.get_setting_bond() is None:
                warnings.append("neither InfiniBand nor a bond")
            if connection.get_interface_name() is None:
                warnings.append("no interface")
        except GLib.GError as exc:
            warnings.append(str(exc))
        found += ["%s: %s" % (path, warning) for warning in warnings]
    return found


def configuration(root: pathlib.Path) -> list[str]:
    """Check that NetworkManager reads the collection's section of its own configuration as intended."""
    path = root / "etc/NetworkManager/conf.d/90-rdma-ofed.conf"
    if not path.exists():
        return ["no %s" % path]
    shutil.copy(path, "/etc/NetworkManager/conf.d/")
    status, output = run("NetworkManager", "--print-config")
    good = status == 0 and re.search(r"\[device-rdma-ofed\]\nmatch-device=interface-name:=\S+\nignore-carrier=yes", output)
    return [] if good else [output]


def networkd(root: pathlib.Path) -> list[str]:
    """Run the daemon, which parses all files before it looks at interfaces and reports what it cannot parse, and stop it then."""
    shutil.rmtree(NETWORKD, ignore_errors=True)
    shutil.rmtree("/run/systemd/network", ignore_errors=True)
    for source in ("etc/systemd/network", "run/systemd/network"):
        if (root / source).is_dir():
            shutil.copytree(root / source, "/" + source)
            run("chmod", "-R", "a+rX", "/" + source)
    environ = dict(os.environ, SYSTEMD_LOG_TARGET="console", SYSTEMD_LOG_LEVEL="debug")
    process = subprocess.Popen(["/lib/systemd/systemd-networkd"], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line.rstrip())
        if "Enumeration completed" in line:
            break
    else:
        return ["systemd-networkd ended early: %s" % lines[-3:]]
    process.kill()
    process.wait()
    return [line for line in lines if COMPLAINT.match(line) and not KNOWN.search(line)]


def netplan(root: pathlib.Path) -> list[str]:
    status, output = run("/usr/lib/netplan/generate", "--root-dir", str(root))
    found = [output] if status or output else []
    return [*found, *profiles(root), *networkd(root)]


def ifupdown(root: pathlib.Path) -> list[str]:
    folder = root / "etc/network/interfaces.d"
    whole = root / "interfaces"
    whole.write_text("source %s/rdma-*\n" % folder, encoding="utf-8")
    wanted = sorted(re.findall(r"^auto (\S+)$", "".join(path.read_text(encoding="utf-8") for path in folder.iterdir()), re.MULTILINE))
    status, output = run("ifquery", "-i", str(whole), "--list")
    names = sorted(name for name in output.split() if name != "lo")
    found = [] if status == 0 and names == wanted else ["ifquery: %s instead of %s" % (output, wanted)]
    for name in names:
        status, output = run("ifup", "--no-act", "--force", "-i", str(whole), name)
        # It prints its planned actions, and its errors in lines that begin with its name.
        if status or re.search(r"^(ifup|error|warning):", output, re.MULTILINE | re.IGNORECASE) is not None:
            found.append("ifup %s: %s" % (name, output))
    return found


def boot(root: pathlib.Path) -> list[str]:
    found = []
    for script in root.glob("usr/local/libexec/*"):
        shutil.copy(script, "/usr/local/bin")
        status, output = run("sh", "-n", str(script))
        found += [output] if status else []
    for unit in root.glob("etc/systemd/system/*"):
        script_there = unit.read_text(encoding="utf-8").replace("/usr/local/libexec/rdma-ofed-ipoib-mode", "/bin/true")
        unit.write_text(script_there, encoding="utf-8")
        unit.chmod(0o644)
        status, output = run("systemd-analyze", "verify", str(unit))
        found += [output] if status or output else []
    return found


CHECKS = {
    "networkmanager": lambda root: [*profiles(root), *configuration(root)],
    "networkd": networkd,
    "netplan": netplan,
    "ifupdown": ifupdown,
    "boot": boot,
}


def main() -> None:
    pathlib.Path("/run/systemd/netif").mkdir(parents=True, exist_ok=True)
    result = {}
    for golden in sorted(pathlib.Path("/golden").glob("*.txt")):
        check = CHECKS.get(golden.stem.split("-")[0])
        if check is None:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            # networkd and other stacks run without root privileges.
            root.chmod(0o755)
            unpack(golden, root)
            result[golden.stem] = check(root)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
