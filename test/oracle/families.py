"""Families beyond those that most runs are of: real widths, two layers or a few more, few experts."""


def decoder(model_type: str, hidden: int, heads: int, key_values: int, inner: int, vocabulary: int, **more) -> dict:
    return {"model_type": model_type, "hidden_size": hidden, "num_hidden_layers": 2, "num_attention_heads": heads,
            "num_key_value_heads": key_values, "intermediate_size": inner, "vocab_size": vocabulary,
            "max_position_embeddings": 4096, "tie_word_embeddings": False, **more}


def sparse(model_type: str, *sizes, inner: int, **more) -> dict:
    return decoder(model_type, *sizes, moe_intermediate_size=inner, num_experts_per_tok=4, **more)


LATENT = {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
          "n_shared_experts": 1, "n_routed_experts": 16, "n_group": 1, "topk_group": 1}

# Decoders without experts.
DENSE = {
    "arcee-4.5b": decoder("arcee", 2560, 20, 4, 18432, 128000, head_dim=128, hidden_act="relu2"),
    "apertus-8b": decoder("apertus", 4096, 32, 8, 21504, 131072, hidden_act="xielu"),
    "helium-2b": decoder("helium", 2560, 20, 20, 7040, 48000, head_dim=128),
    "hyperclovax-14b": decoder("hyperclovax", 4096, 32, 8, 11008, 32000, use_post_norm=True),
    "cwm-32b": decoder("cwm", 6144, 48, 8, 21504, 128256, head_dim=128, sliding_window=512),
    "ministral-8b": decoder("ministral", 4096, 32, 8, 12288, 131072, head_dim=128, sliding_window=512),
    "jais2-8b": decoder("jais2", 3328, 26, 26, 26624, 150272, head_dim=128, hidden_act="relu2"),
    "persimmon-8b": decoder("persimmon", 4096, 64, 64, 16384, 262144, hidden_act="relu2"),
    "olmo3-7b": decoder("olmo3", 4096, 32, 32, 11008, 100278, sliding_window=512, num_hidden_layers=4),
    "exaone4-1b": decoder("exaone4", 2048, 32, 8, 4096, 102400, sliding_window=512, num_hidden_layers=4),
    "smollm3-3b": decoder("smollm3", 2048, 16, 4, 11008, 128256, tie_word_embeddings=True, num_hidden_layers=4),
    "command-r-7b": decoder("cohere2", 4096, 32, 8, 14336, 256000, tie_word_embeddings=True, sliding_window=512,
                            num_hidden_layers=4),
    "command-r": decoder("cohere", 4096, 32, 8, 14336, 256000, tie_word_embeddings=True, use_qk_norm=True),
    "glm-4-9b": decoder("glm", 4096, 32, 2, 13696, 151552, head_dim=128, attention_bias=True),
    "glm-4-0414": decoder("glm4", 4096, 32, 2, 13696, 151552, head_dim=128, attention_bias=True),
    "seed-oss-36b": decoder("seed_oss", 5120, 80, 8, 27648, 155136, head_dim=128, attention_bias=True),
    "hunyuan-7b": decoder("hunyuan_v1_dense", 4096, 32, 8, 14336, 128167, head_dim=128),
    "granite-3.3-8b": decoder("granite", 4096, 32, 8, 12800, 49155, embedding_multiplier=12.0,
                              residual_multiplier=0.22, logits_scaling=16.0),
    "stablelm-3b": decoder("stablelm", 2560, 32, 32, 6912, 50304, partial_rotary_factor=0.25),
    "nemotron-4b": decoder("nemotron", 3072, 24, 8, 9216, 256000, hidden_act="relu2", head_dim=128),
    "internlm3-8b": decoder("internlm3", 4096, 32, 2, 10240, 128512, head_dim=128),
    "ernie-4.5-0.3b": decoder("ernie4_5", 1024, 16, 2, 3072, 103424, head_dim=128, tie_word_embeddings=True),
    "olmo-7b": decoder("olmo", 4096, 32, 32, 11008, 50304),
    "ministral3-8b": decoder("ministral3", 4096, 32, 8, 14336, 131072, head_dim=128),
    "gemma-4-12b": decoder("gemma4_unified_text", 3840, 16, 8, 15360, 262144, head_dim=256, num_global_key_value_heads=1,
                           attention_k_eq_v=True, final_logit_softcapping=30.0, tie_word_embeddings=True,
                           sliding_window=512, num_hidden_layers=4, layer_types=[
                               "sliding_attention", "full_attention", "sliding_attention", "full_attention"]),
    "gpt-j-6b": {"model_type": "gptj", "n_embd": 4096, "n_layer": 2, "n_head": 16, "rotary_dim": 64, "vocab_size": 50400,
                 "n_positions": 2048, "tie_word_embeddings": False},
    "gpt-neo-1.3b": {"model_type": "gpt_neo", "hidden_size": 2048, "num_layers": 2, "num_heads": 16,
                     "attention_types": [[["global", "local"], 1]], "vocab_size": 50257,
                     "max_position_embeddings": 2048},
    "starcoderbase-1b": {"model_type": "gpt_bigcode", "n_embd": 2048, "n_layer": 2, "n_head": 16, "n_inner": 8192, "vocab_size": 49152, "n_positions": 2048,
                         "multi_query": True, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0},
    "lfm2-1.2b": decoder("lfm2", 2048, 32, 8, 12288, 65536, num_hidden_layers=4, tie_word_embeddings=True,
                         layer_types=["conv", "conv", "full_attention", "conv"]),
}

