import { nodeAt } from '../../config/lookup';
import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { say } from '../../wording/say';

/** A trainer whose configs are recognised and not estimated. */
export interface OtherTrainer {
  readonly name: string;
  /** What it trains, as it is stated. */
  readonly trains: () => string;
  /** Whether a document is a config of it. */
  readonly owns: (root: ConfigNode) => boolean;
}

const DIFFUSION = () => say('diffusion models');
const OWN_LANGUAGE = () => say('language models of its own code');

/** `has(root, 'a', 'b.c')`: every one of the keys stands there. */
function has(root: ConfigNode, ...paths: readonly string[]): boolean {
  return paths.every((path) => nodeAt(root, path.split('.')) !== undefined);
}
const hasAny = (root: ConfigNode, ...paths: readonly string[]) => paths.some((path) => has(root, path));

/**
 * Arguments of PaddleNLP's `TrainingArguments` and of its scripts that transformers' Trainer, whose other names they share, has not
 * (https://github.com/PaddlePaddle/PaddleNLP/blob/v2.8.1/paddlenlp/trainer/training_args.py).
 */
const OF_PADDLE = [
  'pipeline_parallel_degree',
  'sharding_parallel_degree',
  'sep_parallel_degree',
  'tensor_parallel_config',
  'pipeline_parallel_config',
  'sharding_parallel_config',
  'eval_with_do_generation',
  'unified_checkpoint',
  'amp_master_grad',
];

/** Of these others have each, too: `tensor_parallel_degree` is one of Open Instruct's. */
const SHARED_WITH_PADDLE = ['tensor_parallel_degree', 'recompute', 'fp16_opt_level', 'sharding'];

/** Whether arguments are PaddleNLP's: one that it has alone, or two that few others have. */
export const arePaddles = (has: (key: string) => boolean): boolean =>
  OF_PADDLE.some(has) || SHARED_WITH_PADDLE.filter(has).length > 1;

export const PADDLE_NLP: OtherTrainer = {
  name: 'PaddleNLP',
  trains: () => say('language models in PaddlePaddle'),
  owns: (root) =>
    hasAny(root, 'per_device_train_batch_size', 'output_dir', 'model_name_or_path') &&
    arePaddles((key) => has(root, key)),
};

export const SD_SCRIPTS: OtherTrainer = {
  // `library/train_util.py` of kohya-ss/sd-scripts, and the files that the interface of kohya_ss saves.
  name: 'sd-scripts (kohya)',
  trains: DIFFUSION,
  owns: (root) =>
    hasAny(root, 'pretrained_model_name_or_path', 'model_arguments.pretrained_model_name_or_path') &&
    (hasAny(root, 'network_module', 'additional_network_arguments.network_module', 'LoRA_type') ||
      (has(root, 'train_data_dir') && hasAny(root, 'max_bucket_reso', 'clip_skip', 'caption_extension'))),
};

export const SIMPLE_TUNER: OtherTrainer = {
  // `OPTIONS.md` of bghira/SimpleTuner; its JSON has the flags with and without dashes.
  name: 'SimpleTuner',
  trains: DIFFUSION,
  owns: (root) =>
    hasAny(root, 'data_backend_config', '--data_backend_config') &&
    hasAny(root, 'model_family', '--model_family', 'model_type', '--model_type'),
};

/** Trainers whose configs are Python of their own, or flags alone: known by what starts them. */
type StartedTrainer = Pick<OtherTrainer, 'name' | 'trains'>;
export const MUSUBI_TUNER: StartedTrainer = {
  name: 'Musubi Tuner',
  trains: () => say('image and video models'),
};
export const XTUNER_V1: StartedTrainer = {
  name: 'XTuner V1',
  trains: () => say('language models that configs in Python describe'),
};
export const MEGATRON_MIMO: StartedTrainer = {
  name: 'Megatron-Bridge (MIMO)',
  trains: () => say('models whose parts are split over GPUs each in its own way'),
};
export const OLMO_CORE_FINETUNE: StartedTrainer = { name: 'OLMo-core', trains: OWN_LANGUAGE };
const LANGUAGE = () => say('language models');
export const SLIME: StartedTrainer = { name: 'slime', trains: LANGUAGE };
export const SKYRL: StartedTrainer = { name: 'SkyRL', trains: LANGUAGE };
export const TINKER: StartedTrainer = { name: 'Tinker', trains: LANGUAGE };
export const TITAN_REGISTRY: StartedTrainer = { name: 'torchtitan', trains: XTUNER_V1.trains };
export const BRIDGE_RECIPE: StartedTrainer = { name: 'Megatron-Bridge', trains: XTUNER_V1.trains };

/** Trainers with configs in YAML, JSON or TOML, by keys that no other has together. */
export const OTHER_TRAINERS: readonly OtherTrainer[] = [
  SD_SCRIPTS,
  SIMPLE_TUNER,
  PADDLE_NLP,
  {
    // `packages/prime-rl-configs` of PrimeIntellect-ai/prime-rl: of reinforcement learning, and of its trainer alone.
    name: 'prime-rl',
    trains: LANGUAGE,
    owns: (root) =>
      (has(root, 'orchestrator') && hasAny(root, 'trainer', 'inference')) ||
      (has(root, 'model.name') &&
        hasAny(root, 'data.seq_len', 'data.batch_size') &&
        hasAny(root, 'data.type', 'data.name', 'model.ac', 'model.impl', 'deployment')),
  },
  {
    // `areal/api/cli_args.py` of inclusionAI/AReaL.
    name: 'AReaL',
    trains: LANGUAGE,
    owns: (root) =>
      has(root, 'experiment_name', 'trial_name') &&
      hasAny(root, 'actor.path', 'actor.backend', 'actor.mb_spec', 'allocation_mode'),
  },
  {
    // `config/examples` of ostris/ai-toolkit.
    name: 'AI Toolkit',
    trains: DIFFUSION,
    owns: (root) => {
      if (!/^(extension|train)$/.test(textOf(nodeAt(root, ['job'])) ?? '')) return false;
      const processes = nodeAt(root, ['config', 'process']);
      const first = processes?.kind === 'list' ? processes.items[0] : undefined;
      return first !== undefined && has(first, 'type') && hasAny(first, 'model', 'network', 'datasets');
    },
  },
  {
    // `modules/util/config/TrainConfig.py` of Nerogar/OneTrainer.
    name: 'OneTrainer',
    trains: DIFFUSION,
    owns: (root) => has(root, 'training_method', 'base_model_name', 'model_type', 'resolution'),
  },
  {
    // `recipes_collection` of aws/sagemaker-hyperpod-recipes: NeMo's launcher around a trainer of its own.
    name: 'SageMaker HyperPod',
    trains: OWN_LANGUAGE,
    owns: (root) =>
      has(root, 'run', 'trainer') &&
      (has(root, 'use_smp_model') ||
        hasAny(root, 'model.tensor_model_parallel_degree', 'model.max_context_width') ||
        hasAny(root, 'recipes.use_smp_model')),
  },
  {
    // OLMoE's trainer keeps the keys of OLMo, and has experts of MegaBlocks (allenai/OLMoE, `configs`).
    name: 'OLMoE',
    trains: OWN_LANGUAGE,
    owns: (root) =>
      has(root, 'model.d_model', 'model.max_sequence_length') &&
      (hasAny(root, 'model.moe_num_experts', 'model.moe_top_k') ||
        textOf(nodeAt(root, ['model', 'block_type'])) === 'moe'),
  },
];
