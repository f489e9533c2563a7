"""Parameter counts of transformers' own classes: `python model_counts.py TYPE... [--out model_counts.json]`.

For each `model_type` a small model and one in which a single field differs, for every field that changes the count. A row is
what a `config.json` would say beside its `model_type`, the class that was made of it on the meta device, and its parameters,
tied weights once. Buffers that balance experts count too, as they do in a checkpoint.
"""

import argparse
import copy
import importlib
import json
import os
import warnings
from pathlib import Path

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402
import transformers.initialization  # noqa: E402
from transformers import CONFIG_MAPPING  # noqa: E402
from transformers.models.auto import modeling_auto  # noqa: E402

TASKS = {"lm": ("IMAGE_TEXT_TO_TEXT", "TEXT_TO_SPECTROGRAM", "SPEECH_SEQ_2_SEQ", "SEQ_TO_SEQ_CAUSAL_LM", "CAUSAL_LM", "MASKED_LM",
                "ZERO_SHOT_IMAGE_CLASSIFICATION", "TEXT_TO_WAVEFORM"),
         "classification": ("SEQUENCE_CLASSIFICATION", "IMAGE_CLASSIFICATION", "AUDIO_CLASSIFICATION", "VIDEO_CLASSIFICATION", "VISUAL_QUESTION_ANSWERING"), "segmentation": ("SEMANTIC_SEGMENTATION",), "detection": ("OBJECT_DETECTION",),
         "token-classification": ("TOKEN_CLASSIFICATION",), "question-answering": ("QUESTION_ANSWERING",),
         "multiple-choice": ("MULTIPLE_CHOICE",)}
