"""States and step peaks of real optimizers: what `optimizers.json` holds.

Each case steps an optimizer over the same weights until it is steady and records, in bytes: `states` (what it keeps, every
storage rounded up to 512 B), `first` and `step` (highest bytes beside weights, gradients and states during the first and a
later step). They run on real CPU tensors, because many look at their values; `foreach` and `fused` are asked for by name, as
they are what PyTorch takes on a GPU. Optimizers whose step is a kernel of their own (bitsandbytes, torchao) make their states only.
Numbers of steps, which PyTorch keeps as tensors of one element, are not counted.
"""

import argparse
import gc
import importlib
import importlib.metadata
import json
import traceback

import torch

from allocation import Tracker

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
LAYER = {"q_proj": (512, 512), "k_proj": (128, 512), "gate_proj": (1408, 512), "down_proj": (512, 1408), "norm": (512,)}
LAYERS = 4


def shapes():
    """Weights of a small decoder: name and shape, in the order of the model."""
    named = [("embed_tokens", (2048, 512))]
    for layer in range(LAYERS):
        named += [(f"layers.{layer}.{name}", shape) for name, shape in LAYER.items()]
    return named + [("norm", (512,)), ("lm_head", (2048, 512)), ("adapter", (8, 512))]


MATRICES = ("q_proj", "k_proj", "gate_proj", "down_proj")


def split(parameters):
    """Weights of the layers' matrices, and all others."""
    inner = [p for n, p in parameters if n.endswith(MATRICES)]
    return inner, [p for n, p in parameters if not n.endswith(MATRICES)]


def torch_optim(name, **options):
    return lambda parameters: getattr(torch.optim, name)([p for _, p in parameters], lr=1e-3, **options)


def from_module(module, name, **options):
    def make(parameters):
        return getattr(importlib.import_module(module), name)([p for _, p in parameters], lr=1e-3, **options)

    return make


def low_rank(module, name, **options):
    """GaLore and APOLLO as the Trainer groups weights: the named matrices are projected, the others are not."""

    def make(parameters):
        inner, others = split(parameters)
        groups = [{"params": others}, {"params": inner, **options}]
        fixed = {"scale_parameter": False, "relative_step": False} if name.endswith("Adafactor") else {}
        return getattr(importlib.import_module(module), name)(groups, lr=1e-3, **fixed)

    return make


def matrices_alone(parameters):
    """Muon of the layers' matrices, without the AdamW that treats the rest."""
    return torch.optim.Muon(split(parameters)[0], lr=1e-3)


def muon(parameters):
    inner, others = split(parameters)
    both = [torch.optim.Muon(inner, lr=1e-3), torch.optim.AdamW(others, lr=1e-3)]

    class Both:
        state = {}

        def step(self):
            for optimizer in both:
                optimizer.step()

    Both.state = {k: v for o in both for k, v in o.state.items()}
    Both.parts = both
    return Both()


def olmo_lionw(parameters):
    from olmo_packages import stand_in

    stand_in()
    return from_module("olmo.optim", "LionW", betas=(0.9, 0.95), weight_decay=0.01)(parameters)


GALORE = {"rank": 128, "update_proj_gap": 200, "scale": 0.25, "proj_type": "std"}
APOLLO = {"rank": 128, "proj": "random", "scale_type": "channel", "update_proj_gap": 200, "scale": 1.0, "proj_type": "std"}
IMPLEMENTATIONS = {"foreach": {"foreach": True}, "fused": {"fused": True}, "for-loop": {"foreach": False}}

class HostTracker(Tracker):
    """Counts storages on the host, those of one element left out."""

    def add(self, tensor):
        if tensor.numel() > 1 or tensor.untyped_storage().nbytes() > 8:
            super().add(Device(tensor))


class Device:
    """A tensor that claims to lie on the GPU."""

    device = torch.device("cuda")

    def __init__(self, tensor):
        self.untyped_storage = tensor.untyped_storage


