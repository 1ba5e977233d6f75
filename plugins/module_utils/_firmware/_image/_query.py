# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Query the firmware of one adapter with mstflint or flint."""

from __future__ import annotations

import typing as t

from ..._errors import CommandFailed
from ..._tools import _flint as flint

if t.TYPE_CHECKING:
    from ..._host._run import Output, Runner


def ask(run: Runner, argv: t.Sequence[str], timeout: float) -> tuple[Output, str]:
    """Run a command. Returns the output, and both streams as one text, since errors can be on either."""
    output = run(argv, ok=None, timeout=timeout)
    return output, output.stdout + output.stderr


def _query(run: Runner, argv: t.Sequence[str], pci: str) -> flint.Query:
    output, text = ask(run, argv, flint.QUERY_TIMEOUT)
    if output.rc:
        raise CommandFailed("the adapter at %s can't be queried: %s" % (pci, flint.error_of(text)), rc=output.rc, stdout=text)
    return flint.parse_query(text)


def query_adapter(run: Runner, tool: str, pci: str, *, psid_in_flash: bool = False) -> flint.Query:
    """Query an adapter.

    Firmware that controls updates reports the PSID that it runs, even if the PSID of another board was burned and waits for a
    reset. With `psid_in_flash` the flash itself is read, too. Secure firmware forbids that, and also forbids changes of the PSID.
    """
    found = _query(run, flint.query_device(tool, pci), pci)
    if not psid_in_flash or not flint.firmware_checks(found) or flint.SECURE in found.security:
        return found
    stored = _query(run, flint.query_flash(tool, pci), pci)
    return found._replace(
        psid=stored.psid,
        running_psid=found.psid,
        original_psid=stored.original_psid,
        version=stored.version,
        release_date=stored.release_date,
    )