# Types whose heads for tokens are read: the others have no rows for those tasks.
SCORES_TOKENS = ("bert", "roberta", "xlm-roberta", "camembert", "electra", "distilbert", "deberta-v2", "modernbert", "layoutlmv2")
LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers", "num_decoder_layers", "depth")
# What classes need beside their defaults to be a model that can run.
NEEDED = {
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 2, "head_dim": 128},
    "hunyuan_v1_dense": {"head_dim": 128}, "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 8},
    "ministral": {"head_dim": 128}, "lfm2_moe": {"num_hidden_layers": 4, "layer_types": ["conv", "conv", "full_attention", "conv"]},
    "dbrx": {"d_model": 1024, "n_heads": 8, "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "model_type": "dbrx_attention"},
             "ffn_config": {"ffn_hidden_size": 2048, "moe_num_experts": 4, "moe_top_k": 2, "model_type": "dbrx_ffn",
                            "hidden_size": 1024}},
    "gpt_neo": {"num_layers": 4, "attention_types": [[["global", "local"], 2]]},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "deepseek_v4": {"num_hidden_layers": 4, "n_routed_experts": 8, "num_experts_per_tok": 2, "mlp_layer_types": ["hash_moe", "moe", "moe", "moe"],
                    "layer_types": ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention", "compressed_sparse_attention"]},
    "step3p5": {"num_hidden_layers": 4, "n_routed_experts": 8, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"], "sliding_window": 512,
                "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"], "num_sliding_attention_heads": 96},
    "minimax_m3_vl_text": {"layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse", "full_attention"], "num_hidden_layers": 4, "num_local_experts": 8,
                           "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]},
    "kimi_linear": {"num_hidden_layers": 5, "num_local_experts": 8},
    "mistral4": {"num_hidden_layers": 4, "n_routed_experts": 8}, "hy_v3": {"num_hidden_layers": 4, "num_experts": 8},
    "glm_moe_dsa": {"num_hidden_layers": 5, "index_topk_freq": 2},
    "zamba2": {"num_hidden_layers": 6, "layers_block_type": ["linear_attention", "hybrid", "linear_attention", "hybrid", "hybrid", "linear_attention"],
               "hidden_size": 512, "num_attention_heads": 8, "num_mem_blocks": 2, "use_shared_attention_adapter": True, "vocab_size": 4096},
    "bamba": {"attn_layer_indices": [1, 3]}, "granitemoeshared": {"shared_intermediate_size": 512},
    "nemotron_h": {"layers_block_type": ["mamba", "attention", "mlp", "moe"]},
    "mllama": {"text_config": {"pad_token_id": 0, "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 4096,
                               "num_hidden_layers": 4, "cross_attention_layers": [1, 3]},
               "vision_config": {"num_hidden_layers": 4, "num_global_layers": 2, "hidden_size": 320, "attention_heads": 4, "intermediate_size": 640,
                                 "intermediate_layers_indices": [1, 3], "vision_output_dim": 960}},
    "minimax_m3_vl": {"text_config": {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 256, "vocab_size": 4096,
                                      "num_local_experts": 8, "num_hidden_layers": 4, "dense_intermediate_size": 512, "shared_intermediate_size": 256, "rotary_dim": 64,
                                      "layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse", "full_attention"],
                                      "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]},
                      "vision_config": {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512}, "projector_hidden_size": 512},
    "kimi_k25": {"text_config": {"model_type": "deepseek_v3", "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 4096,
                                 "num_hidden_layers": 4, "n_routed_experts": 8, "moe_intermediate_size": 256}},
    "smolvlm": {"text_config": {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 4096}},
    "idefics3": {"text_config": {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 4096}},
    "lfm2_vl": {"text_config": {"model_type": "lfm2", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024,
                                "vocab_size": 4096}},
    "internvl": {"text_config": {"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024,
                                 "vocab_size": 4096}},
    "gemma4": {"text_config": {"hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 4096,
                               "vocab_size_per_layer_input": 1000, "intermediate_size": 1024},
               "vision_config": {}, "audio_config": {}},
    "gemma4_unified": {"text_config": {"hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 4096,
                                       "num_hidden_layers": 6, "intermediate_size": 1024},
                       "vision_config": {"mm_embed_dim": 512, "output_proj_dims": 512}, "audio_config": {}},
    "gemma4_unified_text": {"num_hidden_layers": 6, "num_kv_shared_layers": 2, "num_global_key_value_heads": 2,
                            "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"]},
    "muse_glimmer": {"text_config": {"hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 4096, "intermediate_size": 1024},
                     "vision_config": {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512}, "out_hidden_size": 1024},
    "paligemma": {"text_config": {"model_type": "gemma", "hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 4096,
                                  "num_hidden_layers": 4},
                  "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512, "num_hidden_layers": 4,
                                    "projection_dim": 512, "vision_use_head": False}, "projection_dim": 512},
    "paddleocr_vl": {"text_config": {"hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 4096},
                     "vision_config": {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512}},
    "glm4v": {"text_config": {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 4096},
              "vision_config": {"hidden_size": 256, "num_heads": 4, "out_hidden_size": 512, "intermediate_size": 1024}},
    "glm46v": {"text_config": {"model_type": "glm4v_text", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 4096},
               "vision_config": {"model_type": "glm4v_vision", "hidden_size": 256, "num_heads": 4, "out_hidden_size": 512, "intermediate_size": 1024}},
    "glm4v_moe": {"text_config": {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 1024, "vocab_size": 4096,
                                  "moe_intermediate_size": 256, "n_routed_experts": 8},
                  "vision_config": {"hidden_size": 256, "num_heads": 4, "out_hidden_size": 512, "intermediate_size": 1024}},
    "gemma3n_text": {"num_hidden_layers": 6, "num_kv_shared_layers": 2, "intermediate_size": 1024, "hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2,
                     "vocab_size": 4096, "vocab_size_per_layer_input": 1000, "hidden_size_per_layer_input": 64, "activation_sparsity_pattern": None,
                     "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"]},
    "gemma3n": {"text_config": {"num_hidden_layers": 6, "num_kv_shared_layers": 2, "intermediate_size": 1024, "hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2,
                                "vocab_size": 4096, "vocab_size_per_layer_input": 1000, "hidden_size_per_layer_input": 64,
                                "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"]},
                "vision_config": {}, "audio_config": {"conf_num_hidden_layers": 4}},
    "gemma4_text": {"num_hidden_layers": 6, "num_kv_shared_layers": 2, "hidden_size_per_layer_input": 64, "vocab_size_per_layer_input": 1000,
                    "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 128, "num_global_key_value_heads": 2,
                    "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"]},
    "qwen2_vl": {"vision_config": {"hidden_size": 1024}, "text_config": {"hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 4}},
    "qwen2_5_vl": {"vision_config": {"out_hidden_size": 1024}, "text_config": {"hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 4}},
    "qwen2_5_omni_thinker": {"text_config": {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 4096},
                             "vision_config": {"hidden_size": 256, "num_heads": 4, "intermediate_size": 512, "out_hidden_size": 512},
                             "audio_config": {"d_model": 256, "encoder_attention_heads": 4, "encoder_ffn_dim": 512, "output_dim": 512}},
    "qwen3_omni_moe_thinker": {"text_config": {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "moe_intermediate_size": 128, "num_experts": 8,
                                               "vocab_size": 4096},
                               "vision_config": {"hidden_size": 256, "num_heads": 4, "intermediate_size": 512, "out_hidden_size": 512, "depth": 4,
                                                 "deepstack_visual_indexes": [0, 2, 3]},
                               "audio_config": {"d_model": 256, "encoder_attention_heads": 4, "encoder_ffn_dim": 512, "output_dim": 512}},
    "llava_next": {"text_config": {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 4096},
                   "vision_config": {"model_type": "clip_vision_model", "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512, "patch_size": 14, "image_size": 336}},
    "llava_next_video": {"text_config": {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 4096},
                         "vision_config": {"model_type": "clip_vision_model", "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512, "patch_size": 14,
                                           "image_size": 336}},
    "llava_onevision": {"text_config": {"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024,
                                        "vocab_size": 4096},
                        "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512, "patch_size": 14,
                                          "image_size": 384, "vision_use_head": False}},
    "qwen2_audio": {"text_config": {"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 4096},
                    "audio_config": {"d_model": 256, "encoder_attention_heads": 4, "encoder_ffn_dim": 512}},
    "voxtral": {"text_config": {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 4096},
                "audio_config": {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512}},
    "qwen3_vl": {"vision_config": {"out_hidden_size": 1024, "depth": 4, "deepstack_visual_indexes": [0, 2, 3]}, "text_config": {"hidden_size": 1024}},
    "qwen3_vl_moe": {"vision_config": {"out_hidden_size": 1024, "depth": 4, "deepstack_visual_indexes": [0, 2, 3]}, "text_config": {"hidden_size": 1024, "num_experts": 8, "head_dim": 64}},
    "qwen3_5": {"vision_config": {"out_hidden_size": 1024}, "text_config": {"hidden_size": 1024}},
    "qwen3_5_moe": {"vision_config": {"out_hidden_size": 1024}, "text_config": {"hidden_size": 1024, "num_experts": 8}},
    "csm": {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "text_vocab_size": 4096, "vocab_size": 67, "num_codebooks": 8,
            "depth_decoder_config": {"hidden_size": 256, "backbone_hidden_size": 512, "num_attention_heads": 4, "intermediate_size": 512, "vocab_size": 67, "num_codebooks": 8},
            "codec_config": {"model_type": "mimi", "hidden_size": 128, "num_filters": 8, "intermediate_size": 256, "upsample_groups": 128, "codebook_dim": 64,
                             "vector_quantization_hidden_dimension": 64, "num_quantizers": 8}},
    "diffusion_gemma": {"text_config": {"hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 4096, "intermediate_size": 256, "num_experts": 8,
                                        "top_k_experts": 2, "moe_intermediate_size": 128, "num_hidden_layers": 6, "num_global_key_value_heads": 1},
                        "vision_config": {"model_type": "gemma4_vision", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 64, "intermediate_size": 512}},
    "phi4_multimodal": {"pad_token_id": 0, "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 4096,
                        "vision_config": {"hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256},
                        "audio_config": {"hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256, "num_blocks": 2, "ext_pw_out_channel": 128,
                                         "depthwise_separable_out_channel": 128, "nemo_conv_channels": 32}},
    "step3p7": {"text_config": {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 4096, "moe_intermediate_size": 256,
                                "share_expert_dim": 256, "num_hidden_layers": 4, "n_routed_experts": 8, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"], "sliding_window": 512,
                                "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"], "num_sliding_attention_heads": 12},
                "vision_config": {"hidden_size": 256, "num_attention_heads": 4}},
    "ernie4_5_vl_moe": {"text_config": {"hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1024, "vocab_size": 4096, "moe_num_experts": 8,
                                        "moe_intermediate_size": [256, 128]},
                        "vision_config": {"hidden_size": 256, "num_heads": 4, "intermediate_size": 512}},
    "ernie4_5_vl_moe_text": {"hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 4096, "moe_num_experts": 8,
                             "mlp_layer_types": ["dense", "sparse", "sparse", "dense"]},
    "llama4": {"vision_config": {"hidden_size": 1408, "vision_output_dim": 4096}, "text_config": {"num_local_experts": 4}},
    "llama4_text": {"num_local_experts": 4}, "deberta-v2": {"relative_attention": True, "position_buckets": 32},
}
# Types that transformers has as a part of another model only: its decoder, to which the head of the published class is added.
HEADLESS = {"step3p5": ("transformers.models.step3p7.modeling_step3p7", "Step3p7TextModel", "Step3p5ForCausalLM"),
            "ernie4_5_vl_moe_text": ("transformers.models.ernie4_5_vl_moe.modeling_ernie4_5_vl_moe", "Ernie4_5_VLMoeTextModel", "Ernie4_5_VLMoeForCausalLM")}
# Types whose class also speaks: what is trained is the part that their config nests.
NESTED = {"qwen2_5_omni": "qwen2_5_omni_thinker", "qwen3_omni_moe": "qwen3_omni_moe_thinker"}
NESTS = ("text_config", "vision_config", "audio_config", "depth_decoder_config", "codec_config")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
IRRELEVANT = ("token", "seed", "_id", "dropout", "pdrop", "layerdrop", "return_dict", "output_", "chunk_size_feed", "index", "frames")


def classes(model_type: str) -> dict:
    """Task to class name, the first of each."""
    found = {"lm": HEADLESS[model_type][2]} if model_type in HEADLESS else {}
    for task, names in TASKS.items():
        for name in names:
            mapping = getattr(modeling_auto, f"MODEL_FOR_{name}_MAPPING_NAMES")
            if task in ("token-classification", "question-answering", "multiple-choice") and model_type not in SCORES_TOKENS:
                continue
            if model_type in mapping and task not in found:
                chosen = mapping[model_type]
                found[task] = chosen if isinstance(chosen, str) else chosen[0]
    return found


def count(config, name: str) -> int:
    decoder = HEADLESS.get(config.model_type)
    cls = getattr(importlib.import_module(decoder[0]), decoder[1]) if decoder else getattr(transformers, name)
    with torch.device("meta"), transformers.initialization.no_init_weights():
        model = cls._from_config(config)
        if decoder:
            model.lm_head = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)
            if config.tie_word_embeddings:
                model.lm_head.weight = model.embed_tokens.weight
    model.tie_weights()
    balancing = sum(b.numel() for n, b in model.named_buffers() if n.endswith(("correction_bias", "expert_bias")))
    return sum(p.numel() for p in model.parameters()) + balancing


def merged(base: dict, more: dict) -> dict:
    out = copy.deepcopy(base)
    for key, value in more.items():
        out[key] = merged(out[key], value) if isinstance(value, dict) and isinstance(out.get(key), dict) else value
    return out


def shallow(values: dict) -> dict:
    """Four layers and few experts, where the class counts them."""
    small = {name: 4 for name in LAYERS if type(values.get(name)) is int and values[name] > 4}
    return small | {name: 8 for name in EXPERTS if type(values.get(name)) is int and values[name] > 8}


def variations(values: dict):
    """One field after another, changed so that the model stays one that can run more often than not."""
    for name, value in values.items():
        if any(word in name for word in IRRELEVANT) or name.startswith("_"):
            continue
        if isinstance(value, bool):
            yield {name: not value}
        elif type(value) is int and value > 0:
            parts = "heads" in name or "groups" in name or name == "n_head"
            yield {name: 2 * value if parts else value + (1 if name in LAYERS or value < 8 else value if value % 2 == 0 else 1)}
            if parts and value % 2 == 0:
                yield {name: value // 2}
        elif value is None and name in ("num_key_value_heads", "q_lora_rank", "intermediate_size", "n_inner", "mamba_d_ssm", "moe_latent_size"):
            yield {name: 4 if "heads" in name else 512}


def rows_of(model_type: str) -> list:
    if model_type in NESTED:
        return [[task, name, {"thinker_config": fields}, total] for task, name, fields, total in rows_of(NESTED[model_type])]
    cls, tasks = CONFIG_MAPPING[model_type], classes(model_type)
    base = NEEDED.get(model_type, {})
    described = cls(**copy.deepcopy(base)).to_dict()
    nested = [name for name in NESTS if isinstance(described.get(name), dict)]
    base = merged(merged(shallow(described), {name: shallow(described[name]) for name in nested}), base)
    described = cls(**copy.deepcopy(base)).to_dict()
    changes = [{}, *variations(described)]
    for name in nested:
        changes += [{name: change} for change in variations(described[name])]
    rows, before = [], {}
    for change in changes:
        fields = merged(base, change)
        for task, name in tasks.items():
            try:
                total = count(cls(**copy.deepcopy(fields)), name)
            except Exception:  # not every change leaves a model
                continue
            if change == {}:
                before[task] = total
            elif total == before.get(task):
                continue
            rows.append([task, name, fields, total])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("types", nargs="+")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("model_counts.json"))
    options = parser.parse_args()
    known = json.loads(options.out.read_text())["counts"] if options.out.exists() else {}
    if "detr" in options.types:
        from measure import admit_timm

        admit_timm()
    if "layoutlmv2" in options.types:
        from measure import admit_detectron2

        admit_detectron2()
    if "convnext" in options.types:
        from measure import give_plain_rates

        give_plain_rates()
    for model_type in options.types:
        try:
            known[model_type] = rows_of(model_type)
        except Exception as error:
            print(f"FAIL {model_type}: {error}"[:200], flush=True)
            continue
        print(model_type, len(known[model_type]), flush=True)
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(known[name], separators=(',', ':'))}" for name in sorted(known))
    options.out.write_text(f'{{"versions":{{"transformers":"{transformers.__version__}"}},\n"counts":{{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main()
