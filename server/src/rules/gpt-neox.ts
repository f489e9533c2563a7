import { doubtful, refused } from './rule';

/** Rules of GPT-NeoX. */
export const GPT_NEOX_RULES = {
  'experts-with-zero': refused('Experts work with ZeRO stages 0 and 1 only.', 'Use one of them.'),
  'recurrent-with-zero': refused('Recurrent models do not work with ZeRO stage 3.', 'Use another stage.'),
  'rwkv-model-parallel': refused('RWKV does not work with model parallelism.', 'Set it to 1.'),
  'too-few-kv-heads': refused(
    'The key and value heads cannot be split over the model-parallel GPUs.',
    'Change one of the two.',
  ),
  'groups-with-sparse': refused(
    'Grouped heads work with `flash` and `global` attention only.',
    'Use one of them.',
  ),
  'two-widths': refused('`intermediate_size` and `expansion_factor` are both stated.', 'Keep one.'),
  'row-parallel-head': refused('The head can be split by `column` only.', 'Write `column`.'),
  'gated-width': doubtful(
    'A gated MLP takes a third of `intermediate_size` for each branch.',
    'Write three times the width of a branch.',
    { severity: 'information' },
  ),
};
