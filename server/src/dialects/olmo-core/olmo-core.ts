import { isNone, knownNode } from '../../config/python/node-of-value';
import type { PyCall, PyProgram } from '../../config/python/value';
import { integerOf } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { fileIn, OLMO_CORE } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, argumentsOf, type Calls, leaveArgument } from '../python/call-block';
import { readCoreModel } from './olmo-core-model';
import { CoreSettings } from './olmo-core-settings';
import { ranksOfReplica, readCoreSharding } from './olmo-core-sharding';

const TRAIN_MODULE = fileIn(OLMO_CORE, 'src/olmo_core/train/train_module/transformer/train_module.py');

/** Classes that make a config of a run, and its part which trains. */
export const OLMO_CORE_PARTS = /^(?:TransformerTrainModuleConfig|ExperimentConfig)$/;

/** The config of a run that a script of OLMo-core builds: the last, which the others are parts of. */
export function olmoCoreRun({ calls, modules }: PyProgram): PyCall | undefined {
  if (![...modules].some((module) => /^olmo_core(?:\.|$)/.test(module))) return undefined;
  return calls.findLast(
    (call) =>
      call.of === undefined &&
      ['model', 'train_module'].every((part) => call.named.some(({ key }) => key === part)),
  );
}

/** The part of such a config that trains, as a call where it is one. */
export function trainModuleOf({ calls }: PyProgram, experiment: PyCall): PyCall {
  const given = argumentOf(experiment, 'train_module');
  return (given?.kind === 'object' && calls[given.id]) || experiment;
}

/** Texts that may hold such a run, in linear time. */
export const namesOlmoCore = (text: string): boolean =>
  text.includes('olmo_core') && /\bTransformerTrainModuleConfig\b|\bconfigure_train_module\b/.test(text);

/** States what the config of a run states, as the command that starts it overrides it. */
export function readOlmoCore(calls: Calls, experiment: PyCall, context: ReadContext): void {
  const { draft } = calls;
  const settings = new CoreSettings(calls, experiment);
  draft.assume('framework', 'olmo-core', say('the file calls {0}', '`TransformerTrainModuleConfig`'));
  draft.assume('model.code', 'olmo-core', say("{0}'s own modules run the model", 'OLMo-core'), TRAIN_MODULE);
  draft.assume('method.kind', 'full', say('every weight is trained'));
  draft.assume('offload.parameters', 'none', say('nothing moves weights to the host'), TRAIN_MODULE);
  draft.assume('loading.newWeights', true, say('the weights are made new'), TRAIN_MODULE);
  draft.assume('loading.placement', 'partitioned', say('each GPU makes its shards'), TRAIN_MODULE);
  const { loss } = readCoreModel(calls, settings);
  const module = settings.made('train_module');
  if (!module || !/(?:^|\.)Transformer(?:Pipeline)?TrainModuleConfig$/.test(module.callee)) {
    const range = settings.value('train_module')?.range ?? experiment.calleeRange;
    leaveArgument(draft, 'train_module', { range }, [
      'parallel.data',
      'batch.micro',
      'optimizer.name',
      'precision.compute',
    ]);
    return;
  }
  readHardware(calls, settings, experiment);
  readCoreSharding(calls, settings, context);
  readBatch(calls, settings, context);
  readOptimizer(calls, settings);
  readCheckpointing(calls, settings);
  readLoss(calls, settings, loss);
  readEvaluation(calls);
  settings.leaveUnread();
}

/** GPUs of a node where Beaker starts a run (`launch/beaker.py`, `num_gpus`). */
const GPUS_OF_NODE = 8;
/** Cards of clusters (`internal/common.py`, `CLUSTER_TO_GPU_TYPE`). */
const CARDS: Readonly<Record<string, string>> = {
  'ai2/jupiter': 'H100-SXM5-80GB',
  'ai2/ceres': 'H100-SXM5-80GB',
  'ai2/titan': 'B200',
};

/** What a launch on Beaker takes: `SCRIPT launch RUN_NAME CLUSTER`. Whoever starts the script by `torchrun` states it there. */
function readHardware({ program, draft }: Calls, settings: CoreSettings, experiment: PyCall): void {
  const given = program.command?.words ?? [];
  const words = given.map((word) => (word.kind === 'scalar' ? String(word.value) : ''));
  if (program.command && words[0] !== 'launch') return;
  const note = (count: number) => say('a launch on Beaker takes {0} GPUs of each node', String(count));
  const card = CARDS[words[2] ?? ''];
  if (card && given[2]) draft.infer('hardware.gpu', card, say('the card of the cluster'), given[2], words[2]);
  const launch = program.calls.findLast(({ callee }) =>
    /(?:^|\.)(?:build_launch_config|BeakerLaunchConfig)$/.test(callee),
  );
  const place = (key: 'num_nodes' | 'num_gpus') =>
    settings.value(`launch.${key}`) ?? argumentOf(experiment, key) ?? (launch && argumentOf(launch, key));
  const stated = place('num_nodes');
  const nodes = integerOf(knownNode(stated));
  if (!stated || nodes === undefined) return;
  const each = integerOf(knownNode(place('num_gpus'))) ?? GPUS_OF_NODE;
  draft.infer('hardware.gpus', nodes * each, note(each), stated, 'num_nodes');
  draft.infer('hardware.nodes', nodes, note(each), stated, 'num_nodes');
}

