import { entryOf, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode } from '../../config/node';
import { flagOf, integerOf, textOf, textsOf } from '../../config/scalar';
import { fileIn, TORCHTITAN } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { rejectMisfits } from '../key-check';
import { TORCH_OPTIMIZERS } from '../optimizer-names';
import { type DefaultValue, Section } from '../section';
import { FP8_SWITCHES, TORCHTITAN_KEYS, TORCHTITAN_TABLE } from './torchtitan-keys';
import { titanModel } from './torchtitan-models';
import { checkTorchtitan } from './torchtitan-rules';
import { torchtitanWords } from './torchtitan-words';

const SOURCE = fileIn(TORCHTITAN, 'torchtitan/');

function titan<V>(value: V): DefaultValue<V> {
  return { value, note: say('{0} default', 'torchtitan'), source: `${SOURCE}config/job_config.py` };
}

/** torchtitan's TOML. */
export const torchtitan: Dialect = {
  id: 'torchtitan',
  name: 'torchtitan',
  definitions: ['torchtitan/config/job_config.py', 'torchtitan/config_manager.py', 'job_config.py'],
  released: TORCHTITAN_TABLE.released,
  optimizers: Object.keys(TORCH_OPTIMIZERS),
  words: torchtitanWords,
  keys: TORCHTITAN_KEYS,
  markers: /^[ \t]*\[training\]/m,
  format: 'toml',
  detect(root: ConfigNode, fileName: string): number {
    if (root.kind !== 'map' || !/\.toml$/i.test(fileName)) return 0;
    const training = entryOf(root, 'training')?.value;
    const beside = ['job', 'model', 'parallelism', 'metrics', 'profiling'].filter((key) =>
      entryOf(root, key),
    );
    const sized = ['local_batch_size', 'batch_size', 'seq_len', 'steps'].some((key) =>
      nodeAt(training, [key]),
    );
    return training?.kind === 'map' && sized && beside.length > 0 ? 1 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', TORCHTITAN_TABLE);
    readTorchtitan(section, draft, context);
    rejectMisfits(root, TORCHTITAN_TABLE, draft);
    draft.rules(() => checkTorchtitan(root, section, context, draft));
    return draft.reading();
  },
};

/** States what the config states. Settings of parallelism stood in `training` and `experimental` before 2025. */
export function readTorchtitan(config: Section, draft: Draft, context: ReadContext): void {
  const section = config.withDefaultsOf(`${SOURCE}config/job_config.py`);
  draft.assume('framework', 'torchtitan', say('the file is a {0} config', 'torchtitan'));
  draft.assume('model.code', 'torchtitan', say("{0}'s own modules run the model", 'torchtitan'), SOURCE);
  draft.assume(
    'allocator.expandableSegments',
    true,
    say('its launch script sets expandable segments'),
    fileIn(TORCHTITAN, 'run_train.sh'),
  );
  readModel(section);
  readParallelism(section, draft, context);
  readBatch(section, context);
  readPrecision(section, draft, context);
  readOptimizer(section, draft);
  readCheckpointing(section, context);
  readCompile(section, draft);
  section.take('training.steps');
  section.take('validation.enable', 'validation.local_batch_size', 'validation.seq_len');
}

function readModel(section: Section): void {
  const name = section.textOrDefault('model.name');
  const found = section.find(['model.flavor', 'model.model', 'model.name']);
  const flavor = section.textOrDefault(['model.flavor', 'model.model']);
  if (!found) return;
  const model = titanModel(name, flavor);
  if (!model) section.state('model.id', `torchtitan ${name} ${flavor}`, found);
  else if ('id' in model) section.state('model.id', model.id, found);
  else section.state('model.config', model.config, found);
}

/** Names of the first releases: norms along the sequence came with tensor parallelism, and shards were the only data parallelism. */
const FIRST_NAMES: Readonly<Record<string, string>> = {
  tensor_parallel_degree: 'training.sequence_parallel_degree',
  data_parallel_shard_degree: 'training.data_parallel_degree',
};

/** A setting of parallelism, wherever its time had it. */
function parallel(key: string): string[] {
  const first = FIRST_NAMES[key];
  return [`parallelism.${key}`, `experimental.${key}`, `training.${key}`, ...(first ? [first] : [])];
}

