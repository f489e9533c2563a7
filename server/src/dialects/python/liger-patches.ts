import { knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { flagOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Calls } from './call-block';
import type { ModelChain } from './model-chain';

/** Kernels that a patch puts in the model's place unless they are switched off (Liger 0.6, `transformers/monkey_patch.py`). */
const KERNELS = /^(rope|rms_norm|swiglu|geglu|layer_norm|fused_linear_cross_entropy)$/;
const PATCH = /(^|\.)_?apply_liger_kernel(_to_\w+)?$/;

/**
 * States Liger's kernels where the code puts them in itself: `apply_liger_kernel_to_llama()` before the model is loaded, the same of a
 * model, and `AutoLigerKernelForCausalLM`. A patch of some kernels alone is not counted.
 */
export function readLigerPatches({ program, draft }: Calls, { load }: ModelChain, before: PyCall): void {
  const patch = program.calls.find(
    ({ callee, id, of }) => of === undefined && id < before.id && PATCH.test(callee),
  );
  const own =
    load && /(^|\.)AutoLigerKernelForCausalLM\.from_pretrained$/.test(load.callee) ? load : undefined;
  const call = patch ?? own;
  if (!call) return;
  const place = { range: call.calleeRange };
  const name = call.callee
    .split('.')
    .slice(patch ? -1 : -2)
    .join('.');
  const off = call.named.find(({ key, value }) => KERNELS.test(key) && flagOf(knownNode(value)) !== true);
  const plain = call.named.find(
    ({ key, value }) => key === 'cross_entropy' && flagOf(knownNode(value)) !== false,
  );
  const other = off ?? plain;
  if (call.conditions.length === 0 && !other) draft.state('kernels.liger', true, place, name);
  else
    draft.leave(
      other ? 'value' : 'branch',
      other ? { range: other.used } : place,
      name,
      say('What `{0}` changes is not counted.', name),
      ['kernels.liger'],
    );
}
