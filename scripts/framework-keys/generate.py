"""Writes server/data/framework-keys/FAMILY.jsonl: name, type, default and choices of every key, over the releases.

    python scripts/framework-keys/generate.py [FAMILY ...] [--sources FOLDER]

Releases come from the package index that pip is set up for; frameworks without packages from clones in FOLDER
(`OWNER+NAME`, bare or not). Run again after a release: what a framework changed is the difference of the files.

A table that `extends` another holds what differs from it; `without` are keys of that one which it lacks.
A table's entry: `type`, `values` (a closed set), `nullable`, `default` as of the newest release; `since` and `until`, the first
release with the key and the first without; `defaults` where the default changed, as [first release, value].
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
from pathlib import Path
from typing import Any, Iterable

import yaml
from pip._vendor.packaging.version import Version

from extract import Package, of_yaml
from frameworks import FRAMEWORKS, Framework, Table
from releases import Index, one_per_minor

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "server" / "data" / "framework-keys"

Keys = dict[str, dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--sources", type=Path, help="folder of clones, for frameworks without packages")
    given = parser.parse_args()
    index = Index()
    OUT.mkdir(parents=True, exist_ok=True)
    for framework in FRAMEWORKS:
        if given.families and framework.family not in given.families:
            continue
        if framework.repository and not given.sources:
            print(f"{framework.family}: needs --sources with a clone of {framework.repository}")
            continue
        found = generated(framework, index, given.sources)
        path = OUT / f"{framework.family}.jsonl"
        path.write_text(text_of(found), encoding="utf8")
        sizes = ", ".join(f"{name} {len(table['keys'])}" for name, table in found["tables"].items())
        print(f"{framework.family} {found['versions'][-1]}: {sizes}")


def generated(framework: Framework, index: Index, sources: Path | None) -> dict[str, Any]:
    versions: list[str] = []
    tables: dict[str, list[tuple[str, Keys]]] = {table.name: [] for table in framework.tables}
    places: dict[str, str] = {}
    for version, files in releases(framework, index, sources):
        package = Package()
        for path, text in files.items():
            package.add(path, text) if path.endswith(".py") else None
        versions.append(version)
        for table in framework.tables:
            keys, place = keys_of(table, package, files)
            if keys:
                tables[table.name].append((version, keys))
                places[table.name] = place
    merged = {name: over_versions(found, versions) for name, found in tables.items() if found}
    parents = {table.name: table.extends for table in framework.tables if table.extends in merged}
    return {
        "source": framework.package or framework.repository,
        "link": framework.link,
        "versions": versions,
        "tables": {
            name: {
                "file": places[name],
                **({"extends": parents[name], "without": sorted(set(merged[parents[name]]) - set(keys))} if name in parents else {}),
                "keys": {
                    key: entry
                    for key, entry in keys.items()
                    if name not in parents or merged[parents[name]].get(key) != entry
                },
            }
            for name, keys in merged.items()
        },
    }


def releases(framework: Framework, index: Index, sources: Path | None):
    """Version and files of each release that is looked at, oldest first."""
    if framework.package:
        oldest = Version(framework.oldest)
        for version in one_per_minor([each for each in index.versions(framework.package) if each >= oldest]):
            files = index.files(framework.package, version, lambda path: framework.wants(bare(path)))
            yield str(version), {bare(path): text for path, text in files.items()}
        return
    assert sources is not None
    clone = sources / framework.repository.replace("/", "+")
    git = clone if (clone / "HEAD").exists() else clone / ".git"
    if not (git / "HEAD").exists():
        git = next(clone.glob("*/HEAD")).parent
    tags = [
        (Version(match[1]), tag)
        for tag in run(git, "tag").split()
        if framework.tags and (match := re.match(framework.tags, tag))
    ]
    wanted = one_per_minor([version for version, _ in tags])
    named = [(str(version), tag) for version, tag in sorted(tags) if version in wanted]
    for version, commit in named or [(run(git, "rev-parse", "HEAD").strip()[:12], "HEAD")]:
        paths = [path for path in run(git, "ls-tree", "-r", "--name-only", commit).split("\n") if framework.wants(path)]
        yield version, {path: run(git, "show", f"{commit}:{path}") for path in paths}


def bare(path: str) -> str:
    return re.sub(r"^[^/]+\.data/purelib/", "", path)


def run(git: Path, *words: str) -> str:
    return subprocess.run(
        ["git", f"--git-dir={git}", *words], check=True, capture_output=True, text=True, errors="replace"
    ).stdout


def keys_of(table: Table, package: Package, files: dict[str, str]) -> tuple[Keys, str]:
    if table.kind == "class":
        owners = package.ancestry(table.of[0])
        place = next((path for path, module in package.modules.items() if owners and owners[-1] in module.body), "")
        return package.fields(table.of[0], table.below), place
    if table.kind == "function":
        return package.parameters(*table.of), table.of[0]
    if table.kind == "yamls":
        found = sorted(path for path in files if re.search(table.of[0], path))
        keys = united(of_yaml(yaml.safe_load(files[path])) for path in found)
        kept = {name: entry for name, entry in keys.items() if not (table.without and re.search(table.without, name))}
        return kept, found[0] if found else ""
    for path in table.of:
        if path in files:
            return (package.arguments([path]) if table.kind == "arguments" else of_yaml(yaml.safe_load(files[path]))), path
    return {}, ""


def united(tables: Iterable[Keys]) -> Keys:
    """Keys of files of one tool that give each other's keys other values: what they agree on."""
    keys: Keys = {}
    for table in tables:
        for name, entry in table.items():
            known = keys.setdefault(name, {"type": entry["type"]})
            if known["type"] != entry["type"]:
                known["type"] = "any"
    return keys


def over_versions(found: list[tuple[str, Keys]], versions: list[str]) -> Keys:
    first = found[0][0]
    merged: Keys = {}
    for name in dict.fromkeys(name for _, keys in found for name in keys):
        present = [(version, keys[name]) for version, keys in found if name in keys]
        entry = dict(present[-1][1])
        if present[0][0] != first:
            entry["since"] = present[0][0]
        last = versions.index(present[-1][0])
        if present[-1][0] != found[-1][0]:
            entry["until"] = versions[last + 1]
        changes: list[list[Any]] = []
        for version, each in present:
            value = each.get("default", "?")
            if not changes or changes[-1][1] != value or type(changes[-1][1]) is not type(value):
                changes.append([version, value])
        if len(changes) > 1:
            entry["defaults"] = changes
        merged[name] = entry
    return merged


def text_of(found: dict[str, Any]) -> str:
    """JSON Lines: what the file is of, then one key a line, so that a change is one line."""
    head = {
        **{name: found[name] for name in ("source", "link", "versions")},
        "tables": {
            name: {word: table[word] for word in ("file", "extends", "without") if word in table}
            for name, table in found["tables"].items()
        },
    }
    lines = [head]
    for name, table in found["tables"].items():
        lines += [{"table": name, "key": key, **entry} for key, entry in sorted(table["keys"].items())]
    return "".join(f"{json.dumps(plain(line), separators=(',', ':'))}\n" for line in lines)


def plain(value: Any) -> Any:
    """JSON has no infinity, and whole floats are written as people do."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


if __name__ == "__main__":
    main()
