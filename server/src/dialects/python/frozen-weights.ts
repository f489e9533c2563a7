import { FREEZES_PART } from '../../config/python/calls';
import { isTrue } from '../../config/python/node-of-value';
import { NOBODY, type PyCall, type PyProgram, type PyValue } from '../../config/python/value';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';
import { preparationOf } from './kbit-preparation';
import type { ModelChain } from './model-chain';
import { startOf } from './trainer-start';

/** Functions of other modules that do, as their names go. */
const FREEZER = /\.\w*freeze\w*$/i;

/** Names of weights under a module, wherever it stands. */
const under = (modules: string) => `(?:.*\\.)?(?:${modules})\\.`;
const EXCEPT_FEATURES = `(?!${under('feature_extractor')})`;
/** The waveform takes a gradient nevertheless: only `freeze_feature_encoder` ends that (`Wav2Vec2FeatureEncoder._requires_grad`). */
const headAnd = (more: string) => `(?=${under(`lm_head|projector|classifier${more}`)}|.*\\._requires_grad$)`;
const HEAD_ALONE = headAnd('');
/** `_get_adapters` of wav2vec 2.0 has the weights of one language: the head, and what stands behind each layer. */
const ADAPTERS = '_get_adapters';

/**
 * What methods of transformers' models leave to be trained, as the beginning of a pattern of weights, by the type of the model
 * (`models/<type>/modeling_<type>.py`, 5.23; `freeze_feature_extractor` is the name of releases before 5).
 */
const LEAVES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  wav2vec2: {
    freeze_feature_encoder: EXCEPT_FEATURES,
    freeze_feature_extractor: EXCEPT_FEATURES,
    freeze_base_model: HEAD_ALONE,
  },
  whisper: { freeze_encoder: `(?!${under('encoder')})` },
  // Weights of its blocks have no longer name here than in their block.
  detr: { freeze_backbone: `(?!${under('backbone|conv[123]|downsample')})` },
};

/** Weights that the text freezes itself. Which are trained then is known where methods of the model's class do it, and nothing else. */
export function readFrozen(calls: Calls, chain: ModelChain, trainer: PyCall, { model }: ReadContext): void {
  const { draft } = calls;
  const { byHand: frozen, byMethod, opened } = freezersOf(calls, chain, isInTime(calls, trainer));
  const [first] = byMethod;
  // What is switched on again behind a method that freezes is trained beside what that leaves.
  const byHand = frozen ?? (first && !opened?.adapters ? opened?.range : undefined);
  const place = byHand ?? first?.calleeRange;
  if (!place) {
    draft.assume('method.kind', 'full', say('nothing is frozen and no adapters are made'));
    return;
  }
  const leaves = LEAVES[String(model?.config?.model_type)];
  const parts = byMethod.map(({ callee, conditions }) =>
    conditions.length > 0 || !leaves || !Object.hasOwn(leaves, callee)
      ? undefined
      : opened?.adapters && leaves[callee] === HEAD_ALONE
        ? headAnd('|adapter_layer')
        : leaves[callee],
  );
  if (!byHand && first && parts.every((part) => part !== undefined)) {
    const note = say(
      '`{0}` freezes the rest',
      [...new Set(byMethod.map(({ callee }) => callee))].join('`, `'),
    );
    draft.state('method.kind', 'freeze', { range: place }, first.callee, note);
    draft.state('method.trainable', [[...new Set(parts)].join('')], { range: place }, first.callee, note);
    return;
  }
  draft.leave(
    'value',
    { range: place },
    byHand ? 'requires_grad' : (first?.callee ?? 'freeze'),
    say('Which weights are trained is decided by the code here.'),
    ['method.kind'],
  );
}

/** Whether something stands before a training is over, in its outermost loop too: what is frozen later is so for another training. */
function isInTime(
  { program }: Calls,
  trainer: PyCall,
): (one: Pick<PyCall, 'loops'>, after: number) => boolean {
  const isLoop = trainer.callee === 'backward' || trainer.callee === 'fit';
  const start = isLoop ? trainer : startOf(program, trainer);
  const [outer] = start?.loops ?? [];
  return ({ loops }, after) =>
    start === undefined || after <= start.id || (outer !== undefined && loops[0] === outer);
}

