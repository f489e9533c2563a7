import type { DocumentedRun } from './documented';

/*
 * NeMo Automodel's own recipes on eight H100 (80 GB) or four nodes of them, where a change of the recipe was made because the run had run
 * out of memory: before it and after it, in the settings that memory depends on. The change states what was seen, and that the run
 * then passed.
 */

interface Change {
  /** Number of the change, and of what it was an answer to. */
  readonly change: number;
  readonly gpus?: number;
  readonly batch: readonly [global: number, local: number];
  readonly model: string;
  /** Lines of the blocks `model` and `distributed`, and at the top level. */
  readonly modelLines?: string;
  readonly layout?: string;
  readonly data: string;
  readonly optimizer?: string;
  readonly recipe?: string;
  /** What stood otherwise: before, the run ran out of memory; after, it ran. A text of the recipe and what took its place. */
  readonly turned: readonly [before: string, after: string];
}

const SQUAD =
  'dataset: {_target_: nemo_automodel.components.datasets.llm.squad.make_squad_dataset, split: train}';
const MEDPIX =
  'dataset: {_target_: nemo_automodel.components.datasets.vlm.datasets.make_medpix_dataset, split: train}';
const VISION =
  'freeze_config: {freeze_vision_tower: false, freeze_audio_tower: true, freeze_language_model: false}';
const NO_CHECKPOINTS: Change['turned'] = ['  # all kept', '  activation_checkpointing: true'];

const CHANGES: readonly Change[] = [
  {
    change: 1177,
    gpus: 1,
    batch: [32, 2],
    model: 'meta-llama/Llama-3.1-8B',
    recipe: 'BenchmarkingRecipeForNextTokenPrediction',
    modelLines: '  # its own class',
    turned: ['  # its own class', '  force_hf: true'],
    data: `dataset: {_target_: nemo_automodel.components.datasets.llm.mock_iterable_dataset.MockIterableDataset, seq_len: 4096}
peft: {_target_: nemo_automodel.components._peft.lora.PeftConfig, match_all_linear: true, dim: 16, alpha: 32, dropout: 0.1}`,
  },
  {
    change: 2673,
    gpus: 32,
    batch: [256, 32],
    model: 'meta-llama/Llama-3.3-70B-Instruct',
    layout: '  pp_size: 8\n  pipeline: {pp_schedule: interleaved1f1b, pp_microbatch_size: 4}',
    turned: [
      '  pp_size: 8\n  pipeline: {pp_schedule: interleaved1f1b, pp_microbatch_size: 4}',
      '  tp_size: 4\n  pp_size: 2\n  activation_checkpointing: true\n  pipeline: {pp_schedule: interleaved1f1b, pp_microbatch_size: 1}',
    ],
    data: `${SQUAD}\npacked_sequence: {packed_sequence_size: 1024}`,
  },
  {
    change: 2634,
    batch: [32, 4],
    model: 'microsoft/phi-4',
    layout: NO_CHECKPOINTS[0],
    turned: NO_CHECKPOINTS,
    data: SQUAD,
  },
  {
    change: 2585,
    batch: [64, 4],
    model: 'google/gemma-2-9b-it',
    modelLines: '  attn_implementation: eager',
    layout: NO_CHECKPOINTS[0],
    turned: NO_CHECKPOINTS,
    data: SQUAD,
  },
  {
    change: 2577,
    batch: [8, 1],
    model: 'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16',
    modelLines: '  backend: {attn: te}',
    layout: '  cp_size: 2\n  ep_size: 4\n  # experts stay gathered',
    turned: ['  # experts stay gathered', '  moe: {reshard_after_forward: true}'],
    data: 'dataset: {_target_: nemo_automodel.components.datasets.llm.hellaswag.HellaSwag, split: train}',
  },
  {
    change: 1975,
    batch: [16, 1],
    model: 'Qwen/Qwen3.5-4B',
    recipe: 'FinetuneRecipeForVLM',
    optimizer: 'AdamW',
    data: `${MEDPIX}\n${VISION}\npacked_sequence: {pretokenize: true, max_length: 8192, pack_size: 8192, packing_ratio: 0.9, drop_long_samples: true}`,
    turned: ['max_length: 8192, pack_size: 8192', 'max_length: 4096, pack_size: 4096'],
  },
  {
    change: 2603,
    batch: [16, 2],
    model: 'Qwen/Qwen3.5-9B',
    recipe: 'FinetuneRecipeForVLM',
    optimizer: 'AdamW',
    modelLines: '  attn_implementation: sdpa',
    data: `${MEDPIX}\n${VISION}`,
    turned: ['masked_ce.MaskedCrossEntropy', 'linear_ce.FusedLinearCrossEntropy'],
  },
  {
    change: 2600,
    batch: [16, 1],
    model: 'Qwen/Qwen3.5-35B-A3B',
    recipe: 'FinetuneRecipeForVLM',
    optimizer: 'AdamW',
    layout: `  ep_size: 8\n${NO_CHECKPOINTS[0]}`,
    data: `${MEDPIX}\ndataloader: {collate_fn: {_target_: nemo_automodel.components.datasets.vlm.collate_fns.default_collate_fn, max_length: 2048}}
freeze_config: {freeze_vision_tower: true, freeze_audio_tower: true, freeze_language_model: false}`,
    turned: NO_CHECKPOINTS,
  },
];

function recipe({
  gpus = 8,
  batch,
  model,
  modelLines,
  layout,
  data,
  optimizer,
  recipe: name,
}: Change): string {
  const [global, local] = batch;
  return `# oomlint: gpu=H100-SXM5-80GB gpus=${gpus}
recipe: ${name ?? 'TrainFinetuneRecipeForNextTokenPrediction'}
step_scheduler: {global_batch_size: ${global}, local_batch_size: ${local}, max_steps: 100}
model:
  _target_: nemo_automodel.NeMoAutoModel.from_pretrained
  pretrained_model_name_or_path: ${model}
${modelLines ?? ''}
distributed:
  strategy: fsdp2
${layout ?? ''}
loss_fn: {_target_: nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy}
${data}
optimizer: {_target_: torch.optim.${optimizer ?? 'Adam'}, lr: 1.0e-5}
`;
}

export function automodelRuns(): DocumentedRun[] {
  return CHANGES.flatMap((change): DocumentedRun[] => {
    const before = recipe(change);
    const [was, is] = change.turned;
    const source = `https://github.com/NVIDIA-NeMo/Automodel/pull/${change.change}`;
    const run = (text: string) => ({ file: 'recipe.yaml', files: { 'recipe.yaml': text } });
    return [
      { source: `${source}#before`, outcome: 'out-of-memory', ...run(before) },
      { source: `${source}#after`, outcome: 'ran', ...run(before.replace(was, is)) },
    ];
  });
}
