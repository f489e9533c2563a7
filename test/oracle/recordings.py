"""A file of recordings: one case per line, kept from run to run."""

import argparse
import json
import time
import traceback
import warnings
from multiprocessing import get_context
from pathlib import Path


def options_of(description: str | None, out: str) -> argparse.Namespace:
    """What the command line asks for; recordings go to `out` beside the scripts unless it states another place."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name(out))
    parser.add_argument("--only", default="", help="run cases whose id contains this text")
    parser.add_argument("--force", action="store_true", help="measure again what the file already holds")
    return parser.parse_args()


def recorded(path: Path) -> dict:
    """Cases that the file holds, by id."""
    return {c["id"]: c for c in json.loads(path.read_text())["cases"]} if path.exists() else {}


def attempted(measure, case: dict) -> dict | str:
    """What `measure` answers of a case, or the words of its failure."""
    try:
        return measure(case)
    except Exception:
        return traceback.format_exc(limit=-6)


def modelled(compact):
    """A record with the configuration of the model that was made, and what is compared of the results."""
    return lambda case, results: {**case, "model": results.pop("config"), "results": compact(results)}


def plain(case: dict, results: dict) -> dict:
    return {**case, "results": results}


def record_each(options: argparse.Namespace, cases: list, measured, kept, header: dict) -> int:
    """Measures the cases that are asked for and not there yet, each in a process of its own: the frameworks keep groups and schedules in module
    variables. `measured` answers the results of a case, or the words of its failure, `kept` what is recorded; answers the exit status."""
    warnings.filterwarnings("ignore")
    done = recorded(options.out)
    failed = 0
    for case in cases:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        started = time.time()
        with get_context("fork").Pool(1) as process:
            results = process.apply(measured, (case,))
        if isinstance(results, str):
            failed += 1
            print(f"FAIL {case['id']}\n{results}", flush=True)
            continue
        done[case["id"]] = kept(case, results)
        write(options.out, header, cases, done)
        print(f"{case['id']}: peak {results['peak'] / 2**20:.1f} MiB, {time.time() - started:.1f} s", flush=True)
    return 1 if failed else 0


def phases_of(micro: dict) -> dict:
    """Forward and backward of one measured micro batch: peak and rest in bytes of a GPU, and where the peak stands."""
    return {name: {k: micro[name][k] for k in ("peak", "after", "operator", "module")} for name in ("forward", "backward")}


def write(path: Path, header: dict, cases: list, done: dict) -> None:
    """One case per line, in the order of the cases."""
    order = [c["id"] for c in cases if c["id"] in done]
    lines = ",\n".join(json.dumps(done[i], separators=(",", ":")) for i in order)
    scratch = path.with_suffix(".part")
    scratch.write_text(f'{{"header":{json.dumps(header)},\n"cases":[\n{lines}\n]}}\n')
    scratch.replace(path)
