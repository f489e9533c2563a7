import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, plainOf, textOf } from '../../config/scalar';
import { fileIn, GPT_NEOX } from '../../sources/repositories';
import { say } from '../../wording/say';
import { deepspeed } from '../deepspeed/deepspeed';
import { tuned } from '../deepspeed/deepspeed-rules';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys, rejectMisfits } from '../key-check';
import { argumentName, argumentNames } from '../megatron/spelled-section';
import { type DefaultValue, Section } from '../section';
import { neoxJoins } from './gpt-neox-duplicates';
import { GPT_NEOX_KEYS, GPT_NEOX_TABLE } from './gpt-neox-keys';
import { neoxModel } from './gpt-neox-model';
import { checkGptNeox, leaveWidth } from './gpt-neox-rules';
import { gptNeoxWords } from './gpt-neox-words';

const SOURCE = fileIn(GPT_NEOX, 'megatron/');
const policy = scriptPolicy('GPT-NeoX');

function own<V>(value: V, note = say('{0} default', 'GPT-NeoX')): DefaultValue<V> {
  return { value, note, source: `${SOURCE}neox_arguments/neox_args.py` };
}

const TYPES: Readonly<Record<string, 'fp16' | 'fp32' | 'bf16'>> = {
  fp16: 'fp16',
  fp32: 'fp32',
  bfloat16: 'bf16',
};

/** Keys that hardly another tool has; several of them make a file without a model a part of a run of GPT-NeoX. */
const DISTINCT = new Set([
  'pipe_parallel_size',
  'model_parallel_size',
  'checkpoint_factor',
  'checkpoint_validation_with_forward_pass',
  'scaled_upper_triang_masked_softmax_fusion',
  'train_data_paths',
  'valid_data_paths',
  'test_data_paths',
  'train_data_weights',
  'weight_by_num_documents',
  'deepspeed_slurm',
  'deepspeed_mpi',
  'data_impl',
  'merge_file',
  'gpt_j_residual',
  'output_layer_parallelism',
  'attention_config',
  'synchronize_each_layer',
  'partition_activations',
  'train_micro_batch_size_per_gpu',
  'text_gen_type',
  'lr_decay_style',
  'use_bnb_optimizer',
  'tensorboard_dir',
]);

/** GPT-NeoX's YAML: a flow mapping or plain, dashes or underscores, one or several files to a run. */
export const gptNeox: Dialect = {
  id: 'gpt-neox',
  name: 'GPT-NeoX',
  definitions: ['megatron/neox_arguments/neox_args.py', 'megatron/neox_arguments/deepspeed_args.py'],
  released: GPT_NEOX_TABLE.released,
  joins: neoxJoins,
  keys: GPT_NEOX_KEYS,
  words: gptNeoxWords,
  markers:
    /\b(?:pipe|model)[-_]parallel[-_]size\b|\b(?:merge|vocab)[-_]file\b|\bcheckpoint[-_]factor\b|\btrain[-_]data[-_]paths\b|\bdeepspeed[-_](?:slurm|mpi)\b|\btext[-_]gen[-_]type\b/,
  rowAt: ([first = '', ...rest]) => GPT_NEOX_TABLE.find([argumentName(first), ...rest].join('.')),
  detect(root: ConfigNode, fileName: string): number {
    if (root.kind !== 'map') return 0;
    const flat = argumentNames(root);
    const has = (name: string) => entryOf(flat, name) !== undefined;
    const sizes = has('num_layers') && has('hidden_size');
    // Its own autotuning examples are JSON, which its reader takes as YAML.
    if (/\.json$/i.test(fileName)) return sizes && has('pipe_parallel_size') ? 1 : 0;
    if (!/\.ya?ml$/i.test(fileName)) return 0;
    if (sizes && (has('pipe_parallel_size') || has('model_parallel_size'))) return 1;
    const known = flat.entries.filter(({ key }) => GPT_NEOX_TABLE.find(key)).length;
    const distinct = flat.entries.filter(({ key }) => DISTINCT.has(key)).length;
    if (known < 0.8 * flat.entries.length) return 0;
    // Nothing but where the data lie.
    if (known === flat.entries.length && has('merge_file') && has('data_path')) return 0.6;
    return distinct >= 3 || (sizes && distinct >= 1) ? 0.8 : distinct >= 2 && known >= 3 ? 0.6 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const flat = argumentNames(root);
    const section = new Section(flat, draft, '', GPT_NEOX_TABLE).withDefaultsOf(
      `${SOURCE}neox_arguments/neox_args.py`,
    );
    // A part of a run leaves to the other files what it does not say.
    const whole = section.has('num_layers') && section.has('hidden_size');
    if (!whole) draft.assumesNothing();
    draft.assume('framework', 'gpt-neox', say('the file is a {0} config', 'GPT-NeoX'));
    section.assume('model.code', own('megatron', say('GPT-NeoX splits its modules as Megatron does')));
    readModel(section);
    readHardware(section);
    readBatch(section);
    readParallelism(section);
    readPrecision(section);
    readEngine(document, flat, section, draft, context);
    readActivations(section);
    readObjective(section);
    rejectMisfits(flat, GPT_NEOX_TABLE, draft);
    leaveWidth(section, draft);
    draft.rules(() => checkKeys(flat, GPT_NEOX_TABLE, tuned(policy, flat), draft));
    draft.rules(() => checkGptNeox(section, context, draft));
    return draft.reading();
  },
};

