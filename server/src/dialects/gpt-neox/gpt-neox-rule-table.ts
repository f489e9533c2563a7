import { doubtful, refused } from '../../rules/rule';
import { fileIn, GPT_NEOX, NANOTRON } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const gptNeox = (path: string) => fileIn(GPT_NEOX, `megatron/${path}`);
const nanotron = (path: string) => fileIn(NANOTRON, `src/nanotron/config/${path}`);

/** Rules of GPT-NeoX. */
export const GPT_NEOX_RULES = {
  'experts-with-zero': refused(
    'Experts work with ZeRO stages 0 and 1 only.',
    'Use one of them.',
    gptNeox('neox_arguments/arguments.py'),
  ),
  'recurrent-with-zero': refused(
    'Recurrent models do not work with ZeRO stage 3.',
    'Use another stage.',
    gptNeox('neox_arguments/arguments.py'),
  ),
  'rwkv-model-parallel': refused(
    'RWKV does not work with model parallelism.',
    'Set it to 1.',
    gptNeox('neox_arguments/arguments.py'),
  ),
  'too-few-kv-heads': refused(
    'The key and value heads cannot be split over the model-parallel GPUs.',
    'Change one of the two.',
    nanotron('config.py'),
  ),
  'groups-with-sparse': refused(
    'Grouped heads work with `flash` and `global` attention only.',
    'Use one of them.',
    gptNeox('neox_arguments/arguments.py'),
  ),
  'two-widths': refused(
    '`intermediate_size` and `expansion_factor` are both set.',
    'Keep one.',
    gptNeox('model/transformer.py'),
  ),
  'row-parallel-head': refused(
    'The head can be split by `column` only.',
    'Write `column`.',
    gptNeox('model/transformer.py'),
  ),
  'gated-width': doubtful(
    'A gated MLP takes a third of `intermediate_size` for each branch.',
    'Write three times the width of a branch.',
    gptNeox('model/transformer.py'),
    { severity: 'information' },
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof GPT_NEOX_RULES, true> {}
}
