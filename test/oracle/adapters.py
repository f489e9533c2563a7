"""Adapters of every kind under the tracker of `measure.py`: what `adapters.json` holds.

One small decoder, and an encoder that classifies, `get_peft_model` with each configuration, two steps of AdamW; bytes as in `cases.json`.
"""

import copy
import importlib.metadata
import json
import sys
from types import SimpleNamespace

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402
from peft import (  # noqa: E402
    AdaLoraConfig, BOFTConfig, FourierFTConfig, IA3Config, LNTuningConfig, LoHaConfig, LoKrConfig, LoraConfig, MissConfig, OFTConfig,
    PrefixTuningConfig, PromptEncoderConfig, PromptTuningConfig, VBLoRAConfig, VeraConfig, get_peft_model,
)

from peft.tuners.boft.layer import BOFTLayer  # noqa: E402

import measure as oracle  # noqa: E402

MODEL = {"vocab_size": 8000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 4, "num_attention_heads": 16,
         "num_key_value_heads": 16, "hidden_act": "silu", "max_position_embeddings": 4096, "tie_word_embeddings": False,
         "model_type": "llama"}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpus": 1, "batch.accumulation": 1,
       "attention.implementation": "sdpa", "method.kind": "lora", "optimizer.name": "adamw", "optimizer.implementation": "foreach",
       "batch.micro": 2, "batch.sequence": 1024, "precision.weights": "bf16", "precision.compute": "bf16", "lora.dtype": "fp32"}
TARGETS = ["q_proj", "v_proj", "down_proj"]
LORA = {"r": 16, "target_modules": TARGETS}
FIELDS = {"lora.rank": 16, "lora.targets": TARGETS}

ADAPTERS = {
    "LoRA": (LoraConfig(**LORA), FIELDS),
    "DoRA": (LoraConfig(**LORA, use_dora=True), {**FIELDS, "lora.dora": True}),
    "lora_bias": (LoraConfig(**LORA, lora_bias=True), {**FIELDS, "lora.ownBias": True}),
    "LoRA-FA": (LoraConfig(**LORA), {**FIELDS, "lora.frozenFirst": True}),
    "LoRA of the embedding": (LoraConfig(r=16, target_modules=[*TARGETS, "embed_tokens"]),
                              {**FIELDS, "lora.targets": [*TARGETS, "embed_tokens"]}),
    "trainable tokens": (LoraConfig(**LORA, trainable_token_indices=[1, 2, 3]), {**FIELDS, "lora.tokens": 3}),
    "layers": (LoraConfig(**LORA, layers_to_transform=[1, 3]), {**FIELDS, "lora.layers": ["1", "3"]}),
    "AdaLoRA": (AdaLoraConfig(init_r=12, target_modules=TARGETS, total_step=100),
                {"lora.kind": "adalora", "lora.rank": 12, "lora.targets": TARGETS}),
    "VeRA": (VeraConfig(r=64, target_modules=["q_proj", "v_proj"]),
             {"lora.kind": "vera", "lora.rank": 64, "lora.targets": ["q_proj", "v_proj"]}),
    "VeRA of unlike modules": (VeraConfig(r=256, target_modules=["q_proj", "gate_proj", "down_proj"], vera_dropout=0.1),
                               {"lora.kind": "vera", "lora.rank": 256, "lora.dropout": 0.1,
                                "lora.targets": ["q_proj", "gate_proj", "down_proj"]}),
    "LoHa": (LoHaConfig(r=8, target_modules=TARGETS), {"lora.kind": "loha", "lora.rank": 8, "lora.targets": TARGETS}),
    "LoKr": (LoKrConfig(r=8, target_modules=TARGETS), {"lora.kind": "lokr", "lora.rank": 8, "lora.targets": TARGETS}),
    "OFT": (OFTConfig(target_modules=TARGETS), {"lora.kind": "oft", "lora.targets": TARGETS}),
    "OFT, blocks of 64": (OFTConfig(target_modules=TARGETS, oft_block_size=64),
                          {"lora.kind": "oft", "lora.targets": TARGETS, "lora.blockSize": 64}),
    "BOFT": (BOFTConfig(target_modules=["q_proj", "down_proj"]),
             {"lora.kind": "boft", "lora.targets": ["q_proj", "down_proj"]}),
    "FourierFT": (FourierFTConfig(target_modules=TARGETS),
                  {"lora.kind": "fourierft", "lora.rank": 1000, "lora.targets": TARGETS}),
    "VB-LoRA": (VBLoRAConfig(target_modules=TARGETS),
                {"lora.kind": "vblora", "lora.rank": 4, "lora.targets": TARGETS}),
    "MiSS": (MissConfig(r=64, target_modules=TARGETS), {"lora.kind": "miss", "lora.rank": 64, "lora.targets": TARGETS}),
    "MiSS with dropout, padded": (MissConfig(r=48, miss_dropout=0.1, target_modules=TARGETS),
                                  {"lora.kind": "miss", "lora.rank": 48, "lora.dropout": 0.1, "lora.targets": TARGETS}),
    "IA3": (IA3Config(), {"lora.kind": "ia3"}),
    "prompt tuning": (PromptTuningConfig(num_virtual_tokens=20), {"lora.kind": "prompt-tuning"}),
    "prefix tuning": (PrefixTuningConfig(num_virtual_tokens=20), {"lora.kind": "prefix-tuning"}),
    "prefix tuning with projection": (
        PrefixTuningConfig(num_virtual_tokens=64, prefix_projection=True, encoder_hidden_size=512),
        {"lora.kind": "prefix-tuning", "lora.virtualTokens": 64, "lora.prefixProjection": True, "lora.encoderSize": 512}),
    "p-tuning": (PromptEncoderConfig(num_virtual_tokens=32, encoder_hidden_size=128),
                 {"lora.kind": "p-tuning", "lora.virtualTokens": 32, "lora.encoderSize": 128}),
    "LN tuning": (LNTuningConfig(), {"lora.kind": "ln-tuning"}),
}

