# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Generates everything that depends on the declaration of a variable or module option, or reports what is out of date.

Role variables are declared in `roles/ROLE/meta/argument_specs.yml`, variables that only playbooks read in `meta/argument_specs.yml`, module options in the
modules' documentation. The tasks of a role show which option gets which variable. This program generates the tables in `_schema`, missing documentation of
options that a role passes on, defaults, the tables in the role READMEs, docs/variables.md and docs/modules.md.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys
import textwrap
import typing as t

import release_notes
from common import ROOT, SetupError, main
from schema_text import inline, module_entry, modules_page, paragraphs, parse, python, reference, table

Option = t.Dict[str, t.Any]
Options = t.Dict[str, Option]

SITE = "site"
_MADE = "Made by `make schema` from"
HEADER = (
    """\
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# %s %%s. Edit there.

from __future__ import annotations

import typing as t
"""
    % _MADE
)
RECIPE = """\
A variable takes three edits:
  1. roles/ROLE/meta/argument_specs.yml: its type, default, choices and meaning
  2. roles/ROLE/tasks: the option of a module that gets it
  3. the code that reads this option
`make schema` writes the rest."""
# A single variable, with or without a filter for "not set", or with another value under a condition.
_PASSED = re.compile(r"^\{\{ (?P<name>[a-z]\w+)(?P<rest> \| default\((?:'', true\) or omit|omit(?:, true)?\))| if .*)? \}\}$")
# Values of undeclared variables without a default, by type.
_EMPTY: t.Mapping[str, t.Any] = {"bool": False, "int": 0, "float": 0, "str": "", "path": "", "raw": "", "list": [], "dict": {}}
# A role variable without a declared default has a default built from other variables.
_ALL_DEFAULTS = """
%s

_TABLES = (
%s
)
_EMPTY: t.Mapping[str, t.Any] = %s
DEFAULTS: t.Mapping[str, t.Any] = {
    name: option.get("default", _EMPTY.get(option["type"])) for table in _TABLES for name, option in table.items() if "default" in option or table is site
}
"""
_MARKS = ("<!-- variables: made by `make schema` -->\n", "<!-- end of variables -->\n")


class Binding(t.NamedTuple):
    """A task that passes a variable to a module option."""

    role: str
    """Role that declares the variable."""
    variable: str
    module: str
    option: str
    whole: bool
    """Whether the option gets the variable unconditionally."""


def load(path: pathlib.Path) -> t.Any:
    return parse(path.read_text(encoding="utf-8")) if path.is_file() else None


