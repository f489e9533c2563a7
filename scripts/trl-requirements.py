"""What releases of TRL take of transformers and Accelerate: what their metadata requires, and what their code still runs on.

    pip download --no-deps --dest TRL trl==0.12.2 trl==0.13.0 ...
    pip download --no-deps --dest TRANSFORMERS transformers==4.57.6 transformers==5.0.0 ...
    python scripts/trl-requirements.py TRL TRANSFORMERS

Reads the wheels without running them and writes `server/data/trl-requirements.json`, release by release: `Requires-Dist` of the two packages, and
by trainer the first of the releases of transformers that it does not run with: it lacks what the trainer's module imports whatever the case, an
argument that is given to transformers' own `Trainer`, or an attribute of models that something is put in; none where today's has all. Of
transformers one release a minor version is read, the last that is in the folder; names of the package itself are those of `imported-names.json`.
"""

import ast
import json
import re
import sys
from functools import cache
from pathlib import Path
from zipfile import ZipFile

OUT = Path(__file__).parent.parent / "server" / "data" / "trl-requirements.json"
NAMES = json.loads((OUT.parent / "imported-names.json").read_text())["transformers"]
GONE = {name: release for release, names in NAMES["until"].items() for name in names.split(" ")}


def numbers(release):
    return tuple(int(part) for part in re.findall(r"\d+", release))


def minor(release):
    """Names go with a minor version, of which the last patch is read."""
    return ".".join(release.split(".")[:2])


def wheels(folder, package):
    found = {path.name.split("-")[1]: path for path in Path(folder).glob(f"{package}-*.whl")}
    return {release: ZipFile(found[release]) for release in sorted(found, key=numbers)}


def last_of_minors(found):
    by_minor = {numbers(release)[:2]: release for release in found}
    return {release: found[release] for release in by_minor.values()}


@cache
def tree(wheel, path):
    try:
        return ast.parse(wheel.read(path).decode())
    except KeyError:
        return None


def file_of(wheel, module):
    path = module.replace(".", "/")
    return next((name for name in (f"{path}.py", f"{path}/__init__.py") if tree(wheel, name) is not None), None)


def statements(body):
    """What a module runs, whatever the case or not."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            for field in ("body", "orelse", "finalbody", "handlers"):
                for one in getattr(node, field, []):
                    yield from statements(one.body if isinstance(one, ast.ExceptHandler) else [one])


def absolute(node, path):
    """The module that an import names, from the file that it stands in."""
    if node.level == 0:
        return node.module or ""
    parts = path.removesuffix(".py").split("/")
    base = parts[: len(parts) - node.level]
    return ".".join([*base, *([node.module] if node.module else [])])


@cache
def names_of(wheel, module):
    """Names that a module of transformers has; `None` where it has no such module, and `"*"` among them where anything may be asked of it."""
    path = file_of(wheel, module)
    if path is None:
        return None
    names = set()
    for node in statements(tree(wheel, path).body):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add("*" if node.name == "__getattr__" else node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
            # A folder whose module is made of a structure has whatever lies in it.
            if any(isinstance(one, ast.Name) and one.id == "_LazyModule" for one in ast.walk(node)):
                names.add("*")
        elif isinstance(node, ast.Import):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names |= (names_of(wheel, absolute(node, path)) or set()) if alias.name == "*" else {alias.asname or alias.name}
        elif isinstance(node, ast.Expr) and any(isinstance(one, ast.Name) and one.id == "_LazyModule" for one in ast.walk(node)):
            names.add("*")
    return names


def has(wheel, module, name):
    names = names_of(wheel, module)
    if names is None:
        return False
    return name in names or "*" in names or file_of(wheel, f"{module}.{name}") is not None


@cache
def arguments_of_trainer(wheel):
    for node in ast.walk(tree(wheel, "transformers/trainer.py")):
        if isinstance(node, ast.ClassDef) and node.name == "Trainer":
            for made in node.body:
                if isinstance(made, ast.FunctionDef) and made.name == "__init__":
                    # An old name is taken by a decorator.
                    renamed = {one.value for decorator in made.decorator_list for one in ast.walk(decorator) if isinstance(one, ast.Constant)}
                    return {one.arg for one in [*made.args.args, *made.args.kwonlyargs]} | renamed
    return set()


def definer(wheel, module, name):
    """The module of TRL that an import leads to: that of the name in a folder whose own module makes them on demand."""
    path = file_of(wheel, module)
    if path is None or not path.endswith("__init__.py"):
        return path
    own = file_of(wheel, f"{module}.{name}")
    if own:
        return own
    for node in ast.walk(tree(wheel, path)):
        if isinstance(node, ast.ImportFrom) and node.level and any(alias.name == name for alias in node.names):
            return definer(wheel, absolute(node, path), name)
    return path


def taken(wheel, path, seen):
    """What a module of TRL imports of transformers, with all modules of TRL that it imports."""
    if path is None or path in seen:
        return set()
    seen.add(path)
    found = set()
    for node in tree(wheel, path).body:
        if not isinstance(node, ast.ImportFrom):
            continue
        module = absolute(node, path)
        for alias in node.names:
            if module.split(".")[0] == "transformers":
                found.add((module, alias.name))
            elif module.split(".")[0] == "trl":
                found |= taken(wheel, definer(wheel, module, alias.name), seen)
    return found


def given(node):
    """Arguments that a trainer gives to transformers' own."""
    if not any(isinstance(base, ast.Name) and base.id == "Trainer" for base in node.bases):
        return set()
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "__init__"]
    supers = [one for one in calls if isinstance(one.func.value, ast.Call) and getattr(one.func.value.func, "id", "") == "super"]
    return {keyword.arg for one in supers for keyword in one.keywords if keyword.arg}


