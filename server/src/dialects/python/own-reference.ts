import { isNone, stringOf } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { checkpointWeights } from '../../model/checkpoint-weights';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { leaveHolding } from './beside-models';
import { argumentOf, type Calls } from './call-block';
import { typeWhenTrained } from './counted-models';
import { chainOf, type ModelChain } from './model-chain';

/** Arguments of `from_pretrained` that decide about the type of the weights, or how they are packed. */
const HOLDS = /^(?:torch_dtype|dtype|quantization_config|load_in_[48]bit|revision|variant|config)$/;
const QUANTIZES = /^(?:quantization_config|load_in_[48]bit)$/;

/**
 * Reads the reference that a trainer is given: a model that the file loads itself stands as it was loaded, and not as the one that is
 * trained. Gives the argument where it is such a model for certain.
 */
export function readOwnReference(
  calls: Calls,
  chain: ModelChain,
  reference: PyValue | undefined,
  context: ReadContext,
): PyValue | undefined {
  if (!reference || isNone(reference)) return undefined;
  const loaded = chainOf(calls.program, reference);
  noteOtherReference(calls, chain, loaded);
  if (!loaded.load || chain.ids.has(loaded.load.id)) return undefined;
  readOwnHolding(calls, chain, { load: loaded.load, steps: loaded.steps }, reference, context);
  return loaded.branch ? undefined : reference;
}

/** One that is loaded from elsewhere than the policy may be of another size: the frozen copy that is counted is not. */
function noteOtherReference({ draft }: Calls, chain: ModelChain, loaded: ModelChain): void {
  const other = nameOf(loaded);
  const policy = nameOf(chain);
  if (other?.kind !== 'scalar' || policy?.kind !== 'scalar' || other.value === policy.value) return;
  draft.leave(
    'value',
    { range: other.range },
    'ref_model',
    say('`{0}` is another model than the one that is trained: a copy of that one is counted.', 'ref_model'),
    ['method.referenceModel'],
  );
}

/** The type of its weights. An engine of DeepSpeed casts it with the other (TRL, `prepare_deepspeed`). */
function readOwnHolding(
  calls: Calls,
  chain: ModelChain,
  { load, steps }: { readonly load: PyCall; readonly steps: readonly PyCall[] },
  { range }: PyValue,
  context: ReadContext,
): void {
  const { draft } = calls;
  const policy = chain.load;
  const isHeldAlike = policy !== undefined && holdsAlike(load, policy);
  if (quantizes(load) || (policy && quantizes(policy)) || load.open) {
    // Packed as the policy is, it takes what a copy of that one does.
    if (!isHeldAlike) leaveHolding(draft, range, 'ref_model');
    return;
  }
  if (context.known['parallel.data'] === 'zero') return;
  const name = nameOf({ load });
  const text = stringOf(name);
  const published = text === undefined ? undefined : checkpointWeights(text)?.dtype;
  const dtype = /(?:^|\.)Fast\w*Model\.from_pretrained$/.test(load.callee)
    ? undefined
    : typeWhenTrained(calls, load, steps, published, context);
  const given = argumentOf(load, 'dtype') ?? argumentOf(load, 'torch_dtype');
  const note = say('as the file loads its reference model');
  if (dtype && given && !isNone(given)) draft.state('method.frozenDtype', dtype, given, 'dtype');
  else if (dtype) draft.infer('method.frozenDtype', dtype, note, { range }, 'ref_model');
  else if (!isHeldAlike) leaveHolding(draft, range, 'ref_model');
}

const nameOf = ({ load, name }: Pick<ModelChain, 'load' | 'name'>) =>
  name ?? (load && argumentOf(load, 'pretrained_model_name_or_path', 0));

const quantizes = ({ named, callee }: PyCall): boolean =>
  named.some(({ key, value }) => QUANTIZES.test(key) && !isNone(value) && !isFalse(value)) ||
  /(?:^|\.)FastLanguageModel\.from_pretrained$/.test(callee);

const isFalse = (value: PyValue): boolean => value.kind === 'scalar' && value.value === false;

/** Whether two loads ask for the same type and the same packing. */
function holdsAlike(one: PyCall, other: PyCall): boolean {
  if (one.open || other.open || one.callee !== other.callee) return false;
  const keys = new Set([...one.named, ...other.named].map(({ key }) => key).filter((key) => HOLDS.test(key)));
  return [...keys].every((key) => isSame(argumentOf(one, key), argumentOf(other, key)));
}

function isSame(one: PyValue | undefined, other: PyValue | undefined): boolean {
  if (one?.kind === 'scalar' && other?.kind === 'scalar') return one.value === other.value;
  if (one?.kind === 'name' && other?.kind === 'name') return one.name === other.name;
  return one?.kind === 'object' && other?.kind === 'object' && one.id === other.id;
}
