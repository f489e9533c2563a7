"""LLaMA Pro under the tracker of `measure.py`: what `llamapro.json` holds.

ms-swift's tuner (`pip install --no-deps ms-swift==4.6.0`, `tuners/llamapro.py`) copies layers into the model and names which
are trained; what it imports of the framework stands in for it here.
"""

import importlib.metadata
import importlib.util
import sys
import types
from dataclasses import dataclass
from types import SimpleNamespace

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402


import measure as oracle  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402

MODEL = {"vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8, "num_attention_heads": 16,
         "num_key_value_heads": 16, "hidden_act": "silu", "max_position_embeddings": 4096, "tie_word_embeddings": False,
         "model_type": "llama"}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpus": 1, "batch.accumulation": 1,
       "attention.implementation": "sdpa", "method.kind": "freeze", "method.spreadLayers": True, "batch.micro": 2,
       "batch.sequence": 512, "optimizer.name": "adamw", "optimizer.implementation": "foreach"}
SCHEMES = {"bf16": {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "native"},
           "amp": {"precision.weights": "fp32", "precision.compute": "bf16", "precision.scheme": "autocast"}}
OTHERS = {"": {}, ", checkpointed": {"activations.checkpointing": "full", "activations.reentrant": False}}
KEYS = SimpleNamespace(module_list="model.layers", attention="model.layers.{}.self_attn", o_proj="model.layers.{}.self_attn.o_proj",
                       down_proj="model.layers.{}.mlp.down_proj")


def tuner():
    """The tuner alone, without the framework around it."""

    @dataclass
    class Config:
        swift_type: str = ""

    class Adapter:
        get_model_key_mapping = staticmethod(lambda model_type, config: KEYS)

    modules = {
        "swift": {"__path__": []}, "swift.tuners": {"__path__": []},
        "swift.model": {"MODEL_ARCH_MAPPING": {}, "ModelKeys": object},
        "swift.utils": {"get_logger": lambda: None, "HfConfigFactory": SimpleNamespace(
            get_config_attr=lambda config, name: getattr(config, name, None))},
        "swift.tuners.utils": {"ActivationMixin": SimpleNamespace(mark_all_sub_modules_as_plugin=lambda module: None),
                               "SwiftAdapter": Adapter, "SwiftConfig": Config, "SwiftOutput": SimpleNamespace},
        "swift.tuners.mapping": {"SwiftTuners": SimpleNamespace(LLAMAPRO="llamapro")},
    }
    for name, values in modules.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(values)
    path = next(f for f in importlib.metadata.files("ms-swift") if str(f) == "swift/tuners/llamapro.py").locate()
    spec = importlib.util.spec_from_file_location("swift.tuners.llamapro", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main():
    options = options_of(__doc__, "llamapro.json")
    module = tuner()
    done = recorded(options.out)
    cases = [{"id": f"{scheme}, {blocks} blocks{other}", "model": MODEL,
              "run": RUN | precision | more | {"method.newLayers": blocks, "method.trainableLayers": blocks}}
             for scheme, precision in SCHEMES.items() for blocks in (2, 4) for other, more in OTHERS.items()]
    for case in cases:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue

        def apply_method(model, run):
            model.requires_grad_(False)

            def copied(layer):
                """A layer like it: what `deepcopy` makes of fake tensors has storages beside its own."""
                with torch.device("cuda"):
                    made = type(layer)(model.config, 0).to(oracle.DTYPES[run["precision.weights"]])
                return made.requires_grad_(False)

            module.deepcopy = copied
            output = module.LLaMAPro.prepare_model(
                model, module.LLaMAProConfig(model_type="llama", num_new_blocks=run["method.newLayers"]), "default")
            output.mark_trainable_callback(model)
            return model

        oracle.apply_method = apply_method
        oracle.saved_tensors = lambda *found: {}
        results = oracle.measure(case)
        steady = results["steps"][-1]
        phases = phases_of(steady["micro"][0])
        done[case["id"]] = case | {"results": {"parameters": results["parameters"], **phases, "peak": results["peak"]}}
        print(case["id"], results["parameters"], {k: v["peak"] for k, v in phases.items()}, results["peak"], flush=True)
        versions = {n: importlib.metadata.version(n) for n in ("torch", "transformers", "ms-swift")}
        write(options.out, {"versions": versions}, cases, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
