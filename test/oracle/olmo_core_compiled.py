"""What `torch.compile` keeps of a block of OLMo-core, in `olmo_core_compiled.json`, as `compiled.py` records it: `python olmo_core_compiled.py`, with what
`olmo_core_step.py` needs."""

import json
from pathlib import Path

import compiled  # puts the fake device in the place of CUDA, before torch

import torch

import fake_cuda
from olmo_core_models import MODELS, config_of, stand_in


def main():
    stand_in()
    from olmo_core.config import DType

    results = {}
    for name in ("olmo2-7b", "llama3-8b", "qwen3", "gemma", "gated"):
        model = MODELS[name] | {"n_layers": 1, "vocab_size": 1000}
        fields = {key: value for key, value in model.items() if key != "model_type"}
        with fake_cuda.fake_mode():
            block = config_of(fields, DType.bfloat16).build(init_device="cuda").blocks["0"]
            size = fields.get("head_dim") or fields["d_model"] // fields["n_heads"]
            angle = torch.empty(compiled.SEQUENCE, size, device="cuda")
            x = torch.empty(compiled.BATCH, compiled.SEQUENCE, fields["d_model"], dtype=torch.bfloat16, device="cuda", requires_grad=True)
            kept = compiled.kept(block, x, {"pos_sin": angle, "pos_cos": angle})
        run = {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "native", "kernels.compile": True, "model.code": "olmo-core",
               "batch.micro": compiled.BATCH, "batch.sequence": compiled.SEQUENCE, "attention.implementation": "sdpa"}
        results[name] = {"run": run, "model": model, "alone": sorted(kept.values(), reverse=True)}
        print(name, sum(kept.values()))
    text = json.dumps({"torch": torch.__version__.split("+")[0], "cases": results}, indent=1)
    Path(__file__).with_name("olmo_core_compiled.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
