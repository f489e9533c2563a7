import type { ParameterChoice } from '../../config/python/parameter-choice';
import type { PyCall, WeightCast } from '../../config/python/value';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { weightsDtypeOf } from '../hf/weights-dtype';
import type { Calls } from './call-block';
import { isFrozenBefore } from './frozen-weights';
import type { ModelChain } from './model-chain';

/** What a loop casts: all weights, those that are trained, adapters' modules, small ones, embeddings and head, or others. */
type Cast = 'all' | 'trained' | 'adapters' | 'small' | 'ends' | 'others';

/** Questions that norms and biases alone answer with yes, those of adapters' modules, and those of embeddings and head. */
const SMALL =
  /^(?:_\.ndim == 1|_\.dim\(\) == 1|len\(_\.(?:shape|size\(\))\) == 1|(["'])(?:\w*norm|layernorm|ln_?|bias)\1 in _)$/i;
const ADAPTERS = /^(?:isinstance\(_, (?:\w+\.)*LoraLayer\)|(["'])(?:lora_?|lora_[AB]|\.?lora_?\.?)\1 in _)$/i;
const ENDS = /^(["'])\.?(?:lm_head|embed_tokens|embed|wte)\1 in _$/;
/** What is asked beside, and leaves out none of embeddings and head that were raised. */
const BESIDE_ENDS = /^(?:hasattr\(_, (["'])weight\1\)|_\.weight\.dtype == torch\.float(?:32)?)$/;

/** Parts that must all hold. */
const partsOf = (choice: ParameterChoice): readonly ParameterChoice[] =>
  choice.kind === 'and' ? choice.of.flatMap(partsOf) : [choice];

/** Whether what asks is one of the questions, or either of several. */
const asks = (choice: ParameterChoice, pattern: RegExp): boolean =>
  choice.kind === 'asked'
    ? pattern.test(choice.text)
    : choice.kind === 'or' && choice.of.every((one) => asks(one, pattern));

function castOf({ choice }: WeightCast): Cast {
  if (choice.kind === 'all') return choice.trained ? 'trained' : 'all';
  const parts = partsOf(choice);
  if (parts.some((part) => asks(part, ADAPTERS))) return 'adapters';
  if (parts.some((part) => asks(part, SMALL))) return 'small';
  const rest = parts.filter((part) => !asks(part, BESIDE_ENDS));
  return rest.length === 1 && rest[0] && asks(rest[0], ENDS) ? 'ends' : 'others';
}

/** Where adapters are on the model from; undefined where the trainer makes them. */
const adaptedAt = ({ steps }: ModelChain): PyCall | undefined =>
  steps.find(({ callee }) =>
    /(?:^|\.)(?:get_peft_model|inject_adapter_in_model|PeftModel\w*\.from_pretrained)$/.test(callee),
  );

/**
 * Loops that give weights another type one by one. Before there are adapters they go over the model's own; after PEFT froze those, what is
 * trained is adapters alone. Weights in 4 and 8 bits are never trained, and stay what they are.
 */
export function readWeightCasts(calls: Calls, chain: ModelChain, trainer: PyCall): void {
  const { program, draft } = calls;
  const adapted = adaptedAt(chain);
  const found = program.casts.filter(
    ({ of, after }) => chain.ids.has(of.id) && (after <= trainer.id || trainer.callee === 'backward'),
  );
  for (const cast of found) {
    const kind = castOf(cast);
    const hasAdapters = adapted !== undefined && cast.after > adapted.id;
    const quantized = (draft.valueOf('quantization.kind') ?? 'none') !== 'none';
    const to = weightsDtypeOf(cast.to);
    const isSure = cast.conditions.length === 0 && to !== undefined;
    const isFrozen = !hasAdapters && kind === 'trained' && isFrozenBefore(calls, chain, cast.after);
    if (!isSure || isFrozen || !stateCast(draft, cast, { kind, to, hasAdapters, quantized }))
      leave(draft, cast, kind);
  }
}

interface Situation {
  readonly kind: Cast;
  readonly to: 'fp32' | 'bf16' | 'fp16';
  readonly hasAdapters: boolean;
  readonly quantized: boolean;
}

/** States what a cast leaves; false where no field stands for that. */
function stateCast(
  draft: Draft,
  { range }: WeightCast,
  { kind, to, hasAdapters, quantized }: Situation,
): boolean {
  const place = { range };
  if (kind === 'adapters' || (kind === 'trained' && hasAdapters)) {
    if (!hasAdapters) return true;
    restate(draft, 'lora.dtype', to, place);
    return true;
  }
  if (kind === 'all' || kind === 'trained') {
    if (!quantized) {
      restate(draft, 'precision.weights', to, place);
      if (hasAdapters) restate(draft, 'lora.dtype', to, place);
      return true;
    }
    // Of a quantized model those that ask for a gradient are what stays unquantized.
    if (kind === 'all' || to !== 'fp32') return false;
    restate(draft, 'quantization.prepared', true, place);
    return true;
  }
  const prepared = draft.valueOf('quantization.prepared') === true;
  if (kind === 'small') {
    if (!quantized || to !== 'fp32') return false;
    if (prepared) return true;
    restate(draft, 'quantization.prepared', true, place);
    restate(draft, 'quantization.recast', true, place);
    return true;
  }
  if (kind !== 'ends' || !quantized || to === 'fp32') return false;
  if (prepared) restate(draft, 'quantization.recast', true, place);
  return true;
}

function restate(
  draft: Draft,
  field: 'lora.dtype' | 'precision.weights' | 'quantization.prepared' | 'quantization.recast',
  value: 'fp32' | 'bf16' | 'fp16' | true,
  place: { readonly range: WeightCast['range'] },
): void {
  draft.forget(field);
  draft.state(field, value, place, 'data', say('a loop of the code casts it'));
}

/** What is cast is not counted: of norms and biases alone no verdict hangs on that. */
function leave(draft: Draft, { range }: WeightCast, kind: Cast): void {
  if (kind === 'small') {
    const words = say('The code gives norms and biases another type: that is not counted.');
    draft.leave('words', { range }, 'data', words);
    return;
  }
  const words = say('Which weights have which type after this loop is known only when the script runs.');
  draft.leave('value', { range }, 'data', words, ['precision.weights', 'lora.dtype']);
}
