import { CUT_TOKENS } from '../../config/python/cut-tokens';
import { CHUNKS } from '../../config/python/expressions';
import { JOINED_TOKENS } from '../../config/python/joined-tokens';
import { OF_TEMPLATE } from '../../config/python/kept-rows';
import { KEPT_TOKENS } from '../../config/python/kept-samples';
import { isNone } from '../../config/python/node-of-value';
import type { PyAssignment, PyCall, PyProgram, PyScalar, PyValue } from '../../config/python/value';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { argumentOf, type Calls } from './call-block';
import { mayBeOfData } from './trained-data';
import { mayBeTrained } from './trained-tokenizer';
import { startOf } from './trainer-start';

/** A call of a tokenizer that cuts what it is given. */
interface Cut {
  readonly call: PyCall;
  /** What states the length, or asks for the model's own. */
  readonly length: PyScalar;
  readonly key: string;
  readonly tokens: number;
  /** Shorter samples are filled up to the length. */
  readonly filled: boolean;
}

/**
 * Types whose table of positions is learned, or of a fixed size, and those whose tokenizer keeps to one, with how many of its rows no token takes
 * (`create_position_ids_from_input_ids` counts from the padding's on): no sample can be longer.
 */
const UNUSED_POSITIONS: Readonly<Record<string, number>> = {
  bert: 0,
  distilbert: 0,
  albert: 0,
  electra: 0,
  roberta: 2,
  'xlm-roberta': 2,
  camembert: 2,
  mpnet: 2,
  gpt2: 0,
  gpt_neo: 0,
  gptj: 0,
  opt: 0,
  bart: 0,
  mbart: 0,
  pegasus: 0,
  marian: 0,
  modernbert: 0,
  git: 0,
  vilt: 0,
};
/** Of these, those that turn what they attend to by its place, which may be any: their tokenizer keeps to the limit where it cuts, and only there. */
const ROTATES = /^modernbert$/;
/** Of these, those whose tokenizers are published with that limit (`model_max_length`): without `max_length`, or with `None`, they cut to it. */
const CUTS =
  /^(?:bert|distilbert|albert|electra|(?:xlm-)?roberta|camembert|mpnet|modernbert|gpt2|gpt_neo|gptj|marian|pegasus|git|vilt)$/;
/** Where that limit is less than the table: GIT's tokenizer is BERT's (`convert_git_to_pytorch.py`). */
const LIMITS: Readonly<Record<string, number>> = { git: 512 };

/** Rows of that table that tokens take, where no sample can be longer, and what the tokenizer cuts to by itself. */
interface Positions {
  readonly rows: number | undefined;
  readonly cutTo: number | undefined;
}

function positionsOf({ model }: ReadContext): Partial<Positions> {
  const { model_type: type, max_position_embeddings: rows, n_positions: old } = model?.config ?? {};
  const unused = typeof type === 'string' ? UNUSED_POSITIONS[type] : undefined;
  const size = rows ?? old ?? model?.maxPositions;
  if (typeof type !== 'string' || unused === undefined || typeof size !== 'number') return {};
  const of = size - unused;
  return {
    rows: ROTATES.test(type) ? undefined : of,
    cutTo: CUTS.test(type) ? Math.min(of, LIMITS[type] ?? of) : undefined,
  };
}

/** What a tokenizer is given; processors of several kinds of data take it apart, as `text_kwargs`. */
function ofText(call: PyCall, key: string): PyValue | undefined {
  const apart = argumentOf(call, 'text_kwargs');
  const inner = apart?.kind === 'dict' ? apart.entries.find((entry) => entry.key === key)?.value : undefined;
  return inner ?? argumentOf(call, key);
}

/** How a call cuts what it is given; of a condition that the text does not settle each way: none where one of them is not known. */
function waysOf(cut: PyValue | undefined): readonly PyScalar[] {
  const options = cut?.kind === 'either' ? cut.options : cut ? [cut] : [];
  const known = options.flatMap((option) => (option.kind === 'scalar' ? [option] : []));
  return known.length === options.length ? known : [];
}

/**
 * Whether a sample has a target beside its source: what is one stack of layers reads both as one row, into which the code that makes rows joins
 * them; what writes down what it hears has texts of their own.
 */
