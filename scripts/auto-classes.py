"""Which model types an Auto class of transformers takes in no release, so that `from_pretrained` stops there; which classes make the text
model alone of a type that also sees or hears.

    pip download --no-deps --dest WHEELS transformers==4.25.1 ...
    python scripts/auto-classes.py WHEELS

Reads `models/auto` out of the wheels, without running them, and writes `server/data/auto-classes.json`: of the types of the catalog
that the newest of the releases knows, those that none of them takes. A type is taken where its config's class is that of one in the
table (`models/auto/auto_factory.py`, `type(config) in cls._model_mapping`). A class makes the text model alone where the config that it is
made of is that which a type's own config holds as its `text_config` (`auto_factory.py`, `config.get_text_config()`).
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


def classes(text):
    """Classes of a module: by name the config that each is of, its own or that of a class that it is made of; what configs hold inside."""
    found = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}

    def config_of(name):
        node = found.get(name)
        if node is None:
            return None
        for line in node.body:
            if isinstance(line, ast.Assign) and getattr(line.targets[0], "id", "") == "config_class":
                return getattr(line.value, "id", None)
            if isinstance(line, ast.AnnAssign) and getattr(line.target, "id", "") == "config":
                return getattr(line.annotation, "id", None)
        return next((of for base in node.bases if (of := config_of(getattr(base, "id", "")))), None)

    def text_of(node):
        for line in node.body:
            if isinstance(line, (ast.Assign, ast.AnnAssign)):
                target = line.targets[0] if isinstance(line, ast.Assign) else line.target
                if getattr(target, "id", "") == "sub_configs" and isinstance(line.value, ast.Dict):
                    for key, value in zip(line.value.keys, line.value.values):
                        if getattr(key, "value", None) == "text_config":
                            return getattr(value, "id", None)
        return None

    return {name: config_of(name) for name in found}, {name: text_of(node) for name, node in found.items()}


def texts(wheel):
    """Types whose text model a class for causal language models is, by class; `AutoModelForCausalLM` makes some of them."""
    result = {}
    with ZipFile(wheel) as files:
        found = tables(files)
        types = {config: name for name, config in found["CONFIG_MAPPING_NAMES"].items() if isinstance(config, str)}
        causal = found["MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"]
        for name in files.namelist():
            if not re.fullmatch(r"transformers/models/\w+/configuration_\w+\.py", name):
                continue
            modeling = name.replace("/configuration_", "/modeling_")
            if modeling not in files.namelist():
                continue
            inner = {text: types[whole] for whole, text in classes(files.read(name).decode())[1].items() if text and whole in types}
            if not inner:
                continue
            for model, config in classes(files.read(modeling).decode())[0].items():
                if config not in inner or not model.endswith("ForCausalLM"):
                    continue
                result.setdefault(model, set()).add(inner[config])
                if causal.get(inner[config]) == model:
                    result.setdefault("AutoModelForCausalLM", set()).add(inner[config])
    return result


def main():
    wheels = {wheel.name.split("-")[1]: wheel for wheel in Path(sys.argv[1]).glob("transformers-*.whl")}
    releases = sorted(wheels, key=lambda text: [int(part) for part in text.split(".")])
    takes, known, alone = {}, set(), {}
    for release in releases:
        result, known = taken(wheels[release])
        for kind, types in result.items():
            takes.setdefault(kind, set()).update(types)
        for kind, types in texts(wheels[release]).items():
            alone.setdefault(kind, set()).update(types)
    catalog = {model["model_type"] for model in json.loads((DATA / "models.json").read_text())["models"]}
    rows = [
        f'"{kind}":{json.dumps(sorted((catalog & known) - takes[kind]), separators=(",", ":"))}' for kind in TABLES if kind in takes
    ]
    head = f'{{"source":"transformers {", ".join(releases)}: models/auto/modeling_auto.py, model types that no release takes",\n"refuses":{{\n'
    made = [f'"{kind}":{json.dumps(sorted(types), separators=(",", ":"))}' for kind, types in sorted(alone.items())]
    middle = '\n},\n"textAlone":{\n'
    (DATA / "auto-classes.json").write_text(head + ",\n".join(rows) + middle + ",\n".join(made) + "\n}}\n", encoding="utf8")


main()
