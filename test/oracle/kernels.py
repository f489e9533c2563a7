"""Stand-ins for kernels that need a GPU: they allocate and keep what `fla-core` 0.6.0 (`ops/kda/chunk.py`) and `causal-conv1d` 1.6 do,
and compute nothing. Only code that launches them is real.
"""

import importlib.machinery
import sys
from types import ModuleType

CHUNK = 64


def _delta_attention():
    import torch

    class ChunkDelta(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v, g, beta):
            q_whole, k_whole, v, g, beta = (x.contiguous() for x in (q, k, v, g, beta))
            q, k = torch.empty_like(q_whole), torch.empty_like(k_whole)
            roots = [x.new_empty(x.shape[:-1], dtype=torch.float32) for x in (q, k)]
            summed = torch.empty_like(g, dtype=torch.float32)
            matrices = [k.new_empty(*k.shape[:-1], CHUNK) for _ in "qk"]
            ctx.save_for_backward(q, k, v, g, beta, summed, *roots, *matrices)
            w, u, kg = (torch.empty_like(k) for _ in range(3))
            states = k.new_empty(k.shape[0], -(-k.shape[1] // CHUNK), k.shape[2], k.shape[3], v.shape[3])
            fresh = torch.empty_like(v)
            out = torch.empty_like(fresh)
            del w, u, kg, states, fresh
            return out

        @staticmethod
        def backward(ctx, grad):
            q, k, v, g, beta, *_ = ctx.saved_tensors
            again = [torch.empty_like(k) for _ in range(5)]
            states = [k.new_empty(k.shape[0], -(-k.shape[1] // CHUNK), k.shape[2], k.shape[3], v.shape[3]) for _ in "hd"]
            dv = torch.empty_like(v)
            first = [torch.empty_like(x, dtype=torch.float32) for x in (q, k, g, beta)]
            matrices = [k.new_empty(*k.shape[:-1], CHUNK, dtype=torch.float32) for _ in "qk"]
            dq, dk, dg, db = (torch.empty_like(x) for x in first)
            del again, states, first, matrices
            return dq.to(q), dk.to(k), dv, dg, db.to(beta)

    def chunk_kda(q, k, v, g, beta, scale=None, initial_state=None, output_final_state=False, **kwargs):
        return ChunkDelta.apply(q, k, v, g, beta), None

    return chunk_kda


def _convolution():
    import torch

    class Convolution(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x, weight)
            return torch.empty_like(x)

        @staticmethod
        def backward(ctx, grad):
            x, weight = ctx.saved_tensors
            return torch.empty_like(x), torch.empty_like(weight)

    def causal_conv1d_fn(x, weight, bias=None, **kwargs):
        return Convolution.apply(x, weight)

    return causal_conv1d_fn


def _scan():
    import torch

    class SplitConvolutionScan(torch.autograd.Function):
        """`mamba_ssm` 2.2 (`ops/triton/ssd_combined.py`, `MambaSplitConv1dScanCombinedFn`): what is projected, the scan's result and
        the reciprocal roots of the norm are kept; the convolution and the chunks are made again."""

        @staticmethod
        def forward(ctx, projected, convolution, convolution_bias, dt_bias, A, D, norm, out_weight, width):
            rows = projected.shape[:-1]
            scanned = projected.new_empty(*rows, width)
            roots = projected.new_empty(rows.numel(), dtype=torch.float32)
            normed = torch.empty_like(scanned)
            out = projected.new_empty(*rows, out_weight.shape[0])
            ctx.save_for_backward(projected, convolution, convolution_bias, dt_bias, A, D, norm, out_weight, scanned, roots)
            del normed
            return out

        @staticmethod
        def backward(ctx, grad):
            *inputs, scanned, roots = ctx.saved_tensors
            projected, *weights = inputs
            return torch.empty_like(projected), *(torch.empty_like(x) for x in weights), None

    def mamba_split_conv1d_scan_combined(zxbcdt, conv1d_weight, conv1d_bias, dt_bias, A, D, chunk_size, rmsnorm_weight=None,
                                         outproj_weight=None, outproj_bias=None, **kwargs):
        return SplitConvolutionScan.apply(zxbcdt, conv1d_weight, conv1d_bias, dt_bias, A, D, rmsnorm_weight, outproj_weight,
                                          outproj_weight.shape[1])

    return mamba_split_conv1d_scan_combined


def stand_in():
    """Has to be called before transformers' code of the model is imported: it looks for kernels then."""
    kda, convolution = _delta_attention(), _convolution()
    for name, functions in {"fla": {"chunk_kda": kda, "fused_recurrent_kda": kda},
                            "mamba_ssm": {"mamba_split_conv1d_scan_combined": _scan()},
                            "causal_conv1d": {"causal_conv1d_fn": convolution, "causal_conv1d_update": convolution}}.items():
        module = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        module.__dict__.update(functions)
        sys.modules.setdefault(name, module)
