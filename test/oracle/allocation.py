"""Allocation tracker: every storage that an operator returns is counted from creation until it is freed.

All sizes are bytes, each storage rounded up to 512 B as the CUDA caching allocator does. What a kernel allocates
inside itself and frees before it returns (workspaces) is not visible; see `flash_workspace` for the one that is added.
"""

import weakref
from collections import Counter
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.distributed.tensor import DTensor
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

ROUNDING = 512
aten = torch.ops.aten


def rounded(size: int) -> int:
    return (size + ROUNDING - 1) // ROUNDING * ROUNDING


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a sharded tensor."""
    return tensor._local_tensor if isinstance(tensor, DTensor) else tensor


def flash_workspace(args) -> int:
    """Bytes that FlashAttention-2's backward allocates beside its results: dq accumulator, softmax sums, expanded dk, dv."""
    query, key = args[1], args[2]
    batch, heads, length, head = query.shape
    padded = (length + 127) // 128 * 128
    width = (head + 31) // 32 * 32 if head <= 128 else (head + 63) // 64 * 64
    size = rounded(4 * batch * heads * padded * width) + rounded(4 * batch * heads * padded)
    if key.shape[1] != heads:
        size += 2 * rounded(query.element_size() * batch * key.shape[2] * heads * head)
    return size


def grouped_flops(a, b) -> int:
    """FLOPs of `_grouped_mm`: each row of `a` meets the matrix of one group, and each row of two flat ones adds to one."""
    return 2 * a.shape[-2] * a.shape[-1] * b.shape[-1] if a.dim() == 2 or b.dim() == 2 else 2 * a.numel() * b.shape[-1]


class Tracker(TorchDispatchMode):
    """Current and peak bytes, an event log, FLOPs, and the module and phase in which each event happened."""

    def __init__(self):
        super().__init__()
        self.current = 0
        self.live = {}  # storage address -> rounded bytes
        self.finalizers = {}
        self.events = []  # (signed bytes, operator, module, phase, storage number)
        self.stack = []  # modules whose forward is running
        self.phase = "setup"
        self.operator = ""
        self.flops = Counter()  # by phase
        self.grouped_flops = Counter()  # of grouped products, which PyTorch's registry does not know
        self.kernels = Counter()  # attention kernels called
        self.serial = 0
        self.reset_peak()

    def reset_peak(self) -> None:
        self.peak, self.peak_event, self.peak_at = self.current, len(self.events), ("", "")
        self.peak_workspace = self.current

    @contextmanager
    def in_phase(self, name: str):
        previous, self.phase = self.phase, name
        self.reset_peak()
        try:
            yield
        finally:
            self.phase = previous

    # -- storages ---------------------------------------------------------------------------------------------------
    def add(self, tensor: torch.Tensor) -> None:
        """Counts the storage of a tensor unless it is known, empty or not on the device."""
        if tensor.device.type != "cuda":
            return
        storage = local(tensor).untyped_storage()
        key = storage._cdata
        if key not in self.live and storage.nbytes() > 0:
            self._allocate(storage, key)

    def resized(self, storage: torch.UntypedStorage) -> None:
        """Sharding frees a gathered weight, and gathers it again, by resizing its storage."""
        key = storage._cdata
        if key in self.live:
            number = self.finalizers[key].peek()[2][1]
            self.finalizers[key].detach()
            self._free(key, number)
        if storage.nbytes() > 0 and storage.device.type in ("cuda", "meta"):
            self._allocate(storage, key)

    def _allocate(self, storage: torch.UntypedStorage, key: int) -> None:
        size = rounded(storage.nbytes())
        self.serial += 1
        number = self.serial
        self.live[key] = size
        self.current += size
        self.events.append((size, self.operator, self.module(), self.phase, number))
        if self.current > self.peak:
            self.peak, self.peak_event, self.peak_at = self.current, len(self.events), (self.operator, self.module())
        self.finalizers[key] = weakref.finalize(storage, self._free, key, number)

    def _free(self, key: int, number: int) -> None:
        size = self.live.pop(key)
        self.finalizers.pop(key, None)
        self.current -= size
        self.events.append((-size, self.operator, self.module(), self.phase, number))

    # -- modules ----------------------------------------------------------------------------------------------------
    def module(self) -> str:
        """Running module; in backward the module whose forward made the current autograd node."""
        if self.stack:
            return self.stack[-1][0] + (" (recompute)" if self.phase.startswith("backward") else "")
        node = torch._C._current_autograd_node()
        return node.metadata.get("module", "") if node is not None else ""

    def watch(self, model: torch.nn.Module) -> None:
        """Names modules in the log and marks their autograd nodes."""
        for name, module in model.named_modules():
            module.register_forward_pre_hook(
                lambda m, args, kwargs, name=name or "model": self._enter(name, (args, kwargs)),
                prepend=True, with_kwargs=True)
            module.register_forward_hook(lambda m, a, out: self._leave(out), always_call=True)

    def _enter(self, name: str, inputs) -> None:
        if self.phase.startswith("backward"):  # recomputation runs in autograd's thread, which lacks the fake mode's flag
            torch._C._set_only_lift_cpu_tensors(True)
        if self.stack:
            self._mark(inputs)  # what made the inputs since the last mark belongs to the calling module
        self.stack.append((name, self.serial))

    def _leave(self, output) -> None:
        self._mark(output)
        self.stack.pop()

    def _mark(self, tensors) -> None:
        """Gives the unmarked autograd nodes behind tensors to the running module."""
        name, entered = self.stack[-1]
        self.serial += 1
        pending = [t.grad_fn for t in tree_leaves(tensors) if isinstance(t, torch.Tensor) and t.grad_fn is not None]
        seen = set()
        while pending:
            node = pending.pop()
            mark = node.metadata.get("serial")
            if node in seen or (mark is not None and mark <= entered) or type(node).__name__ == "AccumulateGrad":
                continue
            seen.add(node)
            if mark is None:
                node.metadata["serial"], node.metadata["module"] = self.serial, name
            pending.extend(n for n, _ in node.next_functions if n is not None)

    # -- dispatch ---------------------------------------------------------------------------------------------------
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # its operators on local tensors come here next
        if func.namespace != "prim":  # queries, which allocate nothing; storages freed then belong to the operator before
            self.operator = func._schema.name.removeprefix("aten::")
        if accumulates(func, args, self.phase) and only_holder(args[0]):
            return args[0]  # on real tensors the engine adds in place; it refrains on subclasses such as fake tensors
        if func is aten._safe_softmax.default:  # not a kernel: its parts are operators that allocate
            with self:
                return safe_softmax(*args, **kwargs)
        if func is torch.ops._c10d_functional.wait_tensor.default:
            return args[0]  # as a device does: the same tensor, where fake tensors make a new one
        out = func(*args, **kwargs)
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self.add(leaf)
        packet = func._overloadpacket
        if packet in flop_registry:
            self.flops[self.phase] += flop_registry[packet](*args, **kwargs, out_val=out)
        elif packet is aten._grouped_mm:
            self.grouped_flops[self.phase] += grouped_flops(args[0], args[1])
        workspace = 0
        if "scaled_dot_product" in func._schema.name:
            self.kernels[self.operator] += 1
            if packet is aten._scaled_dot_product_flash_attention_backward:
                workspace = flash_workspace(args)
        self.peak_workspace = max(self.peak_workspace, self.peak, self.current + workspace)
        return out

    # -- reports ----------------------------------------------------------------------------------------------------
    def live_at(self, event: int) -> Counter:
        """Bytes alive after the given number of events, by (phase, operator, module) of their allocation."""
        alive = {}
        for size, operator, module, phase, number in self.events[:event]:
            if size > 0:
                alive[number] = (size, (phase, operator, module))
            else:
                alive.pop(number, None)
        groups = Counter()
        for size, origin in alive.values():
            groups[origin] += size
        return groups


