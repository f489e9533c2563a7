"""Whole training steps of Megatron-core's GPTModel on the last rank of a pipeline, by its own schedules, in a fake process group.

    pip install --no-deps megatron-core==0.16.1      # beside requirements.txt
    python megatron_pipeline.py --out megatron_pipeline.json

As `megatron_step.py`, with masks as `pretrain_gpt.py` hands them over. What stages send each other is made and never sent.
`test/unit/memory/megatron-pipeline.test.ts` holds Oomlint to these figures.
"""

import functools
import gc
import sys
from importlib.metadata import version

import megatron_step  # makes the fake device, before torch
from model_parallel import NoRng, install_apex

import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import cluster  # noqa: E402
import fake_cuda  # noqa: E402
from allocation import Tracker  # noqa: E402
from recordings import attempted, options_of, plain, record_each  # noqa: E402

NOTE = ("Bytes of the last rank of a pipeline of Megatron-core's GPTModel by its own schedules, under PyTorch fake CUDA tensors and a fake "
        "process group: a steady step. Storages are rounded to 512 B.")
HIDDEN, HEADS, VOCABULARY = 512, 8, 50304
RUN = {"model.code": "megatron", "precision.scheme": "megatron", "precision.compute": "bf16", "attention.implementation": "eager",
       "parallel.data": "ddp", "parallel.distributedOptimizer": False, "optimizer.implementation": "fused",
       "kernels.transformerEngine": False, "batch.packed": True, "batch.pairMask": True}


def case(pipeline: int, chunks: int, layers: int, accumulation: int, micro=4, sequence=1024) -> dict:
    run = {**RUN, "hardware.gpus": pipeline, "parallel.pipeline": pipeline, "batch.micro": micro, "batch.sequence": sequence,
           "batch.accumulation": accumulation}
    if chunks > 1:
        run |= {"parallel.pipelineSchedule": "interleaved", "parallel.virtualStages": chunks}
    model = {"model_type": "megatron_gpt", "hidden_size": HIDDEN, "num_hidden_layers": layers, "num_attention_heads": HEADS,
             "intermediate_size": 4 * HIDDEN, "hidden_act": "gelu", "vocab_size": VOCABULARY, "tie_word_embeddings": False,
             "normalization": "layernorm", "position_embedding": "learned", "hidden_dropout": 0.1, "attention_dropout": 0.1,
             "max_position_embeddings": sequence}
    return {"id": f"p{pipeline}-v{chunks}-l{layers}-a{accumulation}-b{micro}-s{sequence}", "run": run, "model": model}


CASES = [case(4, 1, 12, 4), case(2, 1, 12, 4), case(2, 1, 12, 1), case(4, 3, 12, 4), case(2, 2, 8, 4)]


def handles(**tensors):
    """What is sent has arrived at once."""
    names = ("send_next", "recv_prev", "send_prev", "recv_next")
    return {name: cluster.Work() for name in names if tensors[f"tensor_{name}"] is not None}