const takesTargets = ({ model }: ReadContext, draft: Draft): boolean =>
  !model || model.decoder !== undefined || draft.valueOf('method.objective') === 'ctc';

/** Under `as_target_tokenizer()` the target's length is the shorter of two, or as long. */
function besides(program: PyProgram, source: Cut | undefined, cuts: readonly Cut[]): Cut[] {
  if (!source) return [];
  const switches = program.calls.some(({ callee }) => callee === 'as_target_tokenizer');
  const isOther = (cut: Cut) => switches && cut !== source && cut.tokens === source.tokens;
  return cuts.filter((cut) => cut.tokens < source.tokens || isOther(cut));
}

/** Where a call cuts samples, if it does; `positions` are what a row and the tokenizer of the model take. */
function cutBy(program: PyProgram, call: PyCall, { rows, cutTo }: Partial<Positions>): Cut[] {
  const [left] = call.callee === CUT_TOKENS ? call.positional : [];
  if (left?.kind === 'scalar' && typeof left.value === 'number')
    return [{ call, length: left, key: CUT_TOKENS, tokens: left.value, filled: false }];
  const templates = call.callee === 'apply_chat_template';
  if (call.callee !== '()' && call.callee !== 'encode' && !templates) return [];
  const maker = call.of && program.calls[call.of.id];
  if (!maker || !/(Tokenizer|Processor|FeatureExtractor)\w*\.from_pretrained$/.test(maker.callee)) return [];
  const stated = limitOf(program, maker, call);
  const own = stated === 'open' ? undefined : stated ? withinRows(stated, rows) : cutTo;
  const [length, cut, fill] = ['max_length', 'truncation', 'padding'].map((key) => ofText(call, key));
  const ways = waysOf(cut);
  const truncates = ways.length > 0 && ways.every(({ value }) => value !== false && value !== null);
  const filled = fill?.kind === 'scalar' && fill.value === 'max_length';
  const isOwn = length === undefined || (length.kind === 'scalar' && length.value === null);
  // One that were longer could not be put into a batch with the others.
  if (!truncates && filled && isOwn && own !== undefined && fill)
    return [{ call, length: fill, key: 'padding', tokens: own, filled }];
  if (!truncates && !(filled && templates)) return [];
  const [way] = ways;
  if (isOwn && own !== undefined && way)
    return [{ call, length: way, key: 'truncation', tokens: own, filled }];
  const most = mostOf(length);
  if (!most) return [];
  // What is no more than a number may be less: so may what is filled up to it.
  const isExact = most === length;
  return [{ call, length: most, key: 'max_length', tokens: Number(most.value), filled: filled && isExact }];
}

/**
 * The length that samples are cut to: `tokenizer(text, max_length=512, truncation=True)`, or that of the model's positions. Of several the longest counts; what is
 * passed as `text_target` is the target of a model with two sides. Samples that are not filled up may be shorter, so that
 * their length is reported as a guess. Where none is stated, the length is not known.
 */