function readParallelism(section: Section, draft: Draft, context: ReadContext): void {
  const alone = splitsAlone(section, context);
  const copies = section.integerOrDefault(parallel('data_parallel_replicate_degree')) > 1;
  draft.assume(
    'parallel.data',
    alone ? (copies ? 'ddp' : 'none') : 'fsdp2',
    alone ? say('no GPUs are left to shard over') : say('torchtitan shards by FSDP 2'),
    `${SOURCE}distributed/parallel_dims.py`,
  );
  draft.assume(
    'fsdp.separateEnds',
    true,
    say('embedding and output are wrapped apart'),
    `${SOURCE}models/llama3/infra/parallelize.py`,
  );
  section.take('parallelism.data_parallel_replicate_degree');
  section.take('parallelism.tensor_parallel_degree');
  const tensor = section.integerOrDefault(parallel('tensor_parallel_degree'));
  if (tensor > 1) {
    draft.assume(
      'parallel.sequence',
      true,
      say('torchtitan splits norms along the sequence too'),
      `${SOURCE}models/llama3/infra/parallelize.py`,
    );
    const gathered = section.flag(parallel('disable_loss_parallel')) === true;
    if (!gathered)
      draft.assume(
        'loss.implementation',
        'vocab-parallel',
        say('the loss works on split logits'),
        `${SOURCE}distributed/utils.py`,
      );
  }
  section.take('parallelism.pipeline_parallel_degree');
  section.take('parallelism.pipeline_parallel_schedule');
  section.take('parallelism.context_parallel_degree');
  section.take('parallelism.expert_parallel_degree');
  const pipelined = section.integerOrDefault(parallel('pipeline_parallel_degree')) > 1;
  section.stateMeaning(
    'fsdp.strategy',
    parallel('fsdp_reshard_after_forward'),
    ({ node }) => {
      const word = textOf(node)?.toLowerCase();
      return word === 'never' || (word === 'default' && pipelined) ? 'grad-op' : 'full';
    },
    {
      ...titan(pipelined ? ('grad-op' as const) : ('full' as const)),
      note: say('torchtitan keeps gathered weights under pipelines only'),
    },
  );
  section.stateMeaning(
    'fsdp.reshardsEnds',
    parallel('fsdp_reshard_after_forward'),
    ({ node }) => textOf(node)?.toLowerCase() === 'always',
  );
  const offload = section.find('training.enable_cpu_offload');
  if (offload && flagOf(offload.node) === true) {
    section.state('offload.parameters', 'cpu', offload);
    section.state('offload.optimizer', 'cpu', offload);
  }
}

/**
 * A rank's batch is cut into micro batches by the pipeline only; a global batch beyond all ranks' is accumulated
 * (`train.py`, `gradient_accumulation_steps`).
 */
function readBatch(section: Section, context: ReadContext): void {
  const local = section.find(['training.local_batch_size', 'training.batch_size']);
  const size = section.integerOrDefault(['training.local_batch_size', 'training.batch_size']);
  const pipeline = section.integerOrDefault(parallel('pipeline_parallel_degree'));
  const micro = section.find(parallel('pipeline_parallel_microbatch_size'));
  const piece = section.integerOrDefault(parallel('pipeline_parallel_microbatch_size'));
  if (pipeline > 1) {
    if (local) {
      section.state(
        'batch.micro',
        Math.min(piece, size),
        micro ?? local,
        say('a pipeline cuts the batch of a rank into micro batches'),
      );
      section.state(
        'batch.accumulation',
        Math.max(1, Math.floor(size / piece)),
        local,
        say('{0} samples in micro batches of {1}', String(size), String(piece)),
      );
    }
  } else {
    section.take('training.local_batch_size');
    const global = section.find('training.global_batch_size');
    const all = integerOf(global?.node);
    const gpus = context.known['hardware.gpus'];
    if (!global || all === undefined || all < 0)
      section.assume('batch.accumulation', titan(1), 'training.global_batch_size');
    else if (typeof gpus === 'number') {
      const split =
        section.integerOrDefault(parallel('tensor_parallel_degree')) *
        section.integerOrDefault(parallel('context_parallel_degree'));
      section.state(
        'batch.accumulation',
        Math.max(1, Math.floor(all / (size * Math.max(1, gpus / split)))),
        global,
      );
    }
  }
  section.take('training.seq_len');
  section.assume('batch.packed', { ...titan(true), note: say('rows are always full') });
}

/**
 * Whether tensor or pipeline parallel GPUs train without FSDP: then torchtitan switches mixed precision off
 * (`distributed/utils.py`, `maybe_enable_amp`; `parallel_dims.py`, `fsdp_enabled`). False where the number of GPUs is not known.
 */
function splitsAlone(section: Section, context: ReadContext): boolean {
  const { known } = context;
  const degree = (name: string) => section.integerOrDefault(parallel(name));
  // As the run has them where it is known: degrees may be tried that the file does not state.
  const ofRun = (field: 'parallel.tensor' | 'parallel.pipeline') => {
    const value = known[field];
    return typeof value === 'number' ? value : undefined;
  };
  const tensor = ofRun('parallel.tensor') ?? degree('tensor_parallel_degree');
  const pipeline = ofRun('parallel.pipeline') ?? degree('pipeline_parallel_degree');
  if (tensor * pipeline === 1 || degree('context_parallel_degree') > 1) return false;
  const shards = section.integerOrDefault(parallel('data_parallel_shard_degree'));
  const gpus = known['hardware.gpus'];
  if (shards !== -1) return shards === 1;
  return gpus === tensor * pipeline * degree('data_parallel_replicate_degree');
}

