"""Sharded cases: each scheme crossed with what changes its memory, on models of different shape."""

from cases import COMMON, FLAGS, MODELS, PRECISIONS

MIXED = {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "fsdp",
         "precision.masterWeights": "fp32"}
DEEPSPEED = {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "deepspeed",
             "optimizer.implementation": "fused"}
SHARDED_FLAGS = {
    **FLAGS, **PRECISIONS,
    "mixed": MIXED,
    "accelerate": MIXED | {"precision.autocast": True},
    "mixedfp16": MIXED | {"precision.compute": "fp16"},
    "ds": DEEPSPEED,
    "dsfp16": DEEPSPEED | {"precision.weights": "fp16", "precision.compute": "fp16"},
    "dsfp32": DEEPSPEED | {"precision.weights": "fp32", "precision.compute": "fp32"},
    "reducefp32": {"precision.reduce": "fp32"},
    "keep": {"fsdp.strategy": "grad-op"},
    "noshard": {"fsdp.strategy": "none"},
    "hybrid": {"fsdp.strategy": "hybrid", "parallel.replicate": 2},
    "hybridkeep": {"fsdp.strategy": "hybrid-grad-op", "parallel.replicate": 2},
    "nodes32": {"fsdp.strategy": "hybrid", "parallel.replicate": 32},
    "ends": {"fsdp.separateEnds": True},
    "nowrap": {"fsdp.wrap": "none"},
    "size20m": {"fsdp.wrap": "size", "fsdp.minParameters": 20_000_000},
    "size100m": {"fsdp.wrap": "size", "fsdp.minParameters": 100_000_000},
    "size1b": {"fsdp.wrap": "size", "fsdp.minParameters": 1_000_000_000},
    "size1m": {"fsdp.wrap": "size", "fsdp.minParameters": 1_000_000},
    "reshard8": {"fsdp.reshardSize": 8},
    "synceach": {"fsdp.syncEachBatch": True},
    "post": {"fsdp.backwardPrefetch": "post"},
    "noprefetch": {"fsdp.backwardPrefetch": "none"},
    "always": {"fsdp.reshardsEnds": True},
    "flat": {"fsdp.useOriginalParameters": False},
    "offload": {"offload.parameters": "cpu"},
    "view": {"ddp.gradientAsBucketView": True},
    "cap1": {"ddp.bucketCap": 2**20},
    "z0": {"zero.stage": 0}, "z1": {"zero.stage": 1}, "z2": {"zero.stage": 2}, "z3": {"zero.stage": 3},
    "overlap": {"zero.overlapCommunication": True},
    "serial": {"zero.overlapCommunication": False},
    "scattered": {"zero.contiguousGradients": False},
    "bucket20m": {"zero.reduceBucket": 20_000_000},
    "bucket500m": {"zero.reduceBucket": 500_000_000},
    "sendfp32": {"precision.reduce": "fp32"},
    "gradfp32": {"precision.gradientAccumulation": "fp32"},
    "offopt": {"offload.optimizer": "cpu"},
    "offboth": {"offload.optimizer": "cpu", "offload.parameters": "cpu"},
    "tight": {"zero.maxLiveParameters": 60_000_000, "zero.maxReuseDistance": 60_000_000, "zero.prefetchBucket": 10_000_000},
    "noreuse": {"zero.maxReuseDistance": 0},
    "noahead": {"zero.maxReuseDistance": 0, "zero.prefetchBucket": 0},
    "whole": {"zero.persistenceThreshold": 0},
    "keepsmall": {"zero.persistenceThreshold": 5_000_000},
    "sub50m": {"zero.subGroup": 50_000_000},
    "hpz": {"zero.hpzPartition": 2},
    "lora16b": FLAGS["lora16"] | {"lora.dtype": "bf16"},
    "loraqvb": FLAGS["loraqv"] | {"lora.dtype": "bf16"},
}


# What torchtune and torchtitan make of a run by themselves: their own modules, FSDP 2, no flash workspace of theirs.
OWN = {
    "torchtune": {"model.code": "torchtune", "precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "native",
                  "loss.implementation": "chunked", "fsdp.syncEachBatch": True},
    "torchtitan": {"model.code": "torchtitan", "precision.weights": "fp32", "precision.compute": "bf16",
                   "precision.scheme": "fsdp", "precision.reduce": "fp32", "precision.masterWeights": "fp32",
                   "fsdp.separateEnds": True, "fsdp.syncEachBatch": True},
}