def set_on_model(node):
    """Attributes of the model in which a trainer puts something whatever the case: the model has to have them."""
    made = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    targets = [target for one in (made.body if made else []) if isinstance(one, ast.Assign) for target in one.targets]
    taken_of = [target.value for target in targets if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute)]
    return {one.attr for one in taken_of if isinstance(one.value, ast.Name) and one.value.id == "model"}


@cache
def made_for_models(wheel):
    """Attributes that transformers gives to every model."""
    nodes = ast.walk(tree(wheel, "transformers/modeling_utils.py"))
    return {one.attr for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)}


def trainers(wheel):
    for path in wheel.namelist():
        if re.fullmatch(r"trl/(?:trainer|experimental/\w+)/\w+_trainer\.py", path):
            for node in tree(wheel, path).body:
                if isinstance(node, ast.ClassDef) and node.name.endswith("Trainer") and not node.name.startswith(("_", "Base")):
                    # A class of the same name in a folder of experiments is another.
                    yield node, path


def first_without(transformers, has_it):
    """The first release of those at hand that lacks what all before have; `None` where the newest has it, or none does."""
    releases = list(transformers)
    having = [at for at, release in enumerate(releases) if has_it(transformers[release])]
    return releases[having[-1] + 1] if having and having[-1] + 1 < len(releases) else None


@cache
def end_of(module, name):
    if module == "transformers":
        return GONE.get(name)
    return first_without(TRANSFORMERS, lambda wheel: has(wheel, module, name))


@cache
def end_of_argument(name):
    return first_without(TRANSFORMERS, lambda wheel: name in arguments_of_trainer(wheel))


@cache
def end_of_attribute(name):
    return first_without(TRANSFORMERS, lambda wheel: name in made_for_models(wheel))


def ends(wheel):
    """By trainer the first release of transformers that it does not run with, and what it lacks there."""
    found = {}
    for node, path in sorted(trainers(wheel), key=lambda one: "experimental" in one[1]):
        lacking = [(end_of(module, name), f"{module}.{name}") for module, name in taken(wheel, path, set())]
        lacking += [(end_of_argument(name), f"Trainer({name}=)") for name in given(node)]
        lacking += [(end_of_attribute(name), f"model.{name}") for name in set_on_model(node)]
        known = sorted([one for one in lacking if one[0]], key=lambda one: (numbers(one[0]), one[1]))
        found.setdefault(node.name, known[0] if known else None)
    return {name: end for name, end in sorted(found.items()) if end}


def required(wheel):
    path = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    found = {}
    for line in wheel.read(path).decode().splitlines():
        match = re.match(r"Requires-Dist: (transformers|accelerate)(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(;.*)?$", line)
        if match and "extra" not in (match[3] or "") and match[2].strip():
            # Of the ends of a range each may have a line of its own.
            found.setdefault(match[1], []).extend(match[2].replace(" ", "").split(","))
    return {name: ",".join(sorted(set(parts))) for name, parts in found.items()}


def main(folder):
    rows = []
    for release, wheel in wheels(folder, "trl").items():
        until = ends(wheel)
        for name, (end, what) in until.items():
            print(release, name, end, what)
        row = {**required(wheel), **({"until": {name: minor(end) for name, (end, _) in until.items()}} if until else {})}
        rows.append(f"    {json.dumps(release)}: {json.dumps(row)}")
    table = ",\n".join(rows)
    OUT.write_text(f'{{\n"transformers": {json.dumps(list(TRANSFORMERS))},\n"trl": {{\n{table}\n}}\n}}\n')


TRANSFORMERS = last_of_minors(wheels(sys.argv[2], "transformers"))
main(sys.argv[1])