/** fp32 shards, gathered and multiplied in bf16, gradients reduced in fp32. */
function readPrecision(section: Section, draft: Draft, context: ReadContext): void {
  if (splitsAlone(section, context)) {
    const note = say('torchtitan mixes types only where FSDP does');
    const place = `${SOURCE}distributed/utils.py`;
    const type = weightsDtypeOf(section.text('training.dtype')) ?? 'fp32';
    draft.assume('precision.compute', type, note, place);
    draft.assume('precision.scheme', 'native', note, place);
    section.take('training.dtype');
    section.assume('precision.weights', titan('fp32' as const), 'training.dtype');
    return;
  }
  const source = `${SOURCE}config/job_config.py`;
  const dtype = (spelling: string) => weightsDtypeOf(section.text(spelling));
  const compute = section.find('training.mixed_precision_param');
  const stated = dtype('training.mixed_precision_param');
  const type = stated ?? 'bf16';
  if (compute && stated) section.state('precision.compute', stated, compute);
  else if (compute) section.leave(compute, ['precision.compute', 'precision.scheme']);
  else
    draft.assume(
      'precision.compute',
      'bf16',
      say('{0} default', 'torchtitan'),
      source,
      'training.mixed_precision_param',
    );
  draft.assume(
    'precision.scheme',
    type === 'fp32' ? 'native' : 'fsdp',
    say('FSDP gathers weights in the type that is computed in'),
    source,
  );
  section.take('training.dtype');
  section.stateMeaning(
    'precision.weights',
    'training.dtype',
    ({ node }) => weightsDtypeOf(textOf(node)),
    titan('fp32' as const),
  );
  section.take('training.mixed_precision_reduce');
}

function readOptimizer(section: Section, draft: Draft): void {
  section.take('optimizer.name');
  const implementation = section.find('optimizer.implementation');
  const word = textOf(implementation?.node) ?? '';
  if (implementation && /^(for-loop|foreach|fused)$/.test(word))
    section.state('optimizer.implementation', word as 'fused', implementation);
  else
    draft.assume(
      'optimizer.implementation',
      'fused',
      say('{0} default', 'torchtitan'),
      SOURCE,
      'optimizer.implementation',
    );
  if (implementation && word === 'fused_opt_states_bf16')
    section.state('precision.optimizerStates', 'bf16', implementation);
  section.take('optimizer.early_step_in_backward');
}

function readCheckpointing(section: Section, context: ReadContext): void {
  const found = section.find('activation_checkpoint.mode');
  const mode = textOf(found?.node)?.toLowerCase() ?? 'selective';
  const option = section.find('activation_checkpoint.selective_ac_option');
  const every = option ? Number(textOf(option.node)) : 2;
  const because = option ?? found;
  section.assume('activations.reentrant', {
    ...titan(false),
    note: say('{0} checkpoints without reentry', 'torchtitan'),
  });
  if (mode === 'none' && found) section.state('activations.checkpointing', 'none', found);
  else if (mode === 'full' && found) section.state('activations.checkpointing', 'full', found);
  else if (mode === 'selective' && because) {
    const layers = Number.isInteger(every) && every > 0;
    section.state('activations.checkpointing', layers ? 'full' : 'selective', because);
    // Every n-th layer is checkpointed; the others keep what they have.
    const all = context.model?.layers;
    if (layers && all !== undefined)
      section.state(
        'activations.layers',
        Math.floor(all / every),
        because,
        say('every {0} of {1} layers', String(every), String(all)),
      );
  } else
    section.assume('activations.checkpointing', titan('selective' as const), 'activation_checkpoint.mode');
}

function readCompile(section: Section, draft: Draft): void {
  const enabled = ['compile.enable', 'training.compile'];
  section.take('compile.enable');
  const components = section.find('compile.components');
  const compiles =
    section.flag(enabled) === true && (!components || (textsOf(components.node) ?? []).includes('loss'));
  if (!draft.knows('loss.implementation'))
    draft.assume(
      'loss.implementation',
      compiles ? 'compiled' : 'full',
      compiles ? say('the loss is compiled') : say('fp32 logits'),
      `${SOURCE}components/loss.py`,
    );
  const float8 = (textsOf(section.find('model.converters')?.node) ?? []).some((name) => /float8/.test(name));
  const converters = section.find('model.converters');
  if (float8 && converters) section.state('precision.fp8', 'torchao', converters);
  section.take(...FP8_SWITCHES);
}