export function readTokenizedLength({ program, draft }: Calls, trainer: PyCall, context: ReadContext): void {
  const positions = positionsOf(context);
  const { rows, cutTo } = positions;
  // What a trainer is given to make batches with is followed with the call that makes it.
  const end = startOf(program, trainer) ?? trainer;
  const isTrained = mayBeTrained(program, trainer, draft.valueOf('model.id'));
  const isOfData = mayBeOfData(program, trainer);
  const single = program.calls.flatMap((call) =>
    call.id > end.id || !isTrained(call.of) || !isOfData(call) ? [] : cutBy(program, call, positions),
  );
  const cuts = withJoined(program, single, end);
  const longest = (some: readonly Cut[]) =>
    [...some].sort((a, b) => b.tokens - a.tokens || Number(b.filled) - Number(a.filled))[0];
  const isTarget = ({ call }: Cut) => argumentOf(call, 'text_target') !== undefined;
  const isSource = ({ call }: Cut) => call.positional.length > 0 || argumentOf(call, 'text') !== undefined;
  const source = longest(cuts.filter((cut) => !isTarget(cut) || isSource(cut)));
  const target = takesTargets(context, draft)
    ? (longest(cuts.filter(isTarget)) ?? longest(besides(program, source, cuts)))
    : undefined;
  if (draft.knows('batch.sequence') || readChunks(program, draft, trainer, cutTo)) return;
  const pieces = program.calls.some(({ callee, id }) => callee === CHUNKS && id < trainer.id);
  if (pieces && rows !== undefined && draft.valueOf('method.objective') !== 'multiple-choice') {
    inferPositions(draft, trainer, PIECES(rows), rows);
    draft.infer('batch.packed', true, joined());
    return;
  }
  if (!source && readPackedLength(program, draft, trainer)) return;
  if (!source) {
    if (inferKept({ program, draft }, trainer, context) || inferLimit(program, draft, trainer)) return;
    if (rows === undefined) return;
    inferPositions(draft, trainer, fillsUp(program, trainer) ? FILLED(rows) : OPEN(rows), rows);
    return;
  }
  if (source.filled && source.key === 'max_length')
    draft.state(
      'batch.sequence',
      source.tokens,
      source.length,
      'max_length',
      say('samples are cut to this length'),
    );
  else inferCut(draft, source, noteOf(source, program));
  // No row is shorter, whatever the data holds.
  if (source.filled)
    draft.state('batch.padded', true, ofText(source.call, 'padding') ?? source.length, 'padding');
  if (target)
    draft.state(
      'batch.targetSequence',
      target.tokens,
      target.length,
      'max_length',
      say('samples are cut to this length'),
    );
}

/**
 * Texts that are cut each by itself and put together into one row make it as long as all of them, unless the row is cut again. How long it is
 * nobody tells where one of them is not cut.
 */
function withJoined({ calls }: PyProgram, cuts: readonly Cut[], end: PyCall): readonly Cut[] {
  const joins = calls.filter(({ callee, id }) => callee === JOINED_TOKENS && id < end.id);
  const parts = joins.map(({ positional }) =>
    positional.flatMap((part) => (part.kind === 'object' ? [part.id] : [])),
  );
  const joined = new Set(parts.flat());
  const others = cuts.filter(({ call }) => !joined.has(call.id));
  const last = joins.at(-1)?.id ?? 0;
  if (others.some(({ key, call }) => key === CUT_TOKENS && call.id > last)) return others;
  const whole = parts.flatMap((ids): Cut[] => {
    const found = ids.flatMap((id) => cuts.find(({ call }) => call.id === id) ?? []);
    const [first] = found;
    if (!first || found.length < ids.length) return [];
    return [
      {
        ...first,
        tokens: found.reduce((sum, { tokens }) => sum + tokens, 0),
        key: JOINED_TOKENS,
        filled: false,
      },
    ];
  });
  return [...others, ...whole];
}

/** Where samples are cut that may be shorter. What a tokenizer takes at most nobody has chosen for the data. */
function inferCut(draft: Draft, { tokens, length, key, filled }: Cut, note: string): void {
  if (key === 'truncation' && !filled) draft.limit('batch.sequence', tokens, note, length, key);
  else draft.infer('batch.sequence', tokens, note, length, key, !filled);
}

/** Texts that are put together and cut into samples of one length: no sample is longer, or shorter. */
function readChunks({ calls }: PyProgram, draft: Draft, trainer: PyCall, own: number | undefined): boolean {
  const [size] = calls.findLast(({ callee, id }) => callee === CHUNKS && id < trainer.id)?.positional ?? [];
  if (draft.valueOf('method.objective') === 'multiple-choice') {
    // What is cut there is the list of all answers: a piece is those of one question.
    stateChoices(draft, trainer, size);
    return false;
  }
  if (size?.kind === 'scalar' && typeof size.value === 'number') {
    draft.state('batch.sequence', size.value, size, CHUNKS, say('texts are cut into pieces of this length'));
    draft.infer('batch.packed', true, joined(), size);
    return true;
  }
  if (size?.kind === 'unknown' && size.most && typeof size.most.value === 'number') {
    const note = say(
      'texts are cut into pieces of this length, or less where the tokenizer has a lower limit',
    );
    draft.infer(
      'batch.sequence',
      Math.min(size.most.value, own ?? size.most.value),
      note,
      size.most,
      undefined,
      true,
    );
    draft.infer('batch.packed', true, joined(), size);
    return true;
  }
  const of = size?.kind === 'unknown' && size.of !== undefined ? calls[size.of]?.callee : undefined;
  if (own === undefined || !size || !/Tokenizer\w*\.from_pretrained$/.test(of ?? '')) return false;
  const note = say('texts are cut into pieces of as many tokens as the model has positions');
  draft.infer('batch.sequence', own, note, size);
  draft.infer('batch.packed', true, joined(), size);
  return true;
}

