"""What PEFT trains of virtual tokens on every model type: `python virtual_tokens.py [--out virtual_tokens.json]`.

The small models of `model_counts.json`, one of each class, on the meta device; the parameters of `prompt_encoder` for each kind of prompt,
or `null` where `get_peft_model` stops. Nothing runs: `stops` are classes whose forward has no way for the tokens to come in
(`peft_model.py`, `forward` and `_prefix_tuning_forward` of the class of each task).
"""

import argparse
import copy
import importlib.metadata
import inspect
import json
import os
import warnings
from pathlib import Path

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402
import transformers.initialization  # noqa: E402
from peft import PrefixTuningConfig, PromptEncoderConfig, PromptTuningConfig, get_peft_model  # noqa: E402
from transformers import CONFIG_MAPPING  # noqa: E402

from model_counts import NESTED  # noqa: E402

TASKS = {"classification": "SEQ_CLS", "token-classification": "TOKEN_CLS", "question-answering": "QUESTION_ANS"}
KINDS = {"prompt-tuning": (PromptTuningConfig, {}), "p-tuning": (PromptEncoderConfig, {}), "prefix-tuning": (PrefixTuningConfig, {}),
         "prefix-tuning, projected": (PrefixTuningConfig, {"prefix_projection": True, "encoder_hidden_size": 32}),
         "prefix-tuning, projected as wide": (PrefixTuningConfig, {"prefix_projection": True})}
TOKENS = 7


def trained(config, name: str, task: str, kind: str):
    with torch.device("meta"), transformers.initialization.no_init_weights():
        model = getattr(transformers, name)._from_config(config)
        model.tie_weights()
        cls, more = KINDS[kind]
        language = "SEQ_2_SEQ_LM" if config.is_encoder_decoder else "CAUSAL_LM"
        # Classes for masked words have no task of their own.
        task_type = TASKS.get(task, language if task == "lm" and hasattr(model, "prepare_inputs_for_generation") else "FEATURE_EXTRACTION")
        try:
            adapted = get_peft_model(model, cls(task_type=task_type, num_virtual_tokens=TOKENS, **more))
        except (AttributeError, ValueError, TypeError) as error:
            print(name, kind, error, flush=True)
            return None
    return sum(p.numel() for n, p in adapted.named_parameters() if "prompt_encoder" in n)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="virtual_tokens.json")
    out = parser.parse_args().out
    counts = json.loads(Path(__file__).with_name("model_counts.json").read_text())["counts"]
    rows, closed = {}, []
    for model_type, models in counts.items():
        if model_type in NESTED:
            continue
        seen = set()
        for task, name, fields, _ in models:
            if name in seen or not hasattr(transformers, name):
                continue
            seen.add(name)
            try:
                config = CONFIG_MAPPING[model_type](**copy.deepcopy(fields))
                rows.setdefault(model_type, []).append([task, name, fields, {k: trained(config, name, task, k) for k in KINDS}])
            except Exception as error:  # noqa: BLE001
                print("no model", model_type, name, repr(error)[:200], flush=True)
                continue
            if "inputs_embeds" not in inspect.signature(getattr(transformers, name).forward).parameters:
                closed.append(name)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft")}
    lines = ",\n".join(f'  {json.dumps(t)}: [\n' + ",\n".join("   " + json.dumps(r) for r in r_) + "\n  ]" for t, r_ in rows.items())
    Path(out).write_text(f'{{\n "versions": {json.dumps(versions)},\n "tokens": {TOKENS},\n "closed": {json.dumps(closed)},\n "counts": {{\n{lines}\n }}\n}}\n')


if __name__ == "__main__":
    main()
