"""torchtune's and torchtitan's own models, as their recipes build, checkpoint, shard and step them: the loss is taken of what
the model returns, outside of FSDP's root.

    pip install --no-deps torchtune==0.6.1 torchtitan==0.2.2 torchao==0.18.0 tyro omegaconf
"""

import sys
from unittest.mock import MagicMock

import torch

import cluster
from measure import DTYPES, make_optimizer
from sharded_measure import Sharded, real_meshes

CHUNKS = 8  # of torchtune's loss


def config_of(case):
    """The case's configuration as transformers has it, which the other frameworks' sizes are taken of."""
    from transformers import AutoConfig

    described = dict(case["model"])
    return AutoConfig.for_model(described.pop("model_type"), **described)


def mesh_of(run):
    from torch.distributed.device_mesh import init_device_mesh

    with torch._subclasses.fake_tensor.unset_fake_temporarily():
        return init_device_mesh("cuda", (run["hardware.gpus"],), mesh_dim_names=("dp_shard",))


def without_images():
    """torchtune imports torchvision for its image transforms, which no case has."""
    import datasets  # noqa: F401  looks for it

    for name in ("", ".transforms", ".transforms.v2", ".transforms.v2.functional", ".transforms.functional"):
        sys.modules.setdefault(f"torchvision{name}", MagicMock(__spec__=None))


class Torchtune:
    """`recipes/full_finetune_distributed.py`: `_setup_model` and the loop of `train`."""

    def build(self, case):
        config, run = config_of(case), case["run"]
        sizes = dict(vocab_size=config.vocab_size, num_layers=config.num_hidden_layers, num_heads=config.num_attention_heads,
                     num_kv_heads=config.num_key_value_heads, embed_dim=config.hidden_size,
                     intermediate_dim=config.intermediate_size, max_seq_len=run["batch.sequence"])
        without_images()
        if config.model_type == "qwen2":
            from torchtune.models.qwen2._component_builders import qwen2 as builder

            sizes["tie_word_embeddings"] = config.tie_word_embeddings
        else:
            from torchtune.models.llama3_1 import _position_embeddings
            from torchtune.models.llama3_1._component_builders import llama3_1 as builder

            # The frequencies are read one by one; fake ones have no values.
            _position_embeddings.Llama3ScaledRoPE.apply_scaling = lambda rope, freqs, *rest: torch.empty_like(freqs)
        plain = torch.get_default_dtype()
        torch.set_default_dtype(DTYPES[run["precision.weights"]])
        try:
            with torch.device("cuda"):
                model = builder(**sizes)
        finally:
            torch.set_default_dtype(plain)
        from torchtune.modules.loss import CEWithChunkedOutputLoss

        self.criterion = CEWithChunkedOutputLoss(CHUNKS)
        model.set_num_output_chunks(CHUNKS)
        return config, model

    def shard(self, model, run):
        from functools import partial

        from torchtune import modules, training

        if run.get("activations.checkpointing", "none") != "none":
            training.set_activation_checkpointing(model, auto_wrap_policy={modules.TransformerSelfAttentionLayer})
        ends = ["tok_embeddings", "output"] if run.get("fsdp.separateEnds") else None
        training.shard_model(
            model, [partial(training.get_shard_conditions, names_to_match=ends)], cpu_offload=False,
            reshard_after_forward=run.get("fsdp.strategy", "full") == "full", dp_mesh=mesh_of(run))
        return Sharded(model, make_optimizer(list(model.parameters()), run))

    def loss(self, model, batch):
        tokens = (batch["labels"] != -100).sum()
        logits = model(tokens=batch["input_ids"])
        labels = torch.hstack((batch["labels"][..., 1:], batch["labels"][..., :1]))
        loss = self.criterion(logits, labels) * tokens
        del logits
        return loss