const joined = () => say('texts are joined and cut into blocks');

function stateChoices(draft: Draft, { calleeRange: range }: PyCall, size: PyValue | undefined): void {
  if (size?.kind === 'scalar' && typeof size.value === 'number') {
    draft.state('batch.choices', size.value, size, CHUNKS, say('answers of one question stand together'));
    return;
  }
  const words = say('How many answers a question has is known only when the script runs.');
  draft.leave('value', { range: size?.range ?? range }, 'choices', words, ['batch.choices']);
}

/** A stream that packs texts into samples of one length, which it is given (bigcode's and TRL's `ConstantLengthDataset`). */
function readPackedLength({ calls }: PyProgram, draft: Draft, trainer: PyCall): boolean {
  const given = argumentOf(trainer, 'train_dataset');
  const made = given?.kind === 'object' && given.item === undefined ? calls[given.id] : undefined;
  const length =
    made && /(^|\.)(?:Iterable|ConstantLength)Dataset$/.test(made.callee)
      ? argumentOf(made, 'seq_length')
      : undefined;
  if (length?.kind !== 'scalar' || typeof length.value !== 'number') return false;
  const note = say('`{0}` of the dataset that is trained on', 'seq_length');
  draft.infer('batch.sequence', length.value, note, length, 'seq_length', true);
  draft.infer('batch.packed', true, joined(), length);
  return true;
}

/** Since this release a chat template returns a dictionary by default (`tokenization_utils_base.py`, `return_dict`), whose `len` counts names. */
const RETURNS_DICTIONARIES = '5';

/** The most tokens of samples that filters keep, of several the most; a filter by what holds no lengths leaves none out. */
function keptTokens({ calls }: PyProgram, trainer: PyCall, context: ReadContext): PyScalar | undefined {
  const lists = isAtLeast(context.known['version.transformers'], RETURNS_DICTIONARIES) === false;
  const [most] = calls
    .flatMap((call) => {
      const [length] = call.callee === KEPT_TOKENS && call.id < trainer.id ? call.positional : [];
      const counts = lists || argumentOf(call, OF_TEMPLATE) === undefined;
      return length?.kind === 'scalar' && counts ? [length] : [];
    })
    .sort((a, b) => Number(b.value) - Number(a.value));
  return most;
}

/** Samples of more tokens are left out; of several filters that which keeps most counts. */
function inferKept(
  { program, draft }: Pick<Calls, 'program' | 'draft'>,
  trainer: PyCall,
  context: ReadContext,
): boolean {
  const most = keptTokens(program, trainer, context);
  if (!most) return false;
  const note = say(
    'samples of more tokens than {0} are left out: where they are shorter, less is needed',
    String(most.value),
  );
  draft.infer('batch.sequence', Number(most.value), note, most, 'filter', true);
  return true;
}

/** A number of tokens, or the most that it can be: `min(config.max_position_embeddings, 512)`. */
function mostOf(value: PyValue | undefined): PyScalar | undefined {
  const most = value?.kind === 'unknown' ? value.most : value;
  return most?.kind === 'scalar' && typeof most.value === 'number' ? most : undefined;
}

/** Where a text sets the limit of a tokenizer once it is loaded, or that of a processor's. */
const limitsSet = ({ assignments }: PyProgram, load: PyCall): readonly PyAssignment[] =>
  assignments.filter(({ of, attribute }) => of === load.id && /^\.?model_max_length$/.test(attribute));

/**
 * The limit that a tokenizer is given in place of its own: later, or as it is loaded. Open where it may be set after the call that cuts, or
 * not at all: a transform may run when the trainer takes its samples.
 */
function limitOf(program: PyProgram, load: PyCall, cuts: PyCall): PyValue | 'open' | undefined {
  const set = limitsSet(program, load);
  const isSure = set.every(
    ({ after, conditions, loops }) => after <= cuts.id && conditions.length === 0 && loops.length === 0,
  );
  if (!isSure) return 'open';
  const limit = set.at(-1)?.value ?? argumentOf(load, 'model_max_length');
  return limit && !isNone(limit) ? limit : undefined;
}

