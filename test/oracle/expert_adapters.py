"""LoRA of stacked experts under the tracker of `measure.py`: what `expert_adapters.json` holds.

peft folds the change into the weight in one `baddbmm` since 0.21, and makes it whole before. Both are recorded: run the script once per version
(`pip install --target DIR --no-deps peft==0.20.0`, `PYTHONPATH=DIR`); it keeps the cases of the other.
"""

import importlib.metadata
import json
import sys

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402
from peft import LoraConfig, get_peft_model  # noqa: E402

import measure as oracle  # noqa: E402

MODEL = {"vocab_size": 2000, "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 3, "num_attention_heads": 16,
         "num_key_value_heads": 4, "head_dim": 64, "hidden_act": "silu", "max_position_embeddings": 4096, "tie_word_embeddings": False,
         "num_experts_per_tok": 2, "model_type": "qwen3_moe", "moe_intermediate_size": 768, "num_experts": 16, "decoder_sparse_step": 1}
MIXTRAL = {"vocab_size": 2000, "hidden_size": 1024, "intermediate_size": 1792, "num_hidden_layers": 3, "num_attention_heads": 16,
           "num_key_value_heads": 4, "hidden_act": "silu", "max_position_embeddings": 4096, "tie_word_embeddings": False,
           "num_experts_per_tok": 2, "num_local_experts": 8, "sliding_window": None, "model_type": "mixtral"}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpus": 1, "batch.accumulation": 1,
       "attention.implementation": "sdpa", "method.kind": "lora", "optimizer.name": "adamw", "optimizer.implementation": "foreach",
       "batch.micro": 2, "batch.sequence": 1024, "precision.weights": "bf16", "precision.compute": "bf16", "lora.dtype": "fp32",
       "lora.rank": 16, "lora.targets": ["q_proj", "v_proj"],
       "lora.targetParameters": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]}
SCHEMES = {
    "bf16": {"precision.scheme": "native"},
    "bf16, autocast": {"precision.scheme": "autocast"},
    "bf16, autocast, checkpointed": {"precision.scheme": "autocast", "activations.checkpointing": "full"},
    "fp32, autocast": {"precision.scheme": "autocast", "precision.weights": "fp32"},
}


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "expert_adapters.json"
    peft = importlib.metadata.version("peft")
    try:
        with open(path) as file:
            cases = [case for case in json.load(file)["cases"] if case["peft"] != peft]
    except FileNotFoundError:
        cases = []
    for model in (MODEL, MIXTRAL):
        for scheme, fields in SCHEMES.items():
            config = LoraConfig(r=16, target_modules=RUN["lora.targets"], target_parameters=RUN["lora.targetParameters"],
                                task_type="CAUSAL_LM")

            def adapted(model, _run, config=config):
                with torch.device("cuda"):
                    return get_peft_model(model, config)

            oracle.apply_method = adapted
            results = oracle.measure({"run": {**RUN, **fields}, "model": dict(model)})
            micro = results["steps"][-1]["micro"][0]
            cases.append({"peft": peft, "model": model["model_type"], "scheme": scheme, "run": fields,
                          "trainable": results["parameters"]["trainable"], "forward": micro["forward"]["peak"],
                          "backward": micro["backward"]["peak"], "peak": results["peak"],
                          "savedTotal": results.get("savedTotal")})
            print(cases[-1], flush=True)
    cases.sort(key=lambda case: case["peft"])
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers")}
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    models = {model["model_type"]: model for model in (MODEL, MIXTRAL)}
    head = f'{{\n "versions": {json.dumps(versions)},\n "models": {json.dumps(models)},\n "run": {json.dumps(RUN)},\n'
    with open(path, "w") as file:
        file.write(f'{head} "cases": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
