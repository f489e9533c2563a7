import type { PyCall, PyScalar } from '../../config/python/value';
import { say } from '../../wording/say';
import { argumentOf, type Calls } from './call-block';

/** A call of a tokenizer that cuts what it is given. */
interface Cut {
  readonly call: PyCall;
  readonly length: PyScalar;
  readonly tokens: number;
  /** Shorter samples are filled up to the length. */
  readonly filled: boolean;
}

/**
 * The length that samples are cut to: `tokenizer(text, max_length=512, truncation=True)`. Of several the longest counts; what is
 * passed as `text_target` is the target of a model with two sides. Samples that are not filled up may be shorter, so that
 * their length is reported as a guess. Where none is stated, the length is not known.
 */
export function readTokenizedLength({ program, draft }: Calls, trainer: PyCall): void {
  const cuts = program.calls.flatMap((call): Cut[] => {
    if (call.id > trainer.id || call.callee !== '()') return [];
    const maker = call.of && program.calls[call.of.id]?.callee;
    if (!maker || !/(Tokenizer|Processor)\w*\.from_pretrained$/.test(maker)) return [];
    const [length, cut, fill] = ['max_length', 'truncation', 'padding'].map((key) => argumentOf(call, key));
    const truncates = cut?.kind === 'scalar' && cut.value !== false && cut.value !== null;
    if (!truncates || length?.kind !== 'scalar' || typeof length.value !== 'number') return [];
    return [
      { call, length, tokens: length.value, filled: fill?.kind === 'scalar' && fill.value === 'max_length' },
    ];
  });
  const longest = (some: readonly Cut[]) => [...some].sort((a, b) => b.tokens - a.tokens)[0];
  const isTarget = ({ call }: Cut) => argumentOf(call, 'text_target') !== undefined;
  const isSource = ({ call }: Cut) => call.positional.length > 0 || argumentOf(call, 'text') !== undefined;
  const source = longest(cuts.filter((cut) => !isTarget(cut) || isSource(cut)));
  // Under `as_target_tokenizer()` the target's length is the shorter of two.
  const old = cuts.filter(({ tokens }) => source !== undefined && tokens < source.tokens);
  const target = longest(cuts.filter(isTarget)) ?? longest(old);
  if (!source || draft.knows('batch.sequence')) return;
  if (source.filled)
    draft.state(
      'batch.sequence',
      source.tokens,
      source.length,
      'max_length',
      say('samples are cut to this length'),
    );
  else
    draft.infer(
      'batch.sequence',
      source.tokens,
      say(
        '`{0}` is the longest that a sample may be: where the data is shorter, less is needed',
        'max_length',
      ),
      source.length,
      'max_length',
      true,
    );
  if (target)
    draft.state(
      'batch.targetSequence',
      target.tokens,
      target.length,
      'max_length',
      say('samples are cut to this length'),
    );
}
