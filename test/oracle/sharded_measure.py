"""Measures one rank of a sharded run: the frameworks' own sharding around real models, fake CUDA tensors."""

import gc
import time
import types
from contextlib import contextmanager

import torch

import cluster
import fake_cuda
from allocation import Tracker, local
from measure import (DTYPES, apply_method, apply_precision, build_model, compute_loss, described, expect_plain_batches, make_batch,
                     make_optimizer, phase_report, total)

SCHEMES = {}


def scheme(function):
    SCHEMES[function.__name__] = function
    return function


@contextmanager
def resizing(tracker):
    """Tells the tracker of storages that change their size outside of operators."""
    plain = torch.UntypedStorage.resize_

    def resize_(storage, size):
        plain(storage, size)
        tracker.resized(storage)
        return storage

    torch.UntypedStorage.resize_ = resize_
    try:
        yield
    finally:
        torch.UntypedStorage.resize_ = plain


class Sharded:
    """A model in a scheme's hands: how to run a micro step of it, and what steps."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def micro(self, last: bool):
        """Called before each micro step; returns a context for its forward and backward."""
        from contextlib import nullcontext

        return nullcontext()

    def backward(self, loss):
        loss.backward()

    def between(self):
        """Called after each micro step but the last."""

    def step(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def states(self):
        return [s for state in self.optimizer.state.values() for s in state.values() if isinstance(s, torch.Tensor)]

    def gradients(self):
        return [p.grad for p in self.model.parameters() if p.grad is not None]

    def weights(self):
        return list(self.model.parameters())


def layers_of(model):
    """The decoder layers, as wrapping by class finds them; a `SparseMoeBlock` is a part of one."""
    names = [(m, type(m).__name__) for m in model.modules()]
    return [m for m, name in names if name.endswith(("DecoderLayer", "Block", "GPTNeoXLayer")) and not name.endswith("MoeBlock")]


def upcast_trained(model, run):
    """fp32 masters of trained weights, as Accelerate makes them before it shards."""
    masters = {}  # tied weights stay one
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter.requires_grad and parameter.dtype != torch.float32:
                if parameter not in masters:
                    masters[parameter] = torch.nn.Parameter(parameter.detach().float())
                module._parameters[name] = masters[parameter]


def outside_fakes(function):
    """Groups of GPUs are made of tensors of ranks, which have no values while tensors are fake."""

    def plain(*arguments):
        with torch._subclasses.fake_tensor.unset_fake_temporarily():
            return function(*arguments)

    return plain


def real_meshes():
    """The smaller group of a reshard, and the two dimensions together of a weight that is split by both."""
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp._fully_shard import _fully_shard as module

    module._get_post_forward_mesh_info = outside_fakes(module._get_post_forward_mesh_info)
    DeviceMesh._concatenate = staticmethod(outside_fakes(DeviceMesh._concatenate))


@scheme
def fsdp2(model, run):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard

    strategy = run.get("fsdp.strategy", "full")
    replicas = run.get("parallel.replicate", 1)
    gpus = run["hardware.gpus"]
    with torch._subclasses.fake_tensor.unset_fake_temporarily():
        if strategy.startswith("hybrid"):
            mesh = init_device_mesh("cuda", (replicas, gpus // replicas), mesh_dim_names=("replicate", "shard"))
        else:
            mesh = init_device_mesh("cuda", (gpus,), mesh_dim_names=("shard",))
    mixed = run["precision.scheme"] == "fsdp"
    if mixed:
        upcast_trained(model, run)
        policy = MixedPrecisionPolicy(param_dtype=DTYPES[run["precision.compute"]],
                                      reduce_dtype=DTYPES[run.get("precision.reduce", run["precision.compute"])])
    else:
        reduce = run.get("precision.reduce")
        policy = MixedPrecisionPolicy(reduce_dtype=DTYPES[reduce] if reduce else None)
    reshard = strategy in ("full", "hybrid")
    if "fsdp.reshardSize" in run:
        real_meshes()
    kept = run.get("fsdp.reshardSize")  # GPUs that a layer's weights are split over between forward and backward
    offload = CPUOffloadPolicy(pin_memory=False) if run.get("offload.parameters", "none") == "cpu" else OffloadPolicy()
    options = {"mesh": mesh, "mp_policy": policy, "offload_policy": offload}
    tied = model.get_input_embeddings().weight is model.get_output_embeddings().weight
    if run.get("fsdp.wrap", "layer") == "layer":
        for layer in layers_of(model):
            fully_shard(layer, **options, reshard_after_forward=kept or reshard)
    if run.get("fsdp.separateEnds", False):
        from accelerate.utils.fsdp_utils import _find_final_norm

        if not tied:
            fully_shard(model.get_input_embeddings(), **options, reshard_after_forward=reshard)
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        tail = [_find_final_norm(base), model.get_output_embeddings()]
        if tied:
            tail.insert(1, model.get_input_embeddings())
        fully_shard(tail, **options, reshard_after_forward=False)
    # Accelerate states it for the root too, before 1.14.
    own = True if run.get("fsdp.reshardsEnds") else None
    fully_shard(model, **options, reshard_after_forward=own if reshard else False)
    return Fsdp2(model, make_optimizer([p for p in model.parameters() if p.requires_grad], run), run)


class Fsdp2(Sharded):
    def __init__(self, model, optimizer, run):
        super().__init__(model, optimizer)
        self.each = run.get("fsdp.syncEachBatch", False)

    def micro(self, last):
        if not self.each:
            self.model.set_requires_gradient_sync(last)
        return super().micro(last)


def accelerated(model, run):
    """FSDP 1 as Accelerate prepares it: autocast around forward, outputs in fp32, trained flat weights upcast after sharding."""
    import os

    from accelerate import Accelerator, FullyShardedDataParallelPlugin
    from torch.distributed.fsdp import _flat_param

    _flat_param._data_ptr_allocated = lambda tensor: tensor.untyped_storage().size() > 0
    os.environ |= {"ACCELERATE_USE_FSDP": "true", "LOCAL_RANK": "0", "RANK": "0", "WORLD_SIZE": str(run["hardware.gpus"])}
    strategies = {"full": "FULL_SHARD", "grad-op": "SHARD_GRAD_OP"}
    prefetch = {"pre": "BACKWARD_PRE", "post": "BACKWARD_POST", "none": None}
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=1, sharding_strategy=strategies[run.get("fsdp.strategy", "full")], sync_module_states=False,
        backward_prefetch=prefetch[run.get("fsdp.backwardPrefetch", "pre")], cpu_ram_efficient_loading=False, use_orig_params=True,
        auto_wrap_policy="transformer_based_wrap", transformer_cls_names_to_wrap=[type(layers_of(model)[0]).__name__])
    model = Accelerator(mixed_precision=run["precision.compute"], fsdp_plugin=plugin).prepare_model(model)
    return Fsdp1(model, make_optimizer([p for p in model.parameters() if p.requires_grad], run), run)


@scheme
def fsdp1(model, run):
    import functools

    if run.get("precision.autocast", False):
        return accelerated(model, run)

    from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from torch.distributed.fsdp.wrap import lambda_auto_wrap_policy, size_based_auto_wrap_policy

    from torch.distributed.fsdp import _flat_param

    _flat_param._data_ptr_allocated = lambda tensor: tensor.untyped_storage().size() > 0  # fake storages have no address
    strategies = {"full": "FULL_SHARD", "grad-op": "SHARD_GRAD_OP", "none": "NO_SHARD", "hybrid": "HYBRID_SHARD",
                  "hybrid-grad-op": "_HYBRID_SHARD_ZERO2"}
    strategy = run.get("fsdp.strategy", "full")
    options = {"sharding_strategy": ShardingStrategy[strategies[strategy]], "device_id": torch.device("cuda", 0),
               "use_orig_params": run.get("fsdp.useOriginalParameters", True), "forward_prefetch": False}
    if strategy.startswith("hybrid"):
        replicas = run.get("parallel.replicate", 1)
        with torch._subclasses.fake_tensor.unset_fake_temporarily():
            from torch.distributed.device_mesh import init_device_mesh
            options["device_mesh"] = init_device_mesh("cuda", (replicas, run["hardware.gpus"] // replicas),
                                                      mesh_dim_names=("replicate", "shard"))
    prefetch = run.get("fsdp.backwardPrefetch", "pre")
    options["backward_prefetch"] = {"pre": BackwardPrefetch.BACKWARD_PRE, "post": BackwardPrefetch.BACKWARD_POST,
                                    "none": None}[prefetch]
    if run["precision.scheme"] == "fsdp":
        upcast_trained(model, run)
        compute = DTYPES[run["precision.compute"]]
        options["mixed_precision"] = MixedPrecision(
            param_dtype=compute, reduce_dtype=DTYPES[run.get("precision.reduce", run["precision.compute"])],
            buffer_dtype=compute)
    elif run.get("precision.reduce"):
        options["mixed_precision"] = MixedPrecision(reduce_dtype=DTYPES[run["precision.reduce"]])
    if run.get("fsdp.wrap", "layer") == "layer":
        wrapped = set(layers_of(model))


        def chosen(module):
            """Layers, and trained leaves of a frozen model apart, as peft's `fsdp_auto_wrap_policy` chooses them."""
            weight = getattr(module, "weight", None)
            leaf = not list(module.children()) and weight is not None and weight.requires_grad
            return module in wrapped or (leaf and run["method.kind"] == "lora")

        options["auto_wrap_policy"] = functools.partial(lambda_auto_wrap_policy, lambda_fn=chosen)
    if run.get("fsdp.wrap") == "size":
        options["auto_wrap_policy"] = functools.partial(size_based_auto_wrap_policy, min_num_params=run["fsdp.minParameters"])
    model = FullyShardedDataParallel(model, **options)
    return Fsdp1(model, make_optimizer([p for p in model.parameters() if p.requires_grad], run), run)