function readModel(section: Section): void {
  section.take('make_vocab_size_divisible_by');
  const found = section.find('hidden_size');
  const read = neoxModel(section);
  if (found && read) section.state('model.config', read.config, found, read.note);
  const kernels = section.find('attention_config');
  const words = kernels ? JSON.stringify(plainOf(kernels.node)) : '';
  if (kernels && /flash/.test(words)) section.state('attention.implementation', 'flash2', kernels);
  else if (kernels && /global|local|sparse/.test(words))
    section.state('attention.implementation', 'eager', kernels);
  else section.assume('attention.implementation', own('eager' as const, say("GPT-NeoX's own attention")));
}

function readHardware(section: Section): void {
  const all = section.find('global_num_gpus');
  const each = section.find('num_gpus');
  const nodes = section.find('num_nodes');
  const machines = integerOf(nodes?.node);
  const gpus = integerOf(each?.node);
  if (all) section.stateMeaning('hardware.gpus', 'global_num_gpus', ({ node }) => integerOf(node));
  else if (each && gpus !== undefined && gpus > 0)
    section.state('hardware.gpus', gpus * Math.max(1, machines ?? 1), each);
  if (nodes && machines !== undefined && machines > 0) section.state('hardware.nodes', machines, nodes);
}

function readBatch(section: Section): void {
  section.take('train_micro_batch_size_per_gpu', 'gradient_accumulation_steps', 'train_batch_size');
  if (!section.has('gradient_accumulation_steps') && !section.has('gas') && !section.has('train_batch_size'))
    section.assume('batch.accumulation', own(1));
  section.take('seq_length', 'train_iters');
  section.assume('batch.packed', own(true, say('documents are joined into full rows')));
  const evaluation = section.find('eval_iters');
  const steps = integerOf(evaluation?.node);
  if (evaluation && steps !== undefined) section.state('evaluation.enabled', steps > 0, evaluation);
}

function readParallelism(section: Section): void {
  section.stateMeaning(
    'parallel.pipeline',
    'pipe_parallel_size',
    ({ node }) => {
      const stages = integerOf(node);
      return stages === undefined ? undefined : Math.max(1, stages);
    },
    own(1),
  );
  const experts = section.integerOrDefault('moe_num_experts') > 1;
  const ranks = section.find('model_parallel_size');
  section.take('model_parallel_size');
  const size = integerOf(ranks?.node);
  if (experts && ranks && size !== undefined && size > 1) {
    // Experts are shared out over the model-parallel ranks and not split (`model/moe.py`).
    section.state('parallel.expert', size, ranks);
    section.state('parallel.expertTensor', 1, ranks);
  }
  section.take('sequence_parallel');
}

