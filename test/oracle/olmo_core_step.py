"""Whole steps of allenai/OLMo-core's own model, sharding and loss, in `olmo_core.json`: `python olmo_core_step.py [--only TEXT] [--force]`.

    pip install --no-deps dataclass-extensions==0.5.0 bettermap==1.3.1 importlib_resources rich requests filelock

and `src` of https://github.com/allenai/OLMo-core/tree/fa6c5014c9f6e9ee789da2d9c20d5126fee8df0d on `PYTHONPATH`.
"""

import sys

from sharded_run import attempt, compact, installed  # puts the fake device in the place of CUDA, before torch

import torch

import sharded_measure
from measure import DTYPES, make_optimizer
from olmo_core_models import MODELS, config_of, stand_in
from recordings import modelled, options_of, record_each

NOTE = ("Bytes of the first rank of allenai/OLMo-core's own model, wrapping, loss and optimizer under PyTorch fake CUDA tensors and a fake process group, "
        "last micro step and optimizer step of a steady step, uncompiled. Storages are rounded to 512 B.")


class Described:
    """What `measure.py` asks of a configuration."""

    model_type = "olmo_core"

    def __init__(self, fields):
        self.fields = fields
        self.vocab_size = fields["vocab_size"]

    def to_dict(self):
        return {"model_type": self.model_type, **self.fields}


