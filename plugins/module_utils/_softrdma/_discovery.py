# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the software RDMA links of a host by declarations. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Discovery, Subject
from .._discovered import Left, Reading, Value
from .._facts._soft_links import Link, path_of
from .._foreign import rows_of
from .._record import read_row
from ._input import problems

_WHY = "the collection did not create it: declare it in soft_rdma_links, with its type and interface, to keep it at each boot"


def read(subject: Subject) -> Reading:
    """The declarations of one host: the links of the collection. Others show neither their type nor what creates them."""
    rows = [read_row(Link, row) for row in rows_of(subject.facts, "soft_links")]
    links = [{"name": link.name, "type": link.type, "netdev": link.netdev} for link in rows if link is not None]
    links = [link for link in links if not problems({"soft_rdma_links": [link]})]
    known = {link["name"] for link in links}
    soft = [str(row.get("name")) for row in rows_of(subject.facts, "hcas") if not row.get("pci") and row.get("name") not in known]
    source = ", ".join(path_of(link["name"]) for link in links)
    values: t.Sequence[Value] = [Value("soft_rdma_links", links, source)] if links else []
    return Reading(values, [Left("software RDMA device %s" % name, _WHY) for name in soft])


DISCOVERY = Discovery(read)
