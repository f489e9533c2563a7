"""Runs the cases and writes what was measured: `python run.py --out cases.json [--only TEXT] [--force]`."""

import sys
import traceback
import warnings
from importlib.metadata import version

import fake_cuda

fake_cuda.install()  # before torch

import torch  # noqa: E402

from cases import CASES  # noqa: E402
from measure import measure  # noqa: E402
from recordings import options_of, recorded, write  # noqa: E402

NOTE = ("Bytes and FLOPs of real transformers and peft modules under PyTorch fake CUDA tensors. Storages are rounded to "
        "512 B; kernel workspaces, allocator segments, the CUDA context and libraries are not included.")


def header() -> dict:
    return {"note": NOTE, "versions": {name: version(name) for name in ("torch", "transformers", "peft", "accelerate")}}


def main() -> int:
    options = options_of(__doc__, "cases.json")
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    done = recorded(options.out)
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
        write(options.out, header(), CASES, done)
        print(f"{case['id']}: peak {results['peak'] / 2**20:.1f} MiB, {results['seconds']} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
