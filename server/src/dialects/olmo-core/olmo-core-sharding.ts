import { isNone } from '../../config/python/node-of-value';
import { fileIn, OLMO_CORE } from '../../sources/repositories';
import type { DType } from '../../terms/dtypes';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { type Calls, leaveArgument } from '../python/call-block';
import type { CoreSettings } from './olmo-core-settings';

const MODEL = fileIn(OLMO_CORE, 'src/olmo_core/nn/transformer/model.py');
const TYPES: Readonly<Record<string, DType>> = { bfloat16: 'bf16', float16: 'fp16', float32: 'fp32' };
/** `replicate(..., bucket_cap_mb=100)`. */
const DDP_BUCKET_BYTES = 100 * 2 ** 20;

/** How GPUs share the model, and in which types (`train_module/transformer/common.py`, `parallelize_model`). */
export function readCoreSharding(calls: Calls, settings: CoreSettings, { known }: ReadContext): void {
  const { draft } = calls;
  readSplits(calls, settings);
  const fp8 = settings.made('train_module.float8_config');
  const on = fp8 && settings.flag('train_module.float8_config.enabled', ['precision.fp8'], true);
  if (fp8 && on) {
    draft.state('precision.fp8', 'torchao', { range: fp8.calleeRange }, 'float8_config');
    draft.leaveUncounted({ range: fp8.calleeRange }, 'float8_config', ['precision.fp8']);
  }
  draft.assume('precision.weights', 'fp32', say('{0} default', 'OLMo-core'), MODEL);
  const path = 'train_module.dp_config';
  const value = settings.value(path);
  if (!value || isNone(value)) {
    draft.assume('parallel.data', 'none', say('nothing splits the model'));
    readAlone(calls, settings);
    return;
  }
  const name = settings.word(`${path}.name`);
  const compute = typeAt(calls, settings, `${path}.param_dtype`);
  if (name === 'ddp') {
    draft.state('parallel.data', 'ddp', value, 'dp_config');
    draft.assume('ddp.bucketCap', DDP_BUCKET_BYTES, say('{0} default', 'OLMo-core'), MODEL);
    draft.forget('precision.weights');
    draft.state(
      'precision.weights',
      compute ?? 'fp32',
      value,
      'param_dtype',
      say('the model is cast before it is copied'),
    );
    draft.assume('precision.compute', compute ?? 'fp32', say('{0} default', 'OLMo-core'), MODEL);
    draft.assume('precision.scheme', 'native', say('{0} default', 'OLMo-core'), MODEL);
    return;
  }
  if (name !== 'fsdp' && name !== 'hsdp') {
    leaveArgument(draft, 'dp_config', value, ['parallel.data']);
    return;
  }
  draft.state('parallel.data', 'fsdp2', value, 'dp_config');
  if (name === 'hsdp') readReplicas(calls, settings, known);
  else draft.assume('fsdp.strategy', 'full', say('weights are given back after each layer'), MODEL);
  readWrapping(calls, settings);
  draft.state('precision.compute', compute ?? 'fp32', value, 'param_dtype');
  const scheme = compute === undefined || compute === 'fp32' ? 'native' : 'fsdp';
  draft.assume(
    'precision.scheme',
    scheme,
    say('FSDP gathers weights in the type that is computed in'),
    MODEL,
  );
  draft.state(
    'precision.reduce',
    typeAt(calls, settings, `${path}.reduce_dtype`) ?? 'fp32',
    value,
    'reduce_dtype',
  );
  draft.assume('fsdp.syncEachBatch', true, say('every micro batch reduces its gradients'), MODEL);
  if (settings.has('train_module.autocast_precision'))
    leaveArgument(draft, 'autocast_precision', value, ['precision.scheme', 'precision.compute']);
}

/** Without FSDP weights are multiplied in their own type, or under autocast. */
function readAlone(calls: Calls, settings: CoreSettings): void {
  const { draft } = calls;
  const type = typeAt(calls, settings, 'train_module.autocast_precision');
  draft.assume('precision.compute', type ?? 'fp32', say('{0} default', 'OLMo-core'), MODEL);
  draft.assume('precision.scheme', type ? 'autocast' : 'native', say('{0} default', 'OLMo-core'), MODEL);
}

