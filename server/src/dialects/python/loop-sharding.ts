import { isNone, knownNode, nodeOf } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import { say } from '../../wording/say';
import { strategyOf } from '../accelerate/fsdp-strategy';
import type { ReadContext } from '../dialect';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { readPlugin } from './accelerate-plugins';
import { argumentOf, type Calls, leaveArgument } from './call-block';
import { readDeepspeedArgument } from './deepspeed-settings';
import type { ModelChain } from './model-chain';
import type { TrainingLoop } from './training-loop';

const FSDP = 'https://docs.pytorch.org/docs/stable/fsdp.html';

/** Who shares the model among GPUs; true where DeepSpeed's config states batch and precision, too. */
export function readLoopSharding(
  calls: Calls,
  { engine, accelerator }: TrainingLoop,
  { steps, ids }: ModelChain,
  context: ReadContext,
): boolean {
  const { program, draft } = calls;
  if (engine) return readEngine(calls, engine, context);
  const plugin = accelerator?.named.find(({ key }) =>
    /^(deepspeed|fsdp|megatron_lm|parallelism)_?\w*$/.test(key),
  );
  if (plugin && accelerator && readPlugin(calls, accelerator, plugin, context)) return false;
  if (plugin) {
    draft.leave(
      'value',
      { range: plugin.used },
      plugin.key,
      say('What `{0}` changes is not counted.', plugin.key),
      ['parallel.data'],
    );
    return false;
  }
  const wrap = [...steps]
    .reverse()
    .find(({ callee }) => /(DataParallel|FullyShardedDataParallel)$/.test(callee));
  const second = program.calls.filter(
    (call) => /(^|\.)fully_shard$/.test(call.callee) && onModel(argumentOf(call, 'module', 0), ids),
  );
  const [root] = second;
  if (wrap && /FullyShardedDataParallel$/.test(wrap.callee)) readFirst(calls, wrap);
  else if (root) readSecond(calls, root);
  else if (wrap && /DistributedDataParallel$/.test(wrap.callee))
    draft.state('parallel.data', 'ddp', { range: wrap.calleeRange }, 'DistributedDataParallel');
  else if (wrap)
    draft.leave(
      'refused',
      { range: wrap.calleeRange },
      wrap.callee,
      say('`{0}` is not estimated.', wrap.callee),
    );
  else if (accelerator) draft.assume('parallel.data', 'ddp', say('{0} default', 'Accelerate'));
  return false;
}

const onModel = (value: PyValue | undefined, ids: ReadonlySet<number>) =>
  value?.kind === 'object' && ids.has(value.id);

/** `deepspeed.initialize(config=...)`: a dictionary, or a file that is read as one of the run. */
function readEngine(calls: Calls, engine: PyCall, context: ReadContext): true {
  const config = engine.named.find(({ key }) => key === 'config' || key === 'config_params');
  if (config && readDeepspeedArgument(calls, engine, config, context)) return true;
  calls.draft.leave(
    'value',
    { range: (config?.value ?? engine).range },
    'config',
    say('What DeepSpeed is told is known only when the script runs.'),
    ['parallel.data', 'zero.stage', 'batch.micro'],
  );
  return true;
}

/** FSDP 1: strategy, wrapping, mixed precision and offload as they are passed. */
function readFirst(calls: Calls, wrap: PyCall): void {
  const { program, draft, bf16 } = calls;
  draft.state('parallel.data', 'fsdp1', { range: wrap.calleeRange }, 'FullyShardedDataParallel');
  const strategy = argumentOf(wrap, 'sharding_strategy', 2);
  if (strategy) {
    const word = strategy.kind === 'name' ? strategy.name.split('.').at(-1) : undefined;
    const known =
      word === undefined ? undefined : strategyOf(nodeOf({ ...strategy, kind: 'scalar', value: word }));
    if (known) draft.state('fsdp.strategy', known, strategy, 'sharding_strategy');
    else leaveArgument(calls.draft, 'sharding_strategy', strategy, ['fsdp.strategy']);
  } else draft.assume('fsdp.strategy', 'full', say('{0} default', 'FSDP'), FSDP);
  const policy = argumentOf(wrap, 'auto_wrap_policy', 4);
  if (policy && !isNone(policy)) {
    draft.infer('fsdp.wrap', 'layer', say('a policy wraps layers'), policy, 'auto_wrap_policy', true);
  } else draft.assume('fsdp.wrap', 'none', say('without a policy the whole model is gathered at once'), FSDP);
  const offload = argumentOf(wrap, 'cpu_offload', 3);
  const moved = offload?.kind === 'object' ? program.calls[offload.id] : undefined;
  const whole = moved && argumentOf(moved, 'offload_params', 0);
  if (offload && whole && flagOf(nodeOf(whole)) === true) {
    draft.state('offload.parameters', 'cpu', offload, 'cpu_offload');
    draft.state(
      'offload.optimizer',
      'cpu',
      offload,
      'cpu_offload',
      say('FSDP steps weights that are offloaded on the CPU'),
    );
  } else if (offload && !moved && !(offload.kind === 'scalar'))
    leaveArgument(calls.draft, 'cpu_offload', offload, ['offload.parameters']);
  readMixed(calls, argumentOf(wrap, 'mixed_precision', 6), bf16);
}

/** FSDP 2: each call makes a unit of its own; which modules those are the code states. */
function readSecond(calls: Calls, call: PyCall): void {
  const { draft, bf16 } = calls;
  draft.state('parallel.data', 'fsdp2', { range: call.calleeRange }, 'fully_shard');
  draft.infer(
    'fsdp.wrap',
    'layer',
    say('layers are wrapped before the whole'),
    { range: call.calleeRange },
    undefined,
    true,
  );
  const reshard = argumentOf(call, 'reshard_after_forward');
  const group = integerOf(reshard && nodeOf(reshard));
  if (reshard && group !== undefined)
    draft.state('fsdp.reshardSize', group, reshard, 'reshard_after_forward');
  else if (reshard && flagOf(nodeOf(reshard)) === false)
    draft.state('fsdp.strategy', 'grad-op', reshard, 'reshard_after_forward');
  readMixed(calls, argumentOf(call, 'mp_policy'), bf16);
}

/** `MixedPrecision(param_dtype=..., reduce_dtype=...)`. */
function readMixed(calls: Calls, policy: PyValue | undefined, bf16: boolean | undefined): void {
  const { program, draft } = calls;
  if (!policy || isNone(policy)) return;
  const made = policy.kind === 'object' ? program.calls[policy.id] : undefined;
  if (!made || !/MixedPrecision(Policy)?$/.test(made.callee)) {
    leaveArgument(calls.draft, 'mixed_precision', policy, ['precision.compute']);
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