def built(item: dict) -> tuple:
    import torch._dynamo

    torch._dynamo.config.disable = True
    install_apex()
    run = item["run"]
    pipeline, chunks = run["parallel.pipeline"], run.get("parallel.virtualStages")
    from megatron.core import parallel_state
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    from megatron.core.enums import ModelType
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.pipeline_parallel import p2p_communication
    from megatron.core.transformer.transformer_config import TransformerConfig

    megatron_step.alone()
    megatron_step.kernels()
    torch.optim.AdamW = functools.partial(torch.optim.AdamW, fused=True)
    p2p_communication._batched_p2p_ops = lambda **tensors: []
    p2p_communication._p2p_ops = handles
    parallel_state.initialize_model_parallel(
        pipeline_model_parallel_size=pipeline, virtual_pipeline_model_parallel_size=chunks, create_gloo_process_groups=False)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("megatron") and hasattr(module, "get_cuda_rng_tracker"):
            module.get_cuda_rng_tracker = lambda *args, **kwargs: NoRng()
    config = TransformerConfig(
        num_layers=item["model"]["num_hidden_layers"], hidden_size=HIDDEN, num_attention_heads=HEADS,
        pipeline_model_parallel_size=pipeline, virtual_pipeline_model_parallel_size=chunks, perform_initialization=False,
        params_dtype=torch.bfloat16, bf16=True, pipeline_dtype=torch.bfloat16, gradient_accumulation_fusion=False,
        persist_layer_norm=False, masked_softmax_fusion=False, bias_dropout_fusion=False, bias_activation_fusion=False,
        attention_softmax_in_fp32=False, hidden_dropout=0.1, attention_dropout=0.1, add_bias_linear=True, activation_func=F.gelu,
        deallocate_pipeline_outputs=True, overlap_p2p_comm=chunks is not None, batch_p2p_comm=chunks is None)
    config.microbatch_group_size_per_vp_stage = pipeline
    models = []
    for chunk in range(chunks or 1):
        at = {"ignore_virtual": False, "vp_stage": chunk} if chunks else {}
        is_last = parallel_state.is_pipeline_last_stage(**at)
        model = GPTModel(
            config, get_gpt_layer_local_spec(), VOCABULARY, run["batch.sequence"], pre_process=parallel_state.is_pipeline_first_stage(**at),
            post_process=is_last, parallel_output=True, share_embeddings_and_output_weights=False,
            position_embedding_type="learned_absolute", vp_stage=chunk if chunks else None).to(torch.bfloat16)
        model.model_type = ModelType.encoder_or_decoder
        model = DistributedDataParallel(
            config, DistributedDataParallelConfig(grad_reduce_in_fp32=True, use_distributed_optimizer=False), model)
        model.has_labels = is_last
        models.append(model)
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16, use_distributed_optimizer=False, clip_grad=1.0),
        models, use_gloo_process_groups=False)
    return models, optimizer


def scored(loss_mask, output):
    """`pretrain_gpt.py`, `loss_func`."""
    losses, mask = output.view(-1).float(), loss_mask.view(-1).float()
    loss, tokens = torch.sum(losses * mask), mask.sum().clone().detach().to(torch.int)
    return loss, tokens, {"lm loss": torch.cat([loss.clone().detach().view(1), tokens.view(1)])}


def measure(item: dict) -> dict:
    """The last of three steps."""
    from megatron.core.pipeline_parallel import schedules

    run = item["run"]
    micro, sequence, chunks = run["batch.micro"], run["batch.sequence"], run.get("parallel.virtualStages")
    cluster.start(run["hardware.gpus"], last=True)
    gc.collect()
    gc.disable()
    with fake_cuda.fake_mode(), torch.device("cuda"):
        tracker = Tracker()
        with tracker:
            models, optimizer = built(item)
            gc.collect()

        def forward(_, model):
            if not model.has_labels:
                return model(None, None, None), None
            labels, loss_mask = torch.zeros((micro, sequence), dtype=torch.long), torch.zeros((micro, sequence))
            mask = torch.zeros((micro, 1, sequence, sequence), dtype=torch.bool)
            return model(None, None, mask, labels=labels), functools.partial(scored, loss_mask)

        results = {"localParameters": sum(p.numel() for model in models for p in model.parameters())}
        with tracker:
            for _ in range(3):
                for model in models:
                    model.zero_grad_buffer()
                optimizer.zero_grad()
                results["atRest"] = tracker.current
                with tracker.in_phase("passes"):
                    schedules.get_forward_backward_func()(
                        forward_step_func=forward, data_iterator=[None] * chunks if chunks else None,
                        model=models if chunks else models[0], num_microbatches=run["batch.accumulation"], seq_length=sequence,
                        micro_batch_size=micro, forward_only=False)
                    results["peak"] = tracker.peak
                optimizer.step()
    return results


def main() -> int:
    options = options_of(__doc__, "megatron_pipeline.json")
    torch.set_num_threads(1)
    header = {"note": NOTE, "versions": {"torch": torch.__version__, "megatron-core": version("megatron-core")}}
    return record_each(options, CASES, functools.partial(attempted, measure), plain, header)


if __name__ == "__main__":
    sys.exit(main())
