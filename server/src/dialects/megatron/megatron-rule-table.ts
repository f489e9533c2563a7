import { refused } from '../../rules/rule';
import { fileIn, MEGATRON, NANOTRON } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const megatron = (path: string) => fileIn(MEGATRON, `megatron/${path}`);
const nanotron = (path: string) => fileIn(NANOTRON, `src/nanotron/config/${path}`);

/** Rules of Megatron-LM. */
export const MEGATRON_RULES = {
  'sequence-not-divisible': refused(
    'The sequence cannot be split over the context-parallel GPUs.',
    'Write a multiple of twice their number.',
    megatron('training/arguments.py'),
  ),
  'experts-not-divisible': refused(
    'The experts cannot be split over the expert-parallel GPUs.',
    'Change one of the two.',
    megatron('core/transformer/transformer_config.py'),
  ),
  'hidden-not-divisible': refused(
    'The hidden size is not a multiple of the heads.',
    'Change one of the two.',
    megatron('training/arguments.py'),
  ),
  'heads-not-divisible': refused(
    'The heads cannot be split over the tensor-parallel GPUs.',
    'Change one of the two.',
    megatron('core/transformer/transformer_config.py'),
  ),
  'kv-heads-not-divisible': refused(
    'The heads are not a multiple of the key-value heads.',
    'Change one of the two.',
    nanotron('config.py'),
  ),
  'groups-not-divisible': refused(
    'Query groups and tensor-parallel GPUs do not divide each other.',
    'Change one of the two.',
    megatron('core/transformer/transformer_config.py'),
  ),
  'layers-not-divisible': refused(
    'The layers cannot be split over the pipeline stages or their chunks.',
    'Change one of the two.',
    megatron('training/arguments.py'),
  ),
  'too-few-positions': refused(
    'There are fewer positions than a sample has tokens.',
    'Raise `max_position_embeddings`.',
    megatron('training/arguments.py'),
  ),
  'two-layouts': refused(
    'Two ways to lay out the pipeline are set.',
    'Keep one.',
    megatron('training/arguments.py'),
  ),
  'two-batches': refused(
    'Two ways to set the batch exclude each other.',
    'Keep one.',
    megatron('training/arguments.py'),
  ),
  'two-lengths': refused(
    'Two ways to set the length of training exclude each other.',
    'Keep one.',
    megatron('training/arguments.py'),
  ),
  'selective-with-method': refused(
    'Selective recomputation takes no method.',
    'Remove it.',
    megatron('training/arguments.py'),
  ),
  'selective-with-layers': refused(
    'Selective recomputation takes no number of layers.',
    'Remove it.',
    megatron('core/transformer/transformer_config.py'),
  ),
  'full-without-method': refused(
    'Full recomputation needs a method.',
    'Write `uniform` or `block`.',
    megatron('core/transformer/transformer_config.py'),
  ),
  'full-without-layers': refused(
    'Full recomputation needs a number of layers.',
    'State it.',
    megatron('core/transformer/transformer_config.py'),
  ),
  'unknown-module': refused(
    'Megatron cannot recompute a module of this name.',
    'Write one that it knows.',
    megatron('core/transformer/transformer_config.py'),
  ),
  'distributed-activations': refused(
    'Checkpoints cannot be distributed here.',
    'Remove the flag.',
    megatron('training/arguments.py'),
  ),
  'residual-precision': refused(
    'A residual connection in fp32 needs fp16 or bf16.',
    'Set one of them.',
    megatron('training/arguments.py'),
  ),
  'overlap-without-reduction': refused(
    'Overlapping the gathering of parameters needs that of gradients.',
    'Set both.',
    megatron('training/arguments.py'),
  ),
  'overlap-without-shards': refused(
    'Overlapping the gathering of parameters needs a distributed optimizer.',
    'Set both.',
    megatron('training/arguments.py'),
  ),
  'torch-fsdp': refused(
    "Megatron does not run torch's FSDP 2 with this.",
    'Remove one of them.',
    megatron('training/arguments.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof MEGATRON_RULES, true> {}
}
