import { entryOf, mapAt, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode } from '../../config/node';
import { integerOf, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { fileIn, TRLX } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { assumePadding } from '../hf/padding';
import { readPeftConfig } from '../hf/peft-config';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys, rejectMisfits } from '../key-check';
import { forbid } from '../refusal';
import { type DefaultValue, Section } from '../section';
import { settled } from './sweep';
import { TRLX_KEYS, TRLX_TABLE } from './trlx-keys';

const SOURCE = fileIn(TRLX, 'trlx/');

function trlx<V>(value: V, file = 'data/configs.py'): DefaultValue<V> {
  return { value, note: say('{0} default', 'trlX'), source: `${SOURCE}${file}` };
}

/** trlX's YAML, and its hyperparameter sweeps. */
export const trlxConfig: Dialect = {
  id: 'trlx',
  name: 'trlX',
  released: TRLX_TABLE.released,
  keys: TRLX_KEYS,
  // A sweep of Ray Tune in the place of a value.
  schema: { instead: { type: 'object', required: ['strategy', 'values'] } },
  markers:
    /\b(?:ppo|ilql|sft|rft)config\b|\b(?:Accelerate|NeMo)\w*(?:Trainer|Model)\b|\w(?:ILQL|PPO)Model\b|\btune_config\b/i,
  detect(root: ConfigNode): number {
    const train = mapAt(root, 'train');
    const method = textOf(nodeAt(root, ['method', 'name']));
    const model = nodeAt(root, ['model', 'model_path']);
    const trainer = textOf(nodeAt(train, ['trainer'])) ?? textOf(nodeAt(root, ['model', 'model_type'])) ?? '';
    const own = /^(Accelerate|NeMo)\w*(PPO|ILQL|SFT|RFT)\w*$|ILQLModel$|PPOModel$/i.test(trainer);
    if (method !== undefined && /^(ppo|ilql|sft|rft)config$/i.test(method) && (train || model)) return 1;
    if (train && model && own) return 0.95;
    const swept = root.kind === 'map' && entryOf(root, 'tune_config') !== undefined;
    const dotted =
      root.kind === 'map' && root.entries.some(({ key }) => /^(train|method|optimizer)\./.test(key));
    return swept && (train !== undefined || dotted) ? 0.9 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    if (document.root?.kind !== 'map') return draft.reading();
    const { root, chosen } = settled(document.root);
    if (root.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', TRLX_TABLE).withDefaultsOf(`${SOURCE}data/configs.py`);
    readTrlx(section, draft, context);
    readHeads(section);
    rejectMisfits(root, TRLX_TABLE, draft);
    draft.rules(() => check(section, draft));
    draft.rules(() => checkKeys(root, TRLX_TABLE, scriptPolicy('trlX'), draft));
    noteSweeps(draft, chosen);
    return draft.reading();
  },
};

/** Notes of what a sweep decides that it is its largest value. */
function noteSweeps(draft: Draft, chosen: readonly ConfigNode[]): void {
  const note = say('the largest value of the sweep');
  draft.facts.splice(
    0,
    draft.facts.length,
    ...draft.facts.map((stated) => {
      const range = stated.origin.location?.range;
      const swept = range !== undefined && chosen.some((node) => node.range === range);
      return swept ? { ...stated, origin: { ...stated.origin, note } } : stated;
    }),
  );
}

type Kind = 'ppo' | 'ilql' | 'sft';

function kindOf(section: Section): Kind {
  const words = ['method.name', 'train.trainer', 'model.model_type'].map((key) => section.text(key) ?? '');
  const all = words.join(' ').toLowerCase();
  return all.includes('ppo') ? 'ppo' : all.includes('ilql') ? 'ilql' : 'sft';
}

function readTrlx(section: Section, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'trlx', say('the file is a {0} config', 'trlX'));
  section.take('model.model_path');
  readBatch(section);
  section.take('train.seq_length', 'train.total_steps');
  const interval = section.find('train.eval_interval');
  if (interval) section.state('evaluation.enabled', true, interval);
  section.take('train.save_optimizer');
  readMethod(section, draft, context);
  readPrecision(draft, context);
  readOptimizer(section);
  section.assume('activations.checkpointing', trlx('none' as const, 'trainer/accelerate_base_trainer.py'));
  assumePadding(section, draft, section.integer(['train.minibatch_size', 'train.batch_size']) ?? 1);
}

/** `batch_size` is that of each process, taken in minibatches (`accelerate_base_trainer.py`). */
function readBatch(section: Section): void {
  const whole = section.find('train.batch_size');
  const part = section.find('train.minibatch_size');
  const [size, mini] = [integerOf(whole?.node), integerOf(part?.node)];
  if (part && mini !== undefined) section.state('batch.micro', mini, part);
  else if (whole && size !== undefined) section.state('batch.micro', size, whole, say('no minibatch is set'));
  if (whole && size !== undefined && mini !== undefined && mini > 0 && size % mini === 0)
    section.state('batch.accumulation', size / mini, part ?? whole, `${size} / ${mini}`);
  else section.assume('batch.accumulation', trlx(1), 'train.minibatch_size');
}

/**
 * PPO compares with the model as it was: where only the last layers are trained, with a frozen copy of these
 * (`AutoModelForCausalLMWithHydraValueHead`), else with a second model; adapters are switched off for it.
 */
