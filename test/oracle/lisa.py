"""LISA under the tracker of `measure.py`: what `lisa.json` holds.

ms-swift's callback (`pip install --no-deps ms-swift==4.6.0`, `callbacks/lisa.py`) freezes layers and draws new ones. Which
it draws is given here: the last layer first, the first one in the step that is recorded, so that every layer was trained once.
"""

import importlib.metadata
import importlib.util
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402

import measure as oracle  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402

MODEL = {"vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 6, "num_attention_heads": 16,
         "num_key_value_heads": 16, "hidden_act": "silu", "max_position_embeddings": 4096, "tie_word_embeddings": False,
         "model_type": "llama"}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpus": 1, "batch.accumulation": 1,
       "attention.implementation": "sdpa", "method.kind": "lisa", "method.switchSteps": 1, "batch.micro": 2, "batch.sequence": 512}
SCHEMES = {"bf16": {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "native"},
           "amp": {"precision.weights": "fp32", "precision.compute": "bf16", "precision.scheme": "autocast"}}
OPTIMIZERS = {"AdamW": {"optimizer.name": "adamw", "optimizer.implementation": "foreach"},
              "fused AdamW": {"optimizer.name": "adamw", "optimizer.implementation": "fused"},
              "SGD with momentum": {"optimizer.name": "sgd-momentum", "optimizer.implementation": "foreach"}}
OTHERS = {"": {}, ", checkpointed": {"activations.checkpointing": "full", "activations.reentrant": False}}


def callback_class():
    """The callback alone, without the framework around it."""
    path = next(f for f in importlib.metadata.files("ms-swift") if str(f) == "swift/callbacks/lisa.py").locate()
    package = types.ModuleType("callbacks")
    package.__path__ = [str(Path(path).parent)]
    base = types.ModuleType("callbacks.base")
    base.TrainerCallback = type("TrainerCallback", (), {"__init__": lambda self, args, trainer: None})
    sys.modules |= {"callbacks": package, "callbacks.base": base}
    spec = importlib.util.spec_from_file_location("callbacks.lisa", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    options = options_of(__doc__, "lisa.json")
    module = callback_class()
    done = recorded(options.out)
    cases = [{"id": f"{name}, {scheme}, {layers} layers{other}", "model": MODEL,
              "run": RUN | precision | optimizer | more | {"method.trainableLayers": layers}}
             for scheme, precision in SCHEMES.items() for name, optimizer in OPTIMIZERS.items()
             for other, more in OTHERS.items() for layers in (1, 2)]
    plain_batch, plain_method = oracle.make_batch, oracle.apply_method
    for case in cases:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        count, size = MODEL["num_hidden_layers"], case["run"]["method.trainableLayers"]
        blocks = [list(range(i, i + size)) for i in range(count - size, -1, -size)]
        # Once when training begins; the first layers twice, so that their states are there.
        draws = iter([blocks[0], *blocks, blocks[-1]])
        module.np = SimpleNamespace(random=SimpleNamespace(choice=lambda *args, **kwargs: next(draws)))
        state = SimpleNamespace(global_step=0)
        args = SimpleNamespace(tuner_type="full", lisa_activated_layers=size, lisa_step_interval=1)
        callback = module.LISACallback(args, None)
        module.extract_model_from_parallel = lambda model, **kwargs: model

        def apply_method(model, run):
            callback.model = model
            return plain_method(model, run | {"method.kind": "full"})

        def make_batch(config, run):
            if state.global_step == 0:
                callback.on_train_begin(None, state, None, model=callback.model)
            callback.on_step_begin(None, state, None)
            state.global_step += 1
            return plain_batch(config, run)

        oracle.apply_method, oracle.make_batch = apply_method, make_batch
        oracle.saved_tensors = lambda *found: {}
        results = oracle.measure(case, steps=len(blocks) + 1)
        micro = results["steps"][-1]["micro"][0]
        phases = phases_of(micro)
        active = sum(p.numel() for p in callback.model.parameters() if p.requires_grad)
        done[case["id"]] = case | {"results": {"parameters": {"trainable": active}, **phases, "peak": results["peak"]}}
        print(case["id"], active, {k: v["peak"] for k, v in phases.items()}, results["peak"], flush=True)
        versions = {n: importlib.metadata.version(n) for n in ("torch", "transformers", "ms-swift")}
        write(options.out, {"versions": versions}, cases, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
