"""The policy update of TRL's PPO under the tracker of `measure.py`: what `ppo.json` holds.

`pip install --no-deps trl==0.24.0`: its wrapper of policy and value model, its forward and its log-probabilities run; the
loss around them is as long as what they return is named in `PPOTrainer.train`: until the next micro batch has its own.
"""

import importlib.metadata
import sys

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402
from transformers import AutoConfig, AutoModelForSequenceClassification  # noqa: E402
from transformers.initialization import no_init_weights  # noqa: E402

import measure as oracle  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402
from trl.trainer.ppo_trainer import PolicyAndValueWrapper  # noqa: E402
from trl.trainer.utils import forward, selective_log_softmax  # noqa: E402

SIZES = {"num_attention_heads": 16, "hidden_act": "silu", "max_position_embeddings": 4096, "num_hidden_layers": 6}
MODELS = {"llama": {"model_type": "llama", "vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816,
                    "num_key_value_heads": 16, "tie_word_embeddings": False, **SIZES},
          "tied qwen2": {"model_type": "qwen2", "vocab_size": 60000, "hidden_size": 1024, "intermediate_size": 2816,
                         "num_key_value_heads": 4, "tie_word_embeddings": True, **SIZES}}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "version.trl": "0.24", "hardware.gpus": 1,
       "attention.implementation": "sdpa", "attention.mask": True, "method.kind": "full", "method.objective": "ppo",
       "method.valueModel": True, "method.valueTogether": True, "batch.micro": 4, "batch.sequence": 640, "rollout.completion": 128,
       "optimizer.name": "adamw", "optimizer.implementation": "fused"}
SCHEMES = {"bf16": {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "native"},
           "amp": {"precision.weights": "fp32", "precision.compute": "bf16", "precision.scheme": "autocast"},
           "bf16 under amp": {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "autocast"}}
OTHERS = {"": {}, ", checkpointed": {"activations.checkpointing": "full", "activations.reentrant": False}}
STEPS = {"": {"batch.accumulation": 1, "loss.keptLogits": "backward"},
         ", two micro batches": {"batch.accumulation": 2, "loss.keptLogits": "next-step"}}


class Wrapper(PolicyAndValueWrapper):
    """As the trainer has it; transformers 5 looks for this method on the outermost module."""

    def gradient_checkpointing_enable(self, *args):
        self.policy.gradient_checkpointing_enable(*args)
        self.value_model.gradient_checkpointing_enable(*args)


def main():
    options = options_of(__doc__, "ppo.json")
    done = recorded(options.out)
    cases = [{"id": f"{name}, {scheme}{other}{steps}", "model": model, "run": RUN | precision | more | size}
             for name, model in MODELS.items() for scheme, precision in SCHEMES.items() for other, more in OTHERS.items()
             for steps, size in STEPS.items()]
    for case in cases:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        run, kept = case["run"], {}

        def apply_method(policy, _run):
            described = dict(case["model"])
            config = AutoConfig.for_model(described.pop("model_type"), **described, num_labels=1, pad_token_id=0)
            with torch.device("cuda"), no_init_weights():
                value = AutoModelForSequenceClassification.from_config(
                    config, dtype=oracle.DTYPES[run["precision.weights"]], attn_implementation="sdpa")
            return Wrapper(policy, value)

        def compute_loss(model, batch):
            """Everything that `train` names lives in `kept` until the next micro batch replaces it."""
            context = run["batch.sequence"] - run["rollout.completion"]
            ids = batch["input_ids"]
            output, values = forward(model, ids, 0)
            logits = output.logits[:, context - 1: -1]
            logits /= 0.7 + 1e-7
            probabilities = selective_log_softmax(logits, ids[:, context:])
            kept.update(output=output, values=values, logits=logits, probabilities=probabilities)
            return probabilities.exp().mean() + 0.1 * torch.square(values[:, context - 1: -1].squeeze(-1)).mean()

        plain = oracle.make_optimizer

        def make_optimizer(parameters, run):
            optimizer = plain(parameters, run)
            zero = optimizer.zero_grad
            # At the end of a mini batch all is deleted.
            optimizer.zero_grad = lambda **kwargs: (kept.clear(), zero(**kwargs))
            return optimizer

        oracle.apply_method, oracle.compute_loss, oracle.make_optimizer = apply_method, compute_loss, make_optimizer
        oracle.saved_tensors = lambda *found: {}
        try:
            results = oracle.measure(case)
        finally:
            oracle.make_optimizer = plain
        steady = results["steps"][-1]
        micro = steady["micro"][-1]
        phases = phases_of(micro)
        done[case["id"]] = case | {"results": {"parameters": results["parameters"], **phases,
                                               "optimizer": steady["optimizer"]["peak"], "peak": results["peak"]}}
        print(case["id"], results["parameters"], {k: (v["peak"], v["operator"]) for k, v in phases.items()}, results["peak"], flush=True)
        versions = {n: importlib.metadata.version(n) for n in ("torch", "transformers", "trl")}
        write(options.out, {"versions": versions}, cases, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
