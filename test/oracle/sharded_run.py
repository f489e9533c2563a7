"""Runs the sharded cases: `python sharded_run.py --out sharded.json [--only TEXT] [--force]`. DeepSpeed cases need it installed."""

import os
import sys
import traceback
from importlib.metadata import version

import fake_cuda

fake_cuda.install()  # before torch
os.environ |= {"DS_ACCELERATOR": "cuda", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}

import torch  # noqa: E402

import cluster  # noqa: E402

cluster.install()  # before the frameworks look for streams

from recordings import modelled, options_of, record_each  # noqa: E402
from sharded_cases import CASES  # noqa: E402
from sharded_measure import measure  # noqa: E402

NOTE = ("Bytes of one rank (the first; the last under ZeRO) of real sharded models under PyTorch fake CUDA tensors and a fake process group, last "
        "micro step and optimizer step of a steady step. Storages are rounded to 512 B.")


def compact(results: dict) -> dict:
    """What is compared: peaks by phase, and what lies there between."""
    steady = results["steps"][-1]
    micro = steady["micro"][-1]
    phases = {"forward": micro["forward"], "backward": micro["backward"], "optimizer": steady["optimizer"]}
    kept = {name: {k: phase[k] for k in ("peak", "after", "operator", "module")} for name, phase in phases.items()}
    host = {"host": results["host"]} if "host" in results else {}
    return {"parameters": results["parameters"], **host, "atRest": results["atRest"] | {"all": steady["atRest"]}, **kept,
            "peak": results["peak"]}


def installed(name: str) -> str:
    try:
        return version(name)
    except Exception:
        return __import__(name).__version__.strip()


def header() -> dict:
    names = ("torch", "transformers", "peft", "accelerate", "deepspeed")
    return {"note": NOTE, "versions": {name: installed(name) for name in names}}


def attempt(case: dict) -> dict | str:
    """The results of a case, or what went wrong."""
    try:
        # ZeRO-3 records the order of modules in its first step and fetches ahead from the second on.
        return measure(case, steps=3 if case["run"].get("zero.stage") == 3 else 2)
    except Exception:
        return traceback.format_exc(limit=-3)


def main() -> int:
    options = options_of(__doc__, "sharded.json")
    torch.set_num_threads(1)
    return record_each(options, CASES, attempt, modelled(compact), header())


if __name__ == "__main__":
    sys.exit(main())