# GPUs that split the model, and what the loss takes of them.
SHARDED_FLAGS |= {f"tp{n}": {"parallel.tensor": n, "parallel.sequence": True, "loss.implementation": "vocab-parallel"} for n in (2, 4, 8)}
TITAN = ("gathered", "everysecond", "selective", "alone")  # count for more than what torchtitan makes of a run by itself
SHARDED_FLAGS |= {
    "gathered": {"loss.implementation": "full"},
    # Of the six layers that such cases have.
    "everysecond": {"activations.checkpointing": "full", "activations.reentrant": False, "activations.layers": 3},
    # No GPUs are left to shard over: types are not mixed then (`distributed/utils.py`, `maybe_enable_amp`).
    "alone": {"parallel.data": "none", "precision.compute": "fp32", "precision.scheme": "native"},
    "selective": {"activations.checkpointing": "selective", "activations.reentrant": False},
}


def case(data: str, model: str, flags: str, gpus: int, micro: int, sequence: int, layers: int | None = None) -> dict:
    names = flags.split()
    run = {**COMMON, "parallel.data": data, "hardware.gpus": gpus, "batch.micro": micro, "batch.sequence": sequence}
    if data == "fsdp1":
        run["fsdp.backwardPrefetch"] = "pre"
    if data == "zero":
        run["zero.reduceBucket"] = 50_000_000
    for name in names:
        run.update(SHARDED_FLAGS[name])
    if data.startswith("fsdp") and run["batch.accumulation"] > 1:
        run.setdefault("fsdp.syncEachBatch", False)
    config = dict(MODELS[model])
    if layers is not None:
        config["n_layer" if "n_layer" in config else "num_hidden_layers"] = layers
    identity = "-".join([data, model, *names, f"g{gpus}", f"b{micro}", f"s{sequence}", *([f"l{layers}"] if layers else [])])
    return {"id": identity, "run": run, "model": config}


