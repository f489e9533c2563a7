"""Compares the tracker with memory that a real CPU really allocates: `python check_cpu.py`.

A small Llama is trained twice, with real tensors on the CPU (allocations from torch.profiler) and with fake CUDA tensors
(the tracker), with eager attention, whose operators are the same on both. Prints both peaks; fails above 0.1 %.
"""

import subprocess
import sys

MIB = 2**20
MODEL = {"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 3, "num_attention_heads": 8,
         "num_key_value_heads": 8, "intermediate_size": 1376, "tie_word_embeddings": False}


def make_case(checkpointing: str, dtype: str, vocabulary: int) -> dict:
    run = {"batch.micro": 2, "batch.sequence": 512, "precision.weights": dtype, "precision.compute": dtype,
           "attention.implementation": "eager", "optimizer.implementation": "foreach"}
    if checkpointing != "none":
        run |= {"activations.checkpointing": "full", "activations.reentrant": checkpointing == "reentrant"}
    return {"id": "check", "run": run, "model": MODEL | {"vocab_size": vocabulary}}


def fake(case) -> list[int]:
    """Peaks of forward, backward and optimizer step in bytes, from the tracker."""
    import fake_cuda

    fake_cuda.install()
    from measure import measure

    step = measure(case)["steps"][-1]
    return [step["micro"][0]["forward"]["peak"], step["micro"][0]["backward"]["peak"], step["optimizer"]["peak"]]


def real(case) -> list[int]:
    """The same peaks from the allocations of the second step on a real CPU."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    from measure import build_model

    torch.set_num_threads(1)
    config, model = build_model(case, device="cpu")
    if case["run"].get("activations.checkpointing") == "full":
        model.activation_checkpointing_enable({"use_reentrant": case["run"]["activations.reentrant"]})
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    ids = torch.zeros(case["run"]["batch.micro"], case["run"]["batch.sequence"], dtype=torch.long)
    held = []

    def forward():
        held.append(model(input_ids=ids, labels=ids).loss)

    def backward():
        held.pop().backward()

    forward()
    backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    current = 3 * sum(p.numel() * p.element_size() for p in model.parameters())  # weights and two states
    peaks = []
    for phase in (forward, backward, optimizer.step):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            phase()
        peak = current
        for event in profiler.profiler.kineto_results.events():
            if event.name() == "[memory]":
                current += event.nbytes()
                peak = max(peak, current)
        peaks.append(peak)
    return peaks


def main() -> int:
    if len(sys.argv) > 1:
        kind, checkpointing, dtype, vocabulary = sys.argv[1:]
        print(*(fake if kind == "fake" else real)(make_case(checkpointing, dtype, int(vocabulary))))
        return 0
    worst = 0.0
    for dtype, vocabulary in (("fp32", 8000), ("bf16", 500)):
        for checkpointing in ("none", "nonreentrant", "reentrant"):
            peaks = {}
            for kind in ("real", "fake"):  # apart: the fake device must be installed before torch is imported
                output = subprocess.run([sys.executable, __file__, kind, checkpointing, dtype, str(vocabulary)],
                                        check=True, capture_output=True, text=True).stdout
                peaks[kind] = [int(value) for value in output.split()[-3:]]
            for phase, a, b in zip(("forward", "backward", "optimizer"), peaks["real"], peaks["fake"], strict=True):
                worst = max(worst, abs(b / a - 1))
                print(f"{dtype} {checkpointing:13} {phase:9} real {a / MIB:8.2f} MiB, tracked {b / MIB:8.2f} MiB")
    print(f"largest difference {100 * worst:.3f} %")
    return int(worst > 1e-3)


if __name__ == "__main__":
    sys.exit(main())
