import { knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { integerOf } from '../../config/scalar';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import type { Section } from '../section';
import { argumentOf, type Calls } from './call-block';

/** What a sample is cut to, and where that stands. */
export interface LongestSample {
  readonly tokens: number | undefined;
  readonly node: { range: Range } | undefined;
  readonly key: string;
  /** It is the length that the model is loaded for, and no argument of a trainer. */
  readonly ofModel: boolean;
}

/** Which limits count: those of a trainer of labelled texts, of pairs of answers (to train by or to score), or of what a model generates. */
export type Batches = 'supervised' | 'preference' | 'scored' | 'generated';

/** `max_seq_length` of the loaders, which the model keeps (`loader.py`). */
const LOADED = 2048;
/** `SFTConfig.max_length` in TRL since 0.16: this value counts as not given (`rl.py`, `_unsloth_explicit_max_length`). */
const LEFT_OUT = 1024;
/** First releases whose trainer puts the model's length in the place of `max_length` (`rl.py`, `max_length_check`), */
const REPLACES = '2025.6.1';
/** takes the smaller of both (`_unsloth_explicit_max_length`), */
const KEEPS_SMALLER = '2026.9.8';
/** and does so of pairs of answers (`_unsloth_model_msl`). */
const CUTS_PAIRS = '2026.9.12';

/** `max_length` of TRL's configs for pairs (`dpo_config.py`, `kto_config.py`, `reward_config.py`). */
const PAIR = { tokens: 1024, node: undefined, key: 'max_length' };

interface Loaded {
  readonly load: PyCall;
  readonly release: string | undefined;
  /** Unsloth's own layers cut what is longer than the model's length (`LlamaModel_fast_forward`). */
  readonly kernels: boolean;
  /** A function of the file makes the rows, which no trainer cuts. */
  readonly ownRows: boolean;
}

/** The length that a model is loaded for; undefined tokens where that is not read. */
function lengthOfModel(load: PyCall): LongestSample {
  const own = argumentOf(load, 'max_seq_length', 1);
  const node = knownNode(own);
  return { tokens: own ? integerOf(node) : LOADED, node, key: 'max_seq_length', ofModel: true };
}

/** The smaller of two limits; one that is not read limits nothing here. */
const smaller = (given: LongestSample, model: LongestSample): LongestSample =>
  model.tokens !== undefined && (given.tokens === undefined || model.tokens < given.tokens) ? model : given;

/**
 * The longest sample that a trainer of Unsloth leaves: what the trainer's arguments and the length that the model is loaded for make of it, by
 * release. A collator for images cuts to the model's length, or to one of its own, whatever the trainer takes (`vision_utils.py`).
 */
export function longestSample(
  { program }: Pick<Calls, 'program'>,
  { load, release, kernels, ownRows }: Loaded,
  section: Pick<Section, 'find'>,
  batches: Batches,
): LongestSample {
  const model = lengthOfModel(load);
  const given = (key: 'max_length' | 'max_seq_length'): LongestSample | undefined => {
    const found = section.find(key);
    return found && { tokens: integerOf(found.node), node: found.node, key: found.key, ofModel: false };
  };
  if (batches === 'generated') return given('max_length') ?? given('max_seq_length') ?? model;
  if (batches !== 'supervised') {
    const cut = given('max_length') ?? given('max_seq_length') ?? { ...PAIR, ofModel: false };
    const cuts = batches === 'preference' && isAtLeast(release, CUTS_PAIRS) !== false;
    return kernels || cuts ? smaller(cut, model) : cut;
  }
  const collator = program.calls.findLast(({ callee }) => /(^|\.)UnslothVisionDataCollator$/.test(callee));
  if (collator) {
    const own = argumentOf(collator, 'max_seq_length', 2);
    const node = knownNode(own);
    const tokens = integerOf(node);
    return own && tokens !== undefined ? { tokens, node, key: 'max_seq_length', ofModel: false } : model;
  }
  if (ownRows && !kernels) return given('max_length') ?? given('max_seq_length') ?? model;
  // Of both it is the older name that counts.
  const older = given('max_seq_length');
  if (older) return smaller(older, model);
  const cut = given('max_length');
  if (!cut || model.tokens === undefined) return cut ?? model;
  if (isAtLeast(release, KEEPS_SMALLER) !== false)
    return cut.tokens === LEFT_OUT ? model : smaller(cut, model);
  if (isAtLeast(release, REPLACES) !== false) return model;
  return kernels ? smaller(cut, model) : cut;
}
