#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mstflint
short_description: Burn firmware images onto HCAs, each card once and only its own
version_added: 1.0.0
description:
  - Compares what is in the flash of all HCAs of a node with the images that are offered for them, and burns those that
    hold another version.
  - The image of a card is picked by its PSID. All PCI functions of a card are one card, which is burned once.
  - Unreadable and corrupt images, images of another PSID, downgrades, unsigned images for cards with secure firmware,
    and cards without an image are found on all cards before the first one is burned.
  - Cards are burned one after the other, each under a lock, and their flash is queried afterwards. Where the tool writes the flash itself, because a card's
    firmware does not or a PSID is changed, the whole flash is read and checked as well. This takes minutes on some cards.
  - A card runs its old firmware until it is reset. Nothing is reset here. What is burned and does not run yet is
    returned in RV(pending), run after run, and is not burned again.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
  - rdma.ofed.adapters.images
options:
  state:
    description:
      - V(present) burns what is missing. V(query) changes nothing and returns the firmware in the flash and the running one.
    type: str
    choices: [present, query]
    default: present
  devices:
    description:
      - The cards. All functions of a card are one card.
      - All selectors of an entry must match a card. A card that several entries match is burned once.
    type: list
    elements: dict
    default: [{all: true}]
  images:
    description:
      - The images. O(state=present) needs them, or O(versions) that all cards have already.
      - The path of a directory offers all image files directly in it (C(.bin), C(.mfa2), C(.fw)). Each card gets the
        newest one of its PSID, or that of the version in O(versions). A file that can't be read is an error if a card
        remains without an image, else it is reported in RV(reasons).
      - The path of a file is the image for all selected cards.
      - A mapping of PSIDs names the image for each kind of card, by its path, or by a mapping of C(path) or C(url), and
        C(checksum) (V(sha256:...) or V(sha512:...)). PSIDs without a card on the node are ignored.
      - An image at a C(url) needs a C(checksum). It is kept in C(/var/cache/rdma.ofed/firmware), and downloaded once.
    type: raw
  versions:
    description:
      - The firmware versions, as a mapping of PSIDs to versions. An image of another version is an error.
      - The image of a card that has the version in its flash is neither searched nor downloaded.
      - A card that has another version and no image of the declared one is an error.
    type: dict
  missing_image:
    description:
      - Whether a selected card without an image is an error (V(fail)) or left as it is (V(skip)), which RV(reasons) reports.
      - It is an error in any case where a version is declared for its PSID in O(versions) which it has not, or where a
        file in the directory can't be read, which may be its image.
    type: str
    choices: [fail, skip]
    default: fail
  allow_downgrade:
    description: Whether an image may be older than the firmware in the flash.
    type: bool
    default: false
  allow_another_psid_that_may_destroy_the_adapter:
    description:
      - Whether to burn an image that was made for another PSID, and to change the PSID of the card to it. The card keeps its
        GUIDs.
      - Firmware of another board can make a card permanently unusable. Cards with secure firmware refuse it, which is an
        error before anything is burned.
      - O(images) is the image itself, or maps the PSID that the card has now to it. The card is known by that PSID later
        on too, if it was made with it. Don't use the PSID in O(devices), because another run would not find the card.
      - The flash of each card is read for its PSID, which takes longer than a query of its firmware. Only this option does so.
        A new PSID of the same firmware version is not noticed by M(rdma.ofed.mlxfwreset), and needs a reboot.
    type: bool
    default: false
  burn_timeout:
    description: The time limit of one burn, in seconds. An interrupted burn can leave a card without firmware.
    type: int
    default: 3600
requirements:
  - mstflint, or flint of the MFT package, on the node
notes:
  - In check mode, on a node without either tool, nothing can be foreseen. This is said in RV(reasons).
"""

EXAMPLES = r"""
- name: See what the HCAs hold and run
  rdma.ofed.mstflint:
    state: query
  register: firmware

- name: Bring all HCAs to the newest image of their PSID
  rdma.ofed.mstflint:
    images: /srv/firmware

- name: Declare the firmware of every kind of card
  rdma.ofed.mstflint:
    images:
      MT_0000000008: /srv/firmware/fw-ConnectX5-rel-16_35_3006-MCX556A-ECA_Ax.bin
      MT_0000000223: /srv/firmware/fw-ConnectX6-rel-20_37_1014-MCX653105A-HDA_Ax.bin
    versions:
      MT_0000000008: "16.35.3006"
      MT_0000000223: "20.37.1014"

- name: Take an image from a server, unless the card has it already
  rdma.ofed.mstflint:
    images:
      MT_0000000008:
        url: https://firmware.example.org/fw-ConnectX5-rel-16_35_3006-MCX556A-ECA_Ax.bin
        checksum: "sha256:{{ connectx5_firmware_sha256 }}"
    versions:
      MT_0000000008: "16.35.3006"

- name: Go back to an older firmware on one card
  rdma.ofed.mstflint:
    devices:
      - pci: "0000:03:00.0"
    images: /srv/firmware/fw-ConnectX5-rel-16_28_1002-MCX556A-ECA_Ax.bin
    allow_downgrade: true

