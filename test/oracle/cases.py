"""The cases: real architectures at full width (few layers, to be quick), crossed with what changes memory."""

from families import BEHIND_TOWERS, DENSE, HEARING, OTHERS, PERCEIVING, SPARSE, STATES

MODELS = {
    "llama-1b-mha": {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 32,
                     "num_key_value_heads": 32, "intermediate_size": 5632, "vocab_size": 32000,
                     "max_position_embeddings": 4096, "tie_word_embeddings": False},
    "llama-3.2-1b": {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 32,
                     "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 8192, "vocab_size": 128256,
                     "max_position_embeddings": 131072, "tie_word_embeddings": True},
    "llama-2-7b": {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 3, "num_attention_heads": 32,
                   "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 32000,
                   "max_position_embeddings": 4096, "tie_word_embeddings": False},
    "llama-3.1-8b": {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 3, "num_attention_heads": 32,
                     "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
                     "max_position_embeddings": 131072, "tie_word_embeddings": False},
    "llama-3.1-70b": {"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 3, "num_attention_heads": 64,
                      "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 128256,
                      "max_position_embeddings": 131072, "tie_word_embeddings": False},
    "qwen2.5-7b": {"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 3, "num_attention_heads": 28,
                   "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064,
                   "max_position_embeddings": 131072, "tie_word_embeddings": False},
    "qwen2.5-0.5b": {"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 4, "num_attention_heads": 14,
                     "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936,
                     "max_position_embeddings": 32768, "tie_word_embeddings": True},
    "qwen3-8b": {"model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 3, "num_attention_heads": 32,
                 "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936,
                 "max_position_embeddings": 40960, "tie_word_embeddings": False},
    "qwen3-0.6b": {"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16,
                   "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936,
                   "max_position_embeddings": 40960, "tie_word_embeddings": True},
    "mistral-7b-v0.1": {"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 3,
                        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
                        "vocab_size": 32000, "max_position_embeddings": 32768, "sliding_window": 4096,
                        "tie_word_embeddings": False},
    "gemma-2b": {"model_type": "gemma", "hidden_size": 2048, "num_hidden_layers": 3, "num_attention_heads": 8,
                 "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 16384, "vocab_size": 256000,
                 "max_position_embeddings": 8192, "tie_word_embeddings": True, "hidden_act": "gelu_pytorch_tanh"},
    "gemma-2-2b": {"model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 4, "num_attention_heads": 8,
                   "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000,
                   "max_position_embeddings": 8192, "tie_word_embeddings": True, "sliding_window": 4096,
                   "hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": 50.0,
                   "final_logit_softcapping": 30.0},
    "gemma-3-1b": {"model_type": "gemma3_text", "hidden_size": 1152, "num_hidden_layers": 6, "num_attention_heads": 4,
                   "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6912, "vocab_size": 262144,
                   "max_position_embeddings": 32768, "tie_word_embeddings": True, "sliding_window": 512,
                   "hidden_activation": "gelu_pytorch_tanh"},
    "phi-3-mini": {"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 3, "num_attention_heads": 32,
                   "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064,
                   "max_position_embeddings": 4096, "sliding_window": 2047, "tie_word_embeddings": False},
    "gpt2": {"model_type": "gpt2", "n_embd": 768, "n_layer": 4, "n_head": 12, "n_positions": 1024,
             "vocab_size": 50257, "activation_function": "gelu_new", "tie_word_embeddings": True},
    "gpt2-xl": {"model_type": "gpt2", "n_embd": 1600, "n_layer": 4, "n_head": 25, "n_positions": 1024,
                "vocab_size": 50257, "activation_function": "gelu_new", "tie_word_embeddings": True},
    "pythia-1.4b": {"model_type": "gpt_neox", "hidden_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 16,
                    "intermediate_size": 8192, "vocab_size": 50304, "max_position_embeddings": 2048,
                    "rotary_pct": 0.25, "hidden_act": "gelu", "use_parallel_residual": True,
                    "tie_word_embeddings": False},
    "opt-1.3b": {"model_type": "opt", "hidden_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 32,
                 "ffn_dim": 8192, "word_embed_proj_dim": 2048, "max_position_embeddings": 2048, "vocab_size": 50272,
                 "do_layer_norm_before": True, "activation_function": "relu", "tie_word_embeddings": True},
    "bloom-1b1": {"model_type": "bloom", "hidden_size": 1536, "n_layer": 4, "n_head": 16, "vocab_size": 250880},
    "falcon-7b": {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 3, "num_attention_heads": 71,
                  "vocab_size": 65024, "max_position_embeddings": 2048, "multi_query": True, "parallel_attn": True,
                  "new_decoder_architecture": False, "bias": False, "alibi": False},
    "mixtral-8x7b": {"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32,
                     "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
                     "max_position_embeddings": 32768, "tie_word_embeddings": False, "num_local_experts": 8,
                     "num_experts_per_tok": 2, "sliding_window": None},
    # So narrow that the balance of its experts is what its step takes most for.
    "llama-4-narrow": {"model_type": "llama4_text", "hidden_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 4,
                       "head_dim": 128, "intermediate_size": 4096, "intermediate_size_mlp": 8192, "vocab_size": 32000, "num_local_experts": 8,
                       "num_experts_per_tok": 1, "interleave_moe_layer_step": 1, "tie_word_embeddings": False, "attention_chunk_size": 8192,
                       "use_qk_norm": True},
    "qwen3-moe-narrow": {"model_type": "qwen3_moe", "hidden_size": 512, "num_hidden_layers": 24, "num_attention_heads": 8,
                         "num_key_value_heads": 4, "head_dim": 64, "intermediate_size": 512, "moe_intermediate_size": 128,
                         "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 512, "max_position_embeddings": 4096},
    "qwen3-30b-a3b": {"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 3,
                      "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
                      "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
                      "num_experts_per_tok": 8, "decoder_sparse_step": 1, "vocab_size": 151936,
                      "max_position_embeddings": 40960, "tie_word_embeddings": False},
    "phi-2": {"model_type": "phi", "hidden_size": 2560, "num_hidden_layers": 3, "num_attention_heads": 32,
              "num_key_value_heads": 32, "intermediate_size": 10240, "vocab_size": 51200,
              "max_position_embeddings": 2048, "tie_word_embeddings": False, "hidden_act": "gelu_new",
              "partial_rotary_factor": 0.4},
    "olmo2-7b": {"model_type": "olmo2", "hidden_size": 4096, "num_hidden_layers": 3, "num_attention_heads": 32,
                 "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100352,
                 "max_position_embeddings": 4096, "tie_word_embeddings": False},
    "starcoder2-3b": {"model_type": "starcoder2", "hidden_size": 3072, "num_hidden_layers": 3,
                      "num_attention_heads": 24, "num_key_value_heads": 2, "intermediate_size": 12288,
                      "vocab_size": 49152, "max_position_embeddings": 16384, "tie_word_embeddings": True,
                      "use_bias": True, "sliding_window": 4096, "hidden_act": "gelu_pytorch_tanh"},
    "t5-base": {"model_type": "t5", "d_model": 768, "d_ff": 3072, "num_layers": 3, "num_decoder_layers": 3,
                "num_heads": 12, "d_kv": 64, "vocab_size": 32128, "feed_forward_proj": "relu",
                "tie_word_embeddings": True, "decoder_start_token_id": 0},
    "flan-t5-base": {"model_type": "t5", "d_model": 768, "d_ff": 2048, "num_layers": 3, "num_decoder_layers": 3,
                     "num_heads": 12, "d_kv": 64, "vocab_size": 32128, "feed_forward_proj": "gated-gelu",
                     "tie_word_embeddings": False, "decoder_start_token_id": 0},
    "bert-base": {"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12,
                  "intermediate_size": 3072, "vocab_size": 30522, "max_position_embeddings": 512,
                  "type_vocab_size": 2, "hidden_act": "gelu"},
    "vit-base": {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12,
                 "intermediate_size": 3072, "image_size": 224, "patch_size": 16, "num_channels": 3,
                 "hidden_act": "gelu"},
    **DENSE, **SPARSE, **STATES, **OTHERS, **PERCEIVING, **BEHIND_TOWERS, **HEARING,
    "mamba-130m": {"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 2, "intermediate_size": 1536,
                   "state_size": 16, "conv_kernel": 4, "expand": 2, "time_step_rank": 48, "vocab_size": 50280,
                   "tie_word_embeddings": True},
    # Two layers call the same transformer, as the classes share it; the scan is a stand-in (`kernels.py`).
    "zamba2-1.2b": {"model_type": "zamba2", "hidden_size": 2048, "num_hidden_layers": 6, "intermediate_size": 8192, "num_attention_heads": 32,
                    "num_key_value_heads": 32, "vocab_size": 512, "n_mamba_heads": 64, "mamba_d_state": 128, "mamba_ngroups": 1,
                    "num_mem_blocks": 1, "use_shared_attention_adapter": True, "use_mem_rope": True, "adapter_rank": 128,
                    "tie_word_embeddings": True, "layers_block_type": ["mamba", "mamba", "hybrid", "mamba", "hybrid", "mamba"]},
}

COMMON = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpu": "H100-SXM5-80GB",
          "hardware.gpus": 1, "batch.accumulation": 1, "attention.implementation": "sdpa",
          "activations.checkpointing": "none", "method.kind": "full", "optimizer.name": "adamw",
          "optimizer.implementation": "foreach", "loss.implementation": "full"}

