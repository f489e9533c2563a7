"""Models of allenai/OLMo-core in the words that Oomlint has for them, and their configurations in its own."""

import sys
from unittest.mock import MagicMock


def stand_in():
    """What downloads files is not asked here."""
    client = type("Client", (), {"recoverable_errors": ()})
    sys.modules.setdefault("cached_path", MagicMock())
    sys.modules.setdefault("cached_path.schemes", MagicMock(S3Client=client, SchemeClient=client))


def config_of(fields, dtype):
    """`TransformerConfig` of the fields, in the words that Oomlint has for them."""
    from olmo_core.nn.attention import AttentionBackendName, GateConfig, SlidingWindowAttentionConfig
    from olmo_core.nn.feed_forward import ActivationFunction, FeedForwardConfig
    from olmo_core.nn.lm_head import LMLossImplementation
    from olmo_core.nn.transformer import TransformerBlockType, TransformerConfig

    windows = fields.get("sliding_window_pattern")
    config = TransformerConfig.llama_like(
        d_model=fields["d_model"], vocab_size=fields["vocab_size"], n_layers=fields["n_layers"], n_heads=fields["n_heads"],
        n_kv_heads=fields.get("n_kv_heads"), head_dim=fields.get("head_dim"), qk_norm="qk_norm" in fields,
        use_head_qk_norm=fields.get("qk_norm") == "head", block_name=TransformerBlockType(fields["block"]),
        rope_full_precision=fields.get("rope_full_precision", True), attn_backend=AttentionBackendName.torch,
        gate=GateConfig(granularity=fields["gate"]) if "gate" in fields else None,
        sliding_window=SlidingWindowAttentionConfig(
            force_full_attention_on_first_layer=False, force_full_attention_on_last_layer=True, pattern=windows)
        if windows else None,
        feed_forward=FeedForwardConfig(hidden_size=fields["hidden_size"], bias=False, dtype=dtype, activation=ActivationFunction(fields.get("activation", "silu"))),
        dtype=dtype, embed_scale=2.0 if fields.get("embed_scale") else None, tie_word_embeddings=fields.get("tie_word_embeddings", False))
    config.lm_head.loss_implementation = LMLossImplementation.default
    return config


OLMO_2_7B = dict(model_type="olmo_core", d_model=4096, n_layers=4, n_heads=32, hidden_size=11008, vocab_size=100352, block="reordered_norm", qk_norm="full")
OLMO_2_32B = OLMO_2_7B | dict(d_model=5120, n_heads=40, n_kv_heads=8, hidden_size=27648)
OLMO_3_7B = OLMO_2_7B | dict(sliding_window_pattern=[512, 512, 512, -1], full_attention_on_first_layer=False)
OLMO_2_190M = OLMO_2_7B | dict(d_model=768, n_heads=12, hidden_size=3072, n_layers=12)
LLAMA_3_8B = {k: v for k, v in (OLMO_2_7B | dict(n_kv_heads=8, hidden_size=14336, block="default")).items() if k != "qk_norm"}
LLAMA_2_271M = {k: v for k, v in (OLMO_2_7B | dict(d_model=1024, n_layers=16, n_heads=8, hidden_size=2816, vocab_size=50304, block="default")).items() if k != "qk_norm"}
QWEN_3 = OLMO_2_7B | dict(d_model=1024, n_heads=16, n_kv_heads=8, head_dim=128, hidden_size=3072, block="default", qk_norm="head", rope_full_precision=False,
                          tie_word_embeddings=True, n_layers=6)
GEMMA_LIKE = OLMO_2_7B | dict(d_model=1024, n_heads=8, n_kv_heads=4, head_dim=128, hidden_size=4096, block="peri_norm", qk_norm="head", activation="gelu_tanh",
                              embed_scale=True, n_layers=6)
GATED = OLMO_2_190M | dict(gate="elementwise", n_layers=6)
GATED_HEADS = OLMO_2_190M | dict(gate="headwise", n_layers=6)
MODELS = {"olmo2-7b": OLMO_2_7B, "olmo2-32b": OLMO_2_32B, "olmo3-7b": OLMO_3_7B, "olmo2-190m": OLMO_2_190M, "llama3-8b": LLAMA_3_8B, "llama2-271m": LLAMA_2_271M,
          "qwen3": QWEN_3, "gemma": GEMMA_LIKE, "gated": GATED, "gated-heads": GATED_HEADS}
