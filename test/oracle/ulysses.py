"""Ulysses sequence parallelism as DeepSpeed puts it into models of transformers, one rank, under the tracker of `measure.py`: `ulysses.json`.

`pip install deepspeed==0.19.8`. Other ranks are a fake process group; the batch is a rank's share of the sequence.
"""

import importlib.metadata
import os
import sys

import fake_cuda

fake_cuda.install()
os.environ |= {"DS_ACCELERATOR": "cuda", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}

import torch  # noqa: E402

import cluster  # noqa: E402

cluster.install()

import deepspeed  # noqa: E402
from deepspeed.runtime.sequence_parallel.ulysses_sp import UlyssesSPAttentionHF  # noqa: E402
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: E402

import measure as oracle  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402

# Few words and a narrow MLP, so that attention decides the peak.
MODEL = {"model_type": "llama", "vocab_size": 512, "hidden_size": 2048, "intermediate_size": 1024, "num_hidden_layers": 4,
         "num_attention_heads": 32, "num_key_value_heads": 32, "hidden_act": "silu", "max_position_embeddings": 131072,
         "tie_word_embeddings": False}
GROUPED = MODEL | {"num_key_value_heads": 8}
WIDE_HEADS = {**GROUPED, "model_type": "qwen3", "hidden_size": 1536, "head_dim": 128}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "version.deepspeed": deepspeed.__version__.strip(), "framework": "accelerate",
       "batch.micro": 1, "batch.accumulation": 1, "attention.implementation": "sdpa", "optimizer.name": "sgd",
       "optimizer.implementation": "foreach", "method.kind": "full", "precision.weights": "bf16", "precision.compute": "bf16",
       "precision.scheme": "native", "parallel.data": "none"}
KEEPING = {"all": {}, "checkpoints": {"activations.checkpointing": "full", "activations.reentrant": False},
           "reentrant checkpoints": {"activations.checkpointing": "full", "activations.reentrant": True}}
LOCAL = 4096


def attending(run, config):
    """What transformers calls for attention: DeepSpeed's exchange around SDPA."""
    size = run["parallel.ulysses"]
    heads = config.num_attention_heads
    exchange = UlyssesSPAttentionHF(
        attn=ALL_ATTENTION_FUNCTIONS["sdpa"], batch_size=1, attn_head_count=heads,
        attn_head_size=getattr(config, "head_dim", None) or config.hidden_size // heads, kv_head_count=config.num_key_value_heads,
        num_hidden_layers=config.num_hidden_layers, process_group=torch.distributed.group.WORLD, seq_length_is_variable=True)
    exchange.core_attn_implementation = "sdpa"
    return lambda module, query, key, value, mask, *args, **kwargs: exchange(module, query, key, value, None, *args, **kwargs)


def main():
    options = options_of(__doc__, "ulysses.json")
    done = recorded(options.out)
    plain_build, plain_batch = oracle.build_model, oracle.make_batch
    cases = [{"id": f"{name}, {size} ranks, {kept}", "model": model,
              "run": RUN | keeping | {"parallel.ulysses": size, "hardware.gpus": size, "batch.sequence": size * LOCAL}}
             for name, model in {"all heads": MODEL, "grouped heads": GROUPED, "wide heads": WIDE_HEADS}.items()
             # With fewer key heads than ranks FlashAttention's own buffers, which are not recorded, decide beside wide heads.
             for size in ((2, 8) if model is WIDE_HEADS else (2, 8, 16)) for kept, keeping in KEEPING.items()]

    def build_model(case, *args):
        config, model = plain_build(case, *args)
        ALL_ATTENTION_FUNCTIONS.register("ulysses", attending(case["run"], config))
        config._attn_implementation = model.config._attn_implementation = "ulysses"
        return config, model

    def make_batch(config, run):
        batch = plain_batch(config, run | {"batch.sequence": LOCAL})
        return batch | {"position_ids": torch.zeros(1, LOCAL, dtype=torch.long, device="cuda")}

    oracle.build_model, oracle.make_batch = build_model, make_batch
    oracle.saved_tensors = lambda *found: {}
    for case in cases:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        cluster.start(case["run"]["hardware.gpus"])
        deepspeed.init_distributed("fake", auto_mpi_discovery=False)
        results = oracle.measure(case)
        micro = results["steps"][-1]["micro"][0]
        phases = phases_of(micro)
        done[case["id"]] = case | {"results": {"parameters": results["parameters"], **phases, "peak": results["peak"]}}
        print(case["id"], {k: (v["peak"], v["operator"], v["module"]) for k, v in phases.items()}, flush=True)
        versions = {n: importlib.metadata.version(n) for n in ("torch", "transformers")} | {"deepspeed": deepspeed.__version__.strip()}
        write(options.out, {"versions": versions}, cases, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