# Variations by short name: each is a set of run fields.
BF16 = {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "native"}
FP32 = {"precision.weights": "fp32", "precision.compute": "fp32", "precision.scheme": "native"}
AMP = {"precision.weights": "fp32", "precision.compute": "bf16", "precision.scheme": "autocast"}
BF16_AMP = {"precision.weights": "bf16", "precision.compute": "bf16", "precision.scheme": "autocast"}
PRECISIONS = {"bf16": BF16, "fp32": FP32, "amp": AMP, "bf16amp": BF16_AMP}
FLAGS = {
    "eager": {"attention.implementation": "eager"},
    "mask": {"attention.mask": True},
    "reentrant": {"activations.checkpointing": "full", "activations.reentrant": True},
    "nonreentrant": {"activations.checkpointing": "full", "activations.reentrant": False},
    "fused": {"optimizer.implementation": "fused"},
    "forloop": {"optimizer.implementation": "for-loop"},
    "adam": {"optimizer.name": "adam"},
    "sgd": {"optimizer.name": "sgd"},
    "sgdm": {"optimizer.name": "sgd-momentum"},
    "acc2": {"batch.accumulation": 2},
    "acc3": {"batch.accumulation": 3},
    "lora16": {"method.kind": "lora", "lora.rank": 16, "lora.targets": ["all-linear"], "lora.dtype": "fp32",
               "lora.dropout": 0.0},
    "loraqv": {"method.kind": "lora", "lora.rank": 8, "lora.targets": ["q_proj", "v_proj"], "lora.dtype": "fp32",
               "lora.dropout": 0.0},
    "adapterbf16": {"lora.dtype": "bf16"},
    "drop5": {"lora.dropout": 0.05},
    # Layers that keep a state without the packages of their kernels.
    "operators": {"kernels.states": ["none"]},
    "tokens": {"method.objective": "token-classification"},
    "answers": {"method.objective": "question-answering"},
    "labels": {"method.objective": "classification"},
    "pixels": {"method.objective": "segmentation", "model.labels": 150},
    "frames": {"batch.targetSequence": 400},
    "last": {"method.kind": "freeze", "method.trainableLayers": 2},
    "first": {"method.kind": "freeze", "method.trainableLayers": -2},
    "router": {"loss.routerLogits": True},
}
FLAGS["lora4"] = {**FLAGS["lora16"], "lora.targets": ["q_proj", "k_proj", "v_proj", "o_proj"]}
# transformers has no SDPA for attention sinks, disentangled attention, and old decoders.
EAGER = {"mamba2-130m", "deepseek-v4", "mimo-v2-flash", "gpt-oss-20b", "deberta-v3-base", "gpt-j-6b", "gpt-neo-1.3b", "git-base", "vilt-b32", "layoutlmv2-base", "convnext-tiny", "speecht5-tts"}

