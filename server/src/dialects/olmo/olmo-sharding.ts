import { isBlank, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { fileIn, OLMO, PYTORCH } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { DefaultValue, Section } from '../section';

const SCRIPT = fileIn(OLMO, 'scripts/train.py');
const CONFIG = fileIn(OLMO, 'olmo/config.py');

const own = <V>(value: V, source = CONFIG): DefaultValue<V> => ({
  value,
  note: say('{0} default', 'OLMo'),
  source,
});

/** How GPUs share the model, and in which types: FSDP, DDP, or neither. */
export function readOlmoSharding(section: Section, draft: Draft, { known }: ReadContext): void {
  const found = section.find('distributed_strategy');
  const word = section.textOrDefault('distributed_strategy').toLowerCase();
  const data = ({ fsdp: 'fsdp1', ddp: 'ddp', single: 'none' } as const)[word];
  if (found && data === undefined) section.leave(found, ['parallel.data']);
  else if (found && data) section.state('parallel.data', data, found);
  else section.assume('parallel.data', own('fsdp1' as const), 'distributed_strategy');
  if (data === 'fsdp1') {
    leaveNull(section, draft);
    readFsdp(section, draft, known);
  }
  readPrecision(section, draft, data === 'fsdp1');
  readPlacement(section);
}

/** `scripts/train.py` looks at the number of replicas in hybrid sharding alone; zero is one per node, as unset. */
function replicates(section: Section): boolean {
  const strategy = section.section('fsdp').textOrDefault('sharding_strategy');
  return /^_?HYBRID_SHARD/.test(strategy) && section.integer('fsdp.hybrid_sharding_num_model_replicas') !== 0;
}

/** GPUs that a weight is sharded over; undefined where that is not known. */
export function olmoShards(section: Section, known: ReadContext['known']): number | undefined {
  const gpus = known['hardware.gpus'];
  if (typeof gpus !== 'number') return undefined;
  if (!/^_?HYBRID_SHARD/.test(section.section('fsdp').textOrDefault('sharding_strategy'))) return gpus;
  const nodes = known['hardware.nodes'];
  const replicas = replicates(section)
    ? (section.integer('fsdp.hybrid_sharding_num_model_replicas') ?? nodes)
    : nodes;
  return typeof replicas === 'number' && replicas >= 1 ? gpus / replicas : undefined;
}

function readFsdp(section: Section, draft: Draft, known: ReadContext['known']): void {
  const fsdp = section.section('fsdp');
  fsdp.take('sharding_strategy', 'use_orig_params');
  const uneven = replicates(section) && (olmoShards(section, known) ?? 1) % 1 !== 0;
  const replicas = fsdp.find('hybrid_sharding_num_model_replicas');
  if (uneven && replicas) {
    const [gpus, count] = [String(known['hardware.gpus']), textOf(replicas.node) ?? ''];
    const message = say('{0} GPUs cannot be divided into groups of {1} ({2}).', gpus, count, replicas.key);
    draft.leave('value', replicas.node, replicas.key, message, ['parallel.replicate', 'parallel.data']);
  } else if (replicates(section)) fsdp.take('hybrid_sharding_num_model_replicas');
  const found = section.find('fsdp.wrapping_strategy');
  const word = textOf(found?.node);
  if (!found) {
    section.assume('fsdp.wrap', { ...own('none' as const), note: say('FSDP wraps the model as one') });
  } else if (word === 'size_based') {
    section.state('fsdp.wrap', 'size', found);
  } else if (word === 'by_block' || word === 'by_block_and_size') {
    section.state('fsdp.wrap', 'layer', found);
    section.state('fsdp.separateEnds', word === 'by_block_and_size', found);
  } else section.leave(found, ['fsdp.wrap', 'fsdp.separateEnds']);
  // `FullyShardedDataParallel` as `scripts/train.py` calls it.
  section.assume('fsdp.backwardPrefetch', {
    value: 'pre' as const,
    note: say('PyTorch fetches ahead in backward'),
    source: fileIn(PYTORCH, 'torch/distributed/fsdp/fully_sharded_data_parallel.py'),
  });
  section.assume('fsdp.syncEachBatch', {
    value: true,
    note: say('every micro batch reduces its gradients'),
    source: fileIn(OLMO, 'olmo/train.py'),
  });
}

const TYPES: Readonly<Record<string, FieldValue<'precision.compute'>>> = {
  amp_bf16: 'bf16',
  amp_fp16: 'fp16',
  fp32: 'fp32',
};

/**
 * Autocast stands around forward and loss, over fp32 weights (`olmo/train.py`, `train_batch`); FSDP gathers them in the low type
 * besides, unless its own precision is null.
 */
function readPrecision(section: Section, draft: Draft, sharded: boolean): void {
  const found = section.find('precision');
  const type = TYPES[textOf(found?.node) ?? ''];
  if (!found) {
    leaveAbsent(section, draft);
    return;
  }
  if (type === undefined) {
    section.leave(found, ['precision.compute', 'precision.scheme']);
    return;
  }
  const words = section.find('fsdp.precision');
  const plain = section.root?.entries.find(({ key }) => key === 'fsdp')?.value;
  const isNull =
    plain?.kind === 'map' && plain.entries.some(({ key, value }) => key === 'precision' && isBlank(value));
  const gathersLow = sharded && !isNull;
  section.state('precision.compute', type, found);
  section.state('precision.scheme', type === 'fp32' ? 'native' : gathersLow ? 'fsdp' : 'autocast', found);
  draft.assume('precision.weights', 'fp32', say('master weights are fp32'), SCRIPT);
  // No kernel of flash attention takes fp32, and OLMo switches the memory-efficient one off (`olmo/model.py`).
  if (type === 'fp32') section.bring('written-out-attention', found);
  if (!gathersLow || type === 'fp32') return;
  draft.assume('precision.masterWeights', 'fp32', say('shards are fp32'), SCRIPT);
  section.assume('precision.autocast', { ...own(true, SCRIPT), note: say('OLMo computes under autocast') });
  const mixed = textOf(words?.node)?.toLowerCase();
  if (words && mixed !== 'mixed' && mixed !== 'pure') section.leave(words, ['precision.reduce']);
  else if (words) section.state('precision.reduce', mixed === 'mixed' ? 'fp32' : type, words);
  else section.assume('precision.reduce', own(type), 'fsdp.precision');
}

/** `fsdp: null` is none, and `scripts/train.py` stops on it. */
function leaveNull(section: Section, draft: Draft): void {
  const entry = section.root?.entries.find(({ key }) => key === 'fsdp');
  if (!entry || !isBlank(entry.value)) return;
  const message = say('OLMo stops without a `{0}`: it is given to the run elsewhere.', 'fsdp');
  draft.leave('value', { range: entry.keyRange }, 'fsdp', message, ['parallel.data', 'fsdp.wrap']);
}

/** Without one OLMo stops (`olmo/config.py`, `autocast_precision`): whoever starts it states what is not here. */
function leaveAbsent(section: Section, draft: Draft): void {
  const at = section.find('model');
  if (!at) return;
  const message = say('OLMo stops without a `{0}`: it is given to the run elsewhere.', 'precision');
  const fields = ['precision.compute', 'precision.scheme'] as const;
  draft.leave('value', { range: at.keyRange ?? at.node.range }, 'precision', message, fields);
}

/** Every process makes the model: of `meta` unit by unit, on its GPU, or in host memory. */
function readPlacement(section: Section): void {
  const found = section.find('model.init_device');
  const word = textOf(found?.node);
  section.assume('loading.newWeights', { ...own(true, SCRIPT), note: say('the weights are made new') });
  if (!found || word === 'cpu')
    section.assume('loading.placement', own('host' as const), 'model.init_device');
  else if (word === 'meta') section.state('loading.placement', 'partitioned', found);
  else if (/^cuda/.test(word ?? '')) section.state('loading.placement', 'gpu', found);
  else section.leave(found, ['loading.placement']);
}