function typeAt({ draft }: Calls, settings: CoreSettings, path: string): DType | undefined {
  const value = settings.value(path);
  if (!value || isNone(value)) return undefined;
  const type = TYPES[settings.word(path) ?? ''];
  if (type === undefined) leaveArgument(draft, path, value, ['precision.compute']);
  return type;
}

/** One replica per node unless it is stated (`distributed/parallel/data_parallel.py`). */
function readReplicas({ draft }: Calls, settings: CoreSettings, known: ReadContext['known']): void {
  const path = 'train_module.dp_config';
  const fields = ['parallel.replicate', 'parallel.data'] as const;
  const stated = settings.integer(`${path}.num_replicas`, fields);
  const shards = settings.integer(`${path}.shard_degree`, fields);
  const gpus = known['hardware.gpus'];
  const split = ranksOfReplica(settings);
  const byShards = shards !== undefined && typeof gpus === 'number' ? gpus / split / shards : undefined;
  const replicas = stated ?? byShards ?? (shards === undefined ? known['hardware.nodes'] : undefined);
  const place =
    settings.value(`${path}.num_replicas`) ?? settings.value(`${path}.shard_degree`) ?? settings.value(path);
  const one = replicas === 1;
  draft.assume('fsdp.strategy', one ? 'full' : 'hybrid', say('each group of GPUs has all shards'), MODEL);
  if (one || typeof replicas !== 'number' || !place) return;
  if (Number.isInteger(replicas))
    draft.infer(
      'parallel.replicate',
      replicas,
      say('one replica per node unless it is set otherwise'),
      place,
      'dp_config',
    );
  else leaveArgument(draft, 'shard_degree', place, fields);
}

/** `Transformer.apply_fsdp`: the embedding is a unit always, the head with `full`; it stays gathered then, and the root does not. */
function readWrapping({ draft }: Calls, settings: CoreSettings): void {
  const path = 'train_module.dp_config.wrapping_strategy';
  const value = settings.value(path);
  const word = value && !isNone(value) ? settings.word(path) : 'full';
  const note = say('{0} default', 'OLMo-core');
  draft.assume('fsdp.wrap', 'layer', say('{0} wraps each block', 'OLMo-core'), MODEL);
  if (value && word !== 'full' && word !== 'blocks') {
    draft.leaveUncounted(value, `wrapping_strategy: ${word ?? '?'}`, ['fsdp.wrap', 'parallel.data']);
    return;
  }
  const whole = word === 'full';
  if (value) draft.state('fsdp.separateEnds', whole, value, 'wrapping_strategy');
  else draft.assume('fsdp.separateEnds', whole, note, MODEL);
  draft.assume('fsdp.reshardsEnds', !whole, note, MODEL);
  const ahead = settings.value('train_module.dp_config.prefetch_factor');
  const none = !ahead || isNone(ahead) || (ahead.kind === 'scalar' && ahead.value === 0);
  if (!none) draft.leaveUncounted(ahead, 'prefetch_factor', ['fsdp.forwardPrefetch']);
}

/** GPUs that share the same samples, which split a layer, a sample or the depth of the model. */
export function ranksOfReplica(settings: CoreSettings): number {
  const degrees = ['tp', 'cp', 'pp'].map(
    (kind) => settings.integer(`train_module.${kind}_config.degree`, []) ?? 1,
  );
  return degrees.reduce((product, degree) => product * Math.max(1, degree), 1);
}

/** Splits of a layer, a sample or experts are not counted: there is no verdict. */
function readSplits({ draft }: Calls, settings: CoreSettings): void {
  const kinds = [
    ['tp_config', 'parallel.tensor'],
    ['cp_config', 'parallel.context'],
    ['pp_config', 'parallel.pipeline'],
    ['ep_config', 'parallel.expert'],
  ] as const;
  for (const [key, field] of kinds) {
    const path = `train_module.${key}`;
    const value = settings.value(path);
    if (!value || isNone(value)) continue;
    const degree = settings.integer(`${path}.degree`, [field]);
    if (degree === 1) continue;
    draft.leaveUncounted(value, key, [field]);
    // How many GPUs share it does not tell how its code splits.
    draft.bring('own-parallelism', value, key);
  }
}