class Tree:
    """The declarations in a checkout and the files generated from them."""

    def __init__(self, root: pathlib.Path = ROOT) -> None:
        self.root = root
        self.wrong: list[str] = []
        self.made: dict[pathlib.Path, str] = {}
        self._documented: dict[str, tuple[str, Options]] = {}
        self.roles = sorted(path.parts[-3] for path in root.glob("roles/*/meta/argument_specs.yml"))
        self.declared: dict[str, Options] = {role: self._options(root / "roles" / role) for role in self.roles}
        self.declared[SITE] = self._site()
        self.modules = sorted(path.stem for path in (root / "plugins/modules").glob("*.py"))
        self.bindings = [binding for role in self.roles for binding in self._bindings(role)]

    def _options(self, folder: pathlib.Path) -> Options:
        entries = (load(folder / "meta/argument_specs.yml") or {}).get("argument_specs", {})
        return {name: option for entry in entries.values() for name, option in (entry.get("options") or {}).items()}

    def _site(self) -> Options:
        """Return `fabric` and `rdma_*` of all roles, and the variables that only playbooks read."""
        found: Options = {}
        for role in self.roles:
            for name, option in self.declared[role].items():
                if name.startswith(role + "_"):
                    continue
                if _shape(found.setdefault(name, option)) != _shape(option):
                    self.wrong.append("%s is declared in roles/%s/meta/argument_specs.yml in another way than elsewhere" % (name, role))
        return dict(sorted({**found, **self._options(self.root)}.items()))

    def own(self, owner: str) -> Options:
        """Return the variables with the prefix of a role, or all site variables."""
        if owner == SITE:
            return self.declared[SITE]
        return {name: option for name, option in self.declared[owner].items() if name.startswith(owner + "_")}

    def _bindings(self, role: str) -> t.Iterator[Binding]:
        for path in sorted((self.root / "roles" / role / "tasks").glob("*.yml")):
            for module, option, value in _calls(load(path)):
                passed = _PASSED.match(value) if isinstance(value, str) else None
                if passed is None:
                    continue
                name, owners = passed["name"], [role, *self.roles]
                owner = next((owner for owner in owners if name in self.declared[owner]), None)
                if owner:
                    yield Binding(owner, name, module, option, not (passed["rest"] or "").startswith(" if"))
                elif name.startswith(tuple(owner + "_" for owner in owners)):
                    self.wrong.append("%s is in %s, but not declared. %s" % (name, path.relative_to(self.root), RECIPE))

    def text(self, path: pathlib.Path) -> str:
        """Return the current text of a file, or the text generated by an earlier step."""
        return self.made.get(path) or (path.read_text(encoding="utf-8") if path.is_file() else "")

    def documentation(self, module: str) -> Options:
        """Return the documented options, including those of fragments."""
        source = self.text(self.root / "plugins/modules" / (module + ".py"))
        if self._documented.get(module, ("",))[0] != source:
            self._documented[module] = (source, self._parsed(source))
        return self._documented[module][1]

    def _parsed(self, source: str) -> Options:
        found = parse(_documentation(source))
        options: Options = found.get("options") or {}
        for fragment in found.get("extends_documentation_fragment", ()):
            for name, entry in self._fragment(fragment).items():
                options[name] = {**entry, **options.get(name, {})}
        return options

    def _fragment(self, name: str) -> Options:
        _namespace, _collection, stem, *section = name.split(".")
        scope: dict[str, t.Any] = {}
        exec((self.root / "plugins/doc_fragments" / (stem + ".py")).read_text(encoding="utf-8"), scope)
        text = getattr(scope["ModuleDocFragment"], (section[0] if section else "documentation").upper())
        options: Options = (parse(text) or {}).get("options") or {}
        return options

    def follow(self) -> None:
        """Fill `made` with the text of each file that follows from the declarations, and `wrong` with contradictions."""
        for binding in self.bindings:
            self._judge(binding)
        for role in self.roles:
            self._defaults(role)
            self._readme(role)
        read = self._read()
        unread = (name for owner in [*self.roles, SITE] for name in self.own(owner) if name not in read)
        self.wrong.extend("nothing reads %s. %s" % (name, RECIPE) for name in unread)
        for name in sorted({*self.roles, *self.modules, SITE}):
            self._table(name)
        self._all_defaults()
        documented = {name: parse(_documentation(self.text(self.root / "plugins/modules" / (name + ".py")))) for name in self.modules}
        self.made[self.root / "docs/modules.md"] = modules_page(documented)
        self.made[self.root / "docs/variables.md"] = reference({owner: self.own(owner) for owner in self.declared}, self._readers())

    def _judge(self, binding: Binding) -> None:
        """Check that an option has the type and the choices of its variable."""
        path = self.root / "plugins/modules" / (binding.module + ".py")
        variable = self.declared[binding.role][binding.variable]
        names = {other.variable: other.option for other in self.bindings if other.role == binding.role and other.module == binding.module}
        found = self.documentation(binding.module).get(binding.option)
        where = "plugins/modules/%s.py: option %s" % (binding.module, binding.option)
        if found and found["type"] != variable["type"]:
            self.wrong.append("%s is of type %s, but %s of %s" % (where, found["type"], binding.variable, variable["type"]))
        mine, theirs = set((found or {}).get("choices", ())), set(variable.get("choices", ()))
        if not binding.whole and mine - theirs:
            self.wrong.append("%s has the choices %s, but %s has %s" % (where, sorted(mine), binding.variable, sorted(theirs)))
        if found is None or "options" in variable or (binding.whole and mine != theirs):
            kept = found and {**found, "choices": variable.get("choices") if binding.whole else found.get("choices")}
            entry = module_entry(binding.option, variable, names, kept)
            # Documentation in a fragment stays there.
            if found is None or _texts(parse(entry)[binding.option]) != _texts(found):
                self.made[path] = _with_option(self.text(path), binding.option, entry)

    def _defaults(self, role: str) -> None:
        path = self.root / "roles" / role / "defaults/main.yml"
        defaults = load(path) or {}
        declared = self.own(role)
        for name in defaults:
            if name not in declared:
                self.wrong.append("%s is in roles/%s/defaults/main.yml, but not declared. %s" % (name, role, RECIPE))
        missing = {name: option["default"] for name, option in declared.items() if "default" in option and name not in defaults}
        stale = [name for name, option in declared.items() if "default" in option and name in defaults and option["default"] != defaults[name]]
        self.wrong.extend("%s has another default in roles/%s/defaults/main.yml than is declared" % (name, role) for name in stale)
        if missing:
            self.made[path] = (self.text(path) or "---\n") + "".join("%s: %s\n" % (name, inline(value)) for name, value in missing.items())

    def _readme(self, role: str) -> None:
        path = self.root / "roles" / role / "README.md"
        text = self.text(path)
        begin, end = (text.find(mark) for mark in _MARKS)
        if begin < 0 or end < begin:
            self.wrong.append("roles/%s/README.md has no table between %s and %s; write it as those of the others" % (role, *map(str.strip, _MARKS)))
            return
        self.made[path] = text[: begin + len(_MARKS[0])] + "\n" + table(self.declared[role]) + "\n" + text[end:]

    def _readers(self) -> dict[str, list[str]]:
        """Return the playbooks and roles that read each site variable, found by its name in their text."""
        folder = self.root / "playbooks"
        places = {}
        for path in sorted(folder.glob("*.yml")):
            text = path.read_text(encoding="utf-8")
            shared = re.findall(r"(?:import|include)_tasks: (\S+)", text)
            places["`%s.yml`" % path.stem] = "\n".join([text, *((folder / name).read_text(encoding="utf-8") for name in shared)])
        for role in self.roles:
            files = [path for path in sorted((self.root / "roles" / role).rglob("*.yml")) if path.parts[-2] != "meta"]
            text = "\n".join(path.read_text(encoding="utf-8") for path in files)
            # Action plugins of a role's tasks also read host variables.
            plugins = [self.root / "plugins/action" / (name + ".py") for name in set(re.findall(r"rdma\.ofed\.(\w+):", text))]
            named = [name for path in plugins if path.is_file() for name in re.findall(r'"(rdma_\w+)"', path.read_text(encoding="utf-8"))]
            places["`%s`" % role] = "\n".join([text, *named])
        words = {place: _words(text) for place, text in places.items()}
        return {name: [place for place, read in words.items() if name in read] for name in self.declared[SITE]}

    def _read(self) -> set[str]:
        """Return the words of all files that may read a variable."""
        return {
            word
            for folder in ("roles", "playbooks", "plugins")
            for path in self.root.glob(folder + "/**/*.[py]*")
            if path.suffix in (".py", ".yml") and path.name not in ("argument_specs.yml",) and "defaults" not in path.parts and "_schema" not in path.parts
            for word in _words(path.read_text(encoding="utf-8"))
        }

    def _table(self, name: str) -> None:
        sources, text = [], ""
        if name in self.declared:
            sources.append("meta/argument_specs.yml" if name == SITE else "roles/%s/meta/argument_specs.yml" % name)
            variables = {key: _shape(option) for key, option in self.own(name).items()}
            text += "\nVARIABLES: t.Mapping[str, t.Mapping[str, t.Any]] = %s\n" % python(variables)
        if name in self.modules:
            sources.append("plugins/modules/%s.py" % name)
            secret = {binding.option: self.declared[binding.role][binding.variable] for binding in self.bindings if binding.module == name}
            options = {option: _spec(entry, secret.get(option, {})) for option, entry in self.documentation(name).items()}
            text += "\nOPTIONS: dict[str, t.Any] = %s\n" % python(options)
        self.made[self.root / "plugins/module_utils/_schema" / ("_%s.py" % name)] = HEADER % " and ".join(sources) + text

    def _all_defaults(self) -> None:
        """Generate the table of defaults for the lookup `declared`."""
        tables = [name for name in self.roles if self.own(name)]
        imports = ["from ._%s import VARIABLES as %s" % (name, name) for name in (*tables, "site")]
        text = _ALL_DEFAULTS % ("\n".join(sorted(imports)), "\n".join("    %s," % name for name in (*tables, "site")), python(_EMPTY))
        self.made[self.root / "plugins/module_utils/_schema/_defaults.py"] = HEADER % "all argument_specs.yml" + text

    def stale(self) -> list[pathlib.Path]:
        """Return the files that are out of date, and generated tables without a declaration."""
        tables = self.root.glob("plugins/module_utils/_schema/_*.py")
        gone = {path for path in tables if path not in self.made and _MADE in path.read_text(encoding="utf-8")}
        return sorted({path for path, text in self.made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text} | gone)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _calls(tasks: t.Any) -> t.Iterator[tuple[str, str, t.Any]]:
    """Yield module, option and value of each call of a module of the collection, including those in blocks."""
    for task in tasks or ():
        for key in ("block", "rescue", "always"):
            yield from _calls(task.get(key))
        for key, arguments in task.items():
            if key.startswith("rdma.ofed.") and isinstance(arguments, dict):
                named = {option: "{{ %s }}" % name for option, name in arguments.get("from_variables", {}).items()}
                for option, value in {**named, **arguments}.items():
                    yield key.rpartition(".")[2], option, value


