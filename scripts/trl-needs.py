"""What code asks of TRL that older releases do not have: arguments of trainers, and names of its modules.

    pip download --no-deps --dest WHEELS trl==0.24.0 trl==0.25.0 ...
    python scripts/trl-needs.py WHEELS

Reads the wheels without running them, one a minor release, and writes `server/data/trl-needs.json`: what the oldest of them lacks, with the
first release that has it; of a module that it has not at all the release alone.
"""

import ast
import json
import sys
from pathlib import Path
from zipfile import ZipFile

OUT = Path(__file__).parent.parent / "server" / "data" / "trl-needs.json"


def constants(node):
    """Texts of lists in a node, as a lazy module names what it holds."""
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def names_of(body, exports):
    """What a module holds: what it defines and lists, and of a folder's own module (`exports`) what it imports."""
    names = set()
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
        elif exports and isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
            if any(isinstance(target, ast.Name) and target.id == "_import_structure" for target in targets) and node.value:
                names |= constants(node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            names |= constants(node.value)
        elif isinstance(node, (ast.If, ast.Try)):
            names |= names_of([one for field in ("body", "orelse", "finalbody") for one in getattr(node, field, [])], exports)
    return {name for name in names if not name.startswith("_")}


def read(wheel):
    modules, trainers = {}, {}
    with ZipFile(wheel) as file:
        for path in file.namelist():
            if not path.startswith("trl/") or not path.endswith(".py") or "/cli/" in path or "/scripts/" in path:
                continue
            tree = ast.parse(file.read(path).decode())
            module = path[len("trl/") : -len(".py")].removesuffix("/__init__").replace("/", ".")
            if module != "__init__":
                modules[module] = names_of(tree.body, path.endswith("__init__.py"))
            for node in tree.body:
                if not isinstance(node, ast.ClassDef) or not node.name.endswith("Trainer"):
                    continue
                # A class of the same name in a folder of experiments is another.
                if "experimental" in path:
                    continue
                for made in node.body:
                    if isinstance(made, ast.FunctionDef) and made.name == "__init__":
                        taken = made.args
                        names = {one.arg for one in [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]} - {"self"}
                        trainers[node.name] = None if taken.kwarg else names
    return modules, {name: taken for name, taken in trainers.items() if taken is not None}


def main(folder):
    wheels = {tuple(int(part) for part in path.name.split("-")[1].split(".")): path for path in Path(folder).glob("trl-*.whl")}
    releases = sorted(wheels)
    found = {release: read(wheels[release]) for release in releases}
    text = {release: ".".join(map(str, release)) for release in releases}
    oldest = found[releases[0]]
    lacking = [{}, {}]
    for which in (0, 1):
        for release in releases[1:]:
            for owner, names in found[release][which].items():
                had = oldest[which].get(owner)
                # A trainer that the oldest has not is lacking as a name already.
                if which == 1 and had is None:
                    continue
                if had is None:
                    lacking[which].setdefault(owner, text[release])
                    continue
                rows = lacking[which].setdefault(owner, {})
                for name in names - (had or set()):
                    rows.setdefault(name, text[release])
    names, arguments = ({owner: rows if isinstance(rows, str) else dict(sorted(rows.items())) for owner, rows in sorted(table.items()) if rows} for table in lacking)

    def table(rows):
        return ",\n".join(f"    {json.dumps(owner)}: {json.dumps(found)}" for owner, found in rows.items())

    OUT.write_text(
        f'{{\n"releases": {json.dumps([text[release] for release in releases])},\n'
        f'"arguments": {{\n{table(arguments)}\n}},\n"names": {{\n{table(names)}\n}}\n}}\n'
    )


main(sys.argv[1])
