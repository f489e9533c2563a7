"""Writes server/data/least-releases.json: the oldest releases of other packages that a release of a package runs with.

    python scripts/framework-keys/least_releases.py

By package and release, where it changes, of the packages whose version the estimate asks for: the lower bound that its metadata requires
(`Requires-Dist`, without extras), and of transformers what its own code refuses to run without (`utils/import_utils.py`):
`ACCELERATE_MIN_VERSION`, which the Trainer asks for, and the release of PyTorch below which it takes none to be there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from pip._vendor.packaging.requirements import InvalidRequirement, Requirement

from releases import Index, one_per_minor

OUT = Path(__file__).resolve().parents[2] / "server" / "data" / "least-releases.json"
PACKAGES = ("trl", "transformers", "peft", "accelerate", "liger-kernel", "bitsandbytes")
NAMED = ("torch", "transformers", "accelerate", "peft")
FILES = re.compile(r"^[^/]+\.dist-info/METADATA$|^transformers/utils/import_utils\.py$")
REFUSED = (
    ("accelerate", re.compile(r'^ACCELERATE_MIN_VERSION = "(\d[\d.]*)"', re.MULTILINE)),
    ("torch", re.compile(r"Disabling PyTorch because PyTorch >= (\d+\.\d+) is required")),
)


def main() -> None:
    index = Index()
    data: dict[str, dict[str, dict[str, str]]] = {}
    for package in PACKAGES:
        rows: dict[str, dict[str, str]] = {}
        for version in one_per_minor(index.versions(package)):
            files = index.files(package, version, lambda path: FILES.search(path) is not None)
            least = least_of("\n".join(files.values()))
            if least != (list(rows.values())[-1] if rows else {}):
                rows[str(version)] = least
        data[package] = rows
        print(package, len(rows))
    lines = [f' "{package}": {json.dumps(rows)}' for package, rows in data.items()]
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf8")


def least_of(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in re.findall(r"^Requires-Dist: (.+)$", text, re.MULTILINE):
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        bounds = [one.version for one in requirement.specifier if one.operator in (">=", "==", "~=")]
        if requirement.name in NAMED and requirement.marker is None and bounds:
            found[requirement.name] = bounds[0]
    for name, pattern in REFUSED:
        match = pattern.search(text)
        if match:
            found[name] = match[1]
    return dict(sorted(found.items()))


if __name__ == "__main__":
    main()
