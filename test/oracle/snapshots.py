"""Records one steady optimizer step of real models as `torch.cuda.memory._dump_snapshot` writes it (torch 2.13): events with
the calls of Python that led to them, on fake CUDA tensors. Addresses are given out and reused by size.

    python snapshots.py --out ../fixtures/recorded-snapshots
"""

import argparse
import gzip
import json
import pickle
import sys
from pathlib import Path

import fake_cuda

fake_cuda.install()

import measure  # noqa: E402
from allocation import Tracker  # noqa: E402
from cases import MODELS  # noqa: E402

STEPS = 2
MOST_FRAMES = 10
BASE = 0x7F0000000000
SEGMENT = 2 * 2**20
# The fake device's own calls, which a real one has not.
SKIPPED = ("/torch/_subclasses/", "/torch/utils/_python_dispatch", "/torch/_ops.py", "/torch/_meta_registrations", "/torch/_prims",
           "/torch/_refs", "/torch/_decomp", "/torch/utils/_pytree", "/torch/utils/_stats", "/torch/fx/", "/contextlib.py", "/oracle/allocation.py",
           "/oracle/fake_cuda.py", "<frozen", "/weakref.py", "/torch/_library", "/torch/_inductor", "/torch/overrides.py",
           "/oracle/snapshots.py", "/_prims_common/", "/torch/_dynamo/")


def segment(address, size, whole):
    """A segment with one block of `size` at its start, and what is free behind it: blocks fill a segment."""
    blocks = []
    if size > 0:
        blocks.append({"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": []})
    if whole > size:
        blocks.append({"address": address + size, "size": whole - size, "requested_size": 0, "state": "inactive", "frames": []})
    return {"device": 0, "address": address, "total_size": whole, "allocated_size": size, "active_size": size, "requested_size": size,
            "stream": 0, "segment_type": "large", "is_expandable": False, "segment_pool_id": (0, 0), "frames": [], "blocks": blocks}


