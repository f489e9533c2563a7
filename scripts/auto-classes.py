"""Which model types an Auto class of transformers takes in no release: `from_pretrained` stops there.

    pip download --no-deps --dest WHEELS transformers==4.25.1 ...
    python scripts/auto-classes.py WHEELS

Reads `models/auto` out of the wheels, without running them, and writes `server/data/auto-classes.json`: of the types of the catalog
that the newest of the releases knows, those that none of them takes. A type is taken where its config's class is that of one in the
table (`models/auto/auto_factory.py`, `type(config) in cls._model_mapping`).
"""

import ast
import json
import re
import sys
from pathlib import Path
from zipfile import ZipFile

DATA = Path(__file__).parent.parent / "server" / "data"
TABLES = {
    "AutoModelForCausalLM": "MODEL_FOR_CAUSAL_LM",
    "AutoModelForMaskedLM": "MODEL_FOR_MASKED_LM",
    "AutoModelForSeq2SeqLM": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM",
    "AutoModelForImageTextToText": "MODEL_FOR_IMAGE_TEXT_TO_TEXT",
    "AutoModelForVision2Seq": "MODEL_FOR_VISION_2_SEQ",
    "AutoModelForMultimodalLM": "MODEL_FOR_MULTIMODAL_LM",
    "AutoModelForSequenceClassification": "MODEL_FOR_SEQUENCE_CLASSIFICATION",
    "AutoModelForTokenClassification": "MODEL_FOR_TOKEN_CLASSIFICATION",
    "AutoModelForQuestionAnswering": "MODEL_FOR_QUESTION_ANSWERING",
    "AutoModelForMultipleChoice": "MODEL_FOR_MULTIPLE_CHOICE",
}


def pairs(node):
    """Keys and values of `OrderedDict([(a, b)])`, `OrderedDict(**{a: b})`, `{a: b}`; what is spread of a name is left out."""
    if isinstance(node, ast.Dict):
        return [(ast.literal_eval(k), ast.literal_eval(v)) for k, v in zip(node.keys, node.values) if k is not None]
    if isinstance(node, ast.Call):
        given = [*node.args, *(word.value for word in node.keywords if word.arg is None)]
        return [pair for one in given for pair in pairs(one)]
    if isinstance(node, ast.List):
        return [tuple(ast.literal_eval(pair)) for pair in node.elts if isinstance(pair, ast.Tuple)]
    if isinstance(node, ast.BinOp):
        return pairs(node.left) + pairs(node.right)
    return []


def tables(files):
    """Every `..._MAPPING_NAMES` of the Auto modules: what is assigned and what is added by `update`."""
    found, open_ends = {}, set()
    for path in ("auto_mappings.py", "configuration_auto.py", "modeling_auto.py"):
        name = "transformers/models/auto/" + path
        if name not in files.namelist():
            continue
        for node in ast.parse(files.read(name).decode()).body:
            if isinstance(node, ast.Assign):
                target = getattr(node.targets[0], "id", "")
                value = node.value
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and getattr(node.value.func, "attr", "") == "update":
                target = getattr(node.value.func.value, "id", "")
                value = node.value
            else:
                continue
            if not re.fullmatch(r"\w*_NAMES", target):
                continue
            found.setdefault(target, {}).update(pairs(value))
            # A table that is made of another one.
            spread = [n.id for n in ast.walk(value) if isinstance(n, ast.Name) and n.id in found and n.id != target]
            for other in spread:
                found[target].update(found[other])
    return found


def taken(wheel):
    """Types by Auto class, and all types, of a release."""
    with ZipFile(wheel) as files:
        found = tables(files)
    configs = found["CONFIG_MAPPING_NAMES"]
    assert len(configs) > 100, wheel
    result = {}
    for kind, table in TABLES.items():
        types = found.get(table + "_MAPPING_NAMES")
        if not types:
            continue
        classes = {configs[name] for name in types if name in configs}
        result[kind] = {name for name, config in configs.items() if config in classes} | set(types)
    return result, set(configs)


def main():
    wheels = {wheel.name.split("-")[1]: wheel for wheel in Path(sys.argv[1]).glob("transformers-*.whl")}
    releases = sorted(wheels, key=lambda text: [int(part) for part in text.split(".")])
    takes, known = {}, set()
    for release in releases:
        result, known = taken(wheels[release])
        for kind, types in result.items():
            takes.setdefault(kind, set()).update(types)
    catalog = {model["model_type"] for model in json.loads((DATA / "models.json").read_text())["models"]}
    rows = [
        f'"{kind}":{json.dumps(sorted((catalog & known) - takes[kind]), separators=(",", ":"))}' for kind in TABLES if kind in takes
    ]
    head = f'{{"source":"transformers {", ".join(releases)}: models/auto/modeling_auto.py, model types that no release takes",\n"refuses":{{\n'
    (DATA / "auto-classes.json").write_text(head + ",\n".join(rows) + "\n}}\n", encoding="utf8")


main()
