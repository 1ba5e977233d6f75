# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The settings of a subnet manager that ours replaces: which of them would be lost, and which are kept. Pure.

The fabric has these settings now, from an administrator's file or from a command line. Declarations in the inventory replace them. All
others are named, and the run is refused until each one is declared, given up by name, or adopted. Adopted settings, and the keys that
the inventory declared, are recorded on the host. Later runs treat that record as a predecessor, so they also name what the inventory
has lost since.
"""

from __future__ import annotations

import typing as t

from .._errors import Refused
from ._cmdline import UNKNOWN
from ._conf import ADOPTED, CONF, DECLARED, same, values
from ._found import Found, Predecessor
from ._options import HIDDEN, looks_secret, parse_template, problems, variable_of
from ._partitions._entry import DEFAULT_PKEY
from ._partitions._file import PREFIX, WITHOUT, Rule, names_rule, parse_partitions
from ._places import ADOPTED_PARTITIONS, FILES, PARTITIONS, file_path
from ._unit import MASTER_PRIORITY, Instance

if t.TYPE_CHECKING:
    from ._wanted import Wanted

# Keys that the role sets from the inventory, or that concern the host and not the fabric.
_OWN_TEXT = """
guid sm_priority log_file log_max_size force_log_flush accum_log_file dump_files_dir daemon partition_config_file node_name_map_name config
"""
OWN = frozenset((*_OWN_TEXT.split(), MASTER_PRIORITY))
# Keys that none of our instances may have: RESERVED in _input.py says why.
NEVER = frozenset(("ignore_other_sm", "sm_inactive", UNKNOWN))


# Keys that a variable of another name declares.
_VARIABLES: t.Mapping[str, str] = {
    "subnet_prefix": "the subnet_prefix in opensm_fabrics",
    "root_guid_file": "opensm_root_guids",
    "qos_policy_file": "opensm_qos_policy",
}


# The source of our own settings, for messages.
BEFORE = "declared in an earlier run"


class Setting(t.NamedTuple):
    """One setting that the fabric has now and that nothing declares."""

    name: str
    """A key of opensm.conf, `partition NAME`, or `partition NAME FLAG`, where a member keyword counts as a flag. The setting is given up by this name."""
    value: str
    source: str
    """The file or process that it comes from."""
    adoptable: bool = True

    @property
    def shown(self) -> str:
        return HIDDEN if looks_secret(self.name) else self.value

    def words(self) -> str:
        return "%s: %s (%s)" % (self.name, self.shown, self.source) if self.value != HIDDEN else "%s (%s)" % (self.name, self.source)

    def variable(self) -> str:
        """The variable that declares it."""
        if self.name.startswith(PREFIX):
            return "opensm_partitions"
        return _VARIABLES.get(self.name) or variable_of(self.name)


def _keys(predecessor: Predecessor, instance: Instance | None, declared: t.Collection[str]) -> list[Setting]:
    """The keys that are not declared and differ from what the instance will have anyway."""
    ours = values("".join("%s %s\n" % pair for pair in instance.values().items())) if instance is not None else {}
    return [
        Setting(key, ", ".join(own), predecessor.source, key not in NEVER)
        for key, own in predecessor.keys.items()
        if key not in OWN and key not in declared and not same(own, ours.get(key, ()))
    ]


def _words_of(rule: Rule) -> str:
    flags = ["%s=%s" % (flag, value) if value else flag for flag, value in rule.special.items()]
    members = "1 member" if rule.size == 1 else "%d members" % rule.size
    lost = "; opensm drops %s: behind mgid= on one line, they are flags of the group" % ", ".join(rule.lost) if rule.lost else ""
    return ", ".join([*(["0x%04x" % rule.pkey] if rule.pkey else []), *flags, members]) + lost


def _partitions(predecessor: Predecessor, declared: str) -> list[tuple[Rule, Setting]]:
    """Partition rules that are not declared, and flags and keyword members that the declared rules lack.

    A default partition with all ports as full members is no setting: opensm does that on its own. Its broadcast group counts,
    because with a file opensm creates the group only where the file says so.
    """
    kept = {rule.identity: rule for rule in parse_partitions(declared)}
    lost = []
    text = predecessor.effective_partitions
    source = predecessor.partitions_source if text else predecessor.source
    if predecessor.ours:
        # The default partition, and details of a partition that stays, follow the present inventory.
        gone = [rule for rule in parse_partitions(text) if rule.identity not in kept and rule.pkey != DEFAULT_PKEY]
        return [(rule, Setting(PREFIX + rule.name, _words_of(rule), source)) for rule in gone]
    for rule in parse_partitions(text or (WITHOUT if predecessor.runs else "")):
        own = kept.get(rule.identity)
        as_without = rule.pkey == DEFAULT_PKEY and rule.open and not rule.special and not declared
        if own is None and not as_without and text:
            lost.append((rule, Setting(PREFIX + rule.name, _words_of(rule), source)))
        if own is not None:
            flags = {"ipoib": "yes"} if rule.ipoib and not own.ipoib else {}
            flags.update({flag: value for flag, value in rule.special.items() if flag not in own.flags})
            flags.update(own.demotes(rule) if text else {})
            lost += [(rule, Setting("%s%s %s" % (PREFIX, rule.name, flag), value, source, False)) for flag, value in flags.items()]
    return lost


class Legacy(t.NamedTuple):
    """What predecessors leave that nothing declares or gives up."""

    settings: tuple[Setting, ...] = ()
    keys: t.Mapping[str, tuple[str, ...]] = {}
    """The keys that can be adopted, with their values."""
    partitions: str = ""
    """The statements about partitions that can be adopted."""


def legacy(predecessors: t.Sequence[Predecessor], wanted: Wanted, *, instance: Instance | None) -> Legacy:
    """The settings that the successor would lack. `instance`: the successor; None where none runs on this host."""
    lost: dict[str, Setting] = {}
    keys: dict[str, tuple[str, ...]] = {}
    texts: dict[str, str] = {}
    declared = instance.partitions if instance is not None else wanted.partitions
    for predecessor in predecessors:
        for setting in _keys(predecessor, instance, wanted.declared):
            if setting.name not in wanted.give_up:
                lost[setting.name] = setting
                keys.update({setting.name: predecessor.keys[setting.name]} if setting.adoptable else {})
        for rule, setting in _partitions(predecessor, declared):
            if setting.name not in wanted.give_up and not names_rule(wanted.give_up, rule):
                lost[setting.name] = setting
                texts.update({setting.name: rule.text} if setting.adoptable else {})
        if texts and not declared:
            # Without a rule of its own, the default partition would have limited members only.
            rules = [rule for rule in parse_partitions(predecessor.effective_partitions) if not names_rule(wanted.give_up, rule)]
            texts = {**{PREFIX + rule.name: rule.text for rule in rules}, **texts}
    return Legacy(tuple(lost.values()), dict(sorted(keys.items())), "".join(texts.values()))


def _written_down(found: Found, fabric: str, *, declared: bool) -> list[Predecessor]:
    """The records of earlier runs for a fabric: what they adopted and, if `declared`, what the inventory declared for the last run."""
    paths = {name: file_path(fabric, name) for name in FILES}
    texts = {name: found.files.get(path, "") for name, path in paths.items()}
    conf, adopted, records = texts[CONF], texts[ADOPTED], []
    # A look for the controller holds the names of keys, and the partitions. Where opensm.conf is missing, there is nothing to lose.
    now = values(conf) if conf not in ("", HIDDEN) else {}
    names = [key for key in texts[DECLARED].splitlines() if not key.startswith("#")]
    keys = {key: now.get(key, (HIDDEN,)) for key in names if conf and (conf == HIDDEN or key in now)}
    if declared and (keys or texts[PARTITIONS]):
        records.append(Predecessor(BEFORE, keys, texts[PARTITIONS], BEFORE, runs=False, ours=True))
    if adopted or texts[ADOPTED_PARTITIONS]:
        keys = values(adopted) if adopted != HIDDEN else {}
        records.append(Predecessor(paths[ADOPTED], keys, texts[ADOPTED_PARTITIONS], paths[ADOPTED_PARTITIONS], runs=False))
    return records


def dropped_files(found: Found) -> list[str]:
    """The partitions files of foreign subnet managers that opensm ignores because of errors, in words."""
    words = "opensm does not accept %s (%s): the fabric has only the default partition, and nothing of that file is kept"
    others = (predecessor for predecessor in found.predecessors if predecessor.refusal and not predecessor.ours)
    return list(dict.fromkeys(words % (predecessor.partitions_source, predecessor.refusal) for predecessor in others))


def fit(instance: Instance, template: str) -> tuple[Instance, dict[str, str]]:
    """The instance with the adopted keys that the installed opensm accepts, and the other keys with their values, without secrets."""
    options = parse_template(template)
    wrong = [key for key, value in instance.adopted_values.items() if template and problems({key: value}, options)]
    shown = {key: Setting(key, ", ".join(instance.adopted[key]), "").shown for key in wrong}
    return instance._replace(adopted={key: own for key, own in instance.adopted.items() if key not in wrong}), shown


def _require_none(settings: t.Sequence[Setting], *, adopt: bool, here: bool) -> None:
    """Raise Refused for settings that would be lost."""
    if not settings:
        return
    shown = ", ".join("'%s'" % setting.name if " " in setting.name else setting.name for setting in settings)
    declare = ", ".join(dict.fromkeys(setting.variable() for setting in settings if setting.name not in NEVER))
    keep = ""
    if not here:
        keep = ". opensm_adopt can't keep them: the designated host is another one"
    elif adopt:
        keep = ". opensm_adopt can't keep them"
    elif any(setting.adoptable for setting in settings):
        keep = ", or keep them with opensm_adopt: true"
    raise Refused(
        "the fabric has settings of the subnet manager on this host, and the inventory does not declare them: %s. "
        "They would be lost. Nothing was changed here. Next: declare them%s, or discard them with opensm_give_up: [%s]%s"
        % ("; ".join(setting.words() for setting in settings), " (%s)" % declare if declare else "", shown, keep),
        undeclared=[{"name": setting.name, "value": setting.shown, "source": setting.source} for setting in settings],
    )


def inherit(wanted: Wanted, found: Found) -> Wanted:
    """The wanted state with the adopted settings. Raises Refused for settings that nothing declares, gives up or adopts.

    The instances of `wanted` are bound to their ports.
    """
    instances = []
    refused: list[Setting] = []
    guids = {instance.guid for instance in wanted.instances}
    loose = [predecessor for predecessor in found.predecessors if predecessor.guid not in guids]
    for position, instance in enumerate(wanted.instances):
        # A predecessor that is bound to no known port may have managed the first fabric.
        own = _written_down(found, instance.fabric, declared=not wanted.allow_removal)
        own += [predecessor for predecessor in loose if position == 0 and predecessor.guid not in instance.known.elsewhere]
        own += [predecessor for predecessor in found.predecessors if predecessor.guid == instance.guid]
        left = legacy(own, wanted, instance=instance)
        if wanted.adopt:
            # Settings that the role itself sets come from the declaration alone.
            instance = instance._replace(adopted=left.keys, adopted_partitions=left.partitions)
        refused += [setting for setting in left.settings if not (wanted.adopt and setting.adoptable)]
        instances.append(instance)
    _require_none(list({setting.name: setting for setting in refused}.values()), adopt=wanted.adopt, here=True)
    ours = {instance.fabric for instance in wanted.instances}
    others = [record for fabric in found.fabrics if fabric not in ours for record in _written_down(found, fabric, declared=not wanted.allow_removal)]
    # Without an instance here, only a running manager is replaced. The manager of another fabric is compared with that fabric's declarations.
    served = [not wanted.instances or predecessor.guid in wanted.instances[0].known.elsewhere for predecessor in loose]
    elsewhere = [*others, *(predecessor for predecessor, other in zip(loose, served) if predecessor.runs and other)]
    _require_none(legacy(elsewhere, wanted, instance=None).settings, adopt=wanted.adopt, here=False)
    return wanted._replace(instances=tuple(instances))
