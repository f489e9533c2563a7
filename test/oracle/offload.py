"""Activations in host memory, as TRL's `OffloadActivations` moves them, under the tracker of `measure.py`: `offload.json`.

`pip install --no-deps trl==1.16.0`. Tensors on the host are not counted; streams do nothing (`cluster.py`).
"""

import importlib.metadata
import sys

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402

import cluster  # noqa: E402

cluster.install()

import measure as oracle  # noqa: E402
from allocation import local  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402
from trl.models import activation_offloading  # noqa: E402

MODEL = {"vocab_size": 8000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 6, "num_attention_heads": 16,
         "num_key_value_heads": 16, "hidden_act": "silu", "max_position_embeddings": 4096, "tie_word_embeddings": False,
         "model_type": "llama"}
# Joint projections, whose halves are saved apart.
JOINT = {"phi3": MODEL | {"model_type": "phi3", "pad_token_id": 0},
         "gpt-oss": {"model_type": "gpt_oss", "vocab_size": 8000, "hidden_size": 720, "intermediate_size": 720, "num_hidden_layers": 6,
                     "num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 64, "num_local_experts": 8, "num_experts_per_tok": 4,
                     "max_position_embeddings": 4096, "sliding_window": 128, "tie_word_embeddings": False}}
ATTENTION = {"method.kind": "lora", "lora.rank": 16, "lora.targets": ["q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj"],
             "lora.dtype": "fp32"}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "version.trl": importlib.metadata.version("trl"), "hardware.gpus": 1,
       "batch.accumulation": 1, "attention.implementation": "sdpa", "optimizer.name": "sgd", "optimizer.implementation": "foreach",
       "batch.micro": 4, "batch.sequence": 2048, "activations.offload": True}
SCHEMES = {"bf16": {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "native"},
           "amp": {"precision.weights": "fp32", "precision.compute": "bf16", "precision.scheme": "autocast"}}
METHODS = {"full": {"method.kind": "full"},
           "LoRA": {"method.kind": "lora", "lora.rank": 16, "lora.targets": ["all-linear"], "lora.dtype": "fp32"}}
STREAMS = {"streams": {"activations.offloadOverlap": True}, "no streams": {"activations.offloadOverlap": False}}


def main():
    options = options_of(__doc__, "offload.json")
    # Fake storages have no address.
    activation_offloading._get_unique_tensor_key = lambda t: (local(t).untyped_storage()._cdata, t.storage_offset(), t.dtype)
    done, context = recorded(options.out), {}
    plain_method, plain_loss = oracle.apply_method, oracle.compute_loss
    cases = [{"id": f"{method}, {scheme}, {name}", "model": MODEL, "run": RUN | precision | trained | streams}
             for scheme, precision in SCHEMES.items() for method, trained in METHODS.items() for name, streams in STREAMS.items()]
    cases += [{"id": f"{name}, LoRA, {overlap}", "model": model, "run": RUN | SCHEMES["bf16"] | ATTENTION | streams
              | ({"attention.implementation": "eager", "batch.sequence": 512} if name == "gpt-oss" else {})}
              for name, model in JOINT.items() for overlap, streams in STREAMS.items()]

    def compute_loss(model, batch):
        if "manager" not in context:
            manager = activation_offloading.get_act_offloading_ctx_manager(model, use_pin_memory=False,
                                                                           use_streams=context["streams"])
            manager.device_module = torch.cuda
            context["manager"] = manager
        with context["manager"]:
            return plain_loss(model, batch)

    oracle.compute_loss = compute_loss
    oracle.saved_tensors = lambda *found: {}
    for case in cases:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        context.clear()
        context["streams"] = case["run"]["activations.offloadOverlap"]
        oracle.apply_method = plain_method
        results = oracle.measure(case)
        micro = results["steps"][-1]["micro"][0]
        phases = phases_of(micro)
        done[case["id"]] = case | {"results": {"parameters": results["parameters"], **phases, "peak": results["peak"]}}
        print(case["id"], {k: (v["peak"], v["operator"], v["module"]) for k, v in phases.items()}, micro["forward"]["after"], flush=True)
        versions = {n: importlib.metadata.version(n) for n in ("torch", "transformers", "peft", "trl")}
        write(options.out, {"versions": versions}, cases, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
