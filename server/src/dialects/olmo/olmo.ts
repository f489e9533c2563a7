import { interpolated } from '../../config/interpolation';
import { entryOf, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, isBlank, textOf } from '../../config/scalar';
import { fileIn, OLMO } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { rejectMisfits } from '../key-check';
import { type DefaultValue, Section } from '../section';
import { OLMO_KEYS, OLMO_TABLE } from './olmo-keys';
import { readOlmoModel } from './olmo-model';
import { checkOlmo } from './olmo-rules';
import { readOlmoSharding } from './olmo-sharding';
import { olmoWords } from './olmo-words';

const TRAIN = fileIn(OLMO, 'olmo/train.py');

/** Keys of the trainer, of which a config of its has one beside the model. */
const OWN = [
  'device_train_microbatch_size',
  'fsdp.wrapping_strategy',
  'tokenizer.identifier',
  'save_folder',
  'save_num_unsharded_checkpoints_to_keep',
];

/** OLMo's YAML, which `scripts/train.py` takes. */
export const olmo: Dialect = {
  id: 'olmo',
  name: 'OLMo',
  optimizers: ['adamw', 'lionw'],
  keys: OLMO_KEYS,
  words: olmoWords,
  markers: /\bmax_sequence_length\b/,
  detect(root: ConfigNode): number {
    const has = (path: string) => nodeAt(root, path.split('.')) !== undefined;
    const model = has('model.d_model') && has('model.max_sequence_length');
    return root.kind === 'map' && model && !hasExperts(root) && OWN.some(has) ? 0.95 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const root = interpolated(document.root);
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', OLMO_TABLE).withDefaultsOf(fileIn(OLMO, 'olmo/config.py'));
    readOlmo(section, draft, context);
    readOlmoModel(section, draft);
    rejectMisfits(root, OLMO_TABLE, draft);
    draft.rules(() => checkOlmo(root, section, context, draft));
    return draft.reading();
  },
};

/** Values of a launch whose config is not here: they make no model, and of what they leave out nothing is known. */
export const olmoValues: Dialect = {
  ...olmo,
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    draft.assumesNothing();
    readOlmo(new Section(document.root, draft, '', OLMO_TABLE), draft, context);
    return draft.reading();
  },
};

/** OLMoE's trainer keeps the keys and has experts beside them (allenai/OLMoE, `configs`). */
function hasExperts(root: MapNode): boolean {
  const model = entryOf(root, 'model')?.value;
  if (model?.kind !== 'map') return false;
  return model.entries.some(
    ({ key, value }) => key.startsWith('moe_') || (key === 'block_type' && textOf(value) === 'moe'),
  );
}

function readOlmo(section: Section, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'olmo', say('the file is a {0} config', 'OLMo'));
  draft.assume('model.code', 'olmo', say("OLMo's own modules run the model"), fileIn(OLMO, 'olmo/model.py'));
  draft.assume('method.kind', 'full', say('all weights are trained'), TRAIN);
  section.take('global_train_batch_size');
  readMicro(section, draft, context);
  section.assume('batch.packed', {
    value: true,
    note: say('texts are joined into full rows'),
    source: fileIn(OLMO, 'olmo/data/memmap_dataset.py'),
  });
  readSteps(section);
  readOlmoSharding(section, draft, context);
  readCheckpointing(section);
  section.take('fused_loss');
  if (section.flag('fused_loss') !== true) section.take('softmax_auxiliary_loss');
  readCompile(section, draft);
  section.section('optimizer').take('name');
  const selective = section.find('optimizer.selective_updates');
  if (selective && flagOf(selective.node) === true)
    section.state('optimizer.implementation', 'for-loop', selective);
  readEvaluation(section, draft);
  const whole = section.find('save_interval_unsharded');
  if (whole) {
    section.state('saving.weights', 'full', whole);
    section.state('saving.optimizer', true, whole);
  }
}

/** A batch no larger than a micro batch is not cut (`olmo/train.py`, `split_batch`). */
function readMicro(section: Section, draft: Draft, context: ReadContext): void {
  const found = section.find('device_train_microbatch_size');
  const stated = integerOf(found?.node);
  const global = section.integerOrDefault('global_train_batch_size');
  const gpus = context.known['hardware.gpus'];
  const share = typeof gpus === 'number' ? Math.floor(global / gpus) : undefined;
  const micro = found ? stated : section.integerOrDefault('device_train_microbatch_size');
  if (micro !== undefined && share !== undefined && share >= 1 && share < micro) {
    const note = say('{0} samples over {1} GPUs are no more', String(global), String(gpus));
    draft.infer('batch.micro', share, note, found?.node, found?.key);
    return;
  }
  section.take('device_train_microbatch_size');
}