def titan_mesh(run):
    """The dimensions that `distributed/parallel_dims.py` makes of the degrees, those of one GPU left out of groups."""
    from torchtitan.distributed import ParallelDims

    tensor, replicas = run.get("parallel.tensor", 1), run.get("parallel.replicate", 1)
    dims = ParallelDims(dp_replicate=replicas, dp_shard=run["hardware.gpus"] // (tensor * replicas), cp=1, tp=tensor, pp=1, ep=1,
                        etp=1, world_size=run["hardware.gpus"])
    with torch._subclasses.fake_tensor.unset_fake_temporarily():
        dims.build_mesh()
    return dims


class Torchtitan:
    """`train.py`, `forward_backward_step`, with `models/llama3/infra/parallelize.py`."""

    def build(self, case):
        from torchtitan.models.llama3.model.args import TransformerModelArgs
        from torchtitan.models.llama3.model.model import Transformer

        config, run = config_of(case), case["run"]
        hidden = int(2 * 4 * config.hidden_size / 3)
        sizes = TransformerModelArgs(
            dim=config.hidden_size, n_layers=config.num_hidden_layers, n_heads=config.num_attention_heads,
            n_kv_heads=config.num_key_value_heads, vocab_size=config.vocab_size, multiple_of=config.intermediate_size,
            ffn_dim_multiplier=config.intermediate_size / hidden, max_seq_len=run["batch.sequence"])
        with torch.device("cuda"):
            model = Transformer(sizes)
        return config, model

    def shard(self, model, run):
        """`parallelize_llama`, by its parts."""
        from torchtitan.distributed import utils
        from torchtitan.models.llama3.infra import parallelize

        cluster.propagate_shapes_apart()
        dims = titan_mesh(run)
        parallel_loss = dims.tp_enabled and run.get("loss.implementation") == "vocab-parallel"
        self.context = utils.get_train_context(parallel_loss)
        if dims.tp_enabled:
            parallelize.apply_tp(model, dims.get_mesh("tp"), parallel_loss, enable_float8_tensorwise_tp=False)
        self.checkpoint(model, run)
        if dims.fsdp_enabled:
            real_meshes()
            names = ["dp_replicate", "fsdp"] if dims.dp_replicate_enabled else ["fsdp"]
            keeps = run.get("fsdp.strategy", "full") not in ("full", "hybrid")
            policy = "never" if keeps else "always" if run.get("fsdp.reshardsEnds") else "default"
            parallelize.apply_fsdp(model, dims.get_mesh(names), DTYPES[run["precision.compute"]], DTYPES[run["precision.reduce"]], False,
                                   run.get("offload.parameters", "none") == "cpu", policy)
        return Titan(model, make_optimizer(list(model.parameters()), run), self.context)

    def checkpoint(self, model, run):
        from torchtitan.config.job_config import ActivationCheckpoint
        from torchtitan.distributed.activation_checkpoint import apply_ac
        from torchtitan.models.llama3.infra.parallelize import _op_sac_save_list

        checkpointing = run.get("activations.checkpointing", "none")
        if checkpointing == "none":
            return
        options = {"mode": "full"}
        if checkpointing == "selective":
            options = {"mode": "selective", "selective_ac_option": "op"}
        elif "activations.layers" in run:
            options = {"mode": "selective", "selective_ac_option": str(len(model.layers) // run["activations.layers"])}
        apply_ac(model, ActivationCheckpoint(**options), model_compile_enabled=False, op_sac_save_list=_op_sac_save_list)

    def loss(self, model, batch):
        from torchtitan.components.loss import cross_entropy_loss

        prediction = model(batch["input_ids"])
        loss = cross_entropy_loss(prediction, batch["labels"])
        del prediction  # before backward, as there
        return loss


class Titan(Sharded):
    """Forward, loss and backward under the loop's context, which is that of the loss on split logits."""

    def __init__(self, model, optimizer, context):
        super().__init__(model, optimizer)
        self.context = context

    def micro(self, last):
        return self.context()


PRETRAINERS = {"torchtune": Torchtune, "torchtitan": Torchtitan}
