import { either, type Machine } from './machine';
import type { SyntaxNode } from './syntax-node';
import type { PyCall, PyValue } from './value';
import { castsWeights } from './weight-casts';

/** Arguments under which weights are of other types than the one that is published. */
const OTHERWISE = /^(?:quantization_config|load_in_[48]bit|config|revision)$/;

/**
 * `model.dtype`, where nothing casts the model since it was loaded: the type that the load names, or the one that the model is published in
 * under `dtype="auto"`, which is known once the model is.
 */
export function loadedDtype(
  machine: Machine,
  call: PyCall | undefined,
  node: SyntaxNode,
): PyValue | undefined {
  if (!call || !/\.from_pretrained$/.test(call.callee)) return undefined;
  const casts = machine.calls.some((one) => one.of?.id === call.id && castsWeights(one));
  const given = call.named.find(({ key }) => key === 'dtype' || key === 'torch_dtype')?.value;
  if (casts) return undefined;
  if (given?.kind === 'name')
    return /^torch\.(?:b?float16|float32|half)$/.test(given.name) ? given : undefined;
  const isAutomatic = given?.kind === 'scalar' && given.value === 'auto';
  if (!isAutomatic || call.open || call.named.some(({ key }) => OTHERWISE.test(key))) return undefined;
  machine.asks = true;
  const range = machine.rangeOf(node);
  const type = (name: string): PyValue => ({ kind: 'name', name: `torch.${name}`, range });
  const halves = either([type('float16'), type('float32')], range, { typeOf: call.id, is: 'fp16' });
  return either([type('bfloat16'), halves], range, { typeOf: call.id, is: 'bf16' });
}
