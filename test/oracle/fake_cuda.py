"""Fake CUDA device on a CPU build of PyTorch: operators dispatch, autocast and save tensors as on a GPU."""

import ctypes
import hashlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("cuda.cpp")


def _library(torch_dir: Path) -> str:
    """Compiles cuda.cpp once per source and PyTorch version; returns the path of the shared library."""
    version = importlib.metadata.version("torch")
    digest = hashlib.sha256(SOURCE.read_bytes() + version.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"fake-cuda-{digest}.so"
    if not path.exists():
        scratch = path.with_suffix(f".{os.getpid()}")
        subprocess.run(
            ["g++", "-shared", "-fPIC", "-std=c++20", "-O0", f"-I{torch_dir}/include", str(SOURCE), "-o", str(scratch),
             f"-L{torch_dir}/lib", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{torch_dir}/lib"],
            check=True,
        )
        scratch.rename(path)
    return str(path)


def install() -> None:
    """Call once, before torch is imported: torch looks for its CUDA hooks a single time."""
    if "torch" in sys.modules:
        raise RuntimeError("fake_cuda.install() must run before torch is imported")
    ctypes.CDLL(_library(Path(importlib.util.find_spec("torch").origin).parent), mode=ctypes.RTLD_GLOBAL)
    import torch

    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.is_bf16_supported = lambda *a, **k: True
    cuda.current_device = lambda: 0
    cuda.device_count = lambda: 1
    cuda.get_device_capability = lambda *a, **k: (9, 0)
    cuda._lazy_init = lambda: None
    torch.nn.Module._apply = _replace
    _register_kernels()
    cuda.is_current_stream_capturing = lambda: False


def _register_kernels() -> None:
    """Operators that CUDA builds run as one kernel and builds without it take apart; the kernels never run."""
    import torch

    library = torch.library.Library("aten", "IMPL", "CUDA")
    for name in ("silu_backward", "mish_backward", "_fused_rms_norm", "_fused_rms_norm_backward"):
        library.impl(name, getattr(torch.ops.aten, name).default)
    _register_kernels.library = library  # a library that is collected takes its kernels along

    from torch import _meta_registrations as meta

    common = meta._meta_grouped_mm_common

    def grouped_mm(mat_a, mat_b, *args, **kwargs):
        """The CUDA operator takes any type (a loop over groups, same output); its shape function only bf16."""
        if mat_a.dtype in (torch.float32, torch.float16) and mat_a.dtype == mat_b.dtype:
            return meta._create_grouped_mm_output_tensor(mat_a, mat_b, kwargs.get("offs"), kwargs.get("out_dtype"))
        return common(mat_a, mat_b, *args, **kwargs)

    meta._meta_grouped_mm_common = grouped_mm


def _replace(module, fn, recurse=True):
    """`Module._apply` for fake parameters, which cannot be swapped in place: puts new ones into the module."""
    import torch

    for child in module.children() if recurse else ():
        child._apply(fn)
    for name, parameter in module._parameters.items():
        if parameter is not None:
            with torch.no_grad():
                converted = fn(parameter)
            if converted is not parameter:
                module._parameters[name] = torch.nn.Parameter(converted, parameter.requires_grad)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = fn(buffer)
    return module


def fake_mode():
    """Fake tensor mode that never initialises the (absent) device."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    class Mode(FakeTensorMode):
        avoid_device_init = True

    return Mode(allow_non_fake_inputs=True)
