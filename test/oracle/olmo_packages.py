"""Stand-ins for what `olmo` imports and its training step has no use for, and for flash-attn's kernel, which needs a GPU."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from unittest.mock import MagicMock

import torch


class Absent(ModuleType):
    """A package of which no case needs anything."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()


class FlashLoss(torch.autograd.Function):
    """flash-attn's cross-entropy, `flash_attn/ops/triton/cross_entropy.py`, without `inplace_backward`: it keeps the logits and a number for each row."""

    @staticmethod
    def forward(ctx, logits, labels):
        losses, z_losses, lse = (torch.empty(len(logits), dtype=torch.float, device=logits.device) for _ in range(3))
        ctx.save_for_backward(logits, lse, labels)
        ctx.mark_non_differentiable(z_losses)
        return losses, z_losses

    @staticmethod
    def backward(ctx, grad_losses, grad_z_losses):
        logits, lse, labels = ctx.saved_tensors
        return torch.empty_like(logits), None


def flash_cross_entropy(logits, labels, **options):
    return FlashLoss.apply(logits, labels)


def stand_in():
    """Has to be called before `olmo` is imported."""
    absent = ("wandb", "boto3", "botocore", "botocore.exceptions", "botocore.config", "datasets", "requests", "cached_path", "cached_path.schemes", "google", "google.api_core",
              "google.api_core.retry", "google.cloud", "torchmetrics", "sklearn", "sklearn.metrics", "smashed", "olmo_data", "olmo_data.data", "olmo.eval", "olmo.data")
    for name in absent:
        module = sys.modules.setdefault(name, Absent(name))
        module.__spec__, module.__path__ = ModuleSpec(name, None), []
    for name in ("flash_attn", "flash_attn.ops", "flash_attn.ops.triton", "flash_attn.ops.triton.cross_entropy"):
        module = sys.modules.setdefault(name, ModuleType(name))
        module.__spec__, module.__path__, module.__version__ = ModuleSpec(name, None), [], "2.7.4"
        module.cross_entropy_loss = flash_cross_entropy