/** As many tokens as a limit allows, in a table of so many rows; undefined where it is not known. */
function withinRows(limit: PyValue, rows: number | undefined): number | undefined {
  const most = mostOf(limit);
  return most && Math.min(Number(most.value), rows ?? Number.POSITIVE_INFINITY);
}

/** The limit that a tokenizer is loaded with, where the code that calls it is not followed: what is to be cut is cut to it. */
function inferLimit(program: PyProgram, draft: Draft, trainer: PyCall): boolean {
  const limit = program.calls
    .filter(({ callee, id }) => id < trainer.id && /Tokenizer\w*\.from_pretrained$/.test(callee))
    .map((call) => (limitsSet(program, call).length > 0 ? undefined : argumentOf(call, 'model_max_length')))
    .findLast((value) => value !== undefined);
  const most = mostOf(limit);
  if (!most) return false;
  const note = say(
    'samples are taken to be cut to the `{0}` that the tokenizer is loaded with: the code that calls it is not followed',
    'model_max_length',
  );
  draft.infer('batch.sequence', Number(most.value), note, most, 'model_max_length', true);
  return true;
}

/** The same of samples that a trainer cuts itself: the shorter of both counts, but where samples are put together. */
export function limitKept(calls: Calls, trainer: PyCall, context: ReadContext): void {
  const { draft, program } = calls;
  const cut = draft.valueOf('batch.sequence');
  const kept = keptTokens(program, trainer, context);
  if (!kept || draft.valueOf('batch.packed') === true) return;
  if (typeof cut === 'number' && cut <= Number(kept.value)) return;
  draft.forget('batch.sequence');
  inferKept(calls, trainer, context);
}

/**
 * Some call that is made for sure fills samples up to a length, which is not read: they are no shorter than that, whatever the data holds. One
 * that it states is no length of the others.
 */
const fillsUp = ({ calls }: PyProgram, trainer: PyCall): boolean =>
  calls.some((call) => {
    const fill = call.id < trainer.id && call.conditions.length === 0 ? ofText(call, 'padding') : undefined;
    const length = ofText(call, 'max_length');
    const isStated = length?.kind === 'scalar' && typeof length.value === 'number';
    return fill?.kind === 'scalar' && fill.value === 'max_length' && !isStated;
  });

const OPEN = (rows: number) =>
  say(
    'no sample can be longer than the {0} positions of the model: where they are shorter, less is needed',
    String(rows),
  );
const FILLED = (rows: number) =>
  say(
    'no sample can be longer than the {0} positions of the model; some are filled up to a length that is not read',
    String(rows),
  );
const PIECES = (rows: number) =>
  say(
    'texts are cut into pieces of a length that is not read, which is no longer than the {0} positions of the model',
    String(rows),
  );

/** Nothing that is read cuts samples: longer ones than the model has positions for it cannot take. How much shorter they are only the data shows. */
function inferPositions(draft: Draft, { calleeRange: range }: PyCall, note: string, rows: number): void {
  draft.limit('batch.sequence', rows, note, { range });
}

/** That samples may be shorter than they are cut to, but where code of the file fills them up. */
export const longestNote = (key: string, { fillsSamples }: Pick<PyProgram, 'fillsSamples'>): string =>
  fillsSamples()
    ? say('`{0}` is the longest that a sample may be, and the file fills samples up: all may be as long', key)
    : say('`{0}` is the longest that a sample may be: where the data is shorter, less is needed', key);

function noteOf({ key, tokens, filled }: Cut, program: PyProgram): string {
  if (key === 'max_length') return longestNote(key, program);
  if (key === JOINED_TOKENS)
    return say(
      'texts are put together that are cut to {0} tokens in all: where they are shorter, less is needed',
      tokens,
    );
  if (key === CUT_TOKENS) return longestNote(`[:${tokens}]`, program);
  return filled
    ? say('samples are filled up to the {0} tokens that the tokenizer takes', String(tokens))
    : say(
        'samples are cut to the {0} tokens that the tokenizer takes: where they are shorter, less is needed',
        String(tokens),
      );
}
