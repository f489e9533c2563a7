"""What one rank allocates under tensor and sequence parallelism: Megatron-core's GPTModel, and a block under DTensor.

    pip install megatron-core==0.16.1      # beside requirements.txt
    python model_parallel.py megatron gpt 4 --sequence
    python model_parallel.py dtensor 4 --sequence
    python model_parallel.py loss

Prints the bytes that a layer's graph holds, those after forward less weights, and forward's peak. The process group is a
fake one: collectives return at once. `test/unit/memory/model-parallel.test.ts` holds Oomlint to these figures.
"""

import argparse
import contextlib
import math
import sys
import types
import warnings

import fake_cuda

if "loss" not in sys.argv:  # what is compiled must really run
    fake_cuda.install()  # before torch

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from allocation import Tracker, saved_tensors  # noqa: E402

HIDDEN, HEADS, SEQUENCE, BATCH, VOCABULARY = 1024, 16, 2048, 2, 51200


class ApexLayerNorm(torch.autograd.Function):
    """Apex's fused layer norm by what it keeps: input, weights, mean and reciprocal deviation in fp32."""

    @staticmethod
    def forward(ctx, x, weight, bias, shape, eps, memory_efficient=False):
        rows = torch.empty((2, *x.shape[:-1]), dtype=torch.float32, device=x.device)
        ctx.save_for_backward(x, weight, bias, rows[0].clone(), rows[1].clone())
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, grad):
        x, weight, bias, _, _ = ctx.saved_tensors
        return torch.empty_like(x), torch.empty_like(weight), torch.empty_like(bias), None, None, None


class NoRng:
    """Stands for Megatron's tracker of random states, which asks the device."""

    def fork(self, *args, **kwargs):
        return contextlib.nullcontext()

    def is_initialized(self):
        return True


def install_apex() -> None:
    """Megatron's local layers ask for Apex; nothing else of it is used."""
    module = types.ModuleType("apex.normalization.fused_layer_norm")
    module.FusedLayerNormAffineFunction = ApexLayerNorm
    sys.modules.update({"apex": types.ModuleType("apex"), "apex.normalization": types.ModuleType("apex.normalization"),
                        module.__name__: module})


def fake_group(ranks: int) -> None:
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)


def megatron(kind: str, tensor: int, sequence: bool) -> None:
    import torch._dynamo

    torch._dynamo.config.disable = True
    install_apex()
    fake_group(max(tensor, 8))
    from megatron.core import parallel_state
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.transformer.transformer_config import TransformerConfig

    parallel_state.initialize_model_parallel(tensor_model_parallel_size=tensor, create_gloo_process_groups=False)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("megatron") and hasattr(module, "get_cuda_rng_tracker"):
            module.get_cuda_rng_tracker = lambda *args, **kwargs: NoRng()
    gpt = kind == "gpt"
    dtype = torch.float16 if gpt else torch.bfloat16
    own = (dict(hidden_dropout=0.1, attention_dropout=0.1, add_bias_linear=True, activation_func=F.gelu) if gpt else
           dict(hidden_dropout=0.0, attention_dropout=0.0, add_bias_linear=False, activation_func=F.silu,
                gated_linear_unit=True, ffn_hidden_size=2816, num_query_groups=4))
    config = TransformerConfig(
        num_layers=2, hidden_size=HIDDEN, num_attention_heads=HEADS, tensor_model_parallel_size=tensor,
        sequence_parallel=sequence, perform_initialization=False, params_dtype=dtype, fp16=gpt, bf16=not gpt,
        pipeline_dtype=dtype, gradient_accumulation_fusion=False, persist_layer_norm=False,
        masked_softmax_fusion=False, bias_dropout_fusion=False, bias_activation_fusion=not gpt,
        attention_softmax_in_fp32=False, **own)
    with fake_cuda.fake_mode(), torch.device("cuda"):
        model = GPTModel(config, get_gpt_layer_local_spec(), VOCABULARY, SEQUENCE, parallel_output=True,
                         share_embeddings_and_output_weights=False,
                         position_embedding_type="learned_absolute" if gpt else "rope").to(dtype)
        ids, positions, labels = (torch.zeros(BATCH, SEQUENCE, dtype=torch.long) for _ in range(3))
        tracker = Tracker()
        tracker.watch(model)
        for held in [*model.parameters(), *model.buffers(), ids, positions, labels]:
            tracker.add(held)
        rest = tracker.current
        with tracker, tracker.in_phase("forward"):
            loss = model(ids, positions, None, labels=labels)
            peak = tracker.peak
        found = saved_tensors(loss.grad_fn, list(model.parameters())).values()
        layer = sum(size for size, _, _, module, _, _ in found if "layers.1" in module)
        print(f"layer {layer}, kept {tracker.current - rest}, forward {peak - rest}")