ENCODER = {"vocab_size": 30522, "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4, "num_attention_heads": 16,
           "max_position_embeddings": 1536, "type_vocab_size": 2, "model_type": "bert"}
CLASSIFIES = {"method.objective": "classification"}
OF_ENCODER = {
    "prompt tuning of an encoder": (PromptTuningConfig(num_virtual_tokens=20), {**CLASSIFIES, "lora.kind": "prompt-tuning"}),
    "p-tuning of an encoder": (PromptEncoderConfig(num_virtual_tokens=32, encoder_hidden_size=128),
                               {**CLASSIFIES, "lora.kind": "p-tuning", "lora.virtualTokens": 32, "lora.encoderSize": 128}),
    "prefix tuning of an encoder": (PrefixTuningConfig(num_virtual_tokens=20), {**CLASSIFIES, "lora.kind": "prefix-tuning"}),
    "VB-LoRA of an encoder": (VBLoRAConfig(target_modules=["query", "value"]),
                              {**CLASSIFIES, "lora.kind": "vblora", "lora.rank": 4, "lora.targets": ["query", "value"]}),
}


def main():
    rand = torch.rand
    # Dropout of whole modules draws one number, which fake tensors do not have.
    torch.rand = lambda *a, **k: 1.0 if a == (1,) else rand(*a, **k)
    # BOFT writes its permutation entry by entry, and VB-LoRA looks at its logits.
    BOFTLayer.block_butterfly_perm = lambda self, n, *_: range(n)
    BOFTLayer.perm2mat = lambda self, indices: torch.zeros(len(indices), len(indices))
    torch.Tensor.isinf = lambda self: SimpleNamespace(any=lambda: False)
    cases = []
    for name, (config, fields) in {**ADAPTERS, **OF_ENCODER}.items():
        model = ENCODER if name in OF_ENCODER else MODEL
        for scheme in ("native", "autocast"):
            config.task_type = "SEQ_CLS" if name in OF_ENCODER else "CAUSAL_LM"
            run = {**RUN, "precision.scheme": scheme, **fields}

            def adapted(model, _run, config=config, fields=fields):
                with torch.device("cuda"):
                    adapters = get_peft_model(model, copy.deepcopy(config))
                # What `create_lorafa_optimizer` does before it makes AdamW of the rest (`peft/optimizers/lorafa.py`).
                for name, parameter in adapters.named_parameters():
                    if fields.get("lora.frozenFirst") and "lora_A" in name:
                        parameter.requires_grad_(False)
                return adapters

            oracle.apply_method = adapted
            results = oracle.measure({"run": run, "model": dict(model)})
            micro = results["steps"][-1]["micro"][0]
            own = {"model": model} if name in OF_ENCODER else {}
            cases.append({"adapter": name, **own, "run": {"precision.scheme": scheme, **fields},
                          "trainable": results["parameters"]["trainable"], "forward": micro["forward"]["peak"],
                          "backward": micro["backward"]["peak"], "peak": results["peak"]})
            print(cases[-1], flush=True)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "peft")}
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    head = f'{{\n "versions": {json.dumps(versions)},\n "model": {json.dumps(MODEL)},\n "run": {json.dumps(RUN)},\n'
    with open(sys.argv[1] if len(sys.argv) > 1 else "adapters.json", "w") as file:
        file.write(f'{head} "cases": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
