# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Installed packages in the one look at a node. Pure."""

from __future__ import annotations

from .._concern import Concern, Discovery, Variables

READ = ("ofed_extra_packages",)


def hints(variables: Variables) -> dict[str, list[str]]:
    """For the look: the `names` of packages that a host declares, besides those that the collection knows. Malformed values are left to the validation."""
    names = variables.get(READ[0])
    return {"names": [name for name in names if isinstance(name, str)] if isinstance(names, list) else []}


CONCERN = Concern("packages", reads=READ, hints=lambda subject: hints(subject.variables), discovery=Discovery(hints={"names": ["doca-*"]}))