def compiled_loss() -> None:
    """Buffers of the size of the logits that Megatron's fused loss allocates, by its four compiled functions in their order."""
    import re

    from torch._inductor.utils import run_and_get_code

    fake_group(4)
    from megatron.core.fusions.fused_cross_entropy import fused_vocab_parallel_cross_entropy

    rows, columns = 256, 1024
    logits = torch.randn(rows, 1, columns, dtype=torch.bfloat16, requires_grad=True)
    labels = torch.randint(0, columns, (rows, 1))

    def step():
        fused_vocab_parallel_cross_entropy(logits, labels, dist.new_group(range(4))).sum().backward()

    _, codes = run_and_get_code(step)
    for code in codes:
        found = re.findall(r"= empty_strided_cpu\(\(([\d, ]+)\), .*?torch\.(\w+)\)", code)
        sizes = [(eval(f"({size})"), dtype) for size, dtype in found]
        print([dtype for size, dtype in sizes if math.prod(size) == rows * columns])


class Attention(nn.Module):
    def __init__(self, width, heads, key_heads):
        super().__init__()
        self.head = width // heads
        self.wq = nn.Linear(width, width, bias=False)
        self.wk = nn.Linear(width, key_heads * self.head, bias=False)
        self.wv = nn.Linear(width, key_heads * self.head, bias=False)
        self.wo = nn.Linear(width, width, bias=False)

    def forward(self, x):
        batch, tokens = x.shape[:2]
        q, k, v = (w(x).view(batch, tokens, -1, self.head).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        times = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(batch, tokens, -1))


class FeedForward(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.w1, self.w3 = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, width=256, heads=8, key_heads=4, inner=512):
        super().__init__()
        self.attention, self.feed_forward = Attention(width, heads, key_heads), FeedForward(width, inner)
        self.attention_norm, self.ffn_norm = nn.RMSNorm(width), nn.RMSNorm(width)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


def dtensor(tensor: int, sequence: bool) -> None:
    """Small enough to run for real on the CPU."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                                   parallelize_module)

    fake_group(tensor)
    model = Block().to(torch.bfloat16)
    plan = {f"attention.w{part}": ColwiseParallel() for part in "qkv"}
    plan |= {"feed_forward.w1": ColwiseParallel(), "feed_forward.w3": ColwiseParallel()}
    row = RowwiseParallel(output_layouts=Shard(1)) if sequence else RowwiseParallel()
    plan |= {"attention.wo": row, "feed_forward.w2": row}
    if sequence:
        gather = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
        plan |= {"attention_norm": SequenceParallel(), "ffn_norm": SequenceParallel(), "attention": gather,
                 "feed_forward": gather}
    if tensor > 1:
        parallelize_module(model, init_device_mesh("cpu", (tensor,)), plan)
    x = torch.randn(2, 128 // (tensor if sequence else 1), 256, dtype=torch.bfloat16).requires_grad_()

    def local(value):
        value = value._local_tensor if isinstance(value, DTensor) else value
        return getattr(value, "elem", value).untyped_storage()

    owned = {local(p)._cdata for p in model.parameters()}
    kept = {}

    def keep(value):
        storage = local(value)
        if storage._cdata not in owned:
            kept.setdefault(storage._cdata, storage)  # held, so that no other takes its address
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        model(x)
    print(f"layer {sum(storage.nbytes() for storage in kept.values())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = parser.add_subparsers(dest="what", required=True)
    one = sub.add_parser("megatron")
    one.add_argument("kind", choices=["gpt", "llama"])
    two = sub.add_parser("dtensor")
    sub.add_parser("loss")
    for each in (one, two):
        each.add_argument("tensor", type=int)
        each.add_argument("--sequence", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.what == "loss":
        compiled_loss()
    elif options.what == "megatron":
        megatron(options.kind, options.tensor, options.sequence)
    else:
        dtensor(options.tensor, options.sequence)


if __name__ == "__main__":
    main()
