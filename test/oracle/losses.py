"""Head and loss of TRL's trainers under the tracker of `measure.py`: what `losses.json` holds.

Which loss runs depends on the TRL that is installed; recordings of other versions stay in the file. TRL's Triton kernels
allocate nothing and are left out.
"""

import importlib.metadata
import sys
from types import SimpleNamespace

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402

import measure as oracle  # noqa: E402
from heads import cases_of  # noqa: E402
from measure import keep_all  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402

TRL = importlib.metadata.version("trl")


def fused_head():
    """Since 1.15: log-probabilities tile by tile (`trainer/utils.py`, `add_fused_lm_head`)."""
    from trl.kernels import chunked_logprob
    from trl.trainer import utils

    class Kernel:
        def __getitem__(self, grid):
            return lambda *args, **kwargs: None

    for module in (chunked_logprob, utils):
        module._use_triton = lambda device: True
    chunked_logprob._forward_kernel = chunked_logprob._backward_kernel = Kernel()
    chunked_logprob.triton = SimpleNamespace(cdiv=lambda a, b: 1)
    chunked_logprob._addmm_fp32 = lambda acc, a, b: None  # cuBLAS adds in fp32 to what is there
    torch.Tensor.__getitem__ = keep_all(torch.Tensor.__getitem__)
    torch.Tensor.masked_scatter = lambda tensor, mask, source: torch.ops.aten.view_copy(source, list(mask.shape))

    def patch(model):
        utils.add_fused_lm_head(model, outputs=("log_probs", "entropy", "is_top1"))

    def loss_of(model, batch):
        outputs = model(**batch, fused_lm_head=True)
        return (-outputs.log_probs).sum() / 1000

    return "log-probabilities-chunked", patch, loss_of


def checkpointed_chunks():
    """Until 1.14: chunks of 256 tokens, each checkpointed (`sft_trainer.py`, `_chunked_cross_entropy_loss`)."""
    from trl.trainer import sft_trainer

    torch.Tensor.__getitem__ = keep_all(torch.Tensor.__getitem__)
    plain = torch.Tensor.ceil

    def patch(model):
        sft_trainer._patch_chunked_ce_lm_head(model, chunk_size=sft_trainer._CHUNKED_LM_HEAD_CHUNK_SIZE)

    def loss_of(model, batch):
        tokens = batch["labels"][:, 1:].numel()
        chunks = -(-tokens // sft_trainer._CHUNKED_LM_HEAD_CHUNK_SIZE)
        # The number of chunks is read off the device: `range(0, n_padded, chunk_size)`.
        torch.Tensor.ceil = lambda tensor: SimpleNamespace(clamp=lambda min: SimpleNamespace(to=lambda dtype: chunks),
                                                           to=lambda dtype: chunks)
        try:
            return model(**batch).loss
        finally:
            torch.Tensor.ceil = plain

    own = (tuple(map(int, TRL.split(".")[:2])) >= (1, 13))
    return "checkpointed-chunks" if own else "checkpointed-chunks-fp32", patch, loss_of


def main():
    options = options_of(__doc__, "losses.json")
    fused = tuple(map(int, TRL.split(".")[:2])) >= (1, 15)
    loss, patch, loss_of = fused_head() if fused else checkpointed_chunks()
    plain = oracle.apply_method
    done = recorded(options.out)
    cases = cases_of(f"TRL {TRL}", {"loss.implementation": loss, "version.trl": TRL})
    cases = [c for c in done.values() if not c["id"].startswith(f"TRL {TRL},")] + cases
    oracle.compute_loss = loss_of

    def patched(model, run):
        patch(model)  # before PEFT wraps the model
        return plain(model, run)

    oracle.apply_method = patched
    oracle.saved_tensors = lambda *args: {}  # looking at what a checkpoint saves computes it again
    for case in cases:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        results = oracle.measure(case)
        micro = results["steps"][-1]["micro"][0]
        phases = phases_of(micro)
        done[case["id"]] = case | {"results": {"parameters": results["parameters"], **phases, "peak": results["peak"]}}
        print(case["id"], {k: v["peak"] for k, v in phases.items()}, phases["backward"]["operator"], flush=True)
        write(options.out, {"versions": {n: importlib.metadata.version(n) for n in ("torch", "transformers", "peft")}}, cases, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