def _documentation(source: str) -> str:
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION":
            return str(ast.literal_eval(node.value))
    raise SetupError("a module has no DOCUMENTATION")


def _with_option(source: str, name: str, entry: str) -> str:
    """Return the source of a module with this documentation of an option. A new option is appended."""
    begin = source.index("\noptions:")
    end = re.compile(r"\n(?=[a-z\"])").search(source, begin + 1).start() + 1  # type: ignore[union-attr]
    block = source[begin:end].replace("options: {}", "options:")
    old = re.compile(r"^  %s:\n(?:(?: {4}.*)?\n)*" % name, re.MULTILINE)
    block = old.sub(lambda _match: entry, block) if old.search(block) else block + entry
    return source[:begin] + block + source[end:]


def _texts(option: t.Any) -> t.Any:
    """Return an option with each description as a list of paragraphs."""
    if not isinstance(option, dict):
        return option
    return {key: paragraphs(option) if key == "description" and not isinstance(value, dict) else _texts(value) for key, value in option.items()}


def _shape(option: Option) -> Option:
    """Return the parts of a variable that value checks need."""
    return {part: option[part] for part in ("type", "choices", "default") if part in option}


def _spec(entry: Option, variable: Option) -> Option:
    """Return an entry of an argument specification."""
    spec: Option = {key: entry[key] for key in ("type", "elements", "choices", "required", "default") if key in entry}
    if entry["type"] == "float" and "default" in entry:
        spec["default"] = float(entry["default"])
    if "no_log" in variable:
        spec["no_log"] = variable["no_log"]
    # Suboptions with `elements: raw` are documentation only: the module's own validation reports each problem with its path.
    if "suboptions" in entry and entry.get("elements") != "raw":
        # A P_Key is no secret, although its name looks like one to Ansible.
        spec["options"] = {name: _spec(option, {"no_log": False} if name == "pkey" else {}) for name, option in entry["suboptions"].items()}
    return spec


def check(write: bool = False, root: pathlib.Path = ROOT) -> list[str]:
    """Return everything that is wrong or out of date. With `write`, generated files are written."""
    tree = Tree(root)
    tree.follow()
    stale = tree.stale()
    if not write:
        return tree.wrong + ["%s is out of date: run `make schema`" % path.relative_to(root) for path in stale]
    for path in stale:
        if path in tree.made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(tree.made[path], encoding="utf-8")
        else:
            path.unlink()
    return tree.wrong


def schema() -> None:
    write = "--write" in sys.argv[1:]
    wrong = check(write) + release_notes.check(write)
    if wrong:
        raise SetupError("\n".join(textwrap.indent(line, "  ") for line in wrong).lstrip())


if __name__ == "__main__":
    main(schema)
