"""Which names Unsloth loads a partly quantized checkpoint of its own for, by release.

    pip download --no-deps --dest WHEELS unsloth==2024.12.4 ...
    python scripts/unsloth-checkpoints.py WHEELS

Reads `models/mapper.py` and the exceptions of `models/loader_utils.py` out of the wheels, without running them, and writes
`server/data/unsloth-checkpoints.json`: names in lower case, from the first of the releases that maps them, up to the first
that no longer does.
"""

import ast
import json
import re
import sys
from datetime import date
from pathlib import Path
from zipfile import ZipFile

OUT = Path(__file__).parent.parent / "server" / "data" / "unsloth-checkpoints.json"
PARTLY = "-unsloth-bnb-4bit"


def assigned(source, name):
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return node.value
    return None


def text_of(node):
    """A string, or one that `.lower()` is called on."""
    return ast.literal_eval(node.func.value if isinstance(node, ast.Call) else node)


def mapped(wheel):
    """Names in lower case, with the partly quantized checkpoint that is loaded for them."""
    with ZipFile(wheel) as files:
        mapper = files.read("unsloth/models/mapper.py").decode()
        loader = "unsloth/models/loader_utils.py"
        utils = files.read(loader).decode() if loader in files.namelist() else ""
    bad = assigned(utils, "BAD_MAPPINGS")
    replaced = {text_of(key).lower() for key in bad.keys} if bad else set()
    names = {}
    for checkpoint, values in ast.literal_eval(assigned(mapper, "__INT_TO_FLOAT_MAPPER")).items():
        if checkpoint.lower() in replaced:
            continue
        for name in values["16"] if isinstance(values, dict) else values:
            names[name.lower()] = checkpoint
    return {
        name: checkpoint
        for name, checkpoint in names.items()
        # Names of quantized checkpoints are loaded as they stand.
        if checkpoint.endswith(PARTLY) and not name.endswith("-bnb-4bit")
    }, sorted(name for name in replaced if name.endswith(PARTLY))


def release_of(wheel):
    return re.match(r"unsloth-([\d.]+)-", wheel.name)[1]


def main(folder):
    wheels = sorted(
        Path(folder).glob("unsloth-*.whl"), key=lambda wheel: [int(part) for part in release_of(wheel).split(".")]
    )
    spans, ended, replaced = {}, {}, []
    for wheel in wheels:
        release = release_of(wheel)
        names, replaced = mapped(wheel)
        for key in spans:
            if key not in names.items():
                ended.setdefault(key, release)
        for key in names.items():
            spans.setdefault(key, release)
            ended.pop(key, None)
    rows = {}
    for (name, checkpoint), since in spans.items():
        rows.setdefault((checkpoint, since, ended.get((name, checkpoint))), []).append(name)
    data = {
        "read": date.today().isoformat(),
        "source": "unsloth/models/mapper.py, unsloth/models/loader_utils.py",
        "releases": [release_of(wheel) for wheel in wheels],
        "replaced": replaced,
        "rows": [
            {"checkpoint": checkpoint, "names": sorted(names), "since": since, **({"before": before} if before else {})}
            for (checkpoint, since, before), names in sorted(rows.items(), key=lambda row: str(row[0]).lower())
        ],
    }
    OUT.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