/** `739_328` steps, `1ep`, `2e12T` tokens; `stop_at` and `stop_after` end it before (`olmo/train.py`, `fit`). */
function readSteps(section: Section): void {
  const found = section.find('max_duration');
  const match = /^([\d.e_+]+)\s*(T?)$/i.exec(textOf(found?.node) ?? '');
  const amount = Number((match?.[1] ?? '').replaceAll('_', ''));
  const isKnown = found && match && Number.isSafeInteger(amount);
  const perStep =
    section.integerOrDefault('global_train_batch_size') *
    section.section('model').integerOrDefault('max_sequence_length');
  const steps = isKnown ? (match[2] ? Math.ceil(amount / perStep) : amount) : Number.POSITIVE_INFINITY;
  const stops = ['stop_at', 'stop_after'].flatMap((key) => {
    const stop = section.find(key);
    const at = integerOf(stop?.node);
    return stop && at !== undefined && at > 0 && at < steps ? [{ stop, at }] : [];
  });
  const [first] = stops.sort((one, other) => one.at - other.at);
  if (first) {
    // Of epochs nobody knows the length: they may end before.
    const isOpen = found ? !isKnown : first.at > section.integerOrDefault('max_duration');
    if (!isOpen) section.state('schedule.steps', first.at, first.stop);
    return;
  }
  if (isKnown) section.state(match[2] ? 'schedule.tokens' : 'schedule.steps', amount, found);
}

/** Which layers are checkpointed, by their number (`olmo/model.py`, `should_checkpoint_block`): negative, all but the first of so many. */
const PERIODS: ReadonlyMap<string, number | undefined> = new Map([
  ['whole_layer', undefined],
  ['true', undefined],
  ['one_in_two', 2],
  ['one_in_three', 3],
  ['one_in_four', 4],
  ['one_in_eight', 8],
  ['two_in_three', -3],
  ['three_in_four', -4],
]);

function readCheckpointing(section: Section): void {
  const found = section.find('activation_checkpointing');
  const word = textOf(found?.node)?.toLowerCase() ?? 'null';
  const source = fileIn(OLMO, 'olmo/model.py');
  const own = <V>(value: V): DefaultValue<V> => ({ value, note: say('{0} default', 'OLMo'), source });
  section.assume('activations.reentrant', own(false));
  if (!found) {
    section.assume('activations.checkpointing', own('none' as const), 'activation_checkpointing');
    return;
  }
  if (word === 'false' || word === 'fine_grained') {
    section.state('activations.checkpointing', 'none', found);
    if (word !== 'false') section.bring('part-checkpoints', found);
    return;
  }
  if (!PERIODS.has(word)) {
    section.leave(found, ['activations.checkpointing', 'activations.period']);
    return;
  }
  section.state('activations.checkpointing', 'full', found);
  const period = PERIODS.get(word);
  if (period !== undefined) section.state('activations.period', period, found);
}

/** `scripts/train.py` compiles each block where the block of settings is there, empty or not. */
function readCompile(section: Section, draft: Draft): void {
  const found = section.find('compile');
  if (!found || isBlank(found.node)) return;
  // Others than the default fuse nothing, or what is not known.
  const backend = section.find('compile.backend');
  if (backend && textOf(backend.node) !== 'inductor') {
    section.leave(backend, ['kernels.compile']);
    return;
  }
  section.state('kernels.compile', true, found);
  const graphs = section.find('compile.mode');
  if (/reduce-overhead|max-autotune$/.test(textOf(graphs?.node) ?? '') && graphs)
    draft.bring('cuda-graphs', graphs.node, graphs.key);
}

/** Tasks are cut at so many tokens, whatever the model takes (`olmo/eval/downstream.py`, `model_ctx_len`, which no label states). */
const LONGEST_TASK = 2048;

/**
 * Texts of `lm` evaluators are cut as those of training are; batches of tasks (`downstream`) are as long as their longest question. Those
 * count that may be larger.
 */
function readEvaluation(section: Section, draft: Draft): void {
  const found = section.find('evaluators');
  if (found?.node.kind !== 'list' || found.node.items.length === 0) return;
  section.state('evaluation.enabled', true, found);
  const common = section.integerOrDefault('device_eval_batch_size');
  const stated = section.find('device_eval_batch_size') ?? found;
  const largest = (tasks: boolean) =>
    found.node.kind !== 'list'
      ? 0
      : Math.max(
          0,
          ...found.node.items
            .filter((item) => (textOf(nodeAt(item, ['type'])) === 'downstream') === tasks)
            .map((item) => integerOf(nodeAt(item, ['device_eval_batch_size'])) || common),
        );
  const [texts, tasks] = [largest(false), largest(true)];
  const length = section.section('model').integerOrDefault('max_sequence_length');
  const tasksDecide = tasks * LONGEST_TASK > texts * length;
  section.state('evaluation.batch', tasksDecide ? tasks : texts, stated);
  if (tasksDecide)
    draft.limit('evaluation.sequence', LONGEST_TASK, say('tasks are at most so long'), found.node, found.key);
}
