"""Axolotl's fused LoRA functions under the tracker of `measure.py`: what `lora_kernels.json` holds.

`pip install --no-deps axolotl==0.19.0` is enough: of it only `kernels/lora.py` runs, untouched, between stand-ins for its
Triton kernels, which allocate a result forward and write over their inputs backward.
"""

import importlib.metadata
import importlib.util
import inspect
import sys
import textwrap
import types
from pathlib import Path

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402

import measure as oracle  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402

MODEL = {"vocab_size": 8000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 4, "num_attention_heads": 16,
         "num_key_value_heads": 4, "hidden_act": "silu", "max_position_embeddings": 4096, "tie_word_embeddings": False,
         "model_type": "llama"}
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpus": 1, "batch.accumulation": 1,
       "attention.implementation": "sdpa", "optimizer.name": "sgd", "optimizer.implementation": "foreach", "method.kind": "lora",
       "precision.weights": "bf16", "precision.compute": "bf16", "batch.micro": 2, "batch.sequence": 2048, "lora.rank": 16,
       "lora.targets": ALL}
KERNELS = {"no kernels": [], "mlp": ["mlp"], "qkv": ["qkv"], "output": ["output"], "all": ["mlp", "qkv", "output"]}
SCHEMES = {"bf16": {"precision.scheme": "native"}, "bf16 under amp": {"precision.scheme": "autocast"}}
OTHERS = {"": {}, ", dropout": {"lora.dropout": 0.05}, ", adapters in bf16": {"lora.dtype": "bf16"},
          ", checkpointed": {"activations.checkpointing": "full", "activations.reentrant": False}}


def kernels():
    """`axolotl/kernels/lora.py` with its neighbours stood in for."""
    folder = Path(next(f for f in importlib.metadata.files("axolotl") if str(f) == "axolotl/kernels/lora.py").locate()).parent
    package = types.ModuleType("axolotl_kernels")
    package.__path__ = [str(folder)]
    bits = types.ModuleType("bitsandbytes")
    bits.functional = types.ModuleType("bitsandbytes.functional")
    bits.functional.QuantState = type("QuantState", (), {})
    modules = {"axolotl_kernels": package, "bitsandbytes": bits, "bitsandbytes.functional": bits.functional}
    for name in ("geglu", "swiglu"):
        module = modules[f"axolotl_kernels.{name}"] = types.ModuleType(name)
        setattr(module, f"{name}_forward", lambda gate, up: torch.empty_like(gate))
        setattr(module, f"{name}_backward", lambda grad, gate, up: (grad, gate, up))
    modules["axolotl_kernels.quantize"] = types.ModuleType("quantize")
    modules["axolotl_kernels.quantize"].dequantize = lambda weight, state=None: weight
    sys.modules.update(modules)
    spec = importlib.util.spec_from_file_location("axolotl_kernels.lora", folder / "lora.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("bitsandbytes", "bitsandbytes.functional"):
        del sys.modules[name]  # peft would look into it
    return module


def through_kernels(attention):
    """The attention's forward with `apply_qkv` and `apply_o` in it, as `monkeypatch/lora_kernels.py` writes it anew."""
    source = textwrap.dedent(inspect.getsource(attention.forward))
    old = ["    query_states = self.q_proj(hidden_states).view(hidden_shape).transpose(1, 2)\n",
           "    key_states = self.k_proj(hidden_states).view(hidden_shape).transpose(1, 2)\n",
           "    value_states = self.v_proj(hidden_states).view(hidden_shape).transpose(1, 2)\n"]
    new = ["    query_states, key_states, value_states = self.apply_qkv(hidden_states)\n",
           "    query_states = query_states.view(hidden_shape).transpose(1, 2)\n",
           "    key_states = key_states.view(hidden_shape).transpose(1, 2)\n",
           "    value_states = value_states.view(hidden_shape).transpose(1, 2)\n"]
    assert "".join(old) in source and "self.o_proj(attn_output)" in source
    source = source.replace("".join(old), "".join(new)).replace("self.o_proj(attn_output)", "self.apply_o(attn_output)")
    scope = dict(vars(sys.modules[attention.__module__]))
    exec(source, scope)
    return scope["forward"]


def patch(model, names, lora):
    forward = None
    for layer in model.get_base_model().model.layers:
        attention = layer.self_attn
        forward = forward or through_kernels(type(attention))
        attention.forward = types.MethodType(forward, attention)
        plain = (lambda self, x: (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        attention.apply_qkv = types.MethodType(lora.apply_lora_qkv if "qkv" in names else plain, attention)
        output = lora.apply_lora_o if "output" in names else (lambda self, x: self.o_proj(x))
        attention.apply_o = types.MethodType(output, attention)
        if "mlp" in names:
            layer.mlp.forward = types.MethodType(lora.apply_lora_mlp_swiglu, layer.mlp)


def main():
    options = options_of(__doc__, "lora_kernels.json")
    lora, plain = kernels(), oracle.apply_method
    cases = [{"id": f"{name}, {scheme}{other}", "run": RUN | precision | more | {"lora.dtype": more.get("lora.dtype", "fp32"), "kernels.lora": names},
              "model": MODEL}
             for scheme, precision in SCHEMES.items() for other, more in OTHERS.items() for name, names in KERNELS.items()]
    done = recorded(options.out)

    def patched(model, run):
        model = plain(model, run)
        patch(model, run["kernels.lora"], lora)
        return model

    oracle.apply_method = patched
    versions = {n: importlib.metadata.version(n) for n in ("torch", "transformers", "peft", "axolotl")}
    for case in cases:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        results = oracle.measure(case)
        micro = results["steps"][-1]["micro"][0]
        phases = phases_of(micro)
        done[case["id"]] = case | {"results": {"parameters": results["parameters"], **phases, "peak": results["peak"]}}
        print(case["id"], {k: v["peak"] for k, v in phases.items()}, phases["backward"]["operator"], flush=True)
        write(options.out, {"versions": versions}, cases, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
