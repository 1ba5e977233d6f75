# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Feeds damaged text to every function that parses external text, for a given time.

`python tests/fuzz/fuzz.py --seconds 3600`: runs with the same `--seed` feed the same texts in the same order. A failure is printed with its text, and `--target
NAME --number N` feeds that text again.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import pathlib
import random
import sys
import time
import traceback
import typing as t

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[0] / "unit")]

if __name__ == "__main__":
    importlib.import_module("conftest")  # makes the collection importable

from garbage import damaged
from targets import Target, targets


class Failure(t.NamedTuple):
    """A text on which a target failed."""

    target: str
    number: int
    error: str
    text: str


_FORBIDDEN = ("subprocess.Popen", "os.exec", "os.fork", "os.system", "os.posix_spawn", "os.remove", "os.rename", "os.mkdir", "os.kill", "socket.connect")
_watched = [False]


def _forbid(event: str, arguments: tuple[t.Any, ...]) -> None:
    """Raise an error: targets must not touch the machine."""
    if _watched[0] and (event in _FORBIDDEN or (event == "open" and arguments[1] not in ("r", "rb", None))):
        raise AssertionError("%s%r" % (event, arguments))


sys.addaudithook(_forbid)


def text_for(target: str, number: int, seed: int = 0) -> str:
    return damaged(random.Random("%s %d %d" % (target, seed, number)), target)


def failure(target: Target, number: int, seed: int = 0) -> Failure | None:
    """Feed one text. Returns the failure if the target raised an exception that it must not raise."""
    text = text_for(target.name, number, seed)
    _watched[0] = True
    try:
        with contextlib.suppress(*target.allowed):
            target.call(text)
    except Exception:
        return Failure(target.name, number, traceback.format_exc(limit=-3), text)
    finally:
        _watched[0] = False
    return None


def run(seconds: float, seed: int) -> int:
    end = time.monotonic() + seconds
    failed: dict[str, Failure] = {}
    fed = 0
    for number in itertools.count():
        for target in targets().values():
            found = failure(target, number, seed)
            fed += 1
            # A repeated failure gives no new information.
            if found is not None and failed.setdefault(target.name + found.error, found) is found:
                print("%s, number %d: %s\n%r\n" % (found.target, found.number, found.error, found.text[:500]), flush=True)
        if time.monotonic() >= end:
            break
    print("%d texts for %d targets: %d faults" % (fed, len(targets()), len(failed)))
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", choices=sorted(targets()))
    parser.add_argument("--number", type=int, default=0)
    options = parser.parse_args()
    if not options.target:
        return run(options.seconds, options.seed)
    found = failure(targets()[options.target], options.number, options.seed)
    print(repr(text_for(options.target, options.number, options.seed)))
    print(found.error if found else "no fault")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