# Samples of a micro batch, and what their length counts.
PERCEIVED = {"wav2vec2-base": (4, 16000), "wav2vec2-large-lv60": (4, 16000), "wav2vec2-mms": (4, 16000), "git-base": (4, 512), "vilt-b32": (1, 40), "mit-b0": (2, 16384), "detr-resnet-50": (1, 1050),
             "layoutlmv2-base": (2, 512), "swin-tiny": (4, 3136), "convnext-tiny": (4, 3136), "videomae-base": (2, 1568), "speecht5-tts": (4, 200),
             "whisper-small": (4, 448), "clip-vit-b32": (16, 77)}

# Tokens of a clip of 30 seconds, and linear layers of the tower that adapters are put on.
HEARD = {"gemma-4-sound": 750, "gemma-3n-sound": 188}
# Gemma 4's are children of what cuts off their inputs and results.
SOUND = ["linear_start", "linear_end", "ffw_layer_1", "ffw_layer_2", "post"]
LORA8 = {"method.kind": "lora", "lora.rank": 8, "lora.dtype": "fp32", "lora.dropout": 0.0}
FLAGS["lora3n"] = {**LORA8, "lora.targets": [*SOUND, "q_proj", "k_proj", "v_proj", "pos_proj", "input_proj_linear"]}
FLAGS["lora4s"] = {**LORA8, "lora.targets": [*(f"{name}.linear" for name in (*SOUND, "q_proj", "k_proj", "v_proj")), "relative_k_proj", "output_proj"]}
FLAGS["loragate"] = {**LORA8, "lora.targets": ["gate_proj"]}

