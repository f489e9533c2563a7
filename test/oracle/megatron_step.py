"""Whole training steps of Megatron-core's GPTModel on one rank: its own DistributedDataParallel and optimizer, in a fake process group.

    pip install --no-deps megatron-core==0.16.1      # beside requirements.txt
    python megatron_step.py --out megatron.json

Norms are Apex's by what they keep, attention is of matrix products (the local layer spec), and Adam is PyTorch's fused one, which has the
states of Transformer Engine's and no temporaries either. `test/unit/memory/megatron-step.test.ts` holds Oomlint to these figures.
"""

import contextlib
import functools
import gc
import os
import sys
from importlib.metadata import version

from model_parallel import NoRng, install_apex  # makes the fake device, before torch

os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "29500", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}

import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import cluster  # noqa: E402
import fake_cuda  # noqa: E402

cluster.install()

from allocation import Tracker  # noqa: E402
from recordings import attempted, options_of, plain, record_each  # noqa: E402

NOTE = ("Bytes of one rank of Megatron-core's GPTModel with its DistributedDataParallel and optimizer, under PyTorch fake CUDA tensors and a fake "
        "process group: a steady step. Storages are rounded to 512 B.")
SIZES = {"hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 4, "vocab_size": 51200}
GPT = {"model_type": "gpt2", "n_embd": 1024, "n_layer": 4, "n_head": 16, "n_positions": 1024, "vocab_size": 51200,
       "activation_function": "gelu_new", "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1, "tie_word_embeddings": False}
LLAMA = {"model_type": "llama", "hidden_act": "silu", "intermediate_size": 2816, "num_key_value_heads": 4,
         "tie_word_embeddings": False, **SIZES}
MODELS = {"gpt": GPT, "llama": LLAMA}
RUN = {"model.code": "megatron", "precision.scheme": "megatron", "attention.implementation": "eager", "parallel.data": "ddp",
       "optimizer.implementation": "fused"}
FLAGS = {
    "dist": {"parallel.distributedOptimizer": True},
    "plain": {"parallel.distributedOptimizer": False},
    "tp2": {"parallel.tensor": 2, "parallel.sequence": True},
    "full": {"activations.checkpointing": "full"},
    "bf16grads": {"precision.gradientAccumulation": "bf16"},
    "acc2": {"batch.accumulation": 2},
    "fp16": {"precision.compute": "fp16"},
    "bf16": {"precision.compute": "bf16"},
}


def case(kind: str, flags: str, gpus: int, micro: int, sequence: int) -> dict:
    run = {**RUN, "hardware.gpus": gpus, "batch.micro": micro, "batch.sequence": sequence}
    for name in flags.split():
        run |= FLAGS[name]
    return {"id": f"{kind}-{'-'.join(flags.split())}-g{gpus}-b{micro}-s{sequence}", "run": run, "model": MODELS[kind]}


CASES = [
    *(case("llama", flags, 8, 2, 1024) for flags in ("bf16 dist", "bf16 dist tp2", "bf16 dist full", "bf16 plain", "bf16 dist bf16grads",
                                                   "bf16 dist acc2")),
    case("gpt", "fp16 dist", 8, 2, 1024),
    case("gpt", "bf16 dist", 8, 2, 1024),
    case("llama", "bf16 dist", 128, 1, 1024),
]


def built(item: dict):
    import torch._dynamo

    torch._dynamo.config.disable = True
    install_apex()
    run, gpt = item["run"], item["model"]["model_type"] == "gpt2"
    tensor = run.get("parallel.tensor", 1)
    from megatron.core import parallel_state
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.transformer.transformer_config import TransformerConfig

    alone()
    kernels()
    torch.optim.AdamW = functools.partial(torch.optim.AdamW, fused=True)
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=tensor, create_gloo_process_groups=False)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("megatron") and hasattr(module, "get_cuda_rng_tracker"):
            module.get_cuda_rng_tracker = lambda *args, **kwargs: NoRng()
    fp16 = run["precision.compute"] == "fp16"
    dtype = torch.float16 if fp16 else torch.bfloat16
    recompute = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
    own = (dict(hidden_dropout=0.1, attention_dropout=0.1, add_bias_linear=True, activation_func=F.gelu) if gpt else
           dict(hidden_dropout=0.0, attention_dropout=0.0, add_bias_linear=False, activation_func=F.silu, gated_linear_unit=True,
                ffn_hidden_size=2816, num_query_groups=4))
    config = TransformerConfig(
        num_layers=SIZES["num_hidden_layers"], hidden_size=SIZES["hidden_size"], num_attention_heads=SIZES["num_attention_heads"],
        tensor_model_parallel_size=tensor, sequence_parallel=tensor > 1, perform_initialization=False, params_dtype=dtype, fp16=fp16,
        bf16=not fp16, pipeline_dtype=dtype, gradient_accumulation_fusion=False, persist_layer_norm=False, masked_softmax_fusion=False,
        bias_dropout_fusion=False, bias_activation_fusion=not gpt, attention_softmax_in_fp32=False,
        **(recompute if "activations.checkpointing" in run else {}), **own)
    model = GPTModel(config, get_gpt_layer_local_spec(), SIZES["vocab_size"], run["batch.sequence"], parallel_output=True,
                     share_embeddings_and_output_weights=False,
                     position_embedding_type="learned_absolute" if gpt else "rope").to(dtype)
    low = run.get("precision.gradientAccumulation") or (dtype == torch.float16)
    distributed = run["parallel.distributedOptimizer"]
    model = DistributedDataParallel(config, DistributedDataParallelConfig(
        grad_reduce_in_fp32=not low, use_distributed_optimizer=distributed), model)
    optimizer = get_megatron_optimizer(OptimizerConfig(
        optimizer="adam", lr=1e-4, bf16=not fp16, fp16=fp16, params_dtype=dtype, use_distributed_optimizer=distributed, clip_grad=1.0),
        [model], use_gloo_process_groups=False)
    return model, optimizer


@contextlib.contextmanager
def coalescing(*args, **kwargs):
    yield cluster.Work()


def norm_kernel(chunk, flag, lists, per_tensor):
    return torch.empty(1, dtype=torch.float32, device="cuda"), None


def scale_kernel(chunk, flag, lists, scale):
    for source, target in zip(*lists):
        target.copy_(source)


def kernels() -> None:
    """Transformer Engine's kernels over many tensors, which need no memory of their own."""
    from megatron.core.optimizer import clip_grads, optimizer

    clip_grads.l2_norm_impl = norm_kernel
    clip_grads.multi_tensor_scale_impl = optimizer.multi_tensor_scale_impl = scale_kernel


def alone() -> None:
    """What ranks tell each other of is what this one has, and collectives that are joined are as empty as single ones."""
    from megatron.core.distributed import param_and_grad_buffer
    from megatron.core.tensor_parallel import random

    def gathered(found, own, group=None):
        found[:] = [own] * len(found)

    torch.distributed.all_gather_object = gathered
    param_and_grad_buffer._coalescing_manager = coalescing
    random._get_all_rng_states = lambda: ()  # asks the device
    random._set_all_rng_states = lambda *states: None
    random._fork_rng = contextlib.nullcontext
    plain = torch.Tensor.type
    names = {torch.bfloat16: "BFloat16Tensor", torch.float16: "HalfTensor", torch.float32: "FloatTensor"}
    torch.Tensor.type = lambda x, *args: plain(x, *args) if args else f"torch.cuda.{names[x.dtype]}"


def phase(tracker) -> dict:
    return {"peak": tracker.peak, "after": tracker.current, "operator": tracker.peak_at[0], "module": tracker.peak_at[1]}


def measure(item: dict) -> dict:
    """The second of two steps: states are there, as in every later one."""
    from megatron.core.distributed import finalize_model_grads

    run = item["run"]
    cluster.start(run["hardware.gpus"])
    gc.collect()
    gc.disable()
    with fake_cuda.fake_mode(), torch.device("cuda"):
        tracker = Tracker()
        with tracker:
            model, optimizer = built(item)
            gc.collect()
        tracker.watch(model)
        counts = sum(p.numel() for p in model.parameters())
        shape = (run["batch.micro"], run["batch.sequence"])
        results = {"localParameters": counts}
        with tracker:
            for _ in range(2):
                model.zero_grad_buffer()
                optimizer.zero_grad()
                results["atRest"] = tracker.current
                for _ in range(run.get("batch.accumulation", 1)):
                    ids, positions, labels = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
                    with tracker.in_phase("forward"):
                        loss = model(ids, positions, None, labels=labels).float().mean()
                        results["forward"] = phase(tracker)
                    with tracker.in_phase("backward"):
                        loss.backward()
                        del loss
                        results["backward"] = phase(tracker)
                    del ids, positions, labels
                with tracker.in_phase("optimizer"):
                    finalize_model_grads([model])
                    optimizer.step()
                    results["optimizer"] = phase(tracker)
        results["peak"] = max(results[name]["peak"] for name in ("forward", "backward", "optimizer"))
    return results


def main() -> int:
    options = options_of(__doc__, "megatron.json")
    torch.set_num_threads(1)
    header = {"note": NOTE, "versions": {"torch": torch.__version__, "megatron-core": version("megatron-core")}}
    return record_each(options, CASES, functools.partial(attempted, measure), plain, header)


if __name__ == "__main__":
    sys.exit(main())