def _cases():
    small, large, tied, wide = "llama-1b-mha", "llama-2-7b", "llama-3.2-1b", "qwen2.5-0.5b"
    for flags in ("mixed", "mixed reducefp32", "mixed keep", "mixed nonreentrant", "mixed keep nonreentrant",
                  "mixed ends", "mixed ends nonreentrant", "mixed nowrap", "mixed acc2", "mixed acc2 synceach",
                  "mixed reducefp32 acc2", "mixed keep acc2 reducefp32", "mixed acc2 nonreentrant", "mixed hybrid",
                  "mixed hybridkeep", "mixed offload", "mixed offload acc2 synceach", "bf16", "bf16 keep", "bf16 nonreentrant", "bf16 acc2",
                  "bf16 ends reducefp32", "fp32", "fp32 nonreentrant", "mixed lora16b", "mixed lora16b nonreentrant",
                  "bf16 lora16b nonreentrant", "bf16 loraqvb keep", "mixed ends lora16b nonreentrant", "mixed sgd",
                  "mixed fused nonreentrant", "mixed sgd nonreentrant reducefp32", "mixed reentrant"):
        yield case("fsdp2", small, flags, 8, 1, 512)
    for flags in ("mixed", "mixed reducefp32 nonreentrant sgd", "bf16 sgd", "mixed nonreentrant ends sgd"):
        for model in (large, tied, "gpt2-xl", "gemma-2b", "qwen3-8b"):
            if model in (tied, "gpt2-xl", "gemma-2b") and "ends" in flags:
                continue
            yield case("fsdp2", model, flags, 64, 2, 1024)
    for gpus in (2, 64):
        for flags in ("mixed", "bf16 nonreentrant sgd", "mixed keep sgd"):
            yield case("fsdp2", small, flags, gpus, 2, 2048)
    yield case("fsdp2", small, "mixed nonreentrant sgd", 8, 4, 1024, 12)
    yield case("fsdp2", small, "mixed ends sgd", 8, 2, 2048)
    yield case("fsdp2", tied, "mixed ends nonreentrant", 8, 1, 1024)
    yield case("fsdp2", tied, "mixed ends nonreentrant sgd reducefp32", 8, 2, 2048)
    for flags in ("mixed", "mixed reducefp32", "mixed keep", "mixed nonreentrant", "mixed reentrant", "mixed noshard",
                  "mixed hybrid", "mixed nowrap", "mixed acc2", "mixed acc2 synceach", "mixed post", "mixed noprefetch",
                  "mixed flat", "bf16", "bf16 keep", "bf16 nonreentrant", "bf16 acc2", "bf16 noshard", "fp32",
                  "fp32 nonreentrant", "bf16 lora16b", "bf16 lora16b nonreentrant", "bf16 loraqvb keep", "mixed sgd noprefetch nonreentrant",
                  "mixed fused flat nonreentrant"):
        yield case("fsdp1", small, flags, 8, 1, 512)
    for flags in ("mixed", "bf16 nonreentrant sgd"):
        for model in (large, "gpt2-xl", tied):
            yield case("fsdp1", model, flags, 64, 2, 1024)
    yield case("fsdp1", small, "mixed nonreentrant sgd", 8, 4, 1024, 12)
    for flags in ("mixed size20m", "bf16 size20m nonreentrant", "mixed size1m",
                  # No layer is as large: what is around them is one unit and the head another, or all is the root.
                  "mixed size100m", "bf16 size100m nonreentrant", "bf16 size100m nonreentrant sgd", "mixed size1b"):
        yield case("fsdp1", small, flags, 8, 1, 512)
    for flags in ("mixed size100m nonreentrant sgd", "bf16 size20m nonreentrant sgd"):
        for model in (large, "qwen3-8b"):
            yield case("fsdp1", model, flags, 64, 2, 1024)
    for flags in ("accelerate", "accelerate nonreentrant", "accelerate reentrant", "accelerate acc2", "accelerate keep",
                  "accelerate noprefetch sgd"):
        yield case("fsdp1", small, flags, 8, 1, 512)
    for model in ("gpt2-xl", tied, "gemma-2b", "qwen3-8b", "pythia-1.4b", "opt-1.3b", "phi-2", "falcon-7b"):
        for flags in ("accelerate", "accelerate nonreentrant sgd"):
            yield case("fsdp1", model, flags, 64, 2, 1024)
    for flags in ("bf16", "amp", "fp32 view", "bf16 view nonreentrant", "amp view", "bf16 cap1", "bf16 acc2", "bf16 acc2 view",
                  "bf16 lora16", "bf16 lora16 nonreentrant view", "amp sgd nonreentrant"):
        yield case("ddp", small, flags, 8, 1, 512)
    yield case("ddp", tied, "bf16", 8, 1, 512)
    yield case("ddp", tied, "amp view", 64, 2, 1024)
    for stage in ("z0", "z1", "z2", "z3"):
        for flags in ("ds", "dsfp16", "ds nonreentrant", "ds acc2", "ds lora16b nonreentrant", "ds lora16b"):
            yield case("zero", small, f"{stage} {flags}", 8, 1, 512)
    for stage in ("z1", "z2"):
        for flags in ("ds overlap", "ds scattered", "ds bucket20m", "ds bucket500m", "ds gradfp32", "ds gradfp32 acc2",
                      "ds offopt", "ds offopt acc2", "ds overlap bucket20m nonreentrant", "dsfp32", "ds overlap acc2"):
            yield case("zero", small, f"{stage} {flags}", 8, 1, 512)
    for flags in ("ds serial", "ds bucket500m", "ds bucket20m nonreentrant", "ds gradfp32", "ds offopt", "ds offopt acc2", "ds offboth",
                  "ds offboth nonreentrant", "ds tight", "ds tight nonreentrant", "ds noreuse", "ds noahead", "ds noahead nonreentrant",
                  "ds whole nonreentrant noreuse", "ds keepsmall nonreentrant noreuse", "ds sub50m", "ds hpz noreuse", "dsfp32",
                  "ds noreuse acc2", "ds noreuse lora16b nonreentrant", "ds reentrant noreuse"):
        yield case("zero", small, f"z3 {flags}", 8, 1, 512)
    for stage in ("z1", "z2", "z3"):
        yield case("zero", small, f"{stage} ds sendfp32 bucket500m", 8, 1, 512)
        yield case("zero", tied, f"{stage} ds sendfp32 nonreentrant", 8, 1, 512)
    for flags in ("z1 ds", "z2 ds nonreentrant", "z3 ds noreuse nonreentrant", "z3 ds"):
        for model in (large, "gpt2-xl", tied):
            yield case("zero", model, flags, 64, 2, 1024)
    yield case("zero", small, "z3 ds tight nonreentrant", 8, 4, 1024, 12)
    yield case("zero", small, "z2 ds nonreentrant", 2, 2, 2048, 12)


    yield from _wide_cases()