class Fsdp1(Sharded):
    def __init__(self, model, optimizer, run):
        super().__init__(model, optimizer)
        self.each = run.get("fsdp.syncEachBatch", False)

    def micro(self, last):
        return super().micro(last) if last or self.each else self.model.no_sync()


@scheme
def ddp(model, run):
    from torch.nn.parallel import DistributedDataParallel, distributed

    apply_precision(model, run)
    distributed._verify_param_shape_across_processes = lambda *a, **k: None  # reads what other ranks sent
    distributed._sync_module_states = lambda *a, **k: None
    model = DistributedDataParallel(model, gradient_as_bucket_view=run.get("ddp.gradientAsBucketView", False),
                                    bucket_cap_mb=run.get("ddp.bucketCap", 25 * 2**20) / 2**20,
                                    static_graph=run.get("ddp.staticGraph", False))
    def reduced(state, bucket):
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    model.register_comm_hook(None, reduced)
    model.reducer = Reducer(model.reducer)
    model.logger = types.SimpleNamespace(set_runtime_stats_and_log=lambda: None, set_error_and_log=print)
    return Ddp(model, make_optimizer([p for p in model.parameters() if p.requires_grad], run))


class Reducer:
    """The reducer, without ordering its buckets anew after the first step, for which it reads what other ranks sent."""

    def __init__(self, reducer):
        self._reducer = reducer

    def __getattr__(self, name):
        return getattr(self._reducer, name)

    def _rebuild_buckets(self):
        return False


