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
from heads import cases_of  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402

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
    done = recorded(options.out)
    cases = cases_of(f"Liger {LIGER}", {"loss.implementation": "liger", "version.liger": LIGER})
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
