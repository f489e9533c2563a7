"""Liger's fused head and loss under the tracker of `measure.py`: what `liger.json` holds (`pip install --no-deps liger-kernel==0.8.5 triton`).

The code that launches is Liger's own; its kernel allocates nothing and is left out, and so is the sum in place of `addmm`, which
fake tensors have no rule for with a type of its own. Everything but the head is transformers' own.
"""

import importlib.metadata
import sys
from types import MethodType, SimpleNamespace

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402

import measure as oracle  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402

MODEL = {"vocab_size": 50000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 2, "num_attention_heads": 16,
         "num_key_value_heads": 16, "hidden_act": "silu", "max_position_embeddings": 4096, "model_type": "llama"}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpus": 1, "batch.accumulation": 1,
       "attention.implementation": "sdpa", "optimizer.name": "sgd", "optimizer.implementation": "foreach",
       "precision.compute": "bf16"}
SCHEMES = {"bf16": {"precision.weights": "bf16", "precision.scheme": "native"},
           "amp": {"precision.weights": "fp32", "precision.scheme": "autocast"},
           "bf16 under amp": {"precision.weights": "bf16", "precision.scheme": "autocast"}}
METHODS = {"full": {"method.kind": "full"},
           "LoRA": {"method.kind": "lora", "lora.rank": 8, "lora.targets": ["q_proj", "v_proj"], "lora.dtype": "fp32"}}
BATCHES = {"2 x 1024": {"batch.micro": 2, "batch.sequence": 1024}, "4 x 2048": {"batch.micro": 4, "batch.sequence": 2048}}
LIGER = importlib.metadata.version("liger-kernel")


def fused():
    """The function with what needs values, or a device, answered for it."""
    from liger_kernel.ops import fused_linear_cross_entropy as module

    class Kernel:
        def __getitem__(self, grid):
            return lambda *args, **kwargs: None

    module.liger_cross_entropy_kernel = Kernel()
    module._ADDMM_SUPPORTS_OUT_DTYPE = True
    card = SimpleNamespace(**{**vars(torch.cuda), "get_device_capability": lambda device=None: (9, 0)})
    module.torch = SimpleNamespace(**{**vars(torch), "cuda": card, "addmm": lambda *args, **kwargs: None,
                                      "equal": lambda *args: True, "tensor": lambda *args, **kwargs: None})
    torch.Tensor.item = lambda tensor: 1000
    return module.LigerFusedLinearCrossEntropyFunction


def main():
    options = options_of(__doc__, "liger.json")
    function, plain = fused(), oracle.apply_method

    def forward(self, input_ids, labels, **kwargs):
        hidden = self.model(input_ids=input_ids, use_cache=False).last_hidden_state
        shifted = torch.nn.functional.pad(labels, (0, 1))[..., 1:].contiguous()
        return SimpleNamespace(loss=function.apply(hidden.view(-1, hidden.shape[-1]), self.lm_head.weight, shifted.view(-1))[0])

    def patched(model, run):
        model.forward = MethodType(forward, model)  # before PEFT wraps the model
        return plain(model, run)

    oracle.apply_method = patched
    oracle.compute_loss = lambda model, batch: model(**batch).loss
    done, cases = recorded(options.out), []
    for scheme, precision in SCHEMES.items():
        for method, trained in METHODS.items():
            for size, batch in BATCHES.items():
                for tied in (False, True):
                    run = RUN | precision | trained | batch | {"loss.implementation": "liger", "version.liger": LIGER}
                    cases.append({"id": f"Liger {LIGER}, {scheme}, {method}, {size}{', tied' if tied else ''}", "run": run,
                                  "model": MODEL | {"tie_word_embeddings": tied}})
    for case in cases:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        results = oracle.measure(case)
        phases = phases_of(results["steps"][-1]["micro"][0])
        done[case["id"]] = case | {"results": {"parameters": results["parameters"], **phases, "peak": results["peak"]}}
        print(case["id"], {k: v["peak"] for k, v in phases.items()}, phases["backward"]["operator"], flush=True)
        write(options.out, {"versions": {n: importlib.metadata.version(n) for n in ("torch", "transformers", "peft")}}, cases, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
