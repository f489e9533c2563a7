"""Whole steps of allenai/OLMo's own model, sharding and loss, in `olmo.json`: `python olmo_step.py [--only TEXT] [--force]`.

    pip install --no-deps ai2-olmo==0.6.0 omegaconf==2.3.0 antlr4-python3-runtime==4.9.3 rich
"""

import sys
from types import SimpleNamespace

from sharded_run import attempt, compact, installed  # puts the fake device in the place of CUDA, before torch

import torch

import sharded_measure
from measure import DTYPES, make_optimizer
from olmo_packages import stand_in
from recordings import modelled, options_of, record_each

NOTE = ("Bytes of the first rank of allenai/OLMo's own model, wrapping, micro step and loss under PyTorch fake CUDA tensors and a fake process group, "
        "last micro step and optimizer step of a steady step. Storages are rounded to 512 B.")


class Described:
    """What `measure.py` asks of a configuration."""

    model_type = "hf_olmo"

    def __init__(self, fields):
        self.fields = fields
        self.vocab_size = fields.get("vocab_size", 50257)

    def to_dict(self):
        return {"model_type": self.model_type, **self.fields}


class Olmo:
    """`scripts/train.py`, `main`, and `olmo/train.py`, `Trainer.train_batch`."""

    def build(self, case):
        stand_in()
        from olmo.config import ActivationCheckpointingStrategy, ModelConfig
        from olmo.model import OLMo

        fields = {k: v for k, v in case["model"].items() if k != "model_type"}
        sizes = ModelConfig(**fields, init_device="cuda")
        model = OLMo(sizes, init_params=False)
        self.case = case
        strategy = case["olmo"].get("activation_checkpointing")
        model.set_activation_checkpointing(ActivationCheckpointingStrategy(strategy) if strategy else None)
        return Described(fields), model

    def shard(self, model, run):
        data = run["parallel.data"]
        if data == "none":
            return Local(model, make_optimizer(list(model.parameters()), run))
        if data == "ddp":
            plain = sharded_measure.apply_precision
            sharded_measure.apply_precision = lambda *given: None  # the loop has autocast of its own
            try:
                return sharded_measure.ddp(model, run)
            finally:
                sharded_measure.apply_precision = plain
        from olmo.config import FSDPWrapStrategy
        from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy, _flat_param

        _flat_param._data_ptr_allocated = lambda tensor: tensor.untyped_storage().size() > 0  # fake storages have no address
        strategy = self.case["olmo"].get("wrapping_strategy")
        compute, reduce = (DTYPES[run[name]] for name in ("precision.compute", "precision.reduce"))
        names = {"full": "FULL_SHARD", "grad-op": "SHARD_GRAD_OP", "none": "NO_SHARD"}
        model = FullyShardedDataParallel(
            model, sharding_strategy=ShardingStrategy[names[run.get("fsdp.strategy", "full")]], use_orig_params=True,
            mixed_precision=MixedPrecision(param_dtype=compute, reduce_dtype=reduce, buffer_dtype=compute),
            auto_wrap_policy=model.get_fsdp_wrap_policy(FSDPWrapStrategy(strategy) if strategy else None), limit_all_gathers=True,
            device_id=torch.device("cuda", 0))
        return sharded_measure.Fsdp1(model, make_optimizer(list(model.parameters()), run), {"fsdp.syncEachBatch": True})

    def loss(self, model, batch):
        from olmo.train import Trainer, cross_entropy_loss, fused_loss_fn

        run, olmo = self.case["run"], self.case["olmo"]
        trainer = SimpleNamespace(cfg=SimpleNamespace(softmax_auxiliary_loss=olmo.get("softmax_auxiliary_loss", False)), dist_model=model)
        trainer.loss_fn = fused_loss_fn if olmo.get("fused_loss") else cross_entropy_loss
        trainer.get_labels = lambda given: Trainer.get_labels(trainer, given)
        trainer.model_forward = lambda *given, **more: Trainer.model_forward(trainer, *given, **more)
        with torch.autocast("cuda", enabled=True, dtype=DTYPES[run["precision.compute"]]):
            return Trainer.train_micro_batch(trainer, {"input_ids": batch["input_ids"]}, batch["input_ids"].numel())[0]


class Local(sharded_measure.Sharded):
    """One GPU."""


OLMO_1B = dict(model_type="hf_olmo", d_model=2048, n_heads=16, n_layers=4, mlp_ratio=8, weight_tying=True, alibi=False, rope=True, flash_attention=False,
               attention_dropout=0.0, attention_layer_norm=False, include_bias=False, block_type="sequential", layer_norm_type="default",
               layer_norm_with_affine=False, bias_for_layer_norm=False, attention_layer_norm_with_affine=False, activation_type="swiglu", residual_dropout=0.0,
               embedding_dropout=0.0, max_sequence_length=2048, vocab_size=50280, embedding_size=50304)
OLMO_7B = OLMO_1B | dict(d_model=4096, n_heads=32, mlp_ratio=0, mlp_hidden_size=22016, weight_tying=False, clip_qkv=8.0, max_sequence_length=4096)
OLMO_2_7B = OLMO_7B | dict(layer_norm_type="rms", layer_norm_with_affine=True, layer_norm_eps=1e-6, attention_layer_norm=True, clip_qkv=None, norm_after=True,
                           attention_layer_norm_with_affine=True, vocab_size=100278, embedding_size=100352, rope_theta=500000)
