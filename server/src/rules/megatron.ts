import { refused } from './rule';

/** Rules of Megatron-LM. */
export const MEGATRON_RULES = {
  'sequence-not-divisible': refused(
    'The sequence cannot be split over the context-parallel GPUs.',
    'Write a multiple of twice their number.',
  ),
  'experts-not-divisible': refused(
    'The experts cannot be split over the expert-parallel GPUs.',
    'Change one of the two.',
  ),
  'hidden-not-divisible': refused('The hidden size is no multiple of the heads.', 'Change one of the two.'),
  'heads-not-divisible': refused(
    'The heads cannot be split over the tensor-parallel GPUs.',
    'Change one of the two.',
  ),
  'kv-heads-not-divisible': refused(
    'The heads are no multiple of the key-value heads.',
    'Change one of the two.',
  ),
  'groups-not-divisible': refused(
    'Query groups and tensor-parallel GPUs do not divide each other.',
    'Change one of the two.',
  ),
  'layers-not-divisible': refused(
    'The layers cannot be split over the pipeline stages or their chunks.',
    'Change one of the two.',
  ),
  'too-few-positions': refused(
    'There are fewer positions than a sample has tokens.',
    'Raise `max_position_embeddings`.',
  ),
  'two-layouts': refused('Two ways to lay out the pipeline are stated.', 'Keep one.'),
  'two-batches': refused('Two ways to state the batch exclude each other.', 'Keep one.'),
  'two-lengths': refused('Two ways to state the length of training exclude each other.', 'Keep one.'),
  'selective-with-method': refused('Selective recomputation takes no method.', 'Remove it.'),
  'selective-with-layers': refused('Selective recomputation takes no number of layers.', 'Remove it.'),
  'full-without-method': refused('Full recomputation needs a method.', 'Write `uniform` or `block`.'),
  'full-without-layers': refused('Full recomputation needs a number of layers.', 'State it.'),
  'unknown-module': refused('Megatron cannot recompute a module of this name.', 'Write one that it knows.'),
  'distributed-activations': refused('Checkpoints cannot be distributed here.', 'Remove the flag.'),
  'residual-precision': refused('A residual connection in fp32 needs fp16 or bf16.', 'Set one of them.'),
  'overlap-without-reduction': refused(
    'Overlapping the gathering of parameters needs that of gradients.',
    'Set both.',
  ),
  'overlap-without-shards': refused(
    'Overlapping the gathering of parameters needs a distributed optimizer.',
    'Set both.',
  ),
  'torch-fsdp': refused("Megatron does not run torch's FSDP 2 with this.", 'Remove one of them.'),
};