- name: Turn a card of a system vendor into one of the maker, whatever this does to it
  rdma.ofed.mstflint:
    devices:
      - pci: "0000:03:00.0"
    images: /srv/firmware/fw-ConnectX5-rel-16_35_3006-MCX556A-ECA_Ax.bin
    allow_another_psid_that_may_destroy_the_adapter: true
"""

RETURN = r"""
unread:
  description: The adapters that could not be queried.
  returned: where there are any
  type: list
  elements: dict
  contains:
    pci:
      description: The first function.
      type: str
    why:
      description: What the tool said.
      type: str
unburned:
  description:
    - The adapters whose burn failed. All others were burned before the module failed.
  returned: when a burn failed
  type: list
  elements: dict
  contains:
    pci:
      description: The first function.
      type: str
    why:
      description: What the tool said, and the next step.
      type: str
    half_written:
      description:
        - Whether the tool had begun to write. Such a card must not be reset, nor its node rebooted, before it is burned again.
        - Name the others in O(rdma.ofed.mlxfwreset#module:adapters) to reset those alone.
      type: bool
changes:
  description: What was burned, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["adapter 0000:03:00.0 (MT_0000000008) firmware: 16.35.2000 -> 16.35.3006"]
pending:
  description:
    - Firmware that is in the flash and does not run yet, and what activates it.
    - Each entry has the keys C(kind), C(subject) and C(aspect), C(before) and C(after), C(needs), and C(why), a list of texts for people.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: firmware
      subject: "0000:03:00.0"
      aspect: running_version
      before: 16.35.2000
      after: 16.35.3006
      needs: device_reset
      why: []
reboot_required:
  description: Whether only a reboot activates what is pending. A firmware reset of the card does, so it is always V(false).
  returned: success
  type: bool
reasons:
  description: What an administrator should know of or do later.
  returned: success
  type: list
  elements: str
adapters:
  description: The selected cards as they are now; in check mode as they would be.
  returned: success
  type: list
  elements: dict
  contains:
    pci:
      description: The first PCI function.
      type: str
    functions:
      description: All PCI functions of the card.
      type: list
      elements: str
    rdma:
      description: The RDMA devices on them.
      type: list
      elements: str
    psid:
      description:
        - The PSID in the flash. Firmware that controls updates reports the one that it runs, unless
          O(allow_another_psid_that_may_destroy_the_adapter=true) has the flash read.
      type: str
    original_psid:
      description: The PSID that the card was made with, where the tool reports it, otherwise the same as RV(adapters[].psid).
      type: str
    part_number:
      description: The part number, where the firmware tells it.
      type: str
    description:
      description: The description of the card, where the firmware tells it.
      type: str
    image_type:
      description: The format of its firmware.
      type: str
    burned:
      description: The version in the flash.
      type: str
    running:
      description: The version that runs.
      type: str
    activated_by:
      description: What makes the burned version run. V(device_reset) (which a reboot is too), or empty if it runs.
      type: str
    release_date:
      description: Of the version in the flash, as day, month and year.
      type: str
    security:
      description: The security attributes, such as V(secure-fw).
      type: list
      elements: str
    firmware_checks_images:
      description: Whether the card's own firmware checks and writes images.
      type: bool
    roms:
      description: The expansion ROMs.
      type: list
      elements: str
    base_guid:
      description: The first GUID, in hexadecimal digits.
      type: str
    base_mac:
      description: The first MAC address, in hexadecimal digits.
      type: str
    image:
      description: The image that was picked, by path or URL. Empty for none, and where none had to be looked for.
      type: str
    image_version:
      description: Its version.
      type: str
  sample:
    - pci: "0000:03:00.0"
      functions: ["0000:03:00.0", "0000:03:00.1"]
      rdma: [mlx5_0]
      psid: MT_0000000008
      original_psid: MT_0000000008
      part_number: MCX556A-ECA_Ax
      description: ConnectX-5 VPI adapter card
      image_type: FS4
      burned: 16.35.3006
      running: 16.35.2000
      activated_by: device_reset
      release_date: 15.5.2023
      security: []
      firmware_checks_images: true
      roms: ["type=PXE version=3.6.804 cpu=AMD64"]
      base_guid: 0c42a10300000010
      base_mac: 0c42a1000010
      image: /srv/firmware/fw-ConnectX5-rel-16_35_3006-MCX556A-ECA_Ax.bin
      image_version: 16.35.3006
burned:
  description: The cards that were burned before a failure.
  returned: a burn failed
  type: list
  elements: str
not_burned:
  description: The cards that were not, the failed one first.
  returned: a burn failed
  type: list
  elements: str
"""

from ..module_utils._firmware._image._converge import converge
from ..module_utils._host._answer import answer
from ..module_utils._schema._mstflint import OPTIONS


def main() -> None:
    answer(OPTIONS, converge, root=True, required_if=[("state", "present", ["images", "versions"], True)])


if __name__ == "__main__":
    main()