GPT = dict(model_type="hf_olmo", d_model=1024, n_heads=16, n_layers=6, max_sequence_length=1024, activation_type="gelu")  # the class's own defaults beside
GROUPED = OLMO_1B | dict(n_kv_heads=4, rope_full_precision=False, layer_norm_type="low_precision", layer_norm_with_affine=True, weight_tying=False, n_layers=6)
MODELS = {"olmo-1b": OLMO_1B, "olmo-7b": OLMO_7B, "olmo2-7b": OLMO_2_7B, "gpt": GPT, "grouped": GROUPED}

FSDP = {"parallel.data": "fsdp1", "precision.weights": "bf16", "precision.masterWeights": "fp32", "precision.scheme": "fsdp", "precision.autocast": True,
        "fsdp.backwardPrefetch": "pre", "fsdp.syncEachBatch": True, "precision.reduce": "fp32", "fsdp.separateEnds": False}
ALONE = {"precision.weights": "fp32", "precision.scheme": "autocast"}
LAYERS = {"activations.checkpointing": "full", "activations.reentrant": False}
# What a word makes of the run, and of the config of OLMo.
WORDS = {
    "single": (ALONE | {"parallel.data": "none"}, {}),
    "ddp": (ALONE | {"parallel.data": "ddp"}, {}),
    "fsdp": (FSDP, {"wrapping_strategy": "by_block"}),
    "pure": ({"precision.reduce": "bf16"}, {}),
    "ends": ({"fsdp.separateEnds": True}, {"wrapping_strategy": "by_block_and_size"}),
    "whole": ({"fsdp.wrap": "none"}, {"wrapping_strategy": None}),
    "keep": ({"fsdp.strategy": "grad-op"}, {}),
    "layers": (LAYERS, {"activation_checkpointing": "whole_layer"}),
    "onein4": (LAYERS | {"activations.period": 4}, {"activation_checkpointing": "one_in_four"}),
    "onein2": (LAYERS | {"activations.period": 2}, {"activation_checkpointing": "one_in_two"}),
    "twoin3": (LAYERS | {"activations.period": -3}, {"activation_checkpointing": "two_in_three"}),
    "threein4": (LAYERS | {"activations.period": -4}, {"activation_checkpointing": "three_in_four"}),
    "z": ({"loss.zLoss": True}, {"softmax_auxiliary_loss": True}),
    "flashloss": ({"loss.implementation": "compiled"}, {"fused_loss": True}),
    "sgd": ({"optimizer.name": "sgd"}, {}),
    "acc2": ({"batch.accumulation": 2}, {}),
}


def case(model: str, words: str, micro: int, sequence: int, layers: int | None = None) -> dict:
    names = words.split()
    run = {"version.torch": "2.13", "hardware.gpu": "H100-SXM5-80GB", "hardware.gpus": 1 if "single" in names else 8, "batch.micro": micro,
           "batch.sequence": sequence, "batch.accumulation": 1, "attention.implementation": "sdpa", "activations.checkpointing": "none", "method.kind": "full",
           "optimizer.name": "adamw", "optimizer.implementation": "foreach", "model.code": "olmo", "precision.compute": "bf16",
           "loss.implementation": "full"}
    config = dict(MODELS[model]) | ({"n_layers": layers} if layers else {})
    olmo: dict = {}
    for name in names:
        of_run, of_olmo = WORDS[name]
        run |= of_run
        olmo |= of_olmo
    identity = "-".join([model, *names, f"b{micro}", f"s{sequence}", *([f"l{layers}"] if layers else [])])
    return {"id": identity, "run": run, "model": config, "olmo": olmo}


def _cases():
    for words in ("single", "single layers", "single layers sgd", "single sgd", "single z sgd", "single flashloss sgd", "single acc2 sgd"):
        yield case("olmo-1b", words, 2, 2048)
    for model in ("olmo-7b", "olmo2-7b", "gpt", "grouped"):
        for words in ("single sgd", "single layers sgd"):
            yield case(model, words, 2, 1024)
    yield case("olmo2-7b", "single flashloss z sgd", 2, 1024)
    yield case("olmo-1b", "single sgd", 1, 1024)
    yield case("olmo-1b", "ddp sgd", 2, 2048)
    for words in ("fsdp sgd", "fsdp", "fsdp pure sgd", "fsdp layers sgd", "fsdp ends sgd", "fsdp ends layers sgd", "fsdp ends layers flashloss", "fsdp keep sgd",
                  "fsdp whole sgd", "fsdp acc2 sgd", "fsdp ends acc2 sgd"):
        yield case("olmo2-7b", words, 2, 1024)
    # A tied embedding that is a unit of its own is a shard of itself when the head multiplies with it: that stops.
    for words in ("fsdp sgd", "fsdp whole"):
        yield case("olmo-1b", words, 4, 2048)
    for words in ("onein4", "onein2", "twoin3", "threein4"):
        yield case("olmo2-7b", f"fsdp ends {words} flashloss sgd", 4, 4096, 8)
    for words in ("onein4 sgd", "threein4 sgd"):
        yield case("olmo-1b", f"single {words}", 2, 2048, 8)
    yield case("olmo-7b", "fsdp pure layers", 2, 2048, 8)


CASES = list(_cases())


def main() -> int:
    options = options_of(__doc__, "olmo.json")
    torch.set_num_threads(1)
    import pretrainers

    pretrainers.PRETRAINERS["olmo"] = Olmo
    versions = {name: installed(name) for name in ("torch", "ai2-olmo")}
    return record_each(options, CASES, attempt, modelled(compact), {"note": NOTE, "versions": versions})


if __name__ == "__main__":
    sys.exit(main())
