"""Which modules PEFT adapts where a config names none, by kind of adapter and type of model.

    pip download --no-deps --dest WHEELS peft==0.21.2
    python scripts/peft-targets.py WHEELS

Reads `utils/constants.py` out of the newest of the wheels, without running it, and writes `server/data/peft-targets.json`. A kind whose
table is LoRA's own is left out.
"""

import ast
import json
import re
import sys
from pathlib import Path
from zipfile import ZipFile

OUT = Path(__file__).parent.parent / "server" / "data" / "peft-targets.json"
TABLE = "TRANSFORMERS_MODELS_TO_%s_MAPPING"
KINDS = {
    "lora": "LORA_TARGET_MODULES",
    "adalora": "ADALORA_TARGET_MODULES",
    "vera": "VERA_TARGET_MODULES",
    "vblora": "VBLORA_TARGET_MODULES",
    "fourierft": "FOURIERFT_TARGET_MODULES",
    "loha": "LOHA_TARGET_MODULES",
    "lokr": "LOKR_TARGET_MODULES",
    "oft": "OFT_TARGET_MODULES",
    "boft": "BOFT_TARGET_MODULES",
    "miss": "MISS_TARGET_MODULES",
    "ia3": "IA3_TARGET_MODULES",
    "ia3-feedforward": "IA3_FEEDFORWARD_MODULES",
    "ln-tuning": "LNTUNING_TARGET_MODULES",
}


def tables_of(source):
    """Tables as they are written, copied and changed, in the order of the file."""
    tables = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and isinstance(value, ast.Dict):
            try:
                tables[target.id] = ast.literal_eval(value)
            except ValueError:
                continue
        elif isinstance(target, ast.Name) and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            copied = getattr(value.func.value, "id", None)
            if value.func.attr == "copy" and copied in tables:
                tables[target.id] = dict(tables[copied])
        elif isinstance(target, ast.Subscript) and getattr(target.value, "id", None) in tables:
            tables[target.value.id][ast.literal_eval(target.slice)] = ast.literal_eval(value)
    return tables


def names_of(modules):
    """A pattern that lists the leaves of the language model stands for their names: layers of towers have others."""
    if isinstance(modules, list):
        return modules
    leaves = re.fullmatch(r"\.\*language_model\\\.\.\*\\\.\(([\w|]+)\)", modules)
    if not leaves:
        raise SystemExit(f"a pattern of another form: {modules}")
    return leaves[1].split("|")


def main(folder):
    wheel = max(Path(folder).glob("peft-*.whl"), key=lambda path: [int(part) for part in path.name.split("-")[1].split(".")])
    release = wheel.name.split("-")[1]
    tables = tables_of(ZipFile(wheel).read("peft/utils/constants.py").decode())
    kinds = {
        kind: {model: names_of(modules) for model, modules in tables[TABLE % name].items()} for kind, name in KINDS.items()
    }
    own = {kind: table for kind, table in kinds.items() if kind == "lora" or table != kinds["lora"]}
    source = f"https://github.com/huggingface/peft/blob/v{release}/src/peft/utils/constants.py"
    rows = ",\n".join(
        f'  "{kind}": {{\n'
        + ",\n".join(f"    {json.dumps(model)}: {json.dumps(modules)}" for model, modules in table.items())
        + "\n  }"
        for kind, table in own.items()
    )
    OUT.write_text(f'{{\n"source": "{source}",\n"kinds": {{\n{rows}\n}}\n}}\n')


main(sys.argv[1])
