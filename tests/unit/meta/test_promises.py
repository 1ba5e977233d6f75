# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tests that docs/promises.md names as proof exist."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| promise ")]
PROOF = re.compile(r"`((?:molecule|tests)/[^`:]+\.py)::(test_\w+)`")


def test_there_are_promises() -> None:
    assert len(ROWS) > 10


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_each_promise_has_a_proof_that_exists(row: str) -> None:
    proofs = PROOF.findall(row)
    assert proofs
    for path, name in proofs:
        file = ROOT / path
        assert file.is_file(), path
        assert re.search(r"^\s*def %s\(" % name, file.read_text(encoding="utf-8"), re.MULTILINE), "%s::%s" % (path, name)