class Ddp(Sharded):
    def micro(self, last):
        return super().micro(last) if last else self.model.no_sync()


@scheme
def zero(model, run):
    import deepspeed

    from deepspeed.runtime.zero import partitioned_param_coordinator as coordinator

    coordinator.assert_ints_same_as_other_ranks = lambda ints: None  # reads what other ranks sent
    stage = run["zero.stage"]
    threshold = {"zero.prefetchBucket": "stage3_prefetch_bucket_size", "zero.maxLiveParameters": "stage3_max_live_parameters",
                 "zero.maxReuseDistance": "stage3_max_reuse_distance", "zero.subGroup": "sub_group_size",
                 "zero.persistenceThreshold": "stage3_param_persistence_threshold", "zero.reduceBucket": "reduce_bucket_size",
                 "zero.allgatherBucket": "allgather_bucket_size", "zero.overlapCommunication": "overlap_comm",
                 "zero.contiguousGradients": "contiguous_gradients", "zero.hpzPartition": "zero_hpz_partition_size",
                 "zero.micsShard": "mics_shard_size"}
    options = {"stage": stage, **{name: run[field] for field, name in threshold.items() if field in run}}
    for kind, name in (("optimizer", "offload_optimizer"), ("parameters", "offload_param")):
        if run.get(f"offload.{kind}", "none") != "none":
            options[name] = {"device": run[f"offload.{kind}"], "pin_memory": False}
    if run.get("offload.optimizerRatio", 1) != 1:
        options["offload_optimizer"]["ratio"] = run["offload.optimizerRatio"]
    compute = run["precision.compute"]
    config = {"train_micro_batch_size_per_gpu": run["batch.micro"], "zero_optimization": options,
              "gradient_accumulation_steps": run.get("batch.accumulation", 1), "zero_force_ds_cpu_optimizer": False,
              "bf16": {"enabled": compute == "bf16"}, "zero_allow_untested_optimizer": True, "steps_per_print": 10**9,
              "fp16": {"enabled": compute == "fp16", "loss_scale": 1.0}}
    if run.get("precision.gradientAccumulation"):
        config["data_types"] = {"grad_accum_dtype": run["precision.gradientAccumulation"]}
    if run.get("precision.reduce"):
        config["communication_data_type"] = run["precision.reduce"]
    optimizer = make_optimizer([p for p in model.parameters() if p.requires_grad], run)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config, dist_init_required=False)
    return Zero(engine, engine.optimizer)


