"""Where each framework states which keys it takes: files of its releases, and what in them."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Keys of one class, function, parser or YAML file, in a block of the config (empty: at its top)."""

    name: str
    kind: str  # class, function, arguments, yaml, yamls (all files that a pattern matches, together)
    of: tuple[str, ...]
    below: str = ""
    extends: str = ""
    """Another table of the framework: keys that are the same there are not repeated."""
    without: str = ""
    """Pattern of keys that are left out."""


@dataclass(frozen=True)
class Framework:
    """`package` of the package index, or `repository` with the tags that are its releases."""

    family: str
    files: str
    tables: tuple[Table, ...]
    package: str = ""
    repository: str = ""
    tags: str = ""
    oldest: str = "0"
    link: str = ""

    def wants(self, path: str) -> bool:
        return re.search(self.files, path) is not None


def of_class(name: str, below: str = "") -> Table:
    return Table(f"{below}{name}" if below else name, "class", (name,), below)


FRAMEWORKS: tuple[Framework, ...] = (
    Framework(
        family="transformers",
        package="transformers",
        oldest="4.36",
        files=r"^transformers/(training_args(_seq2seq)?|trainer_utils|debug_utils)\.py$|^transformers/utils/generic\.py$",
        tables=(of_class("Seq2SeqTrainingArguments"),),
        link="https://github.com/huggingface/transformers/blob/v{version}/src/",
    ),
    Framework(
        family="trl",
        package="trl",
        oldest="0.8",
        files=r"^trl/(trainer/[a-z_]*config\.py|trainer/base_config\.py|scripts/utils\.py|experimental/[a-z_]+/[a-z_]*config\.py)$",
        tables=tuple(
            of_class(name)
            for name in (
                "SFTConfig",
                "DPOConfig",
                "GRPOConfig",
                "KTOConfig",
                "RewardConfig",
                "RLOOConfig",
                "ORPOConfig",
                "CPOConfig",
                "GKDConfig",
                "OnlineDPOConfig",
                "PPOConfig",
                "ModelConfig",
                "ScriptArguments",
            )
        ),
        link="https://github.com/huggingface/trl/blob/v{version}/",
    ),
    Framework(
        family="accelerate",
        package="accelerate",
        oldest="0.20",
        files=r"^accelerate/(commands/launch|commands/config/config_args|utils/constants|utils/dataclasses)\.py$",
        tables=(
            of_class("ClusterConfig"),
            Table("launch", "arguments", ("accelerate/commands/launch.py",)),
        ),
        link="https://github.com/huggingface/accelerate/blob/v{version}/src/",
    ),
    Framework(
        family="deepspeed",
        package="deepspeed",
        oldest="0.8",
        files=r"^deepspeed/((runtime|comm|compile|monitor|profiling|linear|module_inject)/.*config[a-z_]*\.py|runtime/constants\.py)$",
        tables=(
            of_class("DeepSpeedZeroConfig", "zero_optimization."),
            of_class("DeepSpeedFP16Config", "fp16."),
            of_class("DeepSpeedBF16Config", "bf16."),
            of_class("TPTrainingConfig", "tensor_parallel."),
            of_class("CompileConfig", "compile."),
            of_class("DeepSpeedMonitorConfig"),
            of_class("DeepSpeedFlopsProfilerConfig", "flops_profiler."),
        ),
        link="https://github.com/deepspeedai/DeepSpeed/blob/v{version}/",
    ),
    Framework(
        family="axolotl",
        package="axolotl",
        oldest="0.5",
        files=r"^axolotl/(utils/(schemas/.*|config/models/input/.*)|integrations/[a-z_]+/args)\.py$",
        tables=tuple(
            of_class(name)
            for name in (
                "AxolotlInputConfig",
                "LigerArgs",
                "CutCrossEntropyArgs",
                "KnowledgeDistillationArgs",
                "SpectrumArgs",
            )
        ),
        link="https://github.com/axolotl-ai-cloud/axolotl/blob/v{version}/src/",
    ),
    Framework(
        family="llama-factory",
        package="llamafactory",
        files=r"^llamafactory/hparams/.*\.py$",
        tables=tuple(
            of_class(name)
            for name in ("ModelArguments", "DataArguments", "FinetuningArguments", "GeneratingArguments", "TrainingArguments")
        ),
        link="https://github.com/hiyouga/LLaMA-Factory/blob/v{version}/src/",
    ),
    Framework(
        family="ms-swift",
        package="ms-swift",
        oldest="2.0",
        files=r"^swift/(arguments|llm/argument|llm/train|megatron/argument|megatron/arguments|trainers|rlhf_trainers|ray_utils)/?.*\.py$",
        tables=tuple(of_class(name) for name in ("RLHFArguments", "MegatronRLHFArguments")),
        link="https://github.com/modelscope/ms-swift/blob/v{version}/",
    ),
    Framework(
        family="litgpt",
        package="litgpt",
        oldest="0.4",
        files=r"^litgpt/(args|pretrain|finetune/[a-z_0-9]+)\.py$",
        tables=(
            Table("lora", "function", ("litgpt/finetune/lora.py", "setup")),
            Table("adapter", "function", ("litgpt/finetune/adapter.py", "setup"), extends="lora"),
            Table("adapter_v2", "function", ("litgpt/finetune/adapter_v2.py", "setup"), extends="lora"),
            Table("full", "function", ("litgpt/finetune/full.py", "setup"), extends="lora"),
            Table("pretrain", "function", ("litgpt/pretrain.py", "setup"), extends="lora"),
        ),
        link="https://github.com/Lightning-AI/litgpt/blob/v{version}/",
    ),
    Framework(
        family="torchtitan",
        package="torchtitan",
        files=r"^torchtitan/config(_manager)?(/.*)?\.py$",
        tables=(of_class("JobConfig"),),
        link="https://github.com/pytorch/torchtitan/blob/v{version}/",
    ),
    Framework(
        family="nanotron",
        package="nanotron",
        files=r"^nanotron/config/.*\.py$",
        tables=(of_class("Config"),),
        link="https://github.com/huggingface/nanotron/blob/v{version}/src/",
    ),
    Framework(
        family="llm-foundry",
        package="llm-foundry",
        oldest="0.7",
        files=r"^llmfoundry/utils/config_utils\.py$|^llmfoundry/models/mpt/configuration_mpt\.py$",
        tables=(of_class("TrainConfig"),),
        link="https://github.com/mosaicml/llm-foundry/blob/v{version}/",
    ),
    Framework(
        family="openrlhf",
        package="openrlhf",
        oldest="0.2",
        files=r"openrlhf/cli/train_[a-z_]+\.py$",
        tables=tuple(
            Table(name, "arguments", (f"openrlhf/cli/{name}.py",), extends="" if name == "train_ppo_ray" else "train_ppo_ray")
            for name in ("train_ppo_ray", "train_sft", "train_dpo", "train_rm", "train_kto", "train_kd", "train_ppo")
        ),
        link="https://github.com/OpenRLHF/OpenRLHF/blob/v{version}/",
    ),
    Framework(
        family="verl",
        package="verl",
        oldest="0.2",
        files=r"^verl/trainer/config/(_generated_ppo(_megatron)?_trainer|ppo_trainer|ppo_megatron_trainer|sft_trainer(_engine)?)\.yaml$",
        tables=(
            Table("ppo", "yaml", ("verl/trainer/config/_generated_ppo_trainer.yaml", "verl/trainer/config/ppo_trainer.yaml")),
            Table(
                "ppo_megatron",
                "yaml",
                (
                    "verl/trainer/config/_generated_ppo_megatron_trainer.yaml",
                    "verl/trainer/config/ppo_megatron_trainer.yaml",
                ),
                extends="ppo",
            ),
            Table("sft", "yaml", ("verl/trainer/config/sft_trainer_engine.yaml", "verl/trainer/config/sft_trainer.yaml")),
        ),
        link="https://github.com/volcengine/verl/blob/v{version}/",
    ),
    Framework(
        family="megatron",
        repository="NVIDIA/Megatron-LM",
        tags=r"^core_v(\d+\.\d+\.\d+)$",
        files=r"^megatron/(training|core)/(arguments|argument_utils|argparse_meta|config/.*|training_config|transformer/transformer_config|model_parallel_config)\.py$|^megatron/training/config/.*\.py$|^megatron/arguments\.py$",
        tables=(
            Table("arguments", "arguments", ("megatron/training/arguments.py", "megatron/arguments.py")),
            of_class("TransformerConfig"),
            Table("MLATransformerConfig", "class", ("MLATransformerConfig",), extends="TransformerConfig"),
        ),
        link="https://github.com/NVIDIA/Megatron-LM/blob/core_v{version}/",
    ),
    Framework(
        family="nemo-rl",
        repository="NVIDIA-NeMo/RL",
        tags=r"^v(\d+\.\d+\.\d+)$",
        files=r"^nemo_rl/.*\.py$|^examples/(configs|nemo_gym)/.*\.yaml$",
        tables=(
            # Blocks of which no key is looked at by itself: data, environments, loggers, models beside the one that is trained.
            Table("configs", "yamls", (r"^examples/(configs|nemo_gym)/.*\.yaml$",), without=r"^(env(?!\.nemo_gym\.num_gpu_nodes$)|data|logger|checkpointing|loss_fn|value_loss_fn|reward_penalties|data_plane|on_policy_distillation|teachers?|value|generation|eval|tokenizer|sif_dir)(\.|$)|^policy\.generation\.(?!colocated)\w+\."),
            of_class("PolicyConfig", "policy."),
            of_class("GRPOConfig", "grpo."),
            of_class("DPOConfig", "dpo."),
            of_class("SFTConfig", "sft."),
            of_class("RMConfig", "rm."),
            of_class("PPOConfig", "ppo."),
            of_class("DistillationConfig", "distillation."),
            Table("vllm", "class", ("VllmSpecificArgs",), "policy.generation.vllm_cfg."),
        ),
        link="https://github.com/NVIDIA-NeMo/RL/blob/v{version}/",
    ),
    Framework(
        family="gpt-neox",
        repository="EleutherAI/gpt-neox",
        files=r"^megatron/neox_arguments/.*\.py$",
        tables=(
            *(
                of_class(name)
                for name in (
                    "NeoXArgsModel",
                    "NeoXArgsTraining",
                    "NeoXArgsOptimizer",
                    "NeoXArgsParallelism",
                    "NeoXArgsLRScheduler",
                    "NeoXArgsOther",
                    "NeoXArgsLogging",
                    "NeoXArgsTokenizer",
                    "NeoXArgsTextgen",
                    "NeoXArgsDeepspeedConfig",
                    "NeoXArgsDeepspeedRunner",
                )
            ),
        ),
        link="https://github.com/EleutherAI/gpt-neox/blob/{version}/",
    ),
    Framework(
        family="open-instruct",
        repository="allenai/open-instruct",
        files=r"^open_instruct/.*\.py$",
        tables=(of_class("FlatArguments"), of_class("ExperimentConfig"), of_class("Args"), of_class("ModelConfig")),
        link="https://github.com/allenai/open-instruct/blob/{version}/",
    ),
    Framework(
        family="trlx",
        repository="CarperAI/trlx",
        files=r"^trlx/(data/.*configs|data/method_configs|models/modeling_[a-z]+|trainer/.*)\.py$",
        tables=(
            of_class("ModelConfig", "model."),
            of_class("TokenizerConfig", "tokenizer."),
            of_class("OptimizerConfig", "optimizer."),
            of_class("SchedulerConfig", "scheduler."),
            of_class("TrainConfig", "train."),
            of_class("PPOConfig", "method."),
        ),
        link="https://github.com/CarperAI/trlx/blob/{version}/",
    ),
)