/** Where weights are frozen one by one before a training is over, and calls that freeze some. */
function freezersOf(
  { program: { calls, assignments } }: Calls,
  chain: ModelChain,
  isBefore: ReturnType<typeof isInTime>,
) {
  const program = {
    calls: calls.filter((call) => isBefore(call, call.id)),
    assignments: assignments.filter((one) => isBefore(one, one.after)),
  };
  const methods = new Set(program.calls.flatMap(({ id, of }) => (of && chain.ids.has(of.id) ? [id] : [])));
  const frozen = program.assignments.find(
    ({ of, attribute, value }) =>
      /\.?requires_grad$/.test(attribute) &&
      !isTrue(value) &&
      (of === NOBODY || methods.has(of) || chain.ids.has(of)),
  );
  const switched = program.calls.find(
    (call) =>
      call.callee === 'requires_grad_' &&
      call.positional.length + call.named.length > 0 &&
      !isTrue(argumentOf(call, 'requires_grad', 0)) &&
      (call.of === undefined || chain.ids.has(call.of.id) || methods.has(call.of.id)),
  );
  // Classes of transformers have methods of their own that freeze a part: `freeze_feature_encoder`, `freeze_base_model`.
  const byMethod = program.calls.filter(
    ({ callee, of }) =>
      FREEZES_PART.test(callee) && (of === undefined || chain.ids.has(of.id) || methods.has(of.id)),
  );
  const holds = (value: PyValue) => value.kind === 'object' && chain.ids.has(value.id);
  const elsewhere = program.calls.find(
    ({ callee, of, positional, named }) =>
      !of && FREEZER.test(callee) && [...positional, ...named.map(({ value }) => value)].some(holds),
  );
  const byHand = frozen?.range ?? switched?.range ?? elsewhere?.calleeRange;
  return { byHand, byMethod, opened: openedBehind(program, calls, chain, byMethod[0]?.id) };
}

/** Where weights are switched on again behind the first method that freezes some, and whether those of a language's adapters are all. */
function openedBehind(
  program: Pick<PyProgram, 'calls' | 'assignments'>,
  calls: PyProgram['calls'],
  chain: ModelChain,
  frozen: number | undefined,
): { readonly range: Range; readonly adapters: boolean } | undefined {
  if (frozen === undefined) return undefined;
  /** Methods that what is switched on comes from, up to the model. */
  const madeBy = (id: number): string[] | undefined => {
    if (chain.ids.has(id)) return [];
    const call = calls[id];
    const owner = call?.of && madeBy(call.of.id);
    return call && owner ? [...owner, call.callee] : undefined;
  };
  const set = program.assignments.flatMap(({ of, attribute, value, range, after }) => {
    if (!/\.?requires_grad$/.test(attribute) || !isTrue(value) || after <= frozen) return [];
    const made = of === NOBODY ? [] : madeBy(of);
    return made ? [{ range, adapters: made[0] === ADAPTERS }] : [];
  });
  const called = program.calls.flatMap((call) => {
    if (call.callee !== 'requires_grad_' || call.id < frozen) return [];
    const given = argumentOf(call, 'requires_grad', 0);
    const made = given !== undefined && !isTrue(given) ? undefined : call.of ? madeBy(call.of.id) : [];
    return made ? [{ range: call.calleeRange, adapters: made[0] === ADAPTERS }] : [];
  });
  const opened = [...set, ...called];
  return opened.find(({ adapters }) => !adapters) ?? opened[0];
}

/** Whether the text freezes weights before so many calls: by hand, by a method, or by preparing them for adapters. */
export function isFrozenBefore(calls: Calls, chain: ModelChain, after: number): boolean {
  const { byHand, byMethod } = freezersOf(calls, chain, (_, at) => at < after);
  const prepared = preparationOf(chain.steps.filter(({ id }) => id < after));
  return byHand !== undefined || byMethod.length > 0 || prepared !== undefined;
}
