# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creates the images of the scenario: python3 images.py FOLDER. They are small, and valid in everything that mstflint checks."""

from __future__ import annotations

import pathlib
import sys
import typing as t

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/lab"))

from cxemu.image import build, corrupted


class Card(t.NamedTuple):
    psid: str
    hw_id: int
    pci_id: int


CONNECTX5 = Card("MT_0000000008", 0x20D, 0x1017)
CONNECTX6 = Card("MT_0000000223", 0x20F, 0x101B)
CONNECTX7 = Card("MT_0000000838", 0x218, 0x1021)


def image(card: Card, firmware: str, psid: str = "") -> bytes:
    return build(psid or card.psid, firmware, hw_id=card.hw_id, pci_id=card.pci_id)


IMAGES = {
    "wanted/connectx5.bin": image(CONNECTX5, "16.35.3006"),
    "wanted/connectx6.bin": image(CONNECTX6, "20.39.1002"),
    "wanted/connectx7.bin": image(CONNECTX7, "28.39.1002"),
    "older/connectx5.bin": image(CONNECTX5, "16.28.1002"),
    "newer/connectx5.bin": image(CONNECTX5, "16.35.4000"),
    "other-board/connectx5.bin": image(CONNECTX5, "16.35.4000", psid="MT_0000000099"),
    "damaged/connectx5.bin": corrupted(image(CONNECTX5, "16.35.4000")),
}


def main(folder: pathlib.Path) -> None:
    for name, content in IMAGES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