def auto(model: str) -> dict:
    """ZeRO-3's sizes as transformers fills `auto` (`integrations/deepspeed.py`, `trainer_config_finalize`)."""
    width = MODELS[model]["hidden_size"]
    return {"zero.reduceBucket": width * width, "zero.prefetchBucket": int(0.9 * width * width),
            "zero.persistenceThreshold": 10 * width}


def _expert_cases():
    """Stacks of experts under ZeRO 3: in blocks that are one module for DeepSpeed (Mixtral, Qwen) and in blocks that are not, whose products read
    their transposes (DeepSeek) or the stacks as they lie (gpt-oss, Llama 4)."""
    qwen = "qwen3-30b-a3b"
    for flags in ("z3 ds nonreentrant", "z3 ds", "z3 ds reentrant"):
        yield _filled(qwen, flags, 8, 4)
    for gpus in (64, 256):
        yield _filled(qwen, "z3 ds nonreentrant", gpus, 4)
    yield case("zero", qwen, "z3 ds nonreentrant", 8, 1, 512, 4)
    for model, layers in (("mixtral-8x7b", 3), ("qwen1.5-moe", 4), ("deepseek-v2-lite", 4), ("gpt-oss-20b", 4), ("llama-4-narrow", 4)):
        eager = " eager" if model == "gpt-oss-20b" else ""
        yield case("zero", model, f"z3 ds nonreentrant{eager}", 8, 1, 512, layers)
        for flags in ("z3 ds nonreentrant", "z3 ds", "z3 ds reentrant noreuse"):
            yield _filled(model, flags + eager, 8, layers)
    yield _filled("gpt-oss-20b", "z3 ds nonreentrant eager", 64, 4)
    yield case("zero", "deepseek-v3", "z3 ds nonreentrant", 8, 1, 512, 3)
    yield _filled("deepseek-v3", "z3 ds", 8, 3)


def _filled(model: str, flags: str, gpus: int, layers: int) -> dict:
    found = case("zero", model, flags, gpus, 1, 512, layers)
    return found | {"id": found["id"] + "-auto", "run": found["run"] | auto(model)}


def _wide_cases():
    """Real widths: weights above the prefetch bucket, and stacks of experts that GPUs do not divide."""
    for model, flags, gpus, layers in (("llama-3.1-8b", "z3 ds nonreentrant", 8, 6), ("mistral-7b-v0.1", "z3 ds", 64, 3),
                                       ("qwen2.5-7b", "z3 ds offboth nonreentrant", 16, 3)):
        found = case("zero", model, flags, gpus, 1, 1024 if layers < 6 else 2048, layers)
        yield found | {"id": found["id"] + "-auto", "run": found["run"] | auto(model)}
    for model, gpus in (("mixtral-8x7b", 12), ("mixtral-8x7b", 32), ("qwen1.5-moe", 12)):
        yield case("fsdp2", model, "mixed nonreentrant sgd", gpus, 1, 1024)
    # A head above the bucket, whose gradient is still there when the embedding's is reduced.
    yield case("zero", "qwen3-8b", "z2 ds gradfp32 nonreentrant", 8, 1, 512)
    yield case("zero", "qwen3-8b", "z2 ds nonreentrant", 8, 1, 512)
    for flags in ("mixed nonreentrant reshard8 sgd", "bf16 reshard8 sgd"):
        yield case("fsdp2", "llama-3.1-8b", flags, 64, 1, 1024, 3)


