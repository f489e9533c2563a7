"""Fields of PEFT's configs and their defaults, by kind: what `peft_fields.json` holds. `python peft_fields.py`.

What is no plain value is written as the name of its class.
"""

import dataclasses
import importlib.metadata
import json
from enum import Enum
from pathlib import Path

import peft

OUT = Path(__file__).parent / "peft_fields.json"
CLASSES = {
    "LORA": peft.LoraConfig, "ADALORA": peft.AdaLoraConfig, "VERA": peft.VeraConfig, "VBLORA": peft.VBLoRAConfig,
    "FOURIERFT": peft.FourierFTConfig, "LOHA": peft.LoHaConfig, "LOKR": peft.LoKrConfig, "OFT": peft.OFTConfig,
    "BOFT": peft.BOFTConfig, "MISS": peft.MissConfig, "IA3": peft.IA3Config, "LN_TUNING": peft.LNTuningConfig,
    "PROMPT_TUNING": peft.PromptTuningConfig, "PREFIX_TUNING": peft.PrefixTuningConfig, "P_TUNING": peft.PromptEncoderConfig,
}


def default_of(field: dataclasses.Field) -> object:
    made = field.default_factory is not dataclasses.MISSING
    value = field.default_factory() if made else field.default
    if isinstance(value, Enum):
        return value.value
    return value if value is None or isinstance(value, (bool, int, float, str, list, dict)) else type(value).__name__


def main() -> None:
    kinds = [f'"{kind}":' + json.dumps({field.name: default_of(field) for field in dataclasses.fields(cls)}, separators=(",", ":"))
             for kind, cls in CLASSES.items()]
    version = importlib.metadata.version("peft")
    OUT.write_text(f'{{"peft":"{version}","kinds":{{\n' + ",\n".join(kinds) + "\n}}\n", encoding="utf8")


main()