function readPrecision(section: Section): void {
  const found = section.find('precision');
  const word = textOf(found?.node)?.toLowerCase();
  const type = word === undefined ? undefined : TYPES[word];
  if (found && type) {
    section.state('precision.scheme', type === 'fp32' ? 'native' : 'deepspeed', found);
    section.state('precision.weights', type, found);
    section.state('precision.compute', type, found);
  } else if (!section.has('fp16') && !section.has('bf16')) {
    const note = say('GPT-NeoX computes in fp32 where no precision is set');
    section.assume('precision.scheme', own('native' as const, note));
    section.assume('precision.weights', own('fp32' as const, note));
    section.assume('precision.compute', own('fp32' as const, note));
  }
  const wide = section.find('fp32_allreduce');
  if (wide && flagOf(wide.node) === true) section.state('precision.reduce', 'fp32', wide);
}

/** Blocks that DeepSpeed gets as they stand: its own dialect reads them. */
function readEngine(
  document: ConfigDocument,
  flat: MapNode,
  section: Section,
  draft: Draft,
  context: ReadContext,
): void {
  const small = section.find('use_bnb_optimizer');
  if (small && flagOf(small.node) === true) section.state('optimizer.name', 'adamw-8bit', small);
  const blocks = ['zero_optimization', 'optimizer', 'fp16', 'bf16'];
  const entries = flat.entries.filter(({ key }) => blocks.includes(key));
  const part: ConfigDocument = { ...document, root: { ...flat, entries } };
  const reading = deepspeed.read(part, context);
  for (const fact of reading.facts) {
    const { kind, location, key, note, source } = fact.origin;
    if (draft.knows(fact.field) || /^(framework|batch\.|hardware\.)/.test(fact.field)) continue;
    if (kind === 'file' && location) draft.state(fact.field, fact.value as never, location, key ?? '', note);
    else if (kind === 'default' && !/^precision\./.test(fact.field))
      draft.assume(fact.field, fact.value as never, note ?? say('{0} default', 'DeepSpeed'), source, key);
  }
  draft.unread.push(...(reading.unread ?? []).filter(({ kind }) => kind === 'value'));
  // Keys of older versions are common in these files, and GPT-NeoX fills in what DeepSpeed would miss.
  draft.rules(() => {
    const problems = reading.problems.filter(
      ({ severity, code }) => severity === 'error' && code.startsWith('zero-'),
    );
    draft.problems.push(...problems);
  });
  section.stateInteger('zero.stage', 'zero_stage');
  section.assume('optimizer.name', own('adamw' as const, say('GPT-NeoX default: Adam')));
  section.assume('optimizer.implementation', own('fused' as const, say("Apex' or DeepSpeed's fused Adam")));
}

function readActivations(section: Section): void {
  section.take('checkpoint_activations');
  if (section.flag('checkpoint_activations') !== true) return;
  section.take('checkpoint_num_layers');
  const split = section.find('partition_activations');
  if (split && section.integerOrDefault('model_parallel_size') > 1) section.take('partition_activations');
  section.take('checkpoint_in_cpu');
  section.assume(
    'activations.reentrant',
    own(true, say("DeepSpeed's checkpointing keeps no graph of the first pass")),
  );
}

function readObjective(section: Section): void {
  const found = section.find('train_impl');
  const objectives = { normal: 'lm', dpo: 'dpo', rm: 'reward', kto: 'kto', reinforce: 'rloo' } as const;
  const objective = objectives[textOf(found?.node) as 'dpo'];
  if (!found || !objective) return;
  section.state('method.objective', objective, found);
  const references = objective === 'dpo' || objective === 'kto' || objective === 'rloo';
  section.state('method.referenceModel', references && section.flag('dpo_reference_free') !== true, found);
}
