import { isNone, knownNode, nodeOf } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { flagOf, integerOf } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { say } from '../../wording/say';
import { strategyOf } from '../accelerate/fsdp-strategy';
import { fusesBy } from '../compile-backend';
import type { ReadContext } from '../dialect';
import { readPlugin } from './accelerate-plugins';
import { argumentOf, type Calls, leaveArgument, withhold } from './call-block';
import { readDeepspeedArgument } from './deepspeed-settings';
import { readLeafModules } from './leaf-modules';
import { readLayout } from './lightning-run';
import { assumeReduced, keepLoadedType, readMixed } from './mixed-precision-policy';
import type { ModelChain } from './model-chain';
import { inferOneGpu } from './one-process';
import { stateSizes } from './parallelism-config';
import type { TrainingLoop } from './training-loop';

const FSDP = 'https://docs.pytorch.org/docs/stable/fsdp.html';

/** Who shares the model among GPUs; true where DeepSpeed's config states batch and precision, too. */
export function readLoopSharding(
  calls: Calls,
  { backward, engine, accelerator, fabric }: TrainingLoop,
  { steps, ids }: ModelChain,
  context: ReadContext,
): boolean {
  const { program, draft } = calls;
  readLeafModules(calls, backward, context);
  if (engine) return readEngine(calls, engine, context);
  if (fabric) {
    readLayout(calls, fabric, context);
    return false;
  }
  if (accelerator) readHandlers(calls, accelerator);
  const sizes = accelerator && argumentOf(accelerator, 'parallelism_config');
  const isSized = sizes !== undefined && stateSizes(program, draft, sizes);
  const plugin = accelerator?.named.find(
    ({ key }) =>
      /^(deepspeed|fsdp|megatron_lm|parallelism)_?\w*$/.test(key) &&
      !(isSized && key === 'parallelism_config'),
  );
  if (plugin && accelerator && readPlugin(calls, accelerator, plugin, context)) return false;
  if (plugin) {
    // FSDP's may recompute what it wraps.
    const recomputes = plugin.key === 'fsdp_plugin' ? (['activations.checkpointing'] as const) : [];
    draft.leaveUncounted({ range: plugin.used }, plugin.key, ['parallel.data', ...recomputes]);
    withhold(draft, recomputes);
    return false;
  }
  readSplits(calls);
  const isWrap = ({ callee }: PyCall) => /(DataParallel|FullyShardedDataParallel)$/.test(callee);
  // The optimizer may have been made of the model before it was wrapped.
  const wrap =
    [...steps].reverse().find(isWrap) ??
    program.calls.findLast((call) => isWrap(call) && onModel(argumentOf(call, 'module', 0), ids));
  const second = program.calls.filter(
    (call) => /(^|\.)fully_shard$/.test(call.callee) && onModel(argumentOf(call, 'module', 0), ids),
  );
  const [root] = second;
  if (wrap && /FullyShardedDataParallel$/.test(wrap.callee)) readFirst(calls, wrap, context);
  else if (root) readSecond(calls, root, context);
  else if (wrap && /DistributedDataParallel$/.test(wrap.callee))
    draft.state('parallel.data', 'ddp', { range: wrap.calleeRange }, 'DistributedDataParallel');
  // `DataParallel` hands its samples to the model as they are where it has one GPU alone (`nn/parallel/data_parallel.py`, `forward`).
  else if (wrap && (draft.valueOf('hardware.gpus') ?? context.known['hardware.gpus']) !== 1)
    draft.leave(
      'refused',
      { range: wrap.calleeRange },
      wrap.callee,
      say('`{0}` is not estimated.', wrap.callee),
    );
  else if (accelerator) draft.assume('parallel.data', 'ddp', say('{0} default', 'Accelerate'));
  else if (!wrap) inferOneGpu(calls, backward, context);
  return false;
}

/** What splits layers or samples by PyTorch's own functions (`torch.distributed.tensor.parallel`, `pipelining`, `context_parallel`). */
const SPLITS: readonly (readonly [RegExp, FieldPath])[] = [
  [/(^|\.)(parallelize_module|tensor_parallel)$/, 'parallel.tensor'],
  [/(^|\.)(PipelineStage|pipeline_parallel)$/, 'parallel.pipeline'],
  [/(^|\.)context_parallel$/, 'parallel.context'],
];

function readSplits({ program, draft }: Calls): void {
  for (const [callee, field] of SPLITS) {
    const call = program.calls.find((one) => callee.test(one.callee));
    const name = call?.callee.split('.').at(-1) ?? '';
    if (call) draft.leaveUncounted({ range: call.calleeRange }, name, [field]);
  }
}