# Those that write text.
UNLABELLED = {"git-base", "mit-b0", "detr-resnet-50", "speecht5-tts", "whisper-small", "clip-vit-b32"}

# Their attention has none of the linear layers that LoRA is put on here.
UNNAMED = {"deepseek-v4"}


def case(model: str, flags: str, micro: int, sequence: int, layers: int | None = None,
         vocabulary: int | None = None) -> dict:
    """One case; `flags` is a space-separated list of names above, the precision first."""
    names = flags.split()
    run = {**COMMON, "batch.micro": micro, "batch.sequence": sequence, **PRECISIONS[names[0]]}
    for name in names[1:]:
        run.update(FLAGS[name])
    config = dict(MODELS[model])
    if model in BEHIND_TOWERS:
        run["batch.images"] = 0
    if model == "detr-resnet-50":
        run["attention.mask"] = True  # of a fake tensor nobody can tell that it masks nothing
    if model in HEARING:
        run |= {"batch.images": 0, "batch.sound": True}
    if layers is not None:
        depth = next(k for k in ("num_hidden_layers", "n_layer", "num_layers") if k in config)
        config[depth] = layers
    if vocabulary is not None:
        small = {"vocab_size": vocabulary, "pad_token_id": 0}
        config |= {"text_config": config["text_config"] | small} if "text_config" in config else small
    identity = "-".join([model, *names, f"b{micro}", f"s{sequence}", *([f"l{layers}"] if layers else []),
                         *([f"v{vocabulary}"] if vocabulary else [])])
    return {"id": identity, "run": run, "model": config}


