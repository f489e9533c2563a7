"""Names, types, defaults and choices of the keys that frameworks take, read from their sources without running them.

A source is a file of Python or YAML of one release. Read are dataclasses and pydantic models (with what they inherit, and
blocks inside them), the parameters of functions, `add_argument` calls of argparse, and YAML of defaults. What is no
literal, no constant of the same package and no member of an enum of it has no default here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator

UNKNOWN = object()

SCALARS = {
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "str": "string",
    "StrictInt": "integer",
    "StrictBool": "boolean",
    "StrictStr": "string",
    "PositiveInt": "integer",
    "NonNegativeInt": "integer",
    "conint": "integer",
    "confloat": "number",
    "Path": "string",
}
LISTS = {"list", "List", "tuple", "Tuple", "Sequence", "set", "Set", "Iterable"}
MAPS = {"dict", "Dict", "Mapping", "MutableMapping", "DictConfig", "DictDefault", "OrderedDict"}
WRAPPERS = {"Annotated", "Final", "ClassVar", "Required", "NotRequired", "SkipValidation"}
LOOSE = {"boolean", "integer", "number", "string", "array", "object"}


@dataclass
class Package:
    """Parsed modules of one release: classes, functions, and constants by their bare names."""

    modules: dict[str, ast.Module] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    functions: dict[tuple[str, str], ast.FunctionDef] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)

    def add(self, path: str, text: str) -> None:
        try:
            module = ast.parse(text)
        except SyntaxError:
            return
        self.modules[path] = module
        for node in module.body:
            self._note(path, node)

    def _note(self, path: str, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef):
            self.classes.setdefault(node.name, node)
        elif isinstance(node, ast.FunctionDef):
            self.functions[(path, node.name)] = node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.constants.setdefault(target.id, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            self.constants.setdefault(node.target.id, node.value)
        elif isinstance(node, (ast.If, ast.Try)):
            for inner in [*node.body, *node.orelse]:
                self._note(path, inner)

    # Values

    def value(self, node: ast.expr | None, depth: int = 0) -> Any:
        """A literal, a constant or an enum's member as JSON has it; UNKNOWN for all else."""
        if node is None or depth > 8:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, (str, int, float, bool, type(None))) else UNKNOWN
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            items = [self.value(item, depth + 1) for item in node.elts]
            return UNKNOWN if UNKNOWN in items else items
        if isinstance(node, ast.Dict):
            keys = [self.value(key, depth + 1) for key in node.keys]
            values = [self.value(item, depth + 1) for item in node.values]
            if UNKNOWN in keys or UNKNOWN in values or not all(isinstance(key, str) for key in keys):
                return UNKNOWN
            return dict(zip(keys, values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self.value(node.operand, depth + 1)
            if not isinstance(value, (int, float)):
                return UNKNOWN
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node, depth)
        if isinstance(node, ast.Name):
            return self.value(self.constants.get(node.id), depth + 1)
        if isinstance(node, ast.Attribute):
            if node.attr == "value":
                return self.value(node.value, depth + 1)
            if isinstance(node.value, ast.Name):
                members = self.members(node.value.id)
                if members is not None:
                    return members.get(node.attr, UNKNOWN)
                return self.value(self.constants.get(node.attr), depth + 1)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = node.func.id
            if called in {"pp_int", "int", "float", "str"} and node.args:
                return self.value(node.args[0], depth + 1)
            if called == "dict" and not node.args and not node.keywords:
                return {}
            if called == "list" and not node.args:
                return []
        return UNKNOWN

    def _arithmetic(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        if isinstance(left, str) and isinstance(right, str) and isinstance(node.op, ast.Add):
            return left + right
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            return UNKNOWN
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Pow) and abs(right) < 64:
            return left**right
        return UNKNOWN

    def members(self, name: str) -> dict[str, Any] | None:
        """Members of an enum of the package."""
        found = self.classes.get(name)
        if not found or not any("Enum" in ast.unparse(base) for base in found.bases):
            return None
        values: dict[str, Any] = {}
        for node in found.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                values[node.targets[0].id] = self.value(node.value)
        return values

    # Types

    def type_of(self, node: ast.expr | None) -> dict[str, Any]:
        """`type`, `values` and `nullable` of an annotation, and `block` where it is a class with fields."""
        if node is None:
            return {"type": "any"}
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return self.type_of(ast.parse(node.value, mode="eval").body)
            except SyntaxError:
                return {"type": "any"}
        if isinstance(node, ast.Constant) and node.value is None:
            return {"type": "null"}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._union(list(self._alternatives(node)))
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        return self._named(name)

    def _subscript(self, node: ast.Subscript) -> dict[str, Any]:
        name = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        inside = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Optional":
            return {**self.type_of(inside[0]), "nullable": True}
        if name == "Union":
            return self._union(inside)
        if name in WRAPPERS:
            return self.type_of(inside[0])
        if name == "Literal":
            values = [self.value(item) for item in inside]
            known = [value for value in values if value is not UNKNOWN and value is not None]
            kinds = {json_type(value) for value in known}
            found: dict[str, Any] = {"type": kinds.pop() if len(kinds) == 1 else "any", "values": known}
            return {**found, "nullable": True} if None in values else found
        if name in LISTS:
            return {"type": "array"}
        if name in MAPS:
            return {"type": "object"}
        return {"type": "any"}

    def _named(self, name: str) -> dict[str, Any]:
        if name in SCALARS:
            return {"type": SCALARS[name]}
        if name in LISTS:
            return {"type": "array"}
        if name in MAPS:
            return {"type": "object"}
        members = self.members(name)
        if members is not None:
            values = [value for value in members.values() if isinstance(value, (str, int))]
            return {"type": "string", "values": values} if values else {"type": "string"}
        if name in self.classes:
            return {"type": "object", "block": name}
        if name in self.constants:
            return self.type_of(self.constants[name])
        return {"type": "any"}

    def _alternatives(self, node: ast.expr) -> Iterator[ast.expr]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            yield from self._alternatives(node.left)
            yield from self._alternatives(node.right)
        else:
            yield node

    def _union(self, nodes: list[ast.expr]) -> dict[str, Any]:
        found = [self.type_of(node) for node in nodes]
        nullable = any(each["type"] == "null" or each.get("nullable") for each in found)
        rest = [each for each in found if each["type"] != "null"]
        kinds = {each["type"] for each in rest}
        blocks = [each["block"] for each in rest if "block" in each]
        merged: dict[str, Any]
        if len(rest) == 1:
            merged = dict(rest[0])
        elif kinds == {"integer", "number"}:
            merged = {"type": "number"}
        elif len(kinds) == 1 and all("values" in each for each in rest):
            merged = {"type": kinds.pop(), "values": [value for each in rest for value in each["values"]]}
        elif len(kinds) == 1 and kinds <= LOOSE:
            merged = {"type": kinds.pop()}
        else:
            merged = {"type": "any"}
        if blocks:
            merged["block"] = blocks[0]
        return {**merged, "nullable": True} if nullable else merged

    # Classes, functions, parsers

    def ancestry(self, name: str, seen: frozenset[str] = frozenset()) -> list[ast.ClassDef]:
        """A class after what it inherits, so that its own fields come last and win."""
        found = self.classes.get(name)
        if not found or name in seen:
            return []
        parents: list[ast.ClassDef] = []
        for base in reversed(found.bases):
            bare = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            parents += self.ancestry(bare, seen | {name})
        return [*parents, found]

    def fields(self, name: str, below: str = "", depth: int = 0) -> dict[str, dict[str, Any]]:
        """Keys of a dataclass or pydantic model by dotted path."""
        keys: dict[str, dict[str, Any]] = {}
        for owner in self.ancestry(name):
            for node in owner.body:
                if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                    continue
                own = node.target.id
                if own.startswith("_") or own == "model_config" or "ClassVar" in ast.unparse(node.annotation):
                    continue
                self._field(keys, own, node, below, depth)
        return keys

    def _field(
        self, keys: dict[str, dict[str, Any]], own: str, node: ast.AnnAssign, below: str, depth: int
    ) -> None:
        found = self.type_of(node.annotation)
        default, more, aliases = self._default(node)
        annotated = node.annotation
        if default is UNKNOWN and isinstance(annotated, ast.Subscript) and "Field(" in ast.unparse(annotated):
            default = None if found.get("nullable") and node.value is None else default
        block = found.pop("block", None)
        entry = {**found, **more}
        if default is not UNKNOWN:
            entry["default"] = default
        for name in {own, *aliases}:
            keys[f"{below}{name}"] = dict(entry)
            if block is not None and depth < 4:
                for path, inner in self.fields(block, f"{below}{name}.", depth + 1).items():
                    keys[path] = inner

    def _default(self, node: ast.AnnAssign) -> tuple[Any, dict[str, Any], set[str]]:
        value = node.value
        if not isinstance(value, ast.Call):
            return (self.value(value) if value is not None else UNKNOWN), {}, set()
        called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        if called not in {"field", "Field", "HfArg"}:
            return self.value(value), {}, set()
        default: Any = self.value(value.args[0]) if value.args else UNKNOWN
        if value.args and isinstance(value.args[0], ast.Constant) and value.args[0].value is Ellipsis:
            default = UNKNOWN
        more: dict[str, Any] = {}
        aliases: set[str] = set()
        for keyword in value.keywords:
            if keyword.arg == "default":
                default = self.value(keyword.value)
            elif keyword.arg == "default_factory":
                default = self._factory(keyword.value)
            elif keyword.arg == "alias":
                alias = self.value(keyword.value)
                if isinstance(alias, str):
                    aliases.add(alias)
            elif keyword.arg == "metadata" and isinstance(keyword.value, ast.Dict):
                for key, item in zip(keyword.value.keys, keyword.value.values):
                    if key is not None and self.value(key) == "choices":
                        choices = self.value(item)
                        if isinstance(choices, list):
                            more["values"] = choices
        return default, more, aliases

    def _factory(self, node: ast.expr) -> Any:
        name = getattr(node, "id", "")
        if name in {"list", "List"}:
            return []
        if name == "dict":
            return {}
        return self.value(node.body) if isinstance(node, ast.Lambda) else UNKNOWN

    def parameters(self, path: str, name: str) -> dict[str, dict[str, Any]]:
        """Keys of a function that is called with a config: `jsonargparse` takes its parameters."""
        found = self.functions.get((path, name))
        if not found:
            return {}
        keys: dict[str, dict[str, Any]] = {}
        given = found.args.args
        defaults: list[ast.expr | None] = [None] * (len(given) - len(found.args.defaults))
        defaults += found.args.defaults
        pairs = [*zip(given, defaults), *zip(found.args.kwonlyargs, found.args.kw_defaults)]
        for parameter, default in pairs:
            if parameter.arg in {"self", "cls"}:
                continue
            entry = self.type_of(parameter.annotation)
            block = entry.pop("block", None)
            if isinstance(default, ast.Call):
                # `train: TrainArgs = TrainArgs(micro_batch_size=1)`: the block's own defaults with these instead.
                block = block or getattr(default.func, "id", None)
            if block in self.classes:
                inner = self.fields(block, f"{parameter.arg}.")
                for keyword in default.keywords if isinstance(default, ast.Call) else []:
                    value = self.value(keyword.value)
                    if value is not UNKNOWN and f"{parameter.arg}.{keyword.arg}" in inner:
                        inner[f"{parameter.arg}.{keyword.arg}"]["default"] = value
                keys.update(inner)
            value = self.value(default)
            keys[parameter.arg] = entry if value is UNKNOWN else {**entry, "default": value}
        return keys

    def arguments(self, paths: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Options of `add_argument` calls, by their name without dashes, dashes inside as underscores."""
        keys: dict[str, dict[str, Any]] = {}
        for path in paths:
            module = self.modules.get(path)
            for node in ast.walk(module) if module else ():
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ArgumentGroupFactory":
                    keys.update(self._group(node, module))
                    continue
                if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "add_argument":
                    continue
                names = [self.value(name) for name in node.args]
                flags = [name for name in names if isinstance(name, str) and name.startswith("--")]
                if not flags:
                    continue
                entry = self._argument({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
                for flag in flags:
                    keys[flag.removeprefix("--").replace("-", "_")] = dict(entry)
        return keys

    def _group(self, call: ast.Call, module: ast.Module) -> dict[str, dict[str, Any]]:
        """Options that Megatron-LM makes of a dataclass (`megatron/training/argument_utils.py`, `ArgumentGroupFactory`)."""
        keys: dict[str, dict[str, Any]] = {}
        excluded: Any = []
        for keyword in call.keywords:
            if keyword.arg == "exclude":
                named = getattr(keyword.value, "id", None)
                lists = [
                    node.value
                    for node in ast.walk(module)
                    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == named
                ]
                excluded = self.value(lists[0] if named and lists else keyword.value)
        for owner in self.ancestry(getattr(call.args[0], "id", "") if call.args else ""):
            for node in owner.body:
                if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
                    continue
                if isinstance(excluded, list) and node.target.id in excluded:
                    continue
                found: dict[str, dict[str, Any]] = {}
                self._field(found, node.target.id, node, "", 4)
                entry = found[node.target.id]
                meta = self._argparse_meta(node)
                names = [name.removeprefix("--").replace("-", "_") for name in meta.get("arg_names", [])]
                if entry["type"] == "boolean" and entry.get("default") is True:
                    # A switch that takes something away: absent, it stays.
                    names = names or [f"no_{node.target.id}", f"disable_{node.target.id}"]
                    entry["default"] = False
                if "default" in meta:
                    entry["default"] = meta["default"]
                if "choices" in meta:
                    entry["values"] = meta["choices"]
                if "nargs" in meta:
                    entry["type"] = "array"
                for name in names or [node.target.id]:
                    keys[name] = dict(entry)
        return keys

    def _argparse_meta(self, node: ast.AnnAssign) -> dict[str, Any]:
        for keyword in node.value.keywords if isinstance(node.value, ast.Call) else []:
            if keyword.arg != "metadata" or not isinstance(keyword.value, ast.Dict):
                continue
            for key, value in zip(keyword.value.keys, keyword.value.values):
                if key is None or self.value(key) != "argparse_meta" or not isinstance(value, ast.Dict):
                    continue
                pairs = ((self.value(name), self.value(item)) for name, item in zip(value.keys, value.values) if name)
                return {name: item for name, item in pairs if item is not UNKNOWN}
        return {}

    def _argument(self, given: dict[str, ast.expr]) -> dict[str, Any]:
        action = self.value(given.get("action"))
        entry: dict[str, Any]
        if action in {"store_true", "store_false"}:
            return {"type": "boolean", "default": action == "store_false"}
        kind = getattr(given.get("type"), "id", "str")
        entry = {"type": SCALARS.get(kind, "boolean" if "bool" in kind else "any")}
        if "type" not in given:
            entry = {"type": "string"}
        if isinstance(given.get("action"), ast.Attribute):
            entry = {"type": "boolean"}
        if self.value(given.get("nargs")) in {"*", "+"}:
            entry = {"type": "array"}
        default = self.value(given["default"]) if "default" in given else None
        if default is not UNKNOWN:
            entry["default"] = default
        choices = self.value(given.get("choices"))
        if isinstance(choices, list):
            entry["values"] = [choice for choice in choices if choice is not None]
        return entry


def json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "string" if isinstance(value, str) else "any"


def of_yaml(tree: Any, below: str = "") -> dict[str, dict[str, Any]]:
    """Keys of a YAML file of defaults, by dotted path."""
    keys: dict[str, dict[str, Any]] = {}
    if not isinstance(tree, dict):
        return keys
    for name, value in tree.items():
        path = f"{below}{name}"
        if isinstance(value, dict):
            keys[path] = {"type": "object"}
            keys.update(of_yaml(value, f"{path}."))
        elif isinstance(value, list):
            keys[path] = {"type": "array", "default": value}
        elif value is None:
            keys[path] = {"type": "any", "default": None}
        elif isinstance(value, str) and "${" in value:
            keys[path] = {"type": "any"}
        else:
            keys[path] = {"type": json_type(value), "default": value}
    return keys