/** Tokens of a sample: as the data set cuts them, else the longest that the model is prepared for. */
function lengthOf(calls: Calls, settings: CoreSettings): number | undefined {
  const { draft } = calls;
  const fields: readonly FieldPath[] = ['batch.sequence', 'batch.micro'];
  const prefix = settings.value('data') ? 'data.' : '';
  const override = settings.value('dataset.sequence_length');
  const made = settings.made(`${prefix}dataset`);
  const own =
    override ?? (made && (argumentOf(made, 'sequence_length') ?? argumentOf(made, 'max_sequence_length')));
  const given = own ?? settings.value('train_module.max_sequence_length');
  if (!given) return undefined;
  const length = integerOf(knownNode(given));
  if (length === undefined) leaveArgument(draft, 'sequence_length', given, fields);
  else if (own) draft.state('batch.sequence', length, given, 'sequence_length');
  else
    draft.infer(
      'batch.sequence',
      length,
      say('as long as the model is prepared for'),
      given,
      'max_sequence_length',
    );
  return length;
}

/** Batches are counted in tokens (`train_module.py`, `pre_train`). */
function readBatch(calls: Calls, settings: CoreSettings, { known }: ReadContext): void {
  const { draft, program } = calls;
  const length = lengthOf(calls, settings);
  const tokens = settings.integer('train_module.rank_microbatch_size', ['batch.micro']);
  const place = settings.value('train_module.rank_microbatch_size');
  draft.assume('batch.packed', true, say('rows are always full'), TRAIN_MODULE);
  if (length === undefined || tokens === undefined || !place) return;
  const micro = Math.floor(tokens / length);
  if (micro < 1) leaveArgument(draft, 'rank_microbatch_size', place, ['batch.micro']);
  else
    draft.state(
      'batch.micro',
      micro,
      place,
      'rank_microbatch_size',
      say('{0} tokens in samples of {1}', String(tokens), String(length)),
    );
  const loader = settings.made(settings.value('data') ? 'data.data_loader' : 'data_loader');
  const stated =
    settings.value('data_loader.global_batch_size') ??
    (loader && argumentsOf(program, loader).find(({ key }) => key === 'global_batch_size')?.value) ??
    settings.value('global_batch_size');
  const global = integerOf(knownNode(stated));
  const gpus = known['hardware.gpus'];
  const split = ranksOfReplica(settings);
  if (!stated || global === undefined) {
    if (stated) leaveArgument(draft, 'global_batch_size', stated, ['batch.accumulation']);
    return;
  }
  if (typeof gpus !== 'number') return;
  const steps = global / (tokens * Math.max(1, gpus / split));
  if (Number.isInteger(steps)) draft.state('batch.accumulation', steps, stated, 'global_batch_size');
  else
    draft.leave(
      'value',
      stated,
      'global_batch_size',
      say(
        '{0} tokens cannot be divided into micro batches of {1} on {2} GPUs: OLMo-core stops.',
        String(global),
        String(tokens),
        String(gpus / split),
      ),
      ['batch.accumulation', 'parallel.data'],
    );
}

function readOptimizer({ draft, program }: Calls, settings: CoreSettings): void {
  const made = settings.made('train_module.optim');
  const name = made?.callee.split('.').at(-1);
  const skips = name === 'SkipStepAdamWConfig';
  const at = made && { range: made.calleeRange };
  if (!at || !made || (name !== 'AdamWConfig' && name !== 'AdamConfig' && !skips)) {
    const range = settings.value('train_module.optim')?.range;
    if (range) leaveArgument(draft, name ?? 'optim', { range }, ['optimizer.name', 'parallel.data']);
    return;
  }
  draft.state(
    'optimizer.name',
    skips ? 'skip-step-adamw' : name === 'AdamConfig' ? 'adam' : 'adamw',
    at,
    'optim',
  );
  const path = 'train_module.optim';
  const fields = ['optimizer.implementation'] as const;
  const fused = settings.flag(`${path}.fused`, fields);
  const lists = settings.flag(`${path}.foreach`, fields, true);
  if (fused !== undefined && lists !== undefined)
    draft.infer(
      'optimizer.implementation',
      fused ? 'fused' : lists ? 'foreach' : 'for-loop',
      say('{0} default', 'OLMo-core'),
      at,
      'foreach',
    );
  if (settings.flag(`${path}.compile`, fields) !== false) draft.leaveUncounted(at, 'optim.compile', fields);
  const dtype = settings.word(`${path}.dtype`);
  if (dtype === 'bfloat16' || dtype === 'float32')
    draft.state('precision.optimizerStates', dtype === 'float32' ? 'fp32' : 'bf16', at, 'dtype');
  else if (settings.has(`${path}.dtype`)) leaveArgument(draft, 'dtype', at, ['precision.optimizerStates']);
  const groups = settings.value(`${path}.group_overrides`);
  const apart =
    groups?.kind === 'list' &&
    groups.items.some((item) => {
      const group = item.kind === 'object' ? program.calls[item.id] : undefined;
      const names = group && argumentOf(group, 'params', 0);
      return (
        names?.kind === 'list' &&
        names.items.some((one) => one.kind === 'scalar' && one.value === 'embeddings.weight')
      );
    });
  if (apart && groups) draft.state('optimizer.embeddingsApart', true, groups, 'group_overrides');
}

