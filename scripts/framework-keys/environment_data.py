"""Writes server/data/releases.json: releases of the packages whose version the estimate asks for, and what frameworks pin.

    python scripts/framework-keys/environment_data.py

`releases` are one per minor version, oldest first. Where nothing names a version, or only a range, what is taken is at most the default
of its field (`server/src/run/fields.ts`): that goes up by hand, with the behaviours that are read of the newer release. `pins` are the
requirements of each framework's releases among those packages, as their metadata states them (PEP 440).
"""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

from pip._vendor.packaging.version import Version

from releases import Index, one_per_minor

OUT = Path(__file__).resolve().parents[2] / "server" / "data" / "releases.json"
PACKAGES = ("torch", "transformers", "trl", "accelerate", "deepspeed", "bitsandbytes", "liger-kernel", "peft")
FRAMEWORKS = {
    "axolotl": "axolotl",
    "llama-factory": "llamafactory",
    "ms-swift": "ms-swift",
    "torchtune": "torchtune",
    "torchtitan": "torchtitan",
    "litgpt": "litgpt",
    "nanotron": "nanotron",
    "llm-foundry": "llm-foundry",
    "openrlhf": "openrlhf",
    "verl": "verl",
    "trl": "trl",
    "accelerate": "accelerate",
    "unsloth": "unsloth",
    "xtuner": "xtuner",
}
# Frameworks whose patches ask for other releases than the one before.
BY_PATCH = ("xtuner",)
# Frameworks whose metadata leaves requirements to a file of the archive.
REQUIREMENTS = re.compile(r"(^|/)(METADATA|PKG-INFO|pyproject\.toml|setup\.py|requirements(-[a-z]+)?\.txt)$")
WORD = re.compile(r"^([A-Za-z][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?\s*((?:[=<>!~]=?=?\s*[0-9][^;)\"',\s]*\s*,?\s*)+)\)?")


def main() -> None:
    index = Index()
    releases = {name: [each.public for each in one_per_minor(index.versions(name))] for name in PACKAGES}
    pins: dict[str, dict[str, dict[str, str]]] = {}
    before = json.loads(OUT.read_text(encoding="utf8"))["pins"]
    for family, package in FRAMEWORKS.items():
        found: dict[str, dict[str, str]] = {}
        # Patches that asked for something else were found one by one: what was read stays.
        read = {Version(version) for version in before.get(family, {})}
        every = index.versions(package)
        chosen = every if family in BY_PATCH else one_per_minor(every)[-30:]
        for version in sorted({*chosen, *read} & set(every)):
            files = index.files(package, version, lambda path: REQUIREMENTS.search(path) is not None and path.count("/") <= 1)
            required = pinned(files)
            if required and required != (list(found.values())[-1] if found else None):
                found[str(version)] = required
        pins[family] = found
        print(family, list(found.items())[-1] if found else "states none")
    data = {"read": datetime.date.today().isoformat(), "releases": releases, "pins": pins}
    OUT.write_text(json.dumps(data, indent=1) + "\n", encoding="utf8")


def pinned(files: dict[str, str]) -> dict[str, str]:
    """Requirements of the packages, from the metadata where it has any, else from what stands beside it."""
    for names in (r"METADATA$", r"PKG-INFO$", r"pyproject\.toml$|setup\.py$|requirements.*\.txt$"):
        required: dict[str, str] = {}
        for path, text in files.items():
            if not re.search(names, path):
                continue
            for line in text.splitlines():
                line = line.strip().removeprefix("Requires-Dist:").strip().strip("\"',")
                if "extra ==" in line:
                    continue
                match = WORD.match(line)
                name = match[1].lower().replace("_", "-") if match else ""
                if match and name in PACKAGES and name not in required:
                    required[name] = re.sub(r"\s+", "", match[2]).rstrip(",")
        if required:
            return required
    return {}


if __name__ == "__main__":
    main()
