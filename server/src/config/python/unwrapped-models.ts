import type { PyCall, PyObject, PyValue } from './value';

/** What holds the model that it is given as `module` (`torch/nn/parallel`, `torch/distributed/fsdp`). */
const WRAPS = /(?:^|\.)(?:DataParallel|DistributedDataParallel|FullyShardedDataParallel)$/;

const given = ({ named, positional }: PyCall, name: string, place: number): PyValue | undefined =>
  named.find(({ key }) => key === name)?.value ?? positional[place];

/**
 * The model that an attribute of what wraps it holds: `module` of replicas, shards, DeepSpeed's engine and what Accelerate and Fabric give back,
 * `_orig_mod` of one that is compiled. Undefined for anything else.
 */
export function unwrapped(
  calls: readonly PyCall[],
  { id, item }: PyObject,
  name: string,
): PyValue | undefined {
  const call = calls[id];
  if (!call) return undefined;
  const { callee, of, positional } = call;
  if (name === '_orig_mod') return callee === 'torch.compile' && !of ? given(call, 'model', 0) : undefined;
  if (name !== 'module') return undefined;
  if (!of && WRAPS.test(callee)) return given(call, 'module', 0);
  if (callee === 'deepspeed.initialize') return item === 0 ? given(call, 'model', 1) : undefined;
  if (of && /^(?:prepare|prepare_model|setup|setup_module)$/.test(callee)) return positional[item ?? 0];
  return undefined;
}
