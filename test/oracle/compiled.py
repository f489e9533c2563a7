"""What `torch.compile` keeps of one layer for backward, compiled alone and among others, in `compiled.json`.

AOTAutograd traces forward and backward of a layer of transformers on fake CUDA tensors, with Inductor's decompositions, and its
partitioner (`min_cut_rematerialization_partition`) decides what forward hands to backward. Nothing is compiled behind it.
"""

import contextlib
import json
import math
import sys
import warnings
from collections import Counter
from pathlib import Path

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402
import torch._functorch.aot_autograd as aot  # noqa: E402
from torch._functorch.partitioners import min_cut_rematerialization_partition  # noqa: E402
from torch._inductor.decomposition import select_decomp_table  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM  # noqa: E402

warnings.filterwarnings("ignore")
aot.preserve_rng_state = contextlib.nullcontext

BATCH, SEQUENCE = 2, 384
LLAMA = {"model_type": "llama", "vocab_size": 1000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 1,
         "num_attention_heads": 16, "num_key_value_heads": 4, "tie_word_embeddings": False}
MODELS = {
    "llama": LLAMA,
    "qwen3": {**LLAMA, "model_type": "qwen3", "head_dim": 64},
    "olmo2": {**LLAMA, "model_type": "olmo2"},
    "phi3": {**LLAMA, "model_type": "phi3", "pad_token_id": 0},
    "gpt2": {"model_type": "gpt2", "vocab_size": 1000, "n_positions": 1024, "n_embd": 1024, "n_layer": 1, "n_head": 16},
    "gpt_neox": {"model_type": "gpt_neox", "vocab_size": 1000, "hidden_size": 1024, "intermediate_size": 4096,
                 "num_hidden_layers": 1, "num_attention_heads": 16, "rotary_pct": 0.25, "use_parallel_residual": True},
}
SIZES = {torch.bfloat16: 2, torch.float32: 4, torch.int64: 8, torch.bool: 1}
VIEWS = ("view", "permute", "transpose", "expand", "slice", "alias", "unsqueeze", "squeeze", "reshape", "t", "_unsafe_view",
         "select", "detach", "split_with_sizes", "split")


def base(node):
    """The node whose storage it is."""
    while node.op == "call_function":
        name = getattr(node.target, "__name__", "").split(".")[0]
        parts = name == "getitem" and node.args[0].target in (torch.ops.aten.split_with_sizes.default, torch.ops.aten.split.Tensor)
        if name not in VIEWS and not parts:
            break
        node = node.args[0]
    return node


def kept(layer, x, flow):
    """Bytes that forward hands to backward, of what depends on the tokens; cosine and sine are the model's."""
    names = [name for name, _ in layer.named_parameters()]
    found = {}

    def forward(weights, x, flow):
        out = torch.func.functional_call(layer, dict(zip(names, weights)), (x,), flow)
        return out[0] if isinstance(out, tuple) else out

    def partition(joint, inputs, *, num_fwd_outputs, **options):
        first, second = min_cut_rematerialization_partition(joint, inputs, num_fwd_outputs=num_fwd_outputs, **options)
        [output] = first.graph.find_nodes(op="output")
        given = list(first.graph.find_nodes(op="placeholder"))
        model = {node for node in given if node is not given[len(names)]}
        for node in first.graph.nodes:
            if node.all_input_nodes and all(source in model for source in node.all_input_nodes):
                model.add(node)
        for node in output.args[0][num_fwd_outputs:]:
            value = node.meta.get("val") if hasattr(node, "meta") else None
            if node not in model and value is not None and value.dtype in SIZES:
                own = base(node)
                found[own.name] = math.prod(own.meta["val"].shape) * SIZES[own.meta["val"].dtype]
        return first, second

    boxed = lambda module, _: aot.make_boxed_func(module)  # noqa: E731
    aot.aot_function(forward, fw_compiler=boxed, bw_compiler=boxed, partition_fn=partition,
                     decompositions=select_decomp_table())(list(layer.parameters()), x, flow)
    return found


class Layers(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x, **flow):
        for layer in self.layers:
            x = layer(x, **flow)
            x = x[0] if isinstance(x, tuple) else x
        return x


def one_more(config, autocast):
    """What a fourth layer keeps beside three others in one graph."""
    three, four = (Counter(of(config, autocast, layers).values()) for layers in (3, 4))
    return sorted((four - three).elements(), reverse=True)


def of(config, autocast, layers):
    config = {**config, "n_layer" if "n_layer" in config else "num_hidden_layers": layers}
    config = AutoConfig.for_model(**config)
    config._attn_implementation = "sdpa"
    with fake_cuda.fake_mode():
        weights = torch.float32 if autocast else torch.bfloat16
        model = AutoModelForCausalLM.from_config(config).to(weights).to("cuda").train()
        body = model.base_model
        layer = Layers(body.layers if hasattr(body, "layers") else body.h)
        x = torch.empty(BATCH, SEQUENCE, 1024, dtype=weights, device="cuda", requires_grad=True)
        flow = {}
        if hasattr(body, "rotary_emb"):
            size = 16 if config.model_type == "gpt_neox" else 64
            angle = torch.empty(1, SEQUENCE, size, dtype=weights, device="cuda")
            flow = {"position_embeddings": (angle, angle), "attention_mask": None}
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast, cache_enabled=False):
            return kept(layer, x, flow)


def main():
    results = {}
    for name, config in MODELS.items():
        for autocast in (False, True):
            alone, among = sorted(of(config, autocast, 1).values(), reverse=True), one_more(config, autocast)
            run = {"precision.weights": "fp32" if autocast else "bf16", "precision.compute": "bf16",
                   "precision.scheme": "autocast" if autocast else "native", "kernels.compile": True,
                   "batch.micro": BATCH, "batch.sequence": SEQUENCE, "attention.implementation": "sdpa"}
            results[f"{name}{', autocast' if autocast else ''}"] = {
                "run": run, "model": config, "alone": alone, "among": among}
            print(name, autocast, sum(alone), sum(among), file=sys.stderr)
    text = json.dumps({"torch": torch.__version__.split("+")[0], "cases": results}, indent=1)
    Path(__file__).with_name("compiled.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