class Zero(Sharded):
    def backward(self, loss):
        self.model.backward(loss)

    def between(self):
        self.model.step()  # counts micro steps

    def step(self):
        self.model.step()


def on_host() -> int:
    """Bytes of tensors in host memory, whoever holds them: found among all objects, since frameworks keep buffers of their own."""
    found = {}
    for thing in gc.get_objects():
        if isinstance(thing, torch._subclasses.FakeTensor) and thing.device.type == "cpu":
            storage = thing.untyped_storage()
            found[storage._cdata] = storage.nbytes()
    return sum(found.values())


def pretrainer(run):
    """The framework that brings models of its own, where the case names one."""
    from pretrainers import PRETRAINERS

    found = PRETRAINERS.get(run.get("model.code"))
    return found and found()


def measure(case, log=None, steps=2):
    """As `measure.measure`, for the first rank of `hardware.gpus`."""
    run, started = case["run"], time.time()
    # ZeRO splits a flat list of weights: the last rank's gradients come first in backward, so it holds them longest.
    cluster.start(run["hardware.gpus"], last=run["parallel.data"] == "zero")
    gc.collect()
    gc.disable()
    torch.manual_seed(0)
    with fake_cuda.fake_mode():
        expect_plain_batches()
        own = pretrainer(run)
        if own:
            config, model = own.build(case)
        else:
            config, model = build_model(case)
            model = apply_method(model, run)
            if run.get("activations.checkpointing", "none") != "none":
                model.gradient_checkpointing_enable({"use_reentrant": run.get("activations.reentrant", True)})
        shard, loss_of = (own.shard, own.loss) if own else (SCHEMES[run["parallel.data"]], compute_loss)
        model.train()
        parameters = list(model.parameters())
        counts = {"total": sum(p.numel() for p in parameters),
                  "trainable": sum(p.numel() for p in parameters if p.requires_grad)}
        tracker = Tracker()
        if log is not None:
            log.append(tracker)
        for tensor in [*parameters, *model.buffers()]:
            tracker.add(tensor)
        del parameters, tensor
        with tracker, resizing(tracker):  # a scheme replaces the weights, and makes buffers that stay
            sharded = shard(model, run)
        tracker.watch(sharded.model)
        gc.collect()
        results = {"config": described(config), "parameters": counts, "steps": []}
        for tensor in [*sharded.weights(), *sharded.model.buffers()]:
            tracker.add(tensor)
        results["atRest"] = {"all": tracker.current, "weights": total(sharded.weights()), "buffers": total(sharded.model.buffers())}
        micros = run.get("batch.accumulation", 1)
        with tracker, resizing(tracker):
            for step in range(1, steps + 1):
                record = {"micro": []}
                for micro in range(1, micros + 1):
                    final = step == steps and micro == micros
                    batch = make_batch(config, run)
                    with sharded.micro(micro == micros):
                        with tracker.in_phase(f"forward {step}.{micro}"):
                            loss = loss_of(sharded.model, batch)
                            forward = phase_report(tracker, final)
                        with tracker.in_phase(f"backward {step}.{micro}"):
                            sharded.backward(loss)
                            del loss
                            backward = phase_report(tracker, final)
                    if micro < micros:
                        sharded.between()
                    del batch
                    record["micro"].append({"forward": forward, "backward": backward})
                results["atRest"]["gradients"] = total(sharded.gradients())
                if any(run.get(f"offload.{kind}", "none") != "none" for kind in ("optimizer", "parameters")):
                    results["host"] = on_host()
                with tracker.in_phase(f"optimizer {step}"):
                    sharded.step()
                    record["optimizer"] = phase_report(tracker, step == steps)
                record["atRest"] = tracker.current
                gc.collect()
                record["heldByCycles"] = record["atRest"] - tracker.current
                results["steps"].append(record)
        results["atRest"]["optimizerStates"] = total(sharded.states())
        steady = results["steps"][-1]
        results["peak"] = max([part["peak"] for m in steady["micro"] for part in m.values()]
                              + [steady["optimizer"]["peak"]])
        results["seconds"] = round(time.time() - started, 1)
        del model, sharded
    gc.enable()
    return results
