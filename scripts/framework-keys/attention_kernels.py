"""Writes server/data/attention-kernels.json: models whose classes in transformers take no SDPA, or no FlashAttention 2.

    python scripts/framework-keys/attention_kernels.py

`releases` were looked at, oldest first; each type has pairs of the first minor version without the kernel and the first with it again (null: the
newest is without, too). What counts is `_supports_sdpa` and `_supports_flash_attn` (`_supports_flash_attn_2` until 4.52) of the class that
`AutoModel` makes of a type, or of those that it is made of. Where neither class states it, a model has no such kernel (`modeling_utils.py`).
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

from pip._vendor.packaging.version import Version

from releases import Index

DATA = Path(__file__).resolve().parents[2] / "server" / "data"
# `attn_implementation` came with this release.
OLDEST = Version("4.36")
FILES = re.compile(r"^transformers/(models/[^/]+/modeling_(?!tf_|flax_)\w+|modeling_utils)\.py$")
MAPPINGS = "transformers/models/auto/modeling_auto.py"
CLASS = re.compile(r"^class (\w+)\(([^)]*)\):\n((?:(?:[ \t].*)?\n)*)", re.M)
FLAG = re.compile(r"^    _supports_(sdpa|flash_attn|flash_attn_2)(?:: bool)? = (True|False)\b", re.M)
# Gemma 2 of 4.45 to 4.47 has SDPA, and takes it where it is asked for alone.
ASKED = re.compile(r"^    def _check_and_enable_sdpa\(.*?_attn_implementation = \"eager\"", re.M | re.S)
KERNELS = ("sdpa", "flash")

Classes = dict[str, tuple[list[str], dict[str, bool]]]


def classes_of(texts: dict[str, str]) -> Classes:
    """Bases of every class and what its body states, by its name."""
    found: Classes = {}
    for text in texts.values():
        for name, bases, body in CLASS.findall(text):
            stated = {"flash" if kernel != "sdpa" else kernel: value == "True" for kernel, value in FLAG.findall(body)}
            if ASKED.search(body):
                stated["sdpa"] = False
            found[name] = ([base.strip().split(".")[-1] for base in bases.split(",")], stated)
    return found


def takes(classes: Classes, name: str, kernel: str, seen: tuple[str, ...] = ()) -> bool | None:
    """Whether a class takes a kernel; None where neither it nor what it is made of states that."""
    if name not in classes or name in seen:
        return None
    bases, stated = classes[name]
    if kernel in stated:
        return stated[kernel]
    answers = (takes(classes, base, kernel, (*seen, name)) for base in bases)
    return next((answer for answer in answers if answer is not None), None)


def types_of(text: str) -> dict[str, str]:
    """The class that `AutoModel` makes, by type; that of a language model where it makes none."""
    found: dict[str, str] = {}
    for name in ("MODEL_MAPPING_NAMES", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES"):
        body = re.search(rf"^{name} = OrderedDict\(\n(.*?)^\)", text, re.M | re.S)
        for kind, value in re.findall(r'^ +\("([\w-]+)", (\(.*?\)|"\w+")\),', body[1] if body else "", re.M | re.S):
            made = ast.literal_eval(value)
            found.setdefault(kind, made if isinstance(made, str) else made[0])
    return found


def main() -> None:
    index = Index()
    known = json.loads((DATA / "releases.json").read_text())["releases"]["transformers"]
    releases = [name for name in known if Version(name) >= OLDEST]
    lacking: dict[str, dict[str, list[bool | None]]] = {kernel: {} for kernel in KERNELS}
    for place, release in enumerate(releases):
        texts = index.files("transformers", Version(release), lambda path: path == MAPPINGS or FILES.match(path) is not None)
        classes = classes_of(texts)
        for kind, name in types_of(texts[MAPPINGS]).items():
            for kernel in KERNELS:
                row = lacking[kernel].setdefault(kind, [None] * len(releases))
                row[place] = None if name not in classes else takes(classes, name, kernel) is not True
        print(release, len(classes), flush=True)
    tables = {kernel: {kind: spans for kind, row in sorted(rows.items()) if (spans := spans_of(row, releases))} for kernel, rows in lacking.items()}
    lines = [f'"source":"transformers {releases[0]} to {releases[-1]}, modeling_*.py"', f'"releases":{json.dumps(releases, separators=(",", ":"))}']
    for kernel, table in tables.items():
        rows = ",\n".join(f"{json.dumps(kind)}:{json.dumps(spans, separators=(',', ':'))}" for kind, spans in table.items())
        lines.append(f'"{kernel}":{{\n{rows}\n}}')
    (DATA / "attention-kernels.json").write_text("{" + ",\n".join(lines) + "}\n")


def spans_of(row: list[bool | None], releases: list[str]) -> list[list[str | None]]:
    """Pairs of the first minor version without the kernel and the first with it again."""
    minors = [f"{version.major}.{version.minor}" for version in map(Version, releases)]
    spans: list[list[str | None]] = []
    for lacks, release in zip(row, minors):
        if lacks and (not spans or spans[-1][1] is not None):
            spans.append([release, None])
        elif lacks is False and spans and spans[-1][1] is None:
            spans[-1][1] = release
    return spans


if __name__ == "__main__":
    main()