/** Recipes of fp8 among the handlers of Accelerate, and its own compilation (`accelerator.py`, `utils/dataclasses.py`). */
function readHandlers({ program, draft }: Calls, accelerator: PyCall): void {
  const handlers = argumentOf(accelerator, 'kwargs_handlers');
  const each = handlers?.kind === 'list' ? handlers.items : handlers && !isNone(handlers) ? [handlers] : [];
  const recipe = each.find((one) => {
    const made = one.kind === 'object' ? program.calls[one.id]?.callee : undefined;
    return made === undefined || /Recipe\w*Kwargs$/.test(made);
  });
  if (recipe) draft.leaveUncounted(recipe, 'kwargs_handlers', ['precision.compute']);
  for (const key of ['dynamo_plugin', 'dynamo_backend']) {
    const given = argumentOf(accelerator, key);
    if (!given || isNone(given)) continue;
    const plugin = given.kind === 'object' ? program.calls[given.id] : undefined;
    const node = nodeOf((plugin && argumentOf(plugin, 'backend')) ?? given);
    const fuses = node?.kind === 'scalar' ? fusesBy(node) : true;
    if (fuses !== undefined) draft.state('kernels.compile', fuses, given, key);
    else draft.leaveUncounted(given, key, ['kernels.compile']);
  }
}

const onModel = (value: PyValue | undefined, ids: ReadonlySet<number>) =>
  value?.kind === 'object' && ids.has(value.id);

/** `deepspeed.initialize(config=...)`: a dictionary, or a file that is read as one of the run. */
function readEngine(calls: Calls, engine: PyCall, context: ReadContext): true {
  const config = engine.named.find(({ key }) => key === 'config' || key === 'config_params');
  if (config && readDeepspeedArgument(calls, engine, config, context)) return true;
  // A launch names the file that `args.deepspeed_config` holds: it is read as one of the run.
  if (!config && context.known['parallel.data'] === 'zero') return true;
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
function readFirst(calls: Calls, wrap: PyCall, { known }: ReadContext): void {
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
  keepLoadedType(calls, known);
}

/** FSDP 2: each call makes a unit of its own; which modules those are the code states. */
function readSecond(calls: Calls, call: PyCall, { known }: ReadContext): void {
  const { draft, program, bf16 } = calls;
  draft.state('parallel.data', 'fsdp2', { range: call.calleeRange }, 'fully_shard');
  const parts = program.calls.some((one) => /(^|\.)fully_shard$/.test(one.callee) && one.id < call.id);
  if (parts)
    draft.infer(
      'fsdp.wrap',
      'layer',
      say('layers are wrapped before the whole'),
      { range: call.calleeRange },
      undefined,
      true,
    );
  else draft.assume('fsdp.wrap', 'none', say('without a policy the whole model is gathered at once'), FSDP);
  const reshard = argumentOf(call, 'reshard_after_forward');
  const group = integerOf(reshard && nodeOf(reshard));
  if (reshard && group !== undefined)
    draft.state('fsdp.reshardSize', group, reshard, 'reshard_after_forward');
  else if (reshard && flagOf(nodeOf(reshard)) === false)
    draft.state('fsdp.strategy', 'grad-op', reshard, 'reshard_after_forward');
  readMixed(calls, argumentOf(call, 'mp_policy'), bf16);
  assumeReduced(calls, argumentOf(call, 'mp_policy'), known);
  keepLoadedType(calls, known);
  readMesh(calls, argumentOf(call, 'mesh'));
}

/** FSDP 2 replicates over the first of two dimensions of a mesh and shards over the second (`_fully_shard/_fully_shard.py`). */
function readMesh({ program, draft }: Calls, mesh: PyValue | undefined): void {
  if (!mesh || isNone(mesh)) return;
  const made = mesh.kind === 'object' && mesh.item === undefined ? program.calls[mesh.id] : undefined;
  const shape =
    made && /(^|\.)init_device_mesh$/.test(made.callee) ? argumentOf(made, 'mesh_shape', 1) : undefined;
  const dimensions = shape?.kind === 'list' ? shape.items : [];
  if (dimensions.length === 1) return;
  const [replicas] = dimensions;
  const count = integerOf(knownNode(replicas));
  if (dimensions.length === 2 && replicas && count !== undefined)
    draft.state('parallel.replicate', count, replicas, 'mesh_shape');
  else
    draft.leave(
      'value',
      { range: mesh.range },
      'mesh',
      say('How many GPUs share the model is known only when the script runs.'),
      ['parallel.replicate'],
    );
}
