"""A cluster of one process: a fake process group, streams that do nothing, and storages that sharding resizes."""

import os
from contextlib import contextmanager
from types import SimpleNamespace

import torch
import torch.distributed as dist


class Event:
    """An event of a stream on which everything is done at once."""

    def __init__(self, *args, **kwargs):
        pass

    def record(self, stream=None):
        return self

    def wait(self, stream=None):
        pass

    def query(self):
        return True

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return 0.0


class Stream:
    """A stream on which everything is done at once: memory is counted in the order of the CPU's calls, as the
    allocator's `allocated_bytes` is (`CUDACachingAllocator.cpp`, `free`: before events of other streams are waited for)."""

    device = torch.device("cuda", 0)
    device_type = "cuda"

    def __init__(self, *args, **kwargs):
        pass

    def wait_stream(self, other):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        return event or Event()

    def synchronize(self):
        pass

    def query(self):
        return True

    def is_capturing(self):
        return False


@contextmanager
def _on_stream(stream):
    yield


class Work:
    def wait(self, *args):
        return True

    def is_completed(self):
        return True

    def get_future(self):
        future = torch.futures.Future()
        future.set_result([])
        return future


def _nothing(result=None):
    """A function of its own each time: torch keeps rules by function object."""
    return lambda *args, **kwargs: result


def _collective():
    """Every collective writes into tensors that its caller made; their data is not there, so there is nothing to do."""
    return lambda *args, async_op=False, **kwargs: Work() if async_op else None


COLLECTIVES = ("all_gather_into_tensor", "all_gather_single", "reduce_scatter_tensor", "reduce_scatter_single",
               "all_reduce", "broadcast", "all_gather", "reduce", "barrier", "_all_gather_base", "_reduce_scatter_base",
               "reduce_scatter", "all_to_all_single", "_broadcast_coalesced", "monitored_barrier")


def install() -> None:
    cuda, current = torch.cuda, Stream()
    cuda.Stream, cuda.Event, cuda.stream = Stream, Event, _on_stream
    for name in ("current_stream", "default_stream"):
        setattr(cuda, name, _nothing(current))
    torch.accelerator.current_stream = _nothing(current)
    for name in ("set_stream", "set_device", "synchronize", "empty_cache", "reset_peak_memory_stats", "manual_seed"):
        setattr(cuda, name, _nothing())
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        setattr(cuda, name, _nothing(0))
    torch.Tensor.record_stream = _nothing()
    from torch.distributed.fsdp._fully_shard import _fsdp_collectives

    # The same since PyTorch 2.15, by an operator that wants numbers of streams.
    if hasattr(_fsdp_collectives, "record_grad_output_stream"):
        _fsdp_collectives.record_grad_output_stream = _nothing()
    for name in COLLECTIVES:
        if hasattr(dist, name):
            setattr(dist, name, _collective())
            setattr(dist.distributed_c10d, name, getattr(dist, name))
    cuda.get_device_properties = lambda *a: SimpleNamespace(total_memory=2**50, major=9, minor=0, name="fake",
                                                            multi_processor_count=132)
    cuda.nvtx.range_push, cuda.nvtx.range_pop = _nothing(), _nothing()
    address, fake = torch.Tensor.data_ptr, torch._subclasses.FakeTensor

    def data_ptr(tensor):
        """Fake tensors have none; frameworks ask for alignment, and whether two tensors are one."""
        if not isinstance(tensor, fake):
            return address(tensor)
        storage = tensor.untyped_storage()
        return storage._cdata * 64 + tensor.storage_offset() * tensor.element_size() if storage.nbytes() > 0 else 0

    torch.Tensor.data_ptr = data_ptr
    torch.Tensor.pin_memory = lambda self, *args: self
    from torch._subclasses import fake_impls

    # Norms and flags of overflow that a framework reads: there is no data, so they are zero.
    fake_impls.op_implementations_dict[torch.ops.aten._local_scalar_dense.default] = (
        lambda mode, function, tensor: False if tensor.dtype == torch.bool else 0 if not tensor.dtype.is_floating_point else 0.0)


def propagate_shapes_apart() -> None:
    """DTensor learns shapes of whole tensors by running operators on fake ones of its own, of which the tracker must not know."""
    import fake_cuda
    from torch.distributed.tensor._sharding_prop import ShardingPropagator
    from torch.utils._python_dispatch import _disable_current_modes

    plain = ShardingPropagator._propagate_tensor_meta_non_cached

    def propagate(self, schema):
        with _disable_current_modes(), fake_cuda.fake_mode():
            return plain(self, schema)

    ShardingPropagator._propagate_tensor_meta_non_cached = propagate


def start(world: int, last=False) -> None:
    """A process group of `world` ranks of which this process is the first, or the last."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    rank = world - 1 if last else 0
    os.environ |= {"WORLD_SIZE": str(world), "RANK": str(rank), "LOCAL_RANK": "0"}
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