def safe_softmax(scores: torch.Tensor, dim: int, dtype=None) -> torch.Tensor:
    """What `_safe_softmax` does on every device (`native/transformers/attention.cpp`); its fake version is one operator."""
    out = aten._softmax(scores if dtype is None else scores.to(dtype), dim, False)
    masked = scores.eq(float("-inf"))
    return torch.where(torch.all(masked, dim, keepdim=True), 0.0, out)


def accumulates(func, args, phase: str) -> bool:
    """Whether an operator is the autograd engine adding a second gradient to the first of the same tensor."""
    return (func is aten.add.Tensor and phase.startswith("backward") and not torch.is_grad_enabled()
            and len(args) == 2 and isinstance(args[0], torch.Tensor) and isinstance(args[1], torch.Tensor)
            and args[0].shape == args[1].shape and args[0].dtype == args[1].dtype)


def only_holder(tensor: torch.Tensor) -> bool:
    """Whether the engine holds the last reference to a tensor and its storage, so that it may add in place.

    Expected counts: the engine, the call's stack and the Python wrappers (4); the tensor and its Python storage (2).
    """
    storage = tensor.untyped_storage()
    return tensor._use_count() == 4 and torch._C._storage_Use_Count(storage._cdata) == 2


_SAVED = {}


def saved_tensors(root, parameters) -> dict:
    """Tensors saved for backward below an autograd node, unique by storage, parameters excluded.

    Returns {storage address: (bytes, node name, saved name, module, dtype, shape)}; the first node that saved it.
    Not for checkpointed graphs: reading their saved tensors would recompute them.
    """
    owned = {p.untyped_storage()._cdata for p in parameters}
    found, seen, pending = {}, set(), [root]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        kind = type(node)
        if kind not in _SAVED:
            _SAVED[kind] = [n for n in dir(node) if n.startswith("_saved_")]
        values = [(n[7:], getattr(node, n)) for n in _SAVED[kind]]
        if hasattr(node, "saved_tensors"):
            values.append(("saved_tensors", node.saved_tensors))
        for name, value in values:
            for tensor in tree_leaves(value):
                if not isinstance(tensor, torch.Tensor) or tensor.device.type != "cuda":
                    continue
                storage = tensor.untyped_storage()
                key = storage._cdata
                if key in owned or key in found or storage.nbytes() == 0:
                    continue
                found[key] = (rounded(storage.nbytes()), node.name(), name, node.metadata.get("module", ""),
                              str(tensor.dtype)[6:], list(tensor.shape))
        pending.extend(n for n, _ in node.next_functions if n is not None)
    return found