def _many_ranks():
    """A cluster beyond the 64 GPUs of most cases."""
    yield case("fsdp2", "llama-3.2-1b", "mixed nonreentrant sgd", 128, 2, 1024)
    yield case("zero", "llama-3.2-1b", "z3 ds noreuse nonreentrant", 128, 2, 1024)
    yield case("fsdp2", "qwen3-8b", "mixed nonreentrant", 128, 1, 1024)
    # Qwen2.5 0.5B has no dimension that 256 GPUs divide (896 and 128 rows), and Mixtral eight experts for all of them.
    for model in ("llama-3.2-1b", "qwen2.5-0.5b"):
        for flags in ("mixed nonreentrant", "mixed nodes32 nonreentrant", "bf16 nonreentrant sgd"):
            yield case("fsdp2", model, flags, 256, 1, 1024)
        for flags in ("z2 ds nonreentrant", "z3 ds nonreentrant", "z3 ds noreuse"):
            yield case("zero", model, flags, 256, 1, 1024)
        yield case("fsdp1", model, "mixed nonreentrant", 256, 1, 1024)
    yield case("fsdp2", "mixtral-8x7b", "mixed nonreentrant sgd", 256, 1, 1024)
    yield case("zero", "mixtral-8x7b", "z2 ds nonreentrant", 256, 1, 1024, 2)
    for model, flags, layers in (("llama-3.1-8b", "z3 ds nonreentrant", 6), ("mixtral-8x7b", "z3 ds nonreentrant", 2),
                                 ("mixtral-8x7b", "z2 ds nonreentrant", 2)):
        found = case("zero", model, flags, 256, 1, 1024, layers)
        yield found | {"id": found["id"] + "-auto", "run": found["run"] | auto(model)}


def _explicit_cases():
    """The root made to reshard as layers are, with the loss inside of it."""
    for flags in ("mixed always nonreentrant sgd", "bf16 always sgd"):
        yield case("fsdp2", "qwen3-8b", flags, 8, 1, 512)


def _own_cases():
    """Models and loops of torchtune and torchtitan: the loss is taken outside of FSDP's root."""
    for flags in ("sgd", "nonreentrant sgd", "nonreentrant fused", "keep nonreentrant sgd", "ends nonreentrant sgd", "ends sgd",
                  "nonreentrant sgd acc2"):
        yield "torchtune", "llama-3.1-8b", flags, 8, 2, 1024
    for model in ("qwen2.5-7b", "qwen2.5-0.5b"):
        yield "torchtune", model, "nonreentrant sgd", 8, 2, 1024
    yield "torchtune", "llama-3.1-8b", "nonreentrant sgd", 64, 1, 4096
    yield "torchtune", "llama-3.1-8b", "nonreentrant sgd", 8, 1, 256
    for flags in ("sgd", "nonreentrant sgd", "nonreentrant fused", "keep nonreentrant sgd", "always nonreentrant sgd", "always sgd",
                  "nonreentrant sgd acc2"):
        yield "torchtitan", "llama-3.1-8b", flags, 8, 1, 2048
    yield "torchtitan", "llama-3.1-70b", "nonreentrant sgd", 64, 1, 4096
    yield "torchtitan", "llama-3.1-8b", "nonreentrant sgd", 8, 1, 256
    # Split over GPUs: with and without checkpoints and the loss on split logits; and replicas of shards.
    for flags in ("tp8", "tp8 nonreentrant", "tp8 gathered", "tp8 gathered nonreentrant", "tp4 nonreentrant sgd", "tp2 sgd",
                  "tp4 hybrid nonreentrant", "tp8 nonreentrant acc2", "tp4 selective sgd", "selective sgd", "selective gathered",
                  "hybrid nonreentrant", "hybrid sgd"):
        yield "torchtitan", "llama-3.1-8b", flags, 64, 1, 2048
    for flags in ("tp8 nonreentrant sgd", "tp8 sgd", "tp8 gathered nonreentrant sgd"):
        yield "torchtitan", "llama-3.1-70b", flags, 64, 2, 4096
    for flags in ("alone tp8", "alone tp8 nonreentrant sgd", "alone tp8 gathered sgd", "alone tp4 sgd"):
        yield "torchtitan", "llama-3.1-8b", flags, 4 if "tp4" in flags else 8, 1, 2048
    for flags in ("everysecond sgd", "everysecond", "tp4 everysecond sgd"):
        yield "torchtitan", "llama-3.1-8b", flags, 64, 1, 2048, 6


def _owned():
    for code, *described in _own_cases():
        found = case("fsdp2", *described)
        flags = found["id"].split("-")
        stated = {name: value for flag in TITAN if flag in flags for name, value in SHARDED_FLAGS[flag].items()}
        yield {**found, "id": found["id"].replace("fsdp2", code, 1), "run": found["run"] | OWN[code] | stated}


CASES = [*_cases(), *_many_ranks(), *_expert_cases(), *_explicit_cases(), *_owned()]