class OlmoCore:
    """`train_module/transformer/common.py`, `parallelize_model`, and `train_module.py`, `train_batch`."""

    def build(self, case):
        stand_in()
        from olmo_core.config import DType

        fields = {k: v for k, v in case["model"].items() if k != "model_type"}
        model = config_of(fields, DType.bfloat16 if case["run"].get("precision.masterWeights") is None and case["run"]["precision.weights"] == "bf16"
                          else DType.float32).build(init_device="cuda")
        self.case = case
        return Described(fields), model

    def shard(self, model, run):
        from olmo_core.distributed.parallel import DataParallelType  # noqa: F401
        from olmo_core.nn.transformer import TransformerActivationCheckpointingMode, TransformerDataParallelWrappingStrategy

        own = self.case["core"]
        if "mode" in own:
            model.apply_activation_checkpointing(TransformerActivationCheckpointingMode(own["mode"]), **own.get("checkpointing", {}))
        if run["parallel.data"] == "fsdp2":
            sharded_measure.real_meshes()
            from torch.distributed.device_mesh import init_device_mesh

            gpus, replicas = run["hardware.gpus"], run.get("parallel.replicate", 1)
            shape, names = ((replicas, gpus // replicas), ("replicate", "shard")) if replicas > 1 else ((gpus,), ("shard",))
            with torch._subclasses.fake_tensor.unset_fake_temporarily():
                mesh = init_device_mesh("cuda", shape, mesh_dim_names=names)
            model.apply_fsdp(dp_mesh=mesh, param_dtype=DTYPES[run["precision.compute"]], reduce_dtype=DTYPES[run["precision.reduce"]],
                             wrapping_strategy=TransformerDataParallelWrappingStrategy(own["wrapping"]))
        # Position tables and masks, as `init_weights` makes them before the first step.
        for block in model.blocks.values():
            attention = getattr(block, "_checkpoint_wrapped_module", block).attention
            getattr(attention, "_checkpoint_wrapped_module", attention).rope.warmup_cache(run["batch.sequence"], torch.device("cuda"))
        return Core(model, optimizer_of(model, run, own), run)

    def loss(self, model, batch):
        tokens = (batch["labels"] != -100).sum()
        _, loss, _, _ = model(batch["input_ids"], labels=batch["labels"], ignore_index=-100, loss_reduction="sum",
                              z_loss_multiplier=1e-5 if self.case["run"].get("loss.zLoss") else None, loss_div_factor=tokens, return_logits=False)
        return loss


def optimizer_of(model, run, own):
    embeddings = [p for n, p in model.named_parameters() if n == "embeddings.weight"]
    others = [p for n, p in model.named_parameters() if n != "embeddings.weight"]
    if not own.get("skips"):
        return make_optimizer([{"params": embeddings}, {"params": others}] if own.get("groups") else list(model.parameters()), run)
    from olmo_core.optim.adamw import SkipStepAdamW

    groups = [{"params": embeddings}, {"params": others}] if own.get("groups") else list(model.parameters())
    return SkipStepAdamW(groups, lr=1e-4, foreach=run["optimizer.implementation"] == "foreach",
                         dtype=DTYPES[run["precision.optimizerStates"]] if "precision.optimizerStates" in run else None)


class Core(sharded_measure.Sharded):
    """`_train_microbatch_context`: gradients are reduced in each micro step, replicas' in the last."""

    def __init__(self, model, optimizer, run):
        super().__init__(model, optimizer)
        self.hybrid = run.get("parallel.replicate", 1) > 1
        self.wrapped = run["parallel.data"] == "fsdp2"

    def micro(self, last):
        if self.wrapped:
            self.model.set_is_last_backward(last)
            if self.hybrid:
                self.model.set_requires_all_reduce(last)
        return super().micro(last)


FSDP = {"parallel.data": "fsdp2", "precision.weights": "bf16", "precision.masterWeights": "fp32", "precision.scheme": "fsdp", "precision.reduce": "fp32",
        "fsdp.strategy": "full", "fsdp.syncEachBatch": True, "fsdp.separateEnds": True, "fsdp.reshardsEnds": False}
LAYERS = {"activations.reentrant": False}
# What a word makes of the run, and of the config of OLMo-core.
WORDS = {
    "single": ({"parallel.data": "none", "precision.weights": "fp32", "precision.scheme": "native", "precision.compute": "fp32"}, {}),
    "low": ({"precision.weights": "bf16", "precision.compute": "bf16"}, {}),
    "full": (FSDP, {"wrapping": "full"}),
    "blocks": (FSDP | {"fsdp.separateEnds": False, "fsdp.reshardsEnds": True}, {"wrapping": "blocks"}),
    "hsdp": ({"fsdp.strategy": "hybrid", "parallel.replicate": 4, "hardware.gpus": 32}, {}),
    "reduce16": ({"precision.reduce": "bf16"}, {}),
    "acfull": (LAYERS | {"activations.checkpointing": "full"}, {"mode": "full"}),
    "ac2": (LAYERS | {"activations.checkpointing": "full", "activations.period": 2}, {"mode": "selected_blocks", "checkpointing": {"block_interval": 2}}),
    "acops": (LAYERS | {"activations.checkpointing": "selective"}, {"mode": "selected_ops"}),
    "acmlp": (LAYERS | {"activations.checkpointing": "selective", "activations.modules": ["mlp"]},
              {"mode": "selected_modules", "checkpointing": {"modules": ["blocks.*.feed_forward"]}}),
    "z": ({"loss.zLoss": True}, {}),
    "sgd": ({"optimizer.name": "sgd"}, {}),
    "groups": ({"optimizer.embeddingsApart": True}, {"groups": True}),
    "skip": ({"optimizer.name": "skip-step-adamw"}, {"skips": True}),
    "loop": ({"optimizer.implementation": "for-loop"}, {}),
    "states16": ({"precision.optimizerStates": "bf16"}, {}),
    "acc2": ({"batch.accumulation": 2}, {}),
}


def case(model: str, words: str, micro: int, sequence: int, layers: int | None = None) -> dict:
    names = words.split()
    run = {"version.torch": "2.13", "hardware.gpu": "H100-SXM5-80GB", "hardware.gpus": 1 if "single" in names else 8, "batch.micro": micro,
           "batch.sequence": sequence, "batch.accumulation": 1, "attention.implementation": "sdpa", "activations.checkpointing": "none", "method.kind": "full",
           "optimizer.name": "adamw", "optimizer.implementation": "foreach", "model.code": "olmo-core", "precision.compute": "bf16",
           "loss.implementation": "full"}
    config = dict(MODELS[model]) | ({"n_layers": layers} if layers else {})
    core: dict = {}
    for name in names:
        of_run, of_core = WORDS[name]
        run |= of_run
        core |= of_core
    identity = "-".join([model, *names, f"b{micro}", f"s{sequence}", *([f"l{layers}"] if layers else [])])
    return {"id": identity, "run": run, "model": config, "core": core}


def _cases():
    for model in ("olmo2-190m", "llama2-271m", "qwen3", "gemma", "gated", "gated-heads"):
        yield case(model, "single low sgd", 2, 1024)
        yield case(model, "single low acfull sgd", 2, 1024)
    for model in ("olmo2-7b", "olmo2-32b", "olmo3-7b", "llama3-8b"):
        yield case(model, "full sgd", 2, 2048)
        yield case(model, "full acfull sgd", 2, 2048)
    for model in ("olmo2-7b", "olmo2-190m"):
        for words in ("full", "blocks", "blocks sgd", "blocks acfull sgd", "blocks acfull z sgd", "full z sgd", "full acc2 sgd", "blocks acc2 sgd",
                      "full hsdp sgd", "full hsdp acc2 sgd", "full reduce16 sgd", "full skip", "full skip groups", "full skip loop", "full skip states16",
                      "full acops sgd", "full acmlp sgd"):
            yield case(model, words, 2, 2048)
    yield case("olmo2-7b", "full ac2 sgd", 2, 2048, 8)
    yield case("qwen3", "full sgd", 2, 1024)
    yield case("olmo2-190m", "single", 2, 1024)
    yield case("olmo2-190m", "single sgd", 2, 1024)
    yield case("olmo2-190m", "single low skip loop", 1, 128)


CASES = list(_cases())


def main() -> int:
    options = options_of(__doc__, "olmo_core.json")
    torch.set_num_threads(1)
    import pretrainers

    pretrainers.PRETRAINERS["olmo-core"] = OlmoCore
    versions = {"torch": installed("torch"), "ai2-olmo-core": "2.5.0, fa6c5014"}
    return record_each(options, CASES, attempt, modelled(compact), {"note": NOTE, "versions": versions})


if __name__ == "__main__":
    sys.exit(main())
