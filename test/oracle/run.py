"""Runs the cases and writes what was measured: `python run.py --out cases.json [--only TEXT] [--force]`."""

import argparse
import json
import sys
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path

import fake_cuda

fake_cuda.install()  # before torch

import torch  # noqa: E402

from cases import CASES  # noqa: E402
from measure import measure  # noqa: E402

NOTE = ("Bytes and FLOPs of real transformers and peft modules under PyTorch fake CUDA tensors. Storages are rounded to "
        "512 B; kernel workspaces, allocator segments, the CUDA context and libraries are not included.")


def write(path: Path, done: dict) -> None:
    """One case per line, in the order of cases.py."""
    header = {"note": NOTE, "versions": {name: version(name) for name in ("torch", "transformers", "peft", "accelerate")}}
    order = [c["id"] for c in CASES if c["id"] in done]
    lines = ",\n".join(json.dumps(done[i], separators=(",", ":")) for i in order)
    scratch = path.with_suffix(".part")
    scratch.write_text(f'{{"header":{json.dumps(header)},\n"cases":[\n{lines}\n]}}\n')
    scratch.replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("cases.json"))
    parser.add_argument("--only", default="", help="run cases whose id contains this text")
    parser.add_argument("--force", action="store_true", help="measure again what the file already holds")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    done = {c["id"]: c for c in json.loads(options.out.read_text())["cases"]} if options.out.exists() else {}
    failed = 0
    for case in CASES:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        try:
            results = measure(case)
        except Exception:
            failed += 1
            print(f"FAIL {case['id']}\n{traceback.format_exc(limit=-4)}", flush=True)
            continue
        config = results.pop("config")
        done[case["id"]] = {**case, "model": config, "results": results}
        write(options.out, done)
        print(f"{case['id']}: peak {results['peak'] / 2**20:.1f} MiB, {results['seconds']} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
