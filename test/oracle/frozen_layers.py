"""FLOPs of a step whose first layers are frozen, by whose checkpoints lie around the others: what `frozen_layers.json` holds.

PyTorch's `FlopCounterMode` around forward and backward of a small Llama on the CPU, with eager attention: the counter knows no fused one there.
`opened`: transformers from 5.0 makes embedded tokens require a gradient with its checkpoints; `closed`: before 5.0 it did with adapters alone;
`alone`: LLaMA-Factory's lie around layers alone that are trained.
"""

import json
import sys

import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import LlamaConfig, LlamaForCausalLM

MODEL = {"model_type": "llama", "vocab_size": 1000, "hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 6, "num_attention_heads": 4,
         "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "tie_word_embeddings": False}
BATCH, SEQUENCE, TRAINED = 2, 64, 2


def frozen():
    model = LlamaForCausalLM(LlamaConfig(**{key: value for key, value in MODEL.items() if key != "model_type"}, attn_implementation="eager")).train()
    model.config.use_cache = False
    last = tuple(f"model.layers.{index}." for index in range(MODEL["num_hidden_layers"] - TRAINED, MODEL["num_hidden_layers"]))
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(last))
    return model


def close(model):
    model.disable_input_require_grads()
    model.model.embed_tokens._forward_hooks.clear()


def require_gradient(_, arguments):
    arguments[0].requires_grad_(True)


def around_trained(model):
    close(model)
    for layer in model.model.layers:
        layer.gradient_checkpointing = any(parameter.requires_grad for parameter in layer.parameters())
        if layer.gradient_checkpointing:
            layer.register_forward_pre_hook(require_gradient)


def measured(checkpoints, reentrant):
    model = frozen()
    if checkpoints != "none":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
    if checkpoints == "closed":
        close(model)
    if checkpoints == "alone":
        around_trained(model)
    ids = torch.randint(0, MODEL["vocab_size"], (BATCH, SEQUENCE))
    with FlopCounterMode(display=False) as counter:
        model(input_ids=ids, labels=ids).loss.backward()
    return counter.get_total_flops()


def main():
    # Reentrant checkpoints whose inputs require no gradient have none to give: nothing of a closed model is trained.
    cases = [("none", False), ("opened", True), ("opened", False), ("closed", False), ("alone", True), ("alone", False)]
    rows = [{"checkpoints": checkpoints, "reentrant": reentrant, "step": measured(checkpoints, reentrant)} for checkpoints, reentrant in cases]
    json.dump({"torch": torch.__version__, "model": MODEL, "batch": BATCH, "sequence": SEQUENCE, "trained": TRAINED, "cases": rows}, sys.stdout, indent=1)


main()