# Decoders with experts: LoRA on attention alone.
SPARSE = {
    "kimi-linear-48b": sparse("kimi_linear", 2304, 32, 32, 9216, 163840, inner=1024, num_local_experts=16, q_lora_rank=None,
                              num_hidden_layers=4, mlp_layer_types=["dense", "sparse", "sparse", "sparse"], layer_types=[
                                  "linear_attention", "linear_attention", "full_attention", "linear_attention"]),
    "deepseek-v3": sparse("deepseek_v3", 7168, 64, 64, 18432, 129280, inner=2048, first_k_dense_replace=1, **LATENT),
    "deepseek-v2-lite": sparse("deepseek_v2", 2048, 16, 16, 10944, 102400, inner=1408, first_k_dense_replace=1,
                               **{**LATENT, "q_lora_rank": None, "n_shared_experts": 2}),
    "glm-4.7-flash": sparse("glm4_moe_lite", 2048, 20, 20, 10240, 154880, inner=1536,
                            **{**LATENT, "q_lora_rank": 768, "qk_nope_head_dim": 192, "v_head_dim": 256}),
    "mistral-4": sparse("mistral4", 4096, 32, 32, 12288, 131072, inner=2048,
                        **{**LATENT, "q_lora_rank": 1024, "kv_lora_rank": 256, "qk_nope_head_dim": 64}),
    "hunyuan-3": sparse("hy_v3", 4096, 64, 8, 13312, 120832, inner=1536, head_dim=128, num_experts=16, num_shared_experts=1),
    "mimo-v2-flash": sparse("mimo_v2_flash", 4096, 64, 4, 16384, 152576, inner=2048, head_dim=192, v_head_dim=128, n_routed_experts=16,
                            layer_types=["full_attention", "sliding_attention"], mlp_layer_types=["dense", "sparse"]),
    "deepseek-v4": decoder("deepseek_v4", 4096, 64, 1, 2048, 129280, head_dim=512, moe_intermediate_size=2048, n_routed_experts=16, num_experts_per_tok=4,
                           num_hidden_layers=3, mlp_layer_types=["hash_moe", "moe", "moe"],
                           layer_types=["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"]),
    "minimax-m3": decoder("minimax_m3_vl_text", 6144, 64, 4, 3072, 200064, head_dim=128, num_local_experts=16, num_experts_per_tok=4, rotary_dim=64,
                          dense_intermediate_size=12288, shared_intermediate_size=3072, layer_types=["full_attention", "minimax_m3_sparse"],
                          mlp_layer_types=["dense", "sparse"]),
    "glm-4.5-air": sparse("glm4_moe", 4096, 96, 8, 10944, 151552, inner=1408, head_dim=128, n_routed_experts=16,
                          n_shared_experts=1, first_k_dense_replace=1, attention_bias=True, n_group=1, topk_group=1),
    "dots1": sparse("dots1", 4096, 32, 32, 10944, 152064, inner=1408, head_dim=128, n_routed_experts=16,
                    n_shared_experts=2, first_k_dense_replace=1, n_group=1, topk_group=1),
    "solar-open": sparse("solar_open", 4096, 64, 8, 10944, 196608, inner=1280, head_dim=128, n_routed_experts=16,
                         n_shared_experts=1),
    "exaone-moe": sparse("exaone_moe", 6144, 64, 8, 18432, 153600, inner=2048, head_dim=128, num_experts=16,
                         num_shared_experts=1, sliding_window=512, num_hidden_layers=4),
    "afmoe": sparse("afmoe", 2048, 32, 4, 6144, 200192, inner=1024, head_dim=128, num_experts=16, num_shared_experts=1,
                    num_dense_layers=1, sliding_window=512, num_hidden_layers=4, mup_enabled=True),
    "mellum": sparse("mellum", 2304, 32, 4, 7168, 98304, inner=896, head_dim=128, num_local_experts=16,
                     sliding_window=512, layer_types=["sliding_attention", "full_attention"]),
    "olmoe-1b-7b": decoder("olmoe", 2048, 16, 16, 1024, 50304, num_experts=16, num_experts_per_tok=8),
    "flex-olmo": decoder("flex_olmo", 4096, 32, 32, 11008, 100352, num_experts=4, num_experts_per_tok=2),
    "phi-3.5-moe": decoder("phimoe", 4096, 32, 8, 6400, 32064, num_local_experts=8, attention_bias=True,
                           lm_head_bias=True),
    "hunyuan-a13b": decoder("hunyuan_v1_moe", 4096, 32, 8, 3072, 128167, head_dim=128, num_experts=16, moe_topk=4),
    "qwen1.5-moe": sparse("qwen2_moe", 2048, 16, 16, 5632, 151936, inner=1408, num_experts=16,
                          shared_expert_intermediate_size=5632),
    "minimax-m2": decoder("minimax_m2", 3072, 48, 8, 1536, 200064, head_dim=128, num_local_experts=16,
                          num_experts_per_tok=4, rotary_dim=64),
    "ernie-4.5-21b": sparse("ernie4_5_moe", 2560, 20, 4, 12288, 103424, inner=1536, moe_num_experts=16, moe_k=4,
                            moe_num_shared_experts=2, moe_layer_start_index=1, tie_word_embeddings=True),
    "granite-3.1-3b-a800m": decoder("granitemoe", 1536, 24, 8, 512, 49155, num_local_experts=16, num_experts_per_tok=4,
                                    tie_word_embeddings=True),
    "granite-moe-shared": decoder("granitemoeshared", 1536, 24, 8, 512, 49155, num_local_experts=16,
                                  num_experts_per_tok=4, shared_intermediate_size=1024, tie_word_embeddings=True),
    "gpt-oss-20b": decoder("gpt_oss", 2880, 64, 8, 2880, 201088, head_dim=64, num_local_experts=8,
                           num_experts_per_tok=4, sliding_window=128, num_hidden_layers=2),
    "lfm2-8b-a1b": sparse("lfm2_moe", 2048, 32, 8, 7168, 65536, inner=1792, num_experts=8, num_dense_layers=1,
                          tie_word_embeddings=True, num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"]),
}


def encoder(model_type: str, hidden: int, heads: int, inner: int, vocabulary: int, **more) -> dict:
    return {"model_type": model_type, "hidden_size": hidden, "num_hidden_layers": 3, "num_attention_heads": heads,
            "intermediate_size": inner, "vocab_size": vocabulary, "max_position_embeddings": 512, **more}


def sides(model_type: str, width: int, heads: int, inner: int, vocabulary: int, **more) -> dict:
    return {"model_type": model_type, "d_model": width, "encoder_layers": 3, "decoder_layers": 3,
            "encoder_attention_heads": heads, "decoder_attention_heads": heads, "encoder_ffn_dim": inner,
            "decoder_ffn_dim": inner, "vocab_size": vocabulary, "max_position_embeddings": 1024, **more}


# Decoders whose layers keep a state: as transformers runs them without packages of kernels.
DELTA = {"head_dim": 256, "tie_word_embeddings": True, "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
         "linear_conv_kernel_dim": 4, "num_hidden_layers": 3, "layer_types": ["linear_attention", "linear_attention", "full_attention"]}
STATES = {
    "qwen3.5-0.8b": decoder("qwen3_5_text", 1024, 8, 2, 3584, 248320, linear_num_value_heads=16, **DELTA),
    "qwen3.5-4b": decoder("qwen3_5_text", 2560, 16, 4, 9216, 248320, linear_num_value_heads=32, **DELTA),
    "qwen3-next-80b": sparse("qwen3_next", 2048, 16, 2, 5120, 151936, inner=512, num_experts=8, shared_expert_intermediate_size=512,
                             linear_num_value_heads=32, **DELTA),
    "falcon-h1-0.5b": decoder("falcon_h1", 1024, 8, 2, 2048, 32784, head_dim=64, mamba_d_ssm=1536, mamba_n_heads=24, mamba_d_head=64,
                              mamba_n_groups=1, mamba_d_state=128, mamba_chunk_size=128),
    "granite-4-h-1b": decoder("granitemoehybrid", 1536, 12, 4, 4096, 100352, shared_intermediate_size=4096, num_local_experts=0, mamba_n_heads=48,
                              mamba_d_head=64, mamba_n_groups=1, mamba_d_state=128, num_hidden_layers=3, layer_types=["mamba", "mamba", "attention"]),
    "mamba2-130m": {"model_type": "mamba2", "hidden_size": 768, "num_hidden_layers": 2, "num_heads": 24, "head_dim": 64, "n_groups": 1,
                    "state_size": 128, "chunk_size": 256, "expand": 2, "vocab_size": 50288, "tie_word_embeddings": True},
    "lfm2-350m": decoder("lfm2", 1024, 16, 8, 6656, 65536, num_hidden_layers=3, tie_word_embeddings=True, layer_types=["conv", "conv", "full_attention"]),
}

# Encoders, and encoders with decoders.
OTHERS = {
    "roberta-base": encoder("roberta", 768, 12, 3072, 50265, max_position_embeddings=514, type_vocab_size=1),
    "distilbert-base": {"model_type": "distilbert", "dim": 768, "n_layers": 3, "n_heads": 12, "hidden_dim": 3072, "vocab_size": 30522,
                        "max_position_embeddings": 512, "activation": "gelu"},
    "electra-large": encoder("electra", 1024, 16, 4096, 30522, embedding_size=1024),
    "deberta-v3-base": encoder("deberta-v2", 768, 12, 3072, 128100, relative_attention=True, position_buckets=256,
                               norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"],
                               position_biased_input=False, type_vocab_size=0, max_relative_positions=-1),
    "modernbert-base": encoder("modernbert", 768, 12, 1152, 50368, max_position_embeddings=8192),
    "bart-large": sides("bart", 1024, 16, 4096, 50265),
}

# Encoders of sound and images. A length is one of values of a waveform. Nothing is masked or skipped at random.
PERCEIVING = {
    "wav2vec2-base": {"model_type": "wav2vec2", "num_hidden_layers": 3, "hidden_dropout": 0.1, "attention_dropout": 0.1, "activation_dropout": 0.0,
                      "feat_proj_dropout": 0.1, "layerdrop": 0.0, "apply_spec_augment": False},
    "wav2vec2-large-lv60": {"model_type": "wav2vec2", "num_hidden_layers": 3, "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096,
                            "hidden_dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "feat_proj_dropout": 0.0, "layerdrop": 0.0,
                            "apply_spec_augment": False, "conv_bias": True, "do_stable_layer_norm": True, "feat_extract_norm": "layer"},
    "wav2vec2-mms": {"model_type": "wav2vec2", "num_hidden_layers": 3, "hidden_size": 1280, "num_attention_heads": 16, "intermediate_size": 5120,
                     "hidden_dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.05, "feat_proj_dropout": 0.0, "layerdrop": 0.0,
                     "apply_spec_augment": False, "conv_bias": True, "do_stable_layer_norm": True, "feat_extract_norm": "layer", "adapter_attn_dim": 16},
    "git-base": {"model_type": "git", "num_hidden_layers": 3, "vision_config": {"num_hidden_layers": 3}},
    "vilt-b32": {"model_type": "vilt"},
    "mit-b0": {"model_type": "segformer"},
    "layoutlmv2-base": {"model_type": "layoutlmv2", "num_hidden_layers": 3, "has_visual_segment_embedding": True},
    "detr-resnet-50": {"model_type": "detr", "use_timm_backbone": True, "backbone": "resnet50"},
    "whisper-small": {"model_type": "whisper", "encoder_layers": 3, "decoder_layers": 3, "d_model": 768, "encoder_attention_heads": 12,
                      "decoder_attention_heads": 12, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072, "vocab_size": 51865},
    "clip-vit-b32": {"model_type": "clip", "text_config": {"num_hidden_layers": 3}, "vision_config": {"num_hidden_layers": 3}},
    "swin-tiny": {"model_type": "swin"},
    "convnext-tiny": {"model_type": "convnext"},
    "videomae-base": {"model_type": "videomae", "num_hidden_layers": 4},
    "speecht5-tts": {"model_type": "speecht5", "encoder_layers": 3, "decoder_layers": 3, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0,
                     "max_speech_positions": 400, "max_text_positions": 200},
}

# Models behind a tower, in steps without images: the tower is there, and nothing of it runs.
BEHIND_TOWERS = {
    "gemma-3n-e2b": {
        "model_type": "gemma3n", "audio_config": {"hidden_size": 256, "conf_num_hidden_layers": 2},
        "text_config": decoder("gemma3n_text", 2048, 8, 2, 8192, 262400, head_dim=256, sliding_window=512, num_hidden_layers=6,
                               tie_word_embeddings=True, num_kv_shared_layers=2, activation_sparsity_pattern=[0.95, 0.95, 0.95, 0.0, 0.0, 0.0],
                               vocab_size_per_layer_input=262144, layer_types=[
                                   "sliding_attention", "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"])},
    "ernie-4.5-vl-28b": {
        "model_type": "ernie4_5_vl_moe", "tie_word_embeddings": True, "vision_config": {"hidden_size": 256, "num_heads": 4, "intermediate_size": 512, "depth": 2},
        "text_config": decoder("ernie4_5_vl_moe_text", 2560, 20, 4, 12288, 103424, moe_num_experts=16, moe_k=4, moe_intermediate_size=[1536, 512],
                               tie_word_embeddings=True)},
    "muse-glimmer-30b": {
        "model_type": "muse_glimmer", "out_hidden_size": 1024, "projector_hidden_size": 512, "tie_word_embeddings": False,
        "text_config": decoder("muse_glimmer_text", 6656, 32, 2, 19968, 202048, head_dim=128, sliding_window=512, num_hidden_layers=4),
        "vision_config": {"hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 512, "num_hidden_layers": 2}},
}

# Models that hear, around a small text: what is looked at is the tower. Each token of a sample is one of sound, of the longest clip.
HEARING = {
    "gemma-4-sound": {
        "model_type": "gemma4", "audio_config": {"num_hidden_layers": 3},
        "text_config": decoder("gemma4_text", 256, 4, 1, 512, 512, head_dim=64, global_head_dim=64, hidden_size_per_layer_input=16, vocab_size_per_layer_input=512,
                               num_hidden_layers=2, num_kv_shared_layers=0, tie_word_embeddings=True, pad_token_id=0,
                               layer_types=["sliding_attention", "full_attention"])},
    "gemma-3n-sound": {
        "model_type": "gemma3n", "audio_config": {"conf_num_hidden_layers": 3},
        "text_config": decoder("gemma3n_text", 256, 4, 1, 512, 512, head_dim=64, sliding_window=512, num_hidden_layers=2, laurel_rank=16,
                               tie_word_embeddings=True, num_kv_shared_layers=0, activation_sparsity_pattern=[0.0, 0.0], hidden_size_per_layer_input=16,
                               vocab_size_per_layer_input=512, pad_token_id=0, layer_types=["sliding_attention", "full_attention"])},
}
