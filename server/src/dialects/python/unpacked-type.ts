import type { PyCall, PyValue } from '../../config/python/value';
import { textOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { weightsDtypeOf } from '../hf/weights-dtype';
import type { FoundKey, Section } from '../section';
import { argumentOf, leaveArgument } from './call-block';

const CONFIG =
  'https://huggingface.co/docs/transformers/main_classes/quantization#transformers.BitsAndBytesConfig';

const KEY = 'bnb_4bit_compute_dtype';

interface Unpacked {
  readonly section: Section;
  /** `bnb_4bit_compute_dtype`, where the config has one. */
  readonly found?: FoundKey;
  /** The same as code, whose value may be known only when the script runs. */
  readonly given?: PyValue;
}

const noted = new WeakMap<Draft, Unpacked>();

/** Notes where the type is named that the trained model's 4-bit weights are unpacked to, and by which keys. */
export function noteUnpacked(
  draft: Draft,
  section: Section,
  config?: PyCall,
  keys: readonly string[] = [KEY],
): void {
  const given = config && argumentOf(config, KEY);
  noted.set(draft, { section, found: section.find(keys), given });
}

/**
 * The type that 4-bit weights of bitsandbytes are unpacked to and multiplied in, where mixed precision lowers nothing: fp32 where none is
 * named (`BitsAndBytesConfig.__init__`). To be called when all is read.
 */
export function stateUnpacked(draft: Draft): void {
  const unpacked = noted.get(draft);
  const scheme = draft.valueOf('precision.scheme') ?? 'native';
  if (!unpacked || scheme !== 'native' || draft.knows('precision.compute')) return;
  const { section, found, given } = unpacked;
  const type = weightsDtypeOf(textOf(found?.node));
  if (found && type) section.state('precision.compute', type, found);
  else if (found) section.leave(found, ['precision.compute']);
  else if (given) leaveArgument(draft, KEY, given, ['precision.compute']);
  else
    section.assume('precision.compute', {
      value: 'fp32',
      note: say('{0} default', 'BitsAndBytesConfig'),
      source: CONFIG,
    });
}
