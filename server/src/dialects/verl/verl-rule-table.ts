import { refused } from '../../rules/rule';
import { fileIn, VERL } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const verl = (path: string) => fileIn(VERL, `verl/workers/${path}`);

/** Rules of verl. */
export const VERL_RULES = {
  'two-micro-batches': refused(
    'Two spellings of the micro batch are set.',
    'Keep one.',
    verl('config/actor.py'),
  ),
  'ulysses-with-padding': refused(
    'Ulysses needs rows without padding.',
    'Set `use_remove_padding`.',
    verl('engine/fsdp/transformer_impl.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof VERL_RULES, true> {}
}