def _cases():
    # Llama first: what most runs are.
    for flags in ("bf16", "bf16 reentrant", "bf16 nonreentrant", "amp", "amp reentrant", "amp nonreentrant", "fp32",
                  "fp32 reentrant", "bf16 eager", "amp eager", "bf16 eager reentrant", "bf16 lora16",
                  "bf16amp lora16", "bf16 lora16 adapterbf16", "bf16 loraqv", "bf16amp loraqv",
                  "bf16 lora16 drop5", "bf16amp lora16 drop5", "bf16amp lora16 drop5 nonreentrant",
                  "bf16amp lora16 reentrant", "bf16 loraqv adapterbf16 nonreentrant",
                  "bf16 acc2", "bf16 reentrant acc2", "amp acc2", "amp nonreentrant acc3", "bf16 fused",
                  "amp fused nonreentrant", "bf16 forloop", "bf16 sgd nonreentrant", "amp sgdm", "bf16 adam",
                  "bf16 mask", "amp mask nonreentrant"):
        yield case("llama-1b-mha", flags, 2, 2048)
    for flags in ("bf16", "amp", "bf16 nonreentrant", "amp reentrant", "fp32", "bf16 eager", "bf16 lora16",
                  "bf16amp lora16 nonreentrant", "bf16 mask"):
        yield case("llama-3.2-1b", flags, 1, 2048)
        yield case("llama-3.1-8b", flags, 1, 4096 if "eager" not in flags and "fp32" not in flags else 1024)
    for micro, sequence in ((1, 512), (4, 512), (1, 4096), (4, 1024), (3, 777)):
        for flags in ("bf16", "amp nonreentrant"):
            yield case("llama-2-7b", flags, micro, sequence)
    for flags in ("bf16 reentrant fused", "bf16amp lora16 nonreentrant", "bf16 sgd"):
        yield case("llama-3.1-70b", flags, 1, 2048)
    yield case("llama-3.2-1b", "bf16", 1, 1024, 16)
    yield case("llama-3.2-1b", "amp nonreentrant", 2, 1024, 16)
    yield case("llama-3.1-8b", "bf16 nonreentrant", 1, 2048, 32)
    yield case("llama-3.1-8b", "bf16amp lora16 nonreentrant", 1, 2048, 32)
    yield case("llama-2-7b", "bf16 reentrant fused", 2, 2048, 32)
    # Every other decoder through the same set.
    lora_names = {"gpt2": "lora16", "gpt2-xl": "lora16", "phi-3-mini": "lora16", "pythia-1.4b": "lora16",
                  "bloom-1b1": "lora16", "falcon-7b": "lora16"}
    for model in ("qwen2.5-7b", "qwen3-8b", "mistral-7b-v0.1", "gemma-2b", "gemma-2-2b", "gemma-3-1b", "phi-3-mini",
                  "gpt2", "pythia-1.4b", "opt-1.3b", "bloom-1b1", "falcon-7b", "mixtral-8x7b", "qwen3-30b-a3b",
                  "qwen2.5-0.5b", "qwen3-0.6b", "gpt2-xl", "phi-2", "olmo2-7b", "starcoder2-3b"):
        attention = "loraqv" if model not in lora_names else "lora16"
        small = model in ("qwen2.5-0.5b", "qwen3-0.6b", "gpt2-xl", "phi-2", "olmo2-7b", "starcoder2-3b")
        chosen = ("bf16", "amp nonreentrant", "bf16amp lora16", "bf16 reentrant acc2") if small else (
            "bf16", "amp", "fp32", "bf16 nonreentrant", "amp reentrant", "bf16 eager", "bf16amp lora16 drop5",
            f"bf16 {attention} nonreentrant", "bf16 nonreentrant fused acc2")
        for flags in chosen:
            if "moe" in MODELS[model]["model_type"] or "mixtral" in model:
                if "lora16" in flags:
                    continue
            if model in ("gemma-2-2b", "bloom-1b1"):  # soft-capped scores, ALiBi: transformers 5 refuses SDPA
                if "eager" in flags:
                    continue
                flags += " eager"
            yield case(model, flags, 2, 1024)
    for flags in ("bf16", "amp", "fp32", "bf16 nonreentrant", "amp eager"):
        yield case("t5-base", flags, 4, 512)
        yield case("flan-t5-base", flags, 4, 512)
        yield case("bert-base", flags, 8, 512)
        yield case("vit-base", flags, 8, 197)
    # A small vocabulary and SGD: the peak lies in a decoder layer, not in the loss or the optimizer step.
    for flags in ("bf16", "bf16 reentrant", "bf16 nonreentrant", "amp", "amp reentrant", "amp nonreentrant", "fp32",
                  "fp32 nonreentrant", "bf16 eager", "bf16 eager nonreentrant", "amp eager nonreentrant",
                  "fp32 eager", "bf16 mask", "bf16 lora16", "bf16 lora16 nonreentrant", "bf16amp lora16",
                  "bf16amp lora16 nonreentrant", "bf16amp lora16 drop5 nonreentrant", "bf16 lora16 drop5",
                  "bf16 lora16 adapterbf16", "bf16 loraqv nonreentrant", "bf16 acc2", "bf16 nonreentrant acc2"):
        yield case("llama-2-7b", flags + " sgd", 2, 2048, None, 512)
    for model in ("llama-3.1-8b", "qwen2.5-7b", "qwen3-8b", "mistral-7b-v0.1", "gemma-2b", "gemma-2-2b", "gemma-3-1b",
                  "phi-3-mini", "gpt2-xl", "pythia-1.4b", "opt-1.3b", "bloom-1b1", "falcon-7b", "mixtral-8x7b",
                  "qwen3-30b-a3b", "phi-2", "olmo2-7b", "starcoder2-3b"):
        for flags in ("bf16", "bf16 nonreentrant", "amp nonreentrant", "bf16amp lora16 nonreentrant"):
            if model in ("mixtral-8x7b", "qwen3-30b-a3b") and "lora16" in flags:
                flags = flags.replace("lora16", "loraqv")
            if model in ("gemma-2-2b", "bloom-1b1"):
                flags += " eager"
            yield case(model, flags + " sgd", 2, 1024, None, 512)
    # Layers that are not trained: below those that are, and above.
    for frozen in ("last", "first"):
        for flags in ("bf16", "amp", "bf16 nonreentrant", "amp nonreentrant", "amp reentrant"):
            yield case("llama-3.2-1b", f"{flags} {frozen} sgd", 2, 2048, 6, 512)
        yield case("llama-3.2-1b", f"bf16 {frozen}", 2, 2048, 6)
    yield case("mamba-130m", "bf16 operators eager", 1, 64)
    yield case("mamba-130m", "amp operators eager", 1, 64)
    yield case("mamba-130m", "bf16 operators sgd eager", 1, 64, None, 512)
    # Without packages of kernels: transformers' own operators; a last chunk that is not full among them. Before any stand-in of a kernel.
    for model in STATES:
        eager = " eager" if model in EAGER else ""
        for flags in ("bf16 operators sgd", "amp operators sgd", "bf16 operators nonreentrant sgd"):
            yield case(model, flags + eager, 2, 1024, None, 512)
        yield case(model, "bf16 operators sgd" + eager, 1, 700, None, 512)
    for flags in ("bf16 sgd", "bf16 nonreentrant sgd"):
        yield case("zamba2-1.2b", flags, 2, 1024)
    # Every other family: at its own vocabulary, and with the peak in a layer.
    for model in (*DENSE, *SPARSE):
        lora = "lora16" if model in DENSE else "" if model in UNNAMED else "lora4"
        eager = " eager" if model in EAGER else ""
        yield case(model, " ".join(f"bf16amp {lora} nonreentrant{eager}".split()), 2, 1024)
        for flags in ("bf16 sgd", "amp nonreentrant sgd"):
            yield case(model, flags + eager, 2, 1024, None, 512)
    for model in BEHIND_TOWERS:
        yield case(model, "bf16amp loraqv nonreentrant", 2, 1024)
        # A tower that no sample reaches gets no gradients, which ours holds where it is trained: towers stay frozen or small.
        frozen = model in ("gemma-3n-e2b", "ernie-4.5-vl-28b")
        for flags in ("bf16 loraqv", "bf16amp loraqv") if frozen else ("bf16 sgd", "amp nonreentrant sgd"):
            yield case(model, flags, 2, 1024, None, 512)
    for model in OTHERS:
        for flags in ("bf16", "amp", "bf16 nonreentrant"):
            yield case(model, flags + (" eager" if model in EAGER else ""), 4, 512)
    for model in ("bert-base", "roberta-base", "distilbert-base", "deberta-v3-base", "modernbert-base"):
        for flags in ("fp32 sgd tokens", "fp32 sgd answers"):
            yield case(model, flags + (" eager" if model in EAGER else ""), 4, 512)
    for model, length in HEARD.items():
        # Gemma 3n's tower for images, which no sample reaches, stays frozen.
        full = ("bf16 lora4s sgd", "bf16amp lora4s sgd", "bf16 sgd", "fp32 sgd", "amp sgd")
        for flags in ("bf16 loragate sgd", *(("bf16 lora3n sgd", "bf16amp lora3n sgd") if model == "gemma-3n-sound" else full)):
            yield case(model, f"{flags} eager", 2, length)
    for model, (micro, length) in PERCEIVED.items():
        for flags in ("fp32 sgd", "amp sgd", "fp32 nonreentrant sgd", "bf16 sgd", *(["amp nonreentrant sgd"] if model == "speecht5-tts" else [])):
            if "nonreentrant" in flags and model in ("convnext-tiny", "layoutlmv2-base"):
                continue  # Their classes take no checkpointing.
            if "bf16" in flags and model == "layoutlmv2-base":
                continue  # Norms of its backbone take no 16-bit weights.
            asked = "pixels" if model == "mit-b0" else "answers" if model == "layoutlmv2-base" else "" if model in UNLABELLED else "labels"
            more = [flags, asked, "frames" if model == "speecht5-tts" else "", "eager" if model in EAGER else ""]
            yield case(model, " ".join(word for word in more if word), micro, length)


