"""Runs in which a head and its loss are recorded: types of weights, what is trained, sizes of batches, tied and not."""

MODEL = {"vocab_size": 50000, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 2, "num_attention_heads": 16,
         "num_key_value_heads": 16, "hidden_act": "silu", "max_position_embeddings": 4096, "model_type": "llama"}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "hardware.gpus": 1, "batch.accumulation": 1,
       "attention.implementation": "sdpa", "optimizer.name": "sgd", "optimizer.implementation": "foreach",
       "precision.compute": "bf16"}
SCHEMES = {"bf16": {"precision.weights": "bf16", "precision.scheme": "native"},
           "amp": {"precision.weights": "fp32", "precision.scheme": "autocast"},
           "bf16 under amp": {"precision.weights": "bf16", "precision.scheme": "autocast"}}
METHODS = {"full": {"method.kind": "full"},
           "LoRA": {"method.kind": "lora", "lora.rank": 8, "lora.targets": ["q_proj", "v_proj"], "lora.dtype": "fp32"}}
BATCHES = {"2 x 1024": {"batch.micro": 2, "batch.sequence": 1024}, "4 x 2048": {"batch.micro": 4, "batch.sequence": 2048}}


def cases_of(name: str, loss: dict) -> list:
    """A case per run; `loss` is what it states of its loss, `name` begins its id."""
    return [{"id": f"{name}, {scheme}, {method}, {size}{', tied' if tied else ''}",
             "run": RUN | precision | trained | batch | loss,
             "model": MODEL | {"tie_word_embeddings": tied}}
            for scheme, precision in SCHEMES.items() for method, trained in METHODS.items()
            for size, batch in BATCHES.items() for tied in (False, True)]