class Recorder(Tracker):
    """A tracker that writes down what it counts during the last step."""

    recorded = None  # the newest one

    def __init__(self):
        super().__init__()
        Recorder.recorded = self
        self.trace, self.frames, self.places, self.free, self.top = [], {}, {}, {}, BASE
        self.time, self.at_end, self.begun = 0, None, False

    def is_recording(self):
        return self.begun and self.at_end is None

    def calls(self):
        found, frame = [], sys._getframe(2)
        while frame is not None and len(found) < MOST_FRAMES:
            code = frame.f_code
            file = code.co_filename
            if not any(part in file for part in SKIPPED):
                short = "/env/lib/python3.11/site-packages/" + file.split("site-packages/")[1] if "site-packages/" in file else "/repo/" + file.split("/")[-1]
                key = (code.co_name, short, frame.f_lineno)
                found.append(self.frames.setdefault(key, {"name": key[0], "filename": key[1], "line": key[2]}))
            frame = frame.f_back
        return found

    def write(self, action, address, size, frames):
        self.time += 1
        self.trace.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.time, "frames": frames})

    def _allocate(self, storage, key):
        super()._allocate(storage, key)
        size = self.live[key]
        reusable = self.free.get(size)
        if reusable:
            address = reusable.pop()
        else:
            address, self.top = self.top, self.top + (size + SEGMENT - 1) // SEGMENT * SEGMENT
            if self.is_recording():
                self.write("segment_alloc", address, self.top - address, [])
        self.places[key] = address
        if self.is_recording():
            self.write("alloc", address, size, self.calls())

    def _free(self, key, number):
        size = self.live[key]
        super()._free(key, number)
        address = self.places.pop(key)
        self.free.setdefault(size, []).append(address)
        if self.is_recording():
            self.write("free_requested", address, size, [])
            self.write("free_completed", address, size, [])

    def in_phase(self, name):
        manager = super().in_phase(name)
        recorder = self

        class Ending:
            def __enter__(self):
                return manager.__enter__()

            def __exit__(self, *error):
                if name == f"optimizer {STEPS - 1}":
                    recorder.begun = True
                if name == f"optimizer {STEPS}":
                    recorder.at_end = [(recorder.places[key], size) for key, size in recorder.live.items()]
                return manager.__exit__(*error)

        return Ending()

    def snapshot(self):
        segments = [segment(address, size, (size + SEGMENT - 1) // SEGMENT * SEGMENT) for address, size in sorted(self.at_end)]
        # What the allocator keeps for the next step.
        for size, addresses in self.free.items():
            segments += [segment(address, 0, (size + SEGMENT - 1) // SEGMENT * SEGMENT) for address in addresses]
        return {"segments": segments, "device_traces": [self.trace], "allocator_settings": {"expandable_segments": False}}


BASE_RUN = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpu": "H100-SXM5-80GB", "hardware.gpus": 1,
            "batch.accumulation": 1, "attention.implementation": "sdpa", "activations.checkpointing": "none", "method.kind": "full",
            "optimizer.name": "adamw", "optimizer.implementation": "foreach", "loss.implementation": "full",
            "precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "native"}
AMP = {"precision.weights": "fp32", "precision.compute": "bf16", "precision.scheme": "autocast"}
LORA = {**AMP, "precision.weights": "bf16", "method.kind": "lora", "lora.rank": 16, "lora.targets": ["all-linear"], "lora.dropout": 0.0}
CHECKPOINTS = {"activations.checkpointing": "full", "activations.reentrant": False}


def full(name, layers, key="num_hidden_layers"):
    return {**MODELS[name], key: layers}


CASES = {
    "gpt2-bf16": (full("gpt2", 12, "n_layer"), {"batch.micro": 4, "batch.sequence": 512}),
    "gpt2-autocast": (full("gpt2", 12, "n_layer"), {**AMP, "batch.micro": 2, "batch.sequence": 1024}),
    "llama-mha-checkpoints": (full("llama-1b-mha", 4), {**CHECKPOINTS, "batch.micro": 2, "batch.sequence": 2048}),
    "llama-3.2": (full("llama-3.2-1b", 4), {"batch.micro": 1, "batch.sequence": 1024}),
    "llama-3.2-lora": (full("llama-3.2-1b", 3), {**LORA, "batch.micro": 2, "batch.sequence": 1024}),
    "qwen2.5-autocast": (full("qwen2.5-0.5b", 4), {**AMP, "batch.micro": 2, "batch.sequence": 512}),
    "qwen3-lora-checkpoints": (full("qwen3-0.6b", 3), {**LORA, **CHECKPOINTS, "batch.micro": 4, "batch.sequence": 1024}),
    "pythia-sgd": (full("pythia-1.4b", 4), {"optimizer.name": "sgd", "batch.micro": 2, "batch.sequence": 1024}),
    "opt-accumulation": (full("opt-1.3b", 4), {"batch.accumulation": 2, "batch.micro": 1, "batch.sequence": 1024}),
    "mistral-checkpoints": (full("mistral-7b-v0.1", 2), {**CHECKPOINTS, "batch.micro": 1, "batch.sequence": 4096}),
    "gemma-3-checkpoints": (full("gemma-3-1b", 6), {**CHECKPOINTS, "batch.micro": 1, "batch.sequence": 1024}),
    # A whole model of 1.2 billion parameters.
    "llama-3.2-1b": (full("llama-3.2-1b", 16), {"batch.micro": 1, "batch.sequence": 1024}),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    measure.Tracker = Recorder
    for name, (model, changes) in CASES.items():
        if args.only not in name or (args.out / f"{name}.json").exists():
            continue
        run = {**BASE_RUN, **changes}
        results = measure.measure({"run": run, "model": model}, steps=STEPS)
        recorder = Recorder.recorded
        file = args.out / f"{name}.pickle.gz"
        file.write_bytes(gzip.compress(pickle.dumps(recorder.snapshot(), 4), 9, mtime=0))
        described = {"run": run, "model": results["config"], "peak": results["peak"]}
        (args.out / f"{name}.json").write_text(json.dumps(described) + "\n")
        print(name, len(recorder.trace), file.stat().st_size, results["peak"], flush=True)


if __name__ == "__main__":
    main()
