import table from '../../../data/auto-classes.json';
import { isNone } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';

const SOURCE = fileIn(TRANSFORMERS, 'src/transformers/models/auto/auto_factory.py');

/** Types of the catalog's models that a class takes in no release (`scripts/auto-classes.py`). */
const REFUSES: Readonly<Record<string, readonly string[]>> = table.refuses;

/** Classes of which one makes what another does not. */
const OF_TEXT = ['AutoModelForCausalLM', 'AutoModelForSeq2SeqLM', 'AutoModelForImageTextToText'] as const;

/**
 * Whether `from_pretrained` of an Auto class stops because its table has no class for the model, which is reported then. Code of the
 * model's own may bring one, as may `register`, and a config that is given may be of another type.
 */
export function refusesType(
  calls: Calls,
  load: PyCall,
  kind: string,
  { known, model }: ReadContext,
): boolean {
  const { program, draft } = calls;
  // Who replaces the model for an estimate does not change what the code loads.
  if (known['model.id'] !== draft.valueOf('model.id')) return false;
  const type = String(model?.config?.model_type);
  const refused = Object.hasOwn(REFUSES, kind) && REFUSES[kind]?.includes(type) === true;
  if (!refused || !/^transformers\./.test(load.callee) || load.subclass !== undefined || load.open)
    return false;
  const trusts = argumentOf(load, 'trust_remote_code');
  const trusted = trusts && !(isNone(trusts) || (trusts.kind === 'scalar' && trusts.value === false));
  if (trusted || argumentOf(load, 'config')) return false;
  if (program.calls.some(({ callee }) => /(?:^|\.)register$/.test(callee))) return false;
  const other = OF_TEXT.find((name) => REFUSES[name]?.includes(type) === false);
  const isText = OF_TEXT.some((name) => name === kind);
  const advice = isText && other !== undefined ? ` ${say('`{0}` takes it.', other)}` : '';
  const message = say(
    '`{0}` takes no model of the type `{1}`: the call stops with a `ValueError`.',
    kind,
    type,
  );
  draft.refuse('auto-class', `${message}${advice}`, load.calleeRange, { source: SOURCE });
  draft.leave('refused', { range: load.calleeRange }, `${kind}.from_pretrained`, message);
  return true;
}
