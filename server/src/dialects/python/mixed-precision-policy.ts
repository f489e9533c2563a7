import { isNone, knownNode } from '../../config/python/node-of-value';
import type { PyValue } from '../../config/python/value';
import { textOf } from '../../config/scalar';
import { fileIn, PYTORCH } from '../../sources/repositories';
import type { DType } from '../../terms/dtypes';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { argumentOf, type Calls, leaveArgument } from './call-block';

/** `MixedPrecision(param_dtype=..., reduce_dtype=...)`. */
export function readMixed(
  calls: Calls,
  policy: PyValue | undefined,
  bf16: boolean | undefined,
  key = 'mixed_precision',
): void {
  const { program, draft } = calls;
  if (!policy || isNone(policy)) return;
  const made = policy.kind === 'object' ? program.calls[policy.id] : undefined;
  if (!made || !/MixedPrecision(Policy)?$/.test(made.callee)) {
    leaveArgument(calls.draft, key, policy, ['precision.compute']);
    return;
  }
  const typeOf = (key: string, place: number) => {
    const value = argumentOf(made, key, place);
    const type = weightsDtypeOf(textOf(knownNode(value, { bf16 })));
    return value && type ? { value, type } : undefined;
  };
  const compute = typeOf('param_dtype', 0);
  if (compute) {
    draft.state('precision.compute', compute.type, compute.value, 'param_dtype');
    draft.state('precision.scheme', 'fsdp', compute.value, 'param_dtype');
  }
  const reduce = typeOf('reduce_dtype', 1);
  if (reduce) draft.state('precision.reduce', reduce.type, reduce.value, 'reduce_dtype');
}

const HANDLE = fileIn({ ...PYTORCH, at: 'v2.15.0' }, 'torch/distributed/fsdp/_flat_param.py');

/** FSDP of PyTorch itself shards weights in the type that they are loaded in, and steps them so: it is Accelerate that makes them fp32 before. */
export function keepLoadedType({ draft }: Calls, known: ReadContext['known']): void {
  const weights = (known['precision.weights'] ?? draft.valueOf('precision.weights')) as DType | undefined;
  const method = known['method.kind'] ?? draft.valueOf('method.kind');
  if (weights === undefined || (method !== undefined && method !== 'full')) return;
  if ((draft.valueOf('precision.scheme') ?? known['precision.scheme']) !== 'fsdp') return;
  draft.assume(
    'precision.masterWeights',
    weights,
    say('FSDP keeps shards in the type of the weights'),
    HANDLE,
  );
}

const POLICY = fileIn({ ...PYTORCH, at: 'v2.15.0' }, 'torch/distributed/fsdp/_fully_shard/_fsdp_api.py');

/**
 * FSDP 2 reduces gradients in their own type since torch 2.15 where its policy states none, which is that of the weights; before, in what it gathers.
 */
export function assumeReduced(
  { program, draft }: Calls,
  policy: PyValue | undefined,
  known: ReadContext['known'],
): void {
  const made = policy?.kind === 'object' ? program.calls[policy.id] : undefined;
  if (!made || argumentOf(made, 'param_dtype', 0) === undefined) return;
  if (argumentOf(made, 'reduce_dtype', 1) !== undefined) return;
  const weights = known['precision.weights'] as DType | undefined;
  if (weights === undefined || isAtLeast(known['version.torch'], '2.15') !== true) return;
  draft.assume(
    'precision.reduce',
    weights,
    say('FSDP 2 reduces gradients in their own type since torch 2.15'),
    POLICY,
    'reduce_dtype',
  );
}
