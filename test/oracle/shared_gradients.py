"""
What autograd allocates to add the embedding's gradient of a tied weight to the head's, in copies of the weight: `aten::add` makes a new
tensor, `aten::add_` writes into the one that is there (`torch/csrc/autograd/input_buffer.cpp`, `accumulate`).

    python test/oracle/shared_gradients.py > test/oracle/shared_gradients.json
"""

import json

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

VOCABULARY, WIDTH, TOKENS = 512, 64, 32


class Fused(torch.autograd.Function):
    """Gradients as TRL's loss makes them (`trl/kernels/chunked_logprob.py`, `ChunkedLogProbFunction`): in fp32, then as the weight."""

    @staticmethod
    def forward(ctx, hidden, weight):
        ctx.save_for_backward(hidden, weight)
        return (hidden.float() @ weight.float().t()).logsumexp(-1).sum()

    @staticmethod
    def backward(ctx, upstream):
        hidden, weight = ctx.saved_tensors
        grad_weight = torch.zeros(weight.shape, dtype=torch.float32)
        tile = torch.softmax(hidden.float() @ weight.float().t(), -1) * upstream
        grad_weight.addmm_(tile.t(), hidden.float())
        return (tile @ weight.float()).to(hidden.dtype), grad_weight.to(weight.dtype)


def added(head, dtype, autocast):
    weight = torch.nn.Parameter(torch.randn(VOCABULARY, WIDTH, dtype=dtype))
    ids = torch.randint(0, VOCABULARY, (TOKENS,))
    layer = torch.nn.Linear(WIDTH, WIDTH).to(dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        hidden = layer(F.embedding(ids, weight))
        loss = Fused.apply(hidden, weight) if head == "fused" else F.linear(hidden, weight).float().logsumexp(-1).sum()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True) as recorded:
        loss.backward()
    size = VOCABULARY * WIDTH * weight.element_size()
    sums = [
        event.self_cpu_memory_usage / size
        for event in recorded.events()
        if event.name in ("aten::add", "aten::add_") and event.input_shapes and event.input_shapes[0] == [VOCABULARY, WIDTH]
    ]
    return sum(sums)


cases = [
    {"head": head, "weights": name, "autocast": autocast, "copies": added(head, dtype, autocast)}
    for head in ("linear", "fused")
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16))
    for autocast in (False, True)
]
print(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}, indent=1))
