import { integerOf, textOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { Found, Section } from '../section';
import { hybridConfig, isEncoderDecoder, type ShapeOptions, shapeOfArguments } from './gpt-arguments';
import { configOfShape } from './gpt-shape';
import {
  megatron,
  readAttention,
  readLoss,
  readOptimizer,
  readParallelism,
  readPrecision,
  readRecomputation,
  readSharding,
} from './parallel-arguments';

/** What reads the flags. */
export interface ArgumentsOf {
  /** `pretrain_bert.py`: another embedding and two heads. */
  readonly bert?: boolean;
  /** They are flags, of which a switch must be given; else fields of a config. */
  readonly flags: boolean;
  /** They serve a model instead of training one: there is no batch to speak of. */
  readonly infers?: boolean;
}

/** Megatron-LM's flags, in whatever file they stand. */
export function readMegatronArguments(
  args: Section,
  draft: Draft,
  { bert, flags, infers }: ArgumentsOf,
): void {
  args.assume('framework', { value: 'megatron', note: say('these are flags of Megatron-LM') });
  args.assume('model.code', megatron('megatron', '', say('Megatron runs its own modules')));
  readModel(args, draft, { bert: bert === true || args.has('bert_no_binary_head'), flags });
  readParallelism(args, args.integer(['num_layers', 'encoder_num_layers']));
  readRecomputation(args);
  readSharding(args);
  readPrecision(args);
  readOptimizer(args);
  readAttention(args);
  readLoss(args);
  if (infers !== true) readBatch(args);
}

function readModel(args: Section, draft: Draft, kind: ShapeOptions): void {
  args.stateInteger('parallel.vocabularyMultiple', 'make_vocab_size_divisible_by', {
    ...megatron(128, '../training/arguments.py'),
  });
  const found = args.find(['hidden_size', 'num_layers']);
  if (!found) return;
  const hybrid = args.has(['hybrid_layer_pattern', 'hybrid_override_pattern']);
  // What the programs set where nobody does (`pretrain_gpt.py`, `pretrain_bert.py`, `pretrain_t5.py`: `args_defaults`).
  const words = kind.bert || isEncoderDecoder(args);
  const tokenizer = words ? 'BertWordPieceLowerCase' : 'GPT2BPETokenizer';
  if (hybrid) {
    const read = hybridConfig(args, tokenizer);
    if (read) args.state('model.config', read.config, found, read.note);
    return;
  }
  const read = shapeOfArguments(args, { ...kind, tokenizer });
  if ('shape' in read) {
    args.state('model.config', configOfShape(read.shape), found, read.note);
    return;
  }
  if (read.missing !== 'vocabulary') return;
  const at =
    args.find(['tokenizer_model', 'tokenizer_type', 'tokenizer_name_or_path', 'vocab_file']) ?? found;
  reportVocabulary(draft, at, 'vocab_size');
}

/** Without the size of the vocabulary that of the model is not known; `key` would state it. */
export function reportVocabulary(draft: Draft, at: Found, key: string): void {
  draft.report(
    'unknown-vocabulary',
    'information',
    say('The size of this vocabulary is not known, so neither is that of the model: `{0}` states it.', key),
    at.node.range,
    {
      source:
        'https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/tokenizers/utils/build_tokenizer.py',
    },
  );
}

function readBatch(args: Section): void {
  args.stateInteger('batch.micro', 'micro_batch_size');
  args.stateInteger('batch.global', 'global_batch_size');
  const schedule = args.find('step_batch_size_schedule');
  const sizes = [...(textOf(schedule?.node) ?? '').matchAll(/:(\d+)/g)].map(([, size]) => Number(size));
  if (schedule && sizes.length > 0)
    args.state('batch.global', Math.max(...sizes), schedule, say('the largest of the schedule'));
  args.stateInteger('batch.sequence', ['seq_length', 'encoder_seq_length']);
  args.stateInteger('batch.targetSequence', 'decoder_seq_length');
  args.assume('batch.packed', {
    ...megatron(true, 'datasets/gpt_dataset.py'),
    note: say('documents are joined into full rows'),
  });
  args.stateInteger('schedule.steps', 'train_iters');
  args.stateInteger('schedule.tokens', 'train_tokens');
  const samples = args.find('train_samples');
  const [count, length] = [integerOf(samples?.node), args.integer(['seq_length', 'encoder_seq_length'])];
  if (samples && count !== undefined && length !== undefined)
    args.state('schedule.tokens', count * length, samples, say('samples x tokens'));
  const evaluation = args.find('eval_iters');
  const steps = integerOf(evaluation?.node);
  if (evaluation && steps !== undefined) args.state('evaluation.enabled', steps > 0, evaluation);
}
