import { stringOf } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { routedExperts } from '../../model/routed-experts';
import { say } from '../../wording/say';
import { KNOWN_LEAVES } from '../deepspeed/deepspeed-zero';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls } from './call-block';

const SETS = /(?:^|\.)(un)?set_z3_leaf_modules?(?:_by_\w+)?$/;
const ADDS = 'set_z3_leaf_modules';

/**
 * Classes that a text has ZeRO 3 gather whole, beside those that DeepSpeed knows (`deepspeed/utils/z3_leaf_module.py`). Those of other models
 * are in none of this one's modules.
 */
export function readLeafModules(calls: Calls, user: PyCall, { model }: ReadContext): void {
  const { draft, program } = calls;
  const sets = program.calls.filter(({ callee }) => SETS.test(callee));
  const [first] = sets;
  if (!first || (model?.config && routedExperts(model.config) === 0)) return;
  const names = sets.flatMap((call) => {
    const isSure =
      call.callee.endsWith(`.${ADDS}`) && call.conditions.every((one) => user.conditions.includes(one));
    const classes = argumentOf(call, 'leaf_module_classes', 1);
    return isSure && classes?.kind === 'list' ? classes.items.map(nameOf) : [undefined];
  });
  const known = names.flatMap((name) => name ?? []);
  const at = { range: first.calleeRange };
  if (known.length === names.length) draft.state('zero.leafModules', [...KNOWN_LEAVES, ...known], at, ADDS);
  else
    draft.leave('value', at, ADDS, say('What ZeRO 3 gathers whole is known only when the script runs.'), [
      'zero.leafModules',
    ]);
}

function nameOf(value: PyValue): string | undefined {
  if (value.kind === 'name' || value.kind === 'class') return value.name.split('.').at(-1);
  return stringOf(value);
}
