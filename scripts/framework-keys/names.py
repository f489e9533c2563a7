"""Writes server/data/imported-names.json: names that a release of a package brought, or that it has no more.

    python scripts/framework-keys/names.py

A name is what `from PACKAGE import NAME` takes. Read, without running them, are the lists of a lazy module (`_import_structure`), what
`define_import_structure` collects of a folder (`__all__`, and what `@requires` decorates), and what `__init__.py` imports itself. Names
that all releases have are left out, and so are those that a lazy module makes up when it is asked for them.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path

from pip._vendor.packaging.version import Version

from releases import Index, one_per_minor

OUT = Path(__file__).resolve().parents[2] / "server" / "data" / "imported-names.json"


@dataclass(frozen=True)
class Source:
    package: str
    oldest: str
    """The first release of which all names are listed."""
    folders: str
    """Files that `define_import_structure` is given."""
    without: str
    """Names that are left out: the module answers to them without having them, or nobody imports them."""
    early: tuple[str, str] | None = None
    """An older release, and the names that are listed from that one on: configs tell which releases have a type of models."""


SOURCES = (
    # `_LazyModule.__getattr__` of 5.x takes one tokenizer or image processor for another that is no more. Lists of checkpoints, and what
    # stands in for names whose backend is missing, are of no use to a training.
    Source(
        "transformers",
        "4.36",
        r"^transformers/models/.*\.py$",
        r"(Tokenizer|ImageProcessor)(Fast)?$|_ARCHIVE_(MAP|LIST)$|^dummy_\w+_objects$",
        ("4.0", r"\w+Config|(Seq2Seq)?(Trainer|TrainingArguments)"),
    ),
    Source("trl", "0.0", r"^$", r"^$"),
    Source("peft", "0.0", r"^$", r"^$"),
)


def main() -> None:
    index = Index()
    data = {source.package: names_of(source, index) for source in SOURCES}
    OUT.write_text(f"{{{','.join(written(*each) for each in data.items())}\n}}\n", encoding="utf8")


def names_of(source: Source, index: Index) -> dict:
    found: list[tuple[str, set[str]]] = []
    oldest = Version(source.early[0] if source.early else source.oldest)
    for version in one_per_minor([each for each in index.versions(source.package) if each >= oldest]):
        top = f"{source.package}/__init__.py"
        files = index.files(source.package, version, lambda path: path == top or re.search(source.folders, path) is not None)
        names = of_module(ast.parse(files[top]))
        if "define_import_structure(" in files[top]:
            for path, text in files.items():
                if path != top and not re.search(r"(^|/)(__init__|convert_\w+|modular_\w+)\.py$", path):
                    names |= exported(text)
        found.append((str(version), names))
        print(source.package, version, len(names))
    versions = [version for version, _ in found]
    since: dict[str, list[str]] = {}
    until: dict[str, list[str]] = {}
    begin = next(at for at, version in enumerate(versions) if Version(version) >= Version(source.oldest))
    for name in sorted(set().union(*(names for _, names in found))):
        if not re.fullmatch(r"[A-Za-z]\w*", name) or re.search(source.without, name):
            continue
        has = [name in names for _, names in found]
        first, last = has.index(True), len(has) - 1 - has[::-1].index(True)
        # What went and came again tells of no release.
        if not all(has[first : last + 1]):
            continue
        is_listed = source.early is None or re.fullmatch(source.early[1], name) is not None
        if first > (0 if is_listed else begin):
            since.setdefault(versions[first], []).append(name)
        if last + 1 < len(has) and (is_listed or last >= begin):
            until.setdefault(versions[last + 1], []).append(name)
    return {"versions": versions, "since": since, "until": until}


def of_module(module: ast.Module) -> set[str]:
    """What a package's `__init__.py` holds: by its lists for a lazy module, and by what it imports where it is none."""
    names: set[str] = set()
    imported: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            owner = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(owner, ast.Name) and owner.id in ("_import_structure", "import_structure", "_extra_objects"):
                names |= words(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("extend", "append"):
            owner = node.func.value
            if isinstance(owner, ast.Subscript) and isinstance(owner.value, ast.Name) and owner.value.id == "_import_structure":
                names |= words(*node.args)
        elif isinstance(node, ast.ImportFrom):
            imported |= {alias.asname or alias.name for alias in node.names}
    # A lazy module takes the place of the one that its file is: what that one imports itself is gone.
    return names or imported


def words(*nodes: ast.expr | None) -> set[str]:
    """Strings of lists, and of the values of a dictionary."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            found |= words(*node.elts)
        elif isinstance(node, ast.Dict):
            found |= words(*node.values)
    return found


def exported(text: str) -> set[str]:
    """`__all__` of a file and what it decorates with `@requires`; whole files are not parsed, there are thousands of them."""
    names = {name for _, name in re.findall(r"^@(?:requires|export)\b[^\n]*\n(?:(?![a-z]).*\n)*?(class|def) (\w+)", text, re.MULTILINE)}
    for listed in re.findall(r"^__all__\s*\+?=\s*(\[[^\]]*\]|\([^)]*\))", text, re.MULTILINE):
        names |= words(ast.parse(listed, mode="eval").body)
    return names


def written(package: str, found: dict) -> str:
    """One release a line, so that what a new one changes is a few lines."""
    blocks = [f'"versions": {json.dumps(found["versions"])}']
    for word in ("since", "until"):
        releases = sorted(found[word], key=Version)
        lines = [f'   "{version}": {json.dumps(" ".join(found[word][version]))}' for version in releases]
        blocks.append(f'"{word}": {{\n' + ",\n".join(lines) + "\n  }")
    return f'\n "{package}": {{\n  ' + ",\n  ".join(blocks) + "\n }"


if __name__ == "__main__":
    main()