/** `Transformer.apply_activation_checkpointing` (`nn/transformer/model.py`). */
function readCheckpointing({ draft }: Calls, settings: CoreSettings): void {
  const path = 'train_module.ac_config';
  const value = settings.value(path);
  const source = fileIn(OLMO_CORE, 'src/olmo_core/nn/transformer/model.py');
  const decided: readonly FieldPath[] = ['activations.checkpointing'];
  if (!value || isNone(value)) {
    draft.assume('activations.checkpointing', 'none', say('nothing turns it on'));
    return;
  }
  draft.assume('activations.reentrant', false, say('{0} checkpoints without reentry', 'OLMo-core'), source);
  const mode = settings.made(path)
    ? (settings.word(`${path}.mode`) ?? (settings.has(`${path}.mode`) ? undefined : 'full'))
    : undefined;
  const interval = settings.integer(`${path}.block_interval`, decided);
  const modules = settings.value(`${path}.modules`);
  const names =
    modules?.kind === 'list'
      ? modules.items.map((item) => (item.kind === 'scalar' ? String(item.value) : ''))
      : [];
  if (mode === 'full') draft.state('activations.checkpointing', 'full', value, 'ac_config');
  else if (mode === 'selected_ops') draft.state('activations.checkpointing', 'selective', value, 'ac_config');
  else if (mode === 'selected_blocks' && interval !== undefined) {
    draft.state('activations.checkpointing', 'full', value, 'ac_config');
    if (interval > 1) draft.state('activations.period', interval, value, 'block_interval');
  } else if (
    mode === 'selected_modules' &&
    names.length > 0 &&
    names.every((name) => name === 'blocks.*.feed_forward')
  ) {
    draft.state('activations.checkpointing', 'selective', value, 'ac_config');
    draft.state('activations.modules', ['mlp'], value, 'modules');
    if (settings.flag('train_module.compile_model', []) === true) {
      const message = say(
        'torch.compile decides what it keeps around a module that is computed again: less may be needed.',
      );
      draft.leave('value', value, 'ac_config', message, ['activations.modules']);
    }
  } else if (mode === 'budget') {
    // The compiler keeps that share of what it keeps by default (`nn/transformer/model.py`).
    draft.state('activations.checkpointing', 'none', value, 'ac_config');
    const share = settings.value(`${path}.activation_memory_budget`);
    if (share?.kind !== 'scalar' || share.value !== 1) draft.bring('part-checkpoints', value, 'ac_config');
  } else draft.leaveUncounted(value, mode ? `ac_config: ${mode}` : 'ac_config', decided);
}

function readLoss(calls: Calls, settings: CoreSettings, loss: string | undefined): void {
  const { draft } = calls;
  const compiled = settings.flag('train_module.compile_model', ['kernels.compile']);
  const place = settings.value('train_module.compile_model');
  if (compiled && place) draft.state('kernels.compile', true, place, 'compile_model');
  const z = settings.value('train_module.z_loss_multiplier');
  if (z && !isNone(z)) draft.state('loss.zLoss', true, z, 'z_loss_multiplier');
  const note = compiled ? say('the loss is compiled') : say('fp32 logits');
  if (loss === 'default')
    draft.assume(
      'loss.implementation',
      compiled ? 'compiled' : 'full',
      note,
      fileIn(OLMO_CORE, 'src/olmo_core/nn/lm_head.py'),
    );
  else {
    const range = settings.value('model')?.range ?? place?.range;
    if (range)
      draft.leaveUncounted({ range }, `loss_implementation: ${loss ?? '?'}`, ['loss.implementation']);
    if (loss === 'fused_linear')
      draft.assume('loss.implementation', 'liger', say('the loss is fused with the head'));
  }
}

/** Evaluators take micro batches of as many tokens as training does (`train_module.py`, `eval_batch_spec`). */
function readEvaluation({ program, draft }: Calls): void {
  const evaluator = program.calls.find(({ callee }) =>
    /(?:^|\.)(?:LMEvaluatorCallbackConfig|DownstreamEvaluatorCallbackConfig|with_recommended_evals)$/.test(
      callee,
    ),
  );
  const batch = draft.valueOf('batch.micro');
  if (!evaluator) return;
  draft.state(
    'evaluation.enabled',
    true,
    { range: evaluator.calleeRange },
    evaluator.callee.split('.').at(-1) ?? '',
  );
  if (typeof batch === 'number')
    draft.infer('evaluation.batch', batch, say('as many tokens as training'), {
      range: evaluator.calleeRange,
    });
}