OPTIMIZERS = {}
for how, options in IMPLEMENTATIONS.items():
    for name in ("AdamW", "Adam", "SGD", "Adagrad"):
        extra = {"momentum": 0.9} if name == "SGD" else {"weight_decay": 0.01} if name == "AdamW" else {}
        OPTIMIZERS[f"torch.{name}:{how}"] = torch_optim(name, **options, **extra)
    if how != "fused":
        for name in ("Adamax", "NAdam", "RAdam", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor"):
            OPTIMIZERS[f"torch.{name}:{how}"] = torch_optim(name, **options)
        OPTIMIZERS[f"torch.RMSprop(momentum):{how}"] = torch_optim("RMSprop", momentum=0.9, **options)
        OPTIMIZERS[f"torch.RMSprop(centered):{how}"] = torch_optim("RMSprop", centered=True, **options)
        OPTIMIZERS[f"torch.AdamW(amsgrad):{how}"] = torch_optim("AdamW", amsgrad=True, **options)
        OPTIMIZERS[f"torch.Adam(decay):{how}"] = torch_optim("Adam", weight_decay=0.01, **options)
        OPTIMIZERS[f"torch.SGD(plain):{how}"] = torch_optim("SGD", **options)
OPTIMIZERS |= {
    "torch.Muon": muon,
    "torch.Muon(matrices)": matrices_alone,
    "transformers.Adafactor": from_module("transformers.optimization", "Adafactor", scale_parameter=False, relative_step=False),
    "transformers.Adafactor(momentum)": from_module(
        "transformers.optimization", "Adafactor", scale_parameter=False, relative_step=False, beta1=0.9),
    "galore.AdamW": low_rank("galore_torch", "GaLoreAdamW", **GALORE),
    "galore.Adafactor": low_rank("galore_torch", "GaLoreAdafactor", **GALORE),
    "apollo.AdamW": low_rank("apollo_torch", "APOLLOAdamW", **APOLLO),
    "apollo.AdamW(mini)": low_rank("apollo_torch", "APOLLOAdamW", **{**APOLLO, "rank": 1, "scale_type": "tensor", "scale": 128.0}),
    "schedulefree.AdamW": from_module("schedulefree", "AdamWScheduleFree"),
    "schedulefree.RAdam": from_module("schedulefree", "RAdamScheduleFree"),
    "schedulefree.SGD": from_module("schedulefree", "SGDScheduleFree"),
    "grokadamw": from_module("grokadamw", "GrokAdamW"),
    "optimi.AdamW": from_module("optimi", "AdamW"),
    "optimi.StableAdamW": from_module("optimi", "StableAdamW"),
    "optimi.Lion": from_module("optimi", "Lion"),
    "optimi.Adan": from_module("optimi", "Adan"),
    "came": from_module("came_pytorch", "CAME"),
    "olmo.LionW": olmo_lionw,
    "lion_pytorch": from_module("lion_pytorch", "Lion"),
    "pytorch_optimizer.Adan": from_module("pytorch_optimizer", "Adan"),
    "pytorch_optimizer.Shampoo": from_module("pytorch_optimizer", "Shampoo"),
    "pytorch_optimizer.SOAP": from_module("pytorch_optimizer", "SOAP"),
    "pytorch_optimizer.AdEMAMix": from_module("pytorch_optimizer", "AdEMAMix"),
    "pytorch_optimizer.Lamb": from_module("pytorch_optimizer", "Lamb"),
    "pytorch_optimizer.LARS": from_module("pytorch_optimizer", "LARS"),
    "pytorch_optimizer.Lion": from_module("pytorch_optimizer", "Lion"),
    "pytorch_optimizer.Prodigy": from_module("pytorch_optimizer", "Prodigy"),
    "pytorch_optimizer.AdaBelief": from_module("pytorch_optimizer", "AdaBelief"),
    "torchao.AdamW8bit": from_module("torchao.optim", "AdamW8bit"),
    "torchao.AdamW8bit(256)": from_module("torchao.optim", "AdamW8bit", block_size=256),
    "torchao.AdamW4bit": from_module("torchao.optim", "AdamW4bit"),
    "torchao.AdamW4bit(256)": from_module("torchao.optim", "AdamW4bit", block_size=256),
    "torchao.AdamWFp8": from_module("torchao.optim", "AdamWFp8"),
}
for name, options in {"AdamW8bit": {}, "AdamW32bit": {}, "Lion8bit": {}, "Lion32bit": {}, "RMSprop8bit": {}, "AdEMAMix8bit": {},
                      "AdEMAMix": {}, "Adagrad8bit": {}, "SGD8bit": {"momentum": 0.9}, "LARS8bit": {"momentum": 0.9},
                      "LAMB8bit": {}}.items():
    OPTIMIZERS[f"bitsandbytes.{name}"] = from_module("bitsandbytes.optim", name, **options)


def states_only(optimizer):
    """Makes the states as the first step makes them, and leaves the kernels out."""
    for group_index, group in enumerate(optimizer.param_groups):
        for index, parameter in enumerate(group["params"]):
            if hasattr(optimizer, "init_state"):
                optimizer.init_state(group, parameter, group_index, index)
            else:
                names = ("exp_avg", "exp_avg_sq")
                optimizer.state[parameter] = {n: optimizer._new_buffer(parameter, n == "exp_avg") for n in names}


def measure(make, dtype):
    torch.manual_seed(0)
    tracker = HostTracker()
    with tracker:
        parameters = [(name, torch.nn.Parameter(torch.randn(shape).to(DTYPES[dtype]))) for name, shape in shapes()]
        for _, parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        gc.collect()
        base = tracker.current
        optimizer = make(parameters)
        own_kernel = type(optimizer).__module__.split(".")[0] in ("bitsandbytes", "torchao")
        if hasattr(optimizer, "train"):
            optimizer.train()
        result = {}
        for index in range(3):
            gc.collect()
            before = tracker.current
            tracker.reset_peak()
            if not own_kernel:
                optimizer.step()
            elif index == 0:
                states_only(optimizer)
            peak = tracker.peak
            gc.collect()
            if index == 0:
                result["first"] = peak - tracker.current
            result["step"] = peak - max(before, tracker.current)
        if own_kernel:
            del result["first"], result["step"]
        result["states"] = tracker.current - base
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="optimizers.json")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    cases, skipped = [], {}
    for name, make in OPTIMIZERS.items():
        if arguments.only not in name:
            continue
        for dtype in DTYPES:
            try:
                cases.append({"optimizer": name, "weights": dtype, **measure(make, dtype)})
                print(cases[-1], flush=True)
            except Exception as error:  # noqa: BLE001: one that does not run has its reason
                skipped[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"
                print(name, skipped[name], traceback.format_exc().splitlines()[-3:-1], flush=True)
    packages = ("torch", "transformers", "bitsandbytes", "torchao", "galore-torch", "apollo-torch", "schedulefree", "grokadamw",
                "torch-optimi", "came-pytorch", "lion-pytorch", "pytorch-optimizer")
    versions = {}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    weights = [{"name": name, "shape": list(shape)} for name, shape in shapes()]
    with open(arguments.out, "w") as file:
        json.dump({"versions": versions, "weights": weights, "matrices": list(MATRICES), "cases": cases}, file, indent=1)
    print(f"{len(cases)} cases, skipped: {json.dumps(skipped, indent=1)}")


if __name__ == "__main__":
    main()
