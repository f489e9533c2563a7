import { integerOf, textOf } from '../../config/scalar';
import { fileIn, MEGATRON } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { FoundKey, Section } from '../section';
import { isEncoderDecoder, type ShapeOptions, shapeOfArguments } from './gpt-arguments';
import { configOfShape, predictsFurther } from './gpt-shape';
import { stagesOfPattern } from './hybrid-arguments';
import { MEGATRON_TABLE } from './megatron-keys';
import {
  megatron,
  readAttention,
  readLoss,
  readModules,
  readOptimizerArguments,
  readParallelism,
  readPrecisionArguments,
  readRecomputation,
  readSharding,
} from './parallel-arguments';
import { readUnmodelled } from './unmodelled-arguments';

/** What reads the flags. */
interface ArgumentsOf {
  /** `pretrain_bert.py`: another embedding and two heads. */
  readonly bert?: boolean;
  /** They are flags, of which a switch must be given; else fields of a config. */
  readonly flags: boolean;
  /** They serve a model instead of training one: there is no batch to speak of. */
  readonly infers?: boolean;
  /** A fork of Megatron-LM from before its core: with layers of its own. */
  readonly fork?: boolean;
  /** `pretrain_vlm.py`: an encoder of images beside the language model. */
  readonly sees?: boolean;
}

/** Megatron-LM's flags, in whatever file they stand. */
export function readMegatronArguments(
  section: Section,
  draft: Draft,
  { bert, flags, infers, fork, sees }: ArgumentsOf,
): void {
  const args = section.by(MEGATRON_TABLE);
  args.assume('framework', { value: 'megatron', note: say('these are flags of Megatron-LM') });
  args.assume('model.code', megatron('megatron', '', say('Megatron runs its own modules')));
  const predicts = readModel(args, draft, { bert: bert === true || args.has('bert_no_binary_head'), flags });
  if (!leavesEncoder(args, draft)) {
    readHybridStages(args);
    readParallelism(args, args.integer(['num_layers', 'encoder_num_layers']));
  }
  readRecomputation(args);
  readSharding(args);
  readPrecisionArguments(args);
  readOptimizerArguments(args);
  readAttention(args, fork);
  readModules(args, { transformerEngine: fork !== true, grouped: false });
  readLoss(args);
  readUnmodelled(args, predicts, ...(sees === true ? (['vision-tower'] as const) : []));
  if (infers === true) return;
  readBatch(args);
  // Loaders of BERT, T5 and images make masks of their own; forks have one for all samples.
  if (fork !== true && bert !== true && sees !== true && !isEncoderDecoder(args)) readPairMask(args);
}

/** `training/arguments.py`: the loader makes masks unless a flag forbids that, or it keeps documents apart by their lengths. */
function readPairMask(args: Section): void {
  args.take('no_create_attention_mask_in_dataloader');
  if (args.flag('dataloader_inter_document_masking') === true) return;
  args.assume('batch.pairMask', {
    ...megatron(true, '../training/arguments.py'),
    note: say('{0} default', 'Megatron'),
  });
}

/** An encoder on GPUs of its own, as Megatron-Core 0.9 to 0.12 have it: how the GPUs are split is then another matter. */
function leavesEncoder(args: Section, draft: Draft): boolean {
  const stages = args.find('encoder_pipeline_model_parallel_size');
  if (!stages || (integerOf(stages.node) ?? 0) <= 0) return false;
  draft.leave('value', stages.node, stages.key, say('An encoder on GPUs of its own is not modelled.'), [
    'parallel.tensor',
    'parallel.pipeline',
  ]);
  return true;
}

/** Whether the model has layers that predict further tokens. */
function readModel(args: Section, draft: Draft, kind: ShapeOptions): boolean {
  args.take('make_vocab_size_divisible_by');
  const found = args.find(['hidden_size', 'num_layers']);
  if (!found) return false;
  // What the programs set where nobody does (`pretrain_gpt.py`, `pretrain_bert.py`, `pretrain_t5.py`: `args_defaults`).
  const words = kind.bert || isEncoderDecoder(args);
  const tokenizer = words ? 'BertWordPieceLowerCase' : 'GPT2BPETokenizer';
  const read = shapeOfArguments(args, { ...kind, tokenizer });
  if ('shape' in read) {
    const config = configOfShape(read.shape);
    args.state('model.config', config, found, read.note);
    return predictsFurther(config);
  }
  if (read.missing !== 'vocabulary') return false;
  const at =
    args.find(['tokenizer_model', 'tokenizer_type', 'tokenizer_name_or_path', 'vocab_file']) ?? found;
  reportVocabulary(draft, at, 'vocab_size');
  return false;
}

/** Stages, and chunks of them, as the pattern of a hybrid bounds them (`arguments.py`, `hybrid_pipeline_segments`). */
function readHybridStages(args: Section): void {
  const stages = stagesOfPattern(args);
  if (!stages) return;
  const { layers, found } = stages;
  args.state('parallel.stageLayers', layers, found);
  const chunks = layers.length / args.integerOrDefault('pipeline_model_parallel_size');
  if (!Number.isInteger(chunks) || chunks < 2) return;
  args.state('parallel.virtualStages', chunks, found);
  args.state('parallel.pipelineSchedule', 'interleaved', found);
}

/** Without the size of the vocabulary that of the model is not known; `key` would state it. */
export function reportVocabulary(draft: Draft, at: FoundKey, key: string): void {
  draft.report(
    'unknown-vocabulary',
    'information',
    say('The size of this vocabulary is not known, so neither is that of the model: `{0}` sets it.', key),
    at.node.range,
    {
      source: fileIn(MEGATRON, 'megatron/core/tokenizers/utils/build_tokenizer.py'),
    },
  );
}

function readBatch(args: Section): void {
  args.take('micro_batch_size', 'global_batch_size');
  const schedule = args.find('step_batch_size_schedule');
  const sizes = [...(textOf(schedule?.node) ?? '').matchAll(/:(\d+)/g)].map(([, size]) => Number(size));
  if (schedule && sizes.length > 0)
    args.state('batch.global', Math.max(...sizes), schedule, say('the largest of the schedule'));
  else if (schedule) args.leave(schedule, ['batch.global']);
  args.take('seq_length', 'decoder_seq_length');
  args.assume('batch.packed', {
    ...megatron(true, 'datasets/gpt_dataset.py'),
    note: say('documents are joined into full rows'),
  });
  args.take('train_iters', 'train_tokens');
  const samples = args.find('train_samples');
  const [count, length] = [integerOf(samples?.node), args.integer(['seq_length', 'encoder_seq_length'])];
  if (samples && count !== undefined && length !== undefined)
    args.state('schedule.tokens', count * length, samples, say('samples × tokens'));
  args.take('eval_iters');
}