function readMethod(section: Section, draft: Draft, context: ReadContext): void {
  const kind = kindOf(section);
  const found = section.find(['method.name', 'train.trainer', 'model.model_type']);
  const objective: FieldValue<'method.objective'> = kind === 'ppo' ? 'ppo' : 'lm';
  if (found) section.state('method.objective', objective, found);
  const adapters = section.section('model').section('peft_config');
  if (adapters.root) readPeftConfig(adapters, draft);
  const layers = section.find('model.num_layers_unfrozen');
  const count = section.integerOrDefault('model.num_layers_unfrozen');
  const some = !adapters.root && layers !== undefined && count > 0;
  if (some) readUnfrozen(section, layers, count, context);
  else if (!adapters.root) section.assume('method.kind', trlx('full' as const), 'model.num_layers_unfrozen');
  if (kind !== 'ppo') return;
  const second = !adapters.root && !some;
  const because = layers ?? found;
  const note = second
    ? say('a frozen copy of the model is the reference')
    : adapters.root
      ? say('the adapters are switched off for the reference')
      : say('the reference has copies of the trained layers only');
  if (because) section.state('method.referenceModel', second, because, note);
  section.assume('rollout.engine', trlx('transformers' as const, 'trainer/accelerate_ppo_trainer.py'));
  section.take('method.chunk_size', 'method.gen_kwargs.max_new_tokens');
}

/** Lower layers and the token embedding are frozen; final norm and an output projection of its own are not (`utils/modeling.py`). */
function readUnfrozen(
  section: Section,
  layers: NonNullable<ReturnType<Section['find']>>,
  count: number,
  { model }: ReadContext,
): void {
  const total = model?.layers;
  if (total !== undefined && count >= total) {
    section.state('method.kind', 'full', layers);
    return;
  }
  section.state('method.kind', 'freeze', layers, say('the last {0} layers are trained', String(count)));
  if (total === undefined) {
    section.state('method.trainableLayers', count, layers);
    return;
  }
  const indices = Array.from({ length: count }, (_, i) => total - count + i).join('|');
  const tied = model?.config?.tie_word_embeddings === true;
  section.state(
    'method.trainable',
    [
      `(?:\\w+\\.)*(?:h|layers|blocks)\\.(?:${indices})\\.`,
      '(?:\\w+\\.)*(?:ln_f|norm|final_layer_norm|final_layernorm|norm_f)\\.(?:weight|bias)$',
      ...(tied ? [] : ['(?:lm_head|embed_out)\\b']),
    ],
    layers,
  );
}

/** Loaded in fp32; the launcher's config states who computes how. */
function readPrecision(draft: Draft, context: ReadContext): void {
  const source = `${SOURCE}trainer/accelerate_base_trainer.py`;
  draft.assume('precision.weights', 'fp32', say('trlX loads the model in fp32'), source);
  const sharding = context.known['parallel.data'];
  if (sharding !== undefined && sharding !== 'none') return;
  draft.assume(
    'precision.scheme',
    'native',
    say('no mixed precision unless the launcher asks for it'),
    source,
  );
}

const OPTIMIZERS: Readonly<Record<string, FieldValue<'optimizer.name'>>> = {
  adam: 'adam',
  adamw: 'adamw',
  adam_8bit_bnb: 'adam-8bit',
  adamw_8bit_bnb: 'adamw-8bit',
  sgd: 'sgd',
};

function readOptimizer(section: Section): void {
  const found = section.find('optimizer.name');
  const momentum = section.number('optimizer.kwargs.momentum') ?? 0;
  const name = OPTIMIZERS[textOf(found?.node)?.toLowerCase() ?? ''];
  if (found && name)
    section.state('optimizer.name', name === 'sgd' && momentum > 0 ? 'sgd-momentum' : name, found);
  else if (found) section.leave(found, ['optimizer.name']);
  else section.assume('optimizer.name', trlx('adamw' as const, 'data/default_configs.py'));
}

/** ILQL puts heads on the model that the estimate leaves out. */
function readHeads(section: Section): void {
  const method = section.find(['method.name', 'train.trainer', 'model.model_type']);
  if (method && kindOf(section) === 'ilql') section.bring('value-heads', method);
}

/** What trlX refuses or ignores, and what the estimate leaves out. */
function check(section: Section, draft: Draft): void {
  const part = section.find('train.minibatch_size');
  const [whole, mini] = [section.integer('train.batch_size'), integerOf(part?.node)];
  forbid(whole !== undefined && mini !== undefined && mini > 0 && whole % mini !== 0, part?.node, draft, {
    code: 'minibatch-does-not-divide',
    message: say('`minibatch_size` must divide `batch_size` ({0}).', String(whole)),
    source: `${SOURCE}trainer/accelerate_base_trainer.py`,
  });
  const layers = section.find('model.num_layers_unfrozen');
  if (
    layers &&
    section.integerOrDefault('model.num_layers_unfrozen') >= 0 &&
    section.has('model.peft_config')
  )
    draft.report(
      'dead-key',
      'warning',
      say('`num_layers_unfrozen` has no effect with `peft_config`.'),
      layers.node.range,
      { source: `${SOURCE}trainer/accelerate_base_trainer.py`, data: { key: 'num_layers_unfrozen' } },
    );
  const method = section.find(['method.name', 'train.trainer', 'model.model_type']);
  if (method && kindOf(section) === 'ilql')
    draft.report(
      'heads-not-modelled',
      'information',
      say("ILQL's Q and V heads are not modelled: the run needs more than the estimate."),
      method.node.range,
      { source: `${SOURCE}models/modeling_ilql.py` },
    );
}
