import { isNone } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { adaptersInPlace } from './adapters-in-place';
import { argumentOf, type Calls } from './call-block';
import { type CountedModel, countedModel } from './counted-models';
import { earlierModels } from './earlier-models';
import type { ModelChain } from './model-chain';
import { freezesFirst, peftOptimizer } from './peft-optimizers';
import { handedOn, isPipeline, makesOther, placementOf } from './placed-models';
import { startOf } from './trainer-start';

/** Parts of a model that are made anew or cut off: what the model is, is decided by the code. */
const PART = /(?:^|\.)(?:layers|blocks|h|block|layer|encoder|decoder|experts)$/;

/**
 * Notes what lies beside the model that is trained, or is made of it, and is not counted: models that are put on the GPU and that the
 * trainer is not given, and layers that the code replaces.
 */
export function noteOtherModels(
  calls: Calls,
  chain: ModelChain,
  trainer: PyCall,
  context: ReadContext,
): void {
  const { program, draft } = calls;
  const counted: { readonly load: PyCall; readonly model: CountedModel }[] = [];
  const given = new Set([...trainer.positional, ...trainer.named.map(({ value }) => value)].flatMap(idsIn));
  // What is put there beside the trainer that was made lies there, too, when it starts.
  const start = startOf(program, trainer) ?? trainer;
  for (const call of program.calls) {
    if (call.id >= start.id || !makesOther(call) || chain.ids.has(call.id)) continue;
    // What a model that is not known is made of may be this one.
    if (chain.lost && !isPipeline(call)) continue;
    // The same model where a branch goes otherwise: one of them is loaded.
    if (chain.instead.has(call.id)) continue;
    // Its name was given to another before the training starts: it is gone by then.
    if ((program.released.get(call.id) ?? Number.POSITIVE_INFINITY) <= start.id) continue;
    const steps = handedOn(program, call).filter(({ id }) => id < start.id);
    if ([call, ...steps].some(({ id }) => given.has(id))) continue;
    const place = placementOf(program, call, steps, context.versions?.transformers?.version);
    if (place !== 'gpu' && place !== 'unsure') continue;
    const model = place === 'gpu' ? countedModel(calls, call, steps, context) : undefined;
    if (model) {
      counted.push({ load: call, model });
      continue;
    }
    const name = shortName(call);
    const words =
      place === 'gpu'
        ? say('`{0}` puts another model on the GPU, which is not counted.', name)
        : say('`{0}` may put another model on the GPU, which is not counted.', name);
    draft.leave('script', { range: call.calleeRange }, name, words);
    draft.bring('model-beside', { range: call.calleeRange }, name);
  }
  stateCounted(calls, chain, counted);
  draft.earlier = earlierModels(calls, chain, start.id, context);
  const changed = program.assignments.find(
    ({ of, attribute, after }) => chain.ids.has(of) && PART.test(attribute) && after <= trainer.id,
  );
  if (!changed) return;
  const part = changed.attribute.split('.').at(-1) ?? '';
  const words = say('The code makes `{0}` of the model anew: how large it is then is not known.', part);
  draft.leave('script', { range: changed.range }, changed.attribute, words, ['model.id']);
  draft.bring('model-of-the-script', { range: changed.range }, changed.attribute);
}

/** States the models beside the training whose weights are known: each by its name, with a number where several have it. */
function stateCounted(
  { draft }: Calls,
  { load: trained }: ModelChain,
  counted: readonly { readonly load: PyCall; readonly model: CountedModel }[],
): void {
  const [first] = counted;
  if (!first) return;
  const entries: Record<string, Omit<CountedModel, 'name'> & { readonly later: boolean }> = {};
  for (const { load, model } of counted) {
    const { name, ...rest } = model;
    let key = name;
    for (let number = 2; key in entries; number += 1) key = `${name} (${number})`;
    entries[key] = { ...rest, later: trained !== undefined && load.id > trained.id };
  }
  draft.state('method.otherModels', entries, { range: first.load.calleeRange }, shortName(first.load));
}

/** What is given the model and leaves it as it is: collators, and what only reads it or is read elsewhere. */
const HARMLESS =
  /(?:^|\.)(?:\w*DataCollator\w*|for_inference|for_training|pipeline|\w+Pipeline|LightningModule|apply_activation_checkpointing\w*|_?apply_liger_kernel\w*|deepspeed\.initialize|fully_shard|DataParallel|DistributedDataParallel|torch\.compile|unwrap_model|extract_model_from_parallel|get_eva_state_dict|fsdp_auto_wrap_policy|get_(?:decay_)?parameter_names|print|len|isinstance|hasattr|id|type|summary|watch|\w*Trainer|\w*(?:Evaluator|Callback|Streamer|Scheduler|Optimizer))$/;

/**
 * Notes what a library's function may make of the model: tensor parallelism, fp8, fake quantization, another attention. The same object
 * is trained afterwards, so nothing else shows it.
 */
export function noteChangers(
  { program, draft }: Calls,
  chain: ModelChain,
  trainer: PyCall,
  optimizer?: PyCall,
): void {
  const holds = (value: PyValue): boolean =>
    value.kind === 'object' && value.item === undefined && chain.ids.has(value.id);
  const put = adaptersInPlace(program, chain, trainer);
  for (const call of program.calls) {
    const { callee, of, positional, named } = call;
    if (call === put && isReadInPlace(trainer)) continue;
    if (call.id >= trainer.id || chain.ids.has(call.id) || HARMLESS.test(callee)) continue;
    const owner = of && program.calls[of.id];
    // Functions of the file are followed; which methods change their argument their names say.
    const changes = of ? /^(?:prepare|convert|apply|patch|inject)\w*$/.test(callee) : callee.includes('.');
    if (!changes || (of && chain.ids.has(of.id)) || /(?:^|\.)Accelerator$/.test(owner?.callee ?? ''))
      continue;
    if (![...positional, ...named.map(({ value }) => value)].some(holds)) continue;
    if (isRepeated(call, trainer)) continue;
    // What it freezes is known where it makes the optimizer of the training.
    if (peftOptimizer(call) && (!freezesFirst(call) || call === optimizer)) continue;
    const words = say('What `{0}` makes of the model is not read.', shortName(call));
    draft.leave('script', { range: call.calleeRange }, shortName(call), words);
  }
}

/**
 * Whether adapters are put on a model that the trainer then gets with the same config of them: its layers have them already, and the
 * trainer makes those of that name anew (PEFT, `tuners/lora/model.py`, `_create_and_replace`).
 */
function isRepeated(call: PyCall, trainer: PyCall): boolean {
  if (!/(?:^|\.)get_peft_model$/.test(call.callee)) return false;
  const [once, again] = [argumentOf(call, 'peft_config', 1), argumentOf(trainer, 'peft_config')];
  return once?.kind === 'object' && again?.kind === 'object' && once.id === again.id;
}

/** Adapters that are put into the model are read, unless the trainer is given a config of its own. */
function isReadInPlace(trainer: PyCall): boolean {
  const passed = argumentOf(trainer, 'peft_config');
  return !passed || isNone(passed);
}

/** The class and its method. */
const shortName = ({ callee }: PyCall): string => callee.split('.').slice(-2).join('.');

const idsIn = (value: PyValue): number[] =>
  value.kind === 'object'
    ? [value.id]
    : value.kind === 'list'
      ? value.items.flatMap(idsIn)
      : value.kind === 'either'
        ? value.options.flatMap(idsIn)
        : [];