# Experts whose balance is part of the loss. With a small vocabulary the loss does not hide what that takes.
ROUTED = ("mixtral-8x7b", "qwen1.5-moe", "olmoe-1b-7b", "qwen3-30b-a3b", "gpt-oss-20b")


def _routed_cases():
    for model in ROUTED:
        eager = "eager" if model in EAGER else ""
        for flags in ("bf16 router sgd", "bf16 router nonreentrant sgd", "bf16 router reentrant sgd"):
            yield case(model, f"{flags} {eager}".strip(), 2, 1024, 4, 512)
        yield case(model, f"amp router nonreentrant sgd {eager}".strip(), 1, 1024, 2)
        for flags in ("bf16 router loraqv", "bf16 router loraqv nonreentrant", "bf16 router loraqv reentrant",
                      "bf16 router loraqv nonreentrant mask"):
            yield case(model, f"{flags} {eager}".strip(), 2, 2048, 6, 512)
    for flags in ("bf16 router loraqv", "bf16 router loraqv nonreentrant", "bf16 router loraqv reentrant", "bf16 router loraqv nonreentrant mask",
                  "amp router loraqv nonreentrant", "amp router loraqv nonreentrant mask", "bf16amp router loraqv nonreentrant"):
        yield case("qwen3-moe-narrow", flags, 2, 2048)


CASES = [*_cases(), *_routed_cases()]
