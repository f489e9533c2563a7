"""DoRA at the width of real layers under the tracker of `measure.py`: what `dora.json` holds.

Two layers with the widths of Llama 3 8B and a small vocabulary, so that layers and not the loss hold the peak; `get_peft_model`,
two steps of AdamW; bytes and FLOPs as in `cases.json`.
"""

import importlib.metadata
import json
import sys
import warnings

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402
from peft import LoraConfig, get_peft_model  # noqa: E402

import measure as oracle  # noqa: E402

MODEL = {"vocab_size": 1024, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 2, "num_attention_heads": 32,
         "num_key_value_heads": 8, "hidden_act": "silu", "max_position_embeddings": 8192, "tie_word_embeddings": False,
         "model_type": "llama"}
BIASED = {**MODEL, "model_type": "qwen2", "intermediate_size": 11008, "num_key_value_heads": 32}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpus": 1, "batch.accumulation": 1,
       "attention.implementation": "sdpa", "method.kind": "lora", "optimizer.name": "adamw", "optimizer.implementation": "foreach",
       "batch.micro": 1, "precision.weights": "bf16", "precision.compute": "bf16", "lora.dora": True, "lora.rank": 16}
LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CHECKPOINTED = {"activations.checkpointing": "full", "activations.reentrant": False}


def _cases():
    for scheme in ("native", "autocast"):
        for dropout in (0.0, 0.05):
            for targets in (LINEAR, LINEAR[:4], ["q_proj", "v_proj"]):
                run = {"precision.scheme": scheme, "lora.dropout": dropout, "lora.targets": targets, "lora.dtype": "fp32",
                       "batch.sequence": 2048}
                yield MODEL, run
                if targets == LINEAR:
                    yield MODEL, {**run, **CHECKPOINTED}
                    yield MODEL, {**run, **CHECKPOINTED, "activations.reentrant": True, "batch.sequence": 4096}
                    yield BIASED, run
            yield MODEL, {**run, "lora.dtype": "bf16", "lora.targets": LINEAR}


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    cases = []
    for model, fields in _cases():
        run = {**RUN, **fields}
        config = LoraConfig(r=16, target_modules=fields["lora.targets"], lora_dropout=fields["lora.dropout"], use_dora=True,
                            task_type="CAUSAL_LM")

        def adapted(model, run, config=config):
            with torch.device("cuda"):
                return get_peft_model(model, config, autocast_adapter_dtype=run["lora.dtype"] == "fp32")

        oracle.apply_method = adapted
        results = oracle.measure({"run": run, "model": dict(model)})
        micro = results["steps"][-1]["micro"][0]
        cases.append({"run": fields, "model": {k: v for k, v in model.items() if MODEL[k] != v},
                      "trainable": results["parameters"]["trainable"], "forward": micro["forward"]["peak"],
                      "kept": results["savedTotal"], "backward": micro["backward"]["peak"], "peak": results["peak"],
                      "flops": results["flops"]})
        print(cases[-1], flush=True)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft")}
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    head = f'{{\n "versions": {json.dumps(versions)},\n "model": {json.dumps(MODEL)},\n "run": {json.dumps(RUN)},\n'
    with open(sys.argv[1] if len(sys.argv) > 1 else "dora.json", "w") as file:
        file.write(f'{head} "cases": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
