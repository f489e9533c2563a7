import { FREEZES_PART } from '../../config/python/calls';
import { NOBODY, type PyCall, type PyValue } from '../../config/python/value';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';
import type { ModelChain } from './model-chain';
import { startOf } from './trainer-start';

/** Functions of other modules that do, as their names go. */
const FREEZER = /\.\w*freeze\w*$/i;

/** Names of weights under a module, wherever it stands. */
const under = (modules: string) => `(?:.*\\.)?(?:${modules})\\.`;
const EXCEPT_FEATURES = `(?!${under('feature_extractor')})`;
/** The waveform takes a gradient nevertheless: only `freeze_feature_encoder` ends that (`Wav2Vec2FeatureEncoder._requires_grad`). */
const HEAD_ALONE = `(?=${under('lm_head|projector|classifier')}|.*\\._requires_grad$)`;

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
  const { byHand, byMethod } = freezersOf(calls, chain, isInTime(calls, trainer));
  const [first] = byMethod;
  const place = byHand ?? first?.calleeRange;
  if (!place) {
    draft.assume('method.kind', 'full', say('nothing is frozen and no adapters are made'));
    return;
  }
  const leaves = LEAVES[String(model?.config?.model_type)];
  const parts = byMethod.map(({ callee, conditions }) =>
    conditions.length === 0 && leaves && Object.hasOwn(leaves, callee) ? leaves[callee] : undefined,
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
  const isOn = (value: PyValue | undefined) => value?.kind === 'scalar' && value.value === true;
  const frozen = program.assignments.find(
    ({ of, attribute, value }) =>
      /\.?requires_grad$/.test(attribute) &&
      !isOn(value) &&
      (of === NOBODY || methods.has(of) || chain.ids.has(of)),
  );
  const switched = program.calls.find(
    (call) =>
      call.callee === 'requires_grad_' &&
      call.positional.length + call.named.length > 0 &&
      !isOn(argumentOf(call, 'requires_grad', 0)) &&
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
  return { byHand: frozen?.range ?? switched?.range ?? elsewhere?.calleeRange, byMethod };
}

/** Whether the text freezes weights before so many calls: by hand, by a method, or by preparing them for adapters. */
export function isFrozenBefore(calls: Calls, chain: ModelChain, after: number): boolean {
  const { byHand, byMethod } = freezersOf(calls, chain, (_, at) => at < after);
  const prepared = chain.steps.some(
    ({ callee, id }) => id < after && /(^|\.)prepare_model_for_(kbit|int8)_training$/.test(callee),
  );
  return byHand !== undefined || byMethod.length > 0 || prepared;
}
