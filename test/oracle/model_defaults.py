"""Adds what transformers' configuration classes default to: `python model_defaults.py TYPE... [--types]`.

Writes `server/data/model-defaults.json` (fields that a `config.json` may leave out) and, with `--types`,
`server/data/model-types.json` (every `model_type`). Defaults are those of the class: what it derives when it is made, such
as a list with one entry per layer, is left to the code that derives it.
"""

import json
import sys
from pathlib import Path

import transformers
from transformers import CONFIG_MAPPING, PreTrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

DATA = Path(__file__).parents[2] / "server" / "data"
PLAIN = (bool, int, float, str, list, tuple)
# Fields that shape nothing.
LEFT_OUT = set(PreTrainedConfig().to_dict()) | {
    "base_model_tp_plan", "base_model_pp_plan", "base_model_ep_plan", "attribute_map", "sub_configs", "default_theta",
    "keys_to_ignore_at_inference", "extra_files", "extra_config_files", "has_no_defaults_at_init", "base_config_key", "model_type", "use_cache",
    "initializer_range", "initializer_factor", "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
    "rms_norm_eps", "norm_eps", "layer_norm_eps", "layer_norm_epsilon", "output_router_logits", "router_aux_loss_coef",
    "time_step_limit", "time_step_min", "time_step_max", "time_step_floor", "z_loss_coefficient"}


def defaults(cls) -> dict:
    """Public fields of a configuration class that have a plain value."""
    names = [name for base in reversed(cls.__mro__) for name in getattr(base, "__annotations__", {})]
    values = {name: getattr(cls, name, None) for name in dict.fromkeys(names) if not name.startswith("_")}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
            if name not in LEFT_OUT and isinstance(value, PLAIN) and not name.endswith("_token_id")}


def compact(value) -> str:
    return json.dumps(value, separators=(",", ":"))


def one_per_line(key: str, source: str, entries: dict) -> str:
    lines = ",\n".join(f"{compact(name)}:{compact(fields)}" for name, fields in entries.items())
    return f'{{"source":{compact(source)},\n"{key}":{{\n{lines}\n}}}}\n'


def main() -> None:
    path = DATA / "model-defaults.json"
    known = json.loads(path.read_text())
    for name in sys.argv[1:]:
        if not name.startswith("--"):
            known["defaults"][name] = defaults(CONFIG_MAPPING[name])
    path.write_text(one_per_line("defaults", known["source"], known["defaults"]))
    if "--types" in sys.argv:
        source = f"transformers {transformers.__version__}, CONFIG_MAPPING_NAMES"
        types = ",\n".join(compact(name) for name in sorted(CONFIG_MAPPING_NAMES))
        (DATA / "model-types.json").write_text(f'{{"source":{compact(source)},\n"types":[\n{types}\n]}}\n')


if __name__ == "__main__":
    main()
