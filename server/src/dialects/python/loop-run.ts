import { REMAINDER } from '../../config/python/expressions';
import { isNone, knownNode, nodeOf } from '../../config/python/node-of-value';
import { choosesAll, choosesNamed, type ParameterChoice } from '../../config/python/parameter-choice';
import type { PyCall, PyList, PyProgram, PyValue } from '../../config/python/value';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import { findAccelerator } from '../../hardware/catalog';
import { isWithin, type Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { argumentOf, type Calls, leaveArgument, leaveValue, withhold } from './call-block';
import { noteImportNeeds } from './dropped-arguments';
import { readPreparation } from './kbit-preparation';
import { readLigerPatches } from './liger-patches';
import { readLightning } from './lightning-run';
import { readLoopSharding } from './loop-sharding';
import { madeSamples, oneText, repeatedSamples } from './made-batch';
import { callsOnModel, chainOf, type ModelChain } from './model-chain';
import { noteChangers, noteOtherModels } from './other-models';
import { movedToCpu } from './placed-models';
import { readAdapters, readCallsOnModel } from './python-adapters';
import { readModel } from './python-model';
import { readMadeOptimizer } from './python-optimizer';
import { readUnsloth, unslothLoad } from './python-unsloth';
import { checkpointingCalls, readReentry } from './reentry';
import { readRouterLogits } from './router-logits';
import { readScaledImages } from './scaled-images';
import { readTextsAlone } from './texts-alone';
import { readTokenizedLength } from './tokenized-length';
import type { TrainingLoop } from './training-loop';

const ACCELERATOR = 'https://huggingface.co/docs/accelerate/package_reference/accelerator';
const LOADER = 'https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader';
const AUTOCAST = 'https://docs.pytorch.org/docs/stable/amp.html#torch.autocast';

/** States what a loop of the file's own states: model, optimizer, batch, precision, accumulation and sharding. */
export function readLoop(calls: Calls, loop: TrainingLoop, context: ReadContext): void {
  const { program, draft } = calls;
  noteImportNeeds(calls);
  const { backward, model, accelerator, engine, lightning } = loop;
  const chain = chainOf(program, model);
  const own = unslothLoad(chain);
  const loaded = own
    ? readUnsloth(calls, own, chain, backward, context)
    : readModel(calls, chain, context, backward, undefined);
  if (!loaded.known && loaded.refused) {
    // Whatever else is left open, what a file beside it names is not what steps.
    if (loop.handed) readOptimizer(calls, loop);
    return;
  }
  if (!own) readPreparation(calls, chain, backward, context);
  const adapted = own ? { byTrainer: false } : readAdapters(calls, backward, chain, context);
  if (!own) {
    readCallsOnModel(calls, backward, chain, adapted, context);
    const last = checkpointingCalls(calls, callsOnModel(program, chain, backward.id)).at(-1);
    if (last) readReentry(calls, last, context);
  }
  if (!own) readTextsAlone(calls, backward, context, true);
  readRouterLogits(calls, chain, backward, undefined, context);
  readScaledImages(calls, backward, context);
  noteOtherModels(calls, chain, backward, context);
  noteChangers(calls, chain, backward, loop.optimizer);
  if (!own) readLigerPatches(calls, chain, backward);
  if (lightning) readLightning(calls, lightning, context);
  draft.assume(
    'framework',
    engine ? 'deepspeed' : accelerator ? 'accelerate' : 'pytorch',
    lightning ? say('the file calls {0}', '`Trainer`') : say('the file has a loop of its own'),
  );
  refuseCpu(calls, loop, chain);
  if (loop.another)
    draft.leave(
      'refused',
      { range: loop.another.calleeRange },
      'optimizer',
      say('Several optimizers are made here, of different weights: that is not estimated.'),
    );
  if (!loop.ownLoss)
    draft.leave(
      'words',
      { range: backward.calleeRange },
      'loss',
      say('The code computes the loss itself: that of the model is taken.'),
    );
  if (!choosesAll(loop.choices) && !takesAdapters(loop.choices, namesTrained(adapted.config, context)))
    draft.leave(
      'words',
      { range: (loop.optimizer ?? backward).calleeRange },
      'params',
      say('The code puts together what the optimizer gets: all weights that are not frozen are taken.'),
    );
  // Without data of its own DeepSpeed makes no loader: batches are those of the loop.
  const ownLoader = engine !== undefined && argumentOf(engine, 'training_data', 4) === undefined;
  const byDeepspeed = lightning ? false : readLoopSharding(calls, loop, chain, context);
  if (byDeepspeed && ownLoader && !draft.knows('batch.micro')) readStatedLoader(calls, loop);
  // Who shards the model may recompute it, too.
  if (!draft.knows('activations.checkpointing'))
    draft.assume('activations.checkpointing', 'none', say('nothing turns it on'));
  if (lightning) {
    if (loop.optimizer) readMadeOptimizer(calls, loop.optimizer);
    if (!draft.knows('batch.micro')) readBatch(calls, loop, chain);
    // Its closure runs the training step, then sets gradients to none, then asks for new ones (`loops/optimization/automatic.py`).
    draft.infer('optimizer.lateZero', true, say('{0} drops gradients after forward', 'Lightning'));
    readTokenizedLength(calls, backward, context);
    return;
  }
  readOptimizer(calls, loop);
  readBesides(calls, loop);
  if (!byDeepspeed) {
    readBatch(calls, loop, chain);
    readPrecision(calls, loop, context);
    readAccumulation(calls, loop);
    readLateZero(calls, loop);
  }
  readTokenizedLength(calls, backward, context);
}

/** DeepSpeed steps the optimizer that it is given, and makes none of its config (`runtime/engine.py`, `_configure_optimizer`). */
function readOptimizer(calls: Calls, { handed, optimizer }: TrainingLoop): void {
  const { draft } = calls;
  if (handed) {
    draft.givesOptimizer = true;
    draft.forget('optimizer.name', 'optimizer.implementation');
  }
  if (optimizer) readMadeOptimizer(calls, optimizer);
  else if (handed) {
    leaveArgument(draft, 'optimizer', handed, ['optimizer.name']);
    withhold(draft, ['optimizer.name']);
  }
}

/** Models that DeepSpeed holds beside the one that is trained: a reference, a teacher. */
function readBesides({ draft }: Calls, { besides: [other] }: TrainingLoop): void {
  if (!other) return;
  const words = say(
    'DeepSpeed holds another model here beside the one that is trained: neither it nor a loss that is made of both is counted.',
  );
  const fields = ['method.objective', 'method.referenceModel'] as const;
  draft.leave('value', { range: other.calleeRange }, 'deepspeed.initialize', words, fields);
  withhold(draft, fields);
}

/** What names of adapters' weights hold by the class of their config (PEFT, `tuners/lora/layer.py`, `tuners/vera/layer.py`). */
const ADAPTER_NAMES: Readonly<Record<string, readonly string[]>> = {
  LoraConfig: ['lora_A.default.weight', 'lora_B.default.weight'],
  VeraConfig: ['vera_lambda_b', 'vera_lambda_d'],
};
/** Models whose head for labels is called so; decoders call theirs `score` (PEFT saves both, `modules_to_save`). */
const CLASSIFIERS = /^(?:bert|camembert|deberta-v2|distilbert|electra|modernbert|roberta|xlm-roberta)$/;

/** Names that all weights which a run with adapters trains are like; undefined where they are not known. */
function namesTrained(config: PyCall | undefined, { model }: ReadContext): readonly string[] | undefined {
  const name = config?.callee.split('.').at(-1) ?? '';
  const own = Object.hasOwn(ADAPTER_NAMES, name) ? ADAPTER_NAMES[name] : undefined;
  if (!config || !own || argumentOf(config, 'use_dora') || argumentOf(config, 'modules_to_save'))
    return undefined;
  const task = argumentOf(config, 'task_type');
  const labels =
    task && (task.kind === 'scalar' ? String(task.value) : task.kind === 'name' ? task.name : '_CLS');
  if (labels === undefined || !labels.endsWith('_CLS')) return own;
  const head = CLASSIFIERS.test(String(model?.config?.model_type)) ? 'classifier' : 'score';
  return [...own, `${head}.modules_to_save.default.weight`];
}

const takesAdapters = (choices: readonly ParameterChoice[], names: readonly string[] | undefined): boolean =>
  names !== undefined && choosesNamed(choices, names);

/** PyTorch's loader, and those that inherit from it and take its arguments (`monai/data/dataloader.py`, `torch_geometric/loader/dataloader.py`). */
const LOADERS =
  /(^|\.)(?:torch\.utils\.data|monai\.data|torch_geometric\.(?:loader|data))\.(\w+\.)?DataLoader$/;

/** The batch of the loader that feeds the loop: the one that shuffles or is given how to sample, else the first. */
function readBatch(calls: Calls, { backward, lightning }: TrainingLoop, chain: ModelChain): void {
  const { program, draft } = calls;
  const loaders = program.calls.filter(({ callee, id }) => LOADERS.test(callee) && id < backward.id);
  const feeds = loaders.find((call) => {
    const shuffle = argumentOf(call, 'shuffle', 2);
    return argumentOf(call, 'sampler', 3) !== undefined || (shuffle && flagOf(knownNode(shuffle)) !== false);
  });
  const fitted = lightning && argumentOf(lightning.fit, 'train_dataloaders', 1);
  const given = fitted?.kind === 'object' ? loaders.find(({ id }) => id === fitted.id) : undefined;
  const loader = given ?? feeds ?? loaders[0];
  if (!loader && !backward.repeated) {
    const texts = tokenizedTexts(program, backward);
    if (texts) {
      const note = say('one step is taken, on the texts that the tokenizer is given');
      draft.state('batch.micro', texts.items.length, { range: texts.range }, 'texts', note);
      readWrittenLength(calls, texts);
      return;
    }
  }
  const made = loader
    ? undefined
    : (madeSamples(program, chain, backward) ??
      repeatedSamples(program, chain, backward) ??
      oneText(program, chain, backward));
  if (made) {
    const note = made.each
      ? say('each step gets one text')
      : say('the code makes batches of so many samples');
    draft.state('batch.micro', made.samples, { range: made.value.range }, 'model(...)', note);
    if (made.texts) readWrittenLength(calls, made.texts);
    return;
  }
  const parted = loader && partsOf(program, loader, backward);
  if (parted) {
    const words = say(
      'The code splits batches before the model gets them: how large the parts are is not known.',
    );
    draft.leave('value', { range: parted.calleeRange }, parted.callee, words, ['batch.micro']);
    return;
  }
  const value = loader && argumentOf(loader, 'batch_size', 1);
  const size = integerOf(knownNode(value));
  if (value && size !== undefined) draft.state('batch.micro', size, value, 'DataLoader.batch_size');
  else if (loader && !value && !argumentOf(loader, 'batch_sampler', 4) && !loader.open)
    draft.assume('batch.micro', 1, say('{0} default', 'DataLoader'), LOADER, 'batch_size');
  else {
    const named = loader?.named.find(({ key }) => key === 'batch_size');
    const words = loader
      ? say('How many samples a batch has is known only when the script runs.')
      : say('Nothing that is read makes batches: how many samples they have is not known.');
    const place = { range: value?.range ?? (loader ?? backward).calleeRange };
    if (named) leaveValue(draft, named, ['batch.micro']);
    else {
      draft.leave('value', place, loader ? 'batch_size' : 'backward', words, ['batch.micro']);
      withhold(draft, ['batch.micro']);
    }
  }
}

/** The batch of a loop's own loader, where it is known; the settings of DeepSpeed state it otherwise. */
function readStatedLoader({ program, draft }: Calls, { backward }: TrainingLoop): void {
  const loaders = program.calls.filter(({ callee, id }) => LOADERS.test(callee) && id < backward.id);
  const [loader] = loaders.filter((call) => {
    const [shuffle, sampler] = [argumentOf(call, 'shuffle', 2), argumentOf(call, 'sampler', 3)];
    return sampler !== undefined || (shuffle !== undefined && flagOf(knownNode(shuffle)) !== false);
  });
  const value = loader && argumentOf(loader, 'batch_size', 1);
  const size = integerOf(knownNode(value));
  if (!value || size === undefined || partsOf(program, loader, backward)) return;
  draft.state('batch.micro', size, value, 'DataLoader.batch_size');
}

/** What splits a batch of the loader into parts before the model is called. Texts have a method of that name, too. */
function partsOf({ calls }: PyProgram, loader: PyCall, backward: PyCall): PyCall | undefined {
  const forward =
    calls.findLast(({ callee, id, repeated }) => callee === '()' && repeated && id < backward.id) ?? backward;
  return calls.find(
    ({ callee, of, id, positional: [size] }) =>
      /^(split|chunk|tensor_split)$/.test(callee) &&
      of !== undefined &&
      id > loader.id &&
      id < forward.id &&
      size !== undefined &&
      !(size.kind === 'scalar' && typeof size.value === 'string'),
  );
}

/** The list of texts that a tokenizer is given last before a step. */
function tokenizedTexts({ calls }: PyProgram, backward: PyCall): PyList | undefined {
  const last = calls.findLast(
    ({ callee, of, id }) =>
      callee === '()' &&
      id < backward.id &&
      /Tokenizer\w*\.from_pretrained$/.test((of && calls[of.id]?.callee) ?? ''),
  );
  const [given] = last?.positional ?? [];
  return given?.kind === 'list' && given.items.length > 0 ? given : undefined;
}

/** What tokenizers put around a text, at most: two special tokens (`build_inputs_with_special_tokens`), and SentencePiece's space before it. */
const AROUND = 3;

/** Texts that are written in the code, and not filled up: no token stands for less than a byte. */
function readWrittenLength({ program, draft }: Calls, texts: PyValue): void {
  const call = program.calls.find(({ positional: [first] }) => first === texts);
  const filled = call && argumentOf(call, 'padding');
  const isFilled = filled?.kind !== 'scalar' || filled.value === 'max_length';
  const all = texts.kind === 'list' ? texts.items : texts.kind === 'either' ? texts.options : [texts];
  const written = all.map((item) => (item.kind === 'scalar' ? item.value : undefined));
  if (!call || (filled && isFilled) || !written.every((text) => typeof text === 'string')) return;
  const cut = argumentOf(call, 'max_length');
  const bytes = Math.max(...written.map((text) => new TextEncoder().encode(text).length));
  const limit =
    cut?.kind === 'scalar' && typeof cut.value === 'number' ? cut.value : Number.POSITIVE_INFINITY;
  if (draft.knows('batch.sequence') || (cut && limit === Number.POSITIVE_INFINITY)) return;
  const note = say('the texts stand in the code: no token is shorter than a byte');
  draft.limit('batch.sequence', Math.min(limit, bytes + AROUND), note, { range: texts.range }, 'texts');
}

/**
 * `Accelerator(cpu=True)`, `accelerator="cpu"` of Lightning's Trainer and its Fabric, and a model that a loop of nobody else's moves to the
 * CPU.
 */
function refuseCpu(
  { program, draft }: Calls,
  { accelerator, lightning, fabric, engine, backward }: TrainingLoop,
  chain: ModelChain,
): void {
  const moved =
    accelerator || lightning || fabric || engine ? undefined : movedToCpu(program, chain, backward);
  if (moved) draft.refuseCpu({ range: moved.calleeRange }, moved.callee);
  const cpu = accelerator && argumentOf(accelerator, 'cpu');
  if (cpu && cpu.kind !== 'either' && flagOf(knownNode(cpu)) === true) draft.refuseCpu(cpu, 'cpu');
  for (const call of [lightning?.trainer, fabric]) {
    const kind = call && argumentOf(call, 'accelerator');
    if (kind && kind.kind !== 'either' && textOf(knownNode(kind)) === 'cpu')
      draft.refuseCpu(kind, 'accelerator');
  }
  // Before Lightning 2 `gpus` stated how many there are, and none is the CPU (1.9, `trainer/connectors/accelerator_connector.py`).
  const gpus = lightning && argumentOf(lightning.trainer, 'gpus');
  const isNone = gpus?.kind === 'list' ? gpus.items.length === 0 : integerOf(knownNode(gpus)) === 0;
  if (gpus && isNone) draft.refuseCpu(gpus, 'gpus');
}

/** `mixed_precision` of Accelerate, else autocast around the forward pass. */
function readPrecision(
  calls: Calls,
  { accelerator, fabric, backward }: TrainingLoop,
  { known }: ReadContext,
): void {
  const { program, draft, bf16 } = calls;
  if (fabric || draft.knows('precision.scheme')) return;
  const mixed = accelerator && argumentOf(accelerator, 'mixed_precision');
  if (mixed && !isNone(mixed)) {
    const text = textOf(nodeOf(mixed, { bf16 }))?.toLowerCase();
    if (text === 'bf16' || text === 'fp16') {
      draft.state('precision.compute', text, mixed, 'mixed_precision');
      // The config of the launch states who shards the model, and with it who applies the precision.
      const data = known['parallel.data'] ?? draft.valueOf('parallel.data');
      const scheme =
        data === 'zero' ? 'deepspeed' : data === 'fsdp1' || data === 'fsdp2' ? 'fsdp' : 'autocast';
      draft.state('precision.scheme', scheme, mixed, 'mixed_precision');
      if (scheme === 'deepspeed') draft.state('precision.weights', text, mixed, 'mixed_precision');
      if (scheme === 'fsdp') draft.state('precision.masterWeights', 'fp32', mixed, 'mixed_precision');
    } else if (text === 'no') draft.state('precision.scheme', 'native', mixed, 'mixed_precision');
    else if (text === 'fp8') leaveFp8(calls, mixed, known['hardware.gpu']);
    else leaveArgument(calls.draft, 'mixed_precision', mixed, PRECISION);
    return;
  }
  const cast = program.calls.find(
    ({ callee, id }) =>
      /^torch\.(cuda\.)?(amp\.)?(autocast_mode\.)?autocast$/.test(callee) && id < backward.id,
  );
  const enabled = cast && argumentOf(cast, 'enabled', cast.callee.startsWith('torch.cuda') ? 0 : 2);
  if (cast && (!enabled || flagOf(knownNode(enabled)) === true)) {
    const dtype = argumentOf(cast, 'dtype', 1);
    const type = weightsDtypeOf(textOf(dtype && nodeOf(dtype, { bf16 })));
    if (dtype && type) draft.state('precision.compute', type, dtype, 'dtype');
    else if (dtype) leaveArgument(calls.draft, 'dtype', dtype, PRECISION);
    else
      draft.assume(
        'precision.compute',
        'fp16',
        say('autocast on a GPU takes fp16 unless told otherwise'),
        AUTOCAST,
      );
    draft.state('precision.scheme', 'autocast', { range: cast.calleeRange }, 'autocast');
  } else if (cast && enabled && flagOf(knownNode(enabled)) === undefined)
    leaveArgument(calls.draft, 'enabled', enabled, PRECISION);
  else
    draft.assume(
      'precision.scheme',
      'native',
      accelerator ? say('{0} default', 'Accelerate') : say('no mixed precision'),
      ACCELERATOR,
    );
}

const PRECISION = ['precision.compute', 'precision.scheme'] as const;

/** fp8 by the argument, which replaces layers on any GPU (`accelerator.py`, `fp8_enabled`); one without it gets fp16 for the rest (`state.py`, `AcceleratorState`). */
function leaveFp8({ draft }: Calls, mixed: PyValue, gpu: unknown): void {
  const card = typeof gpu === 'string' ? findAccelerator(gpu) : undefined;
  if (!card || card.supports.fp8) {
    draft.leaveUncounted(mixed, 'mixed_precision', PRECISION);
    return;
  }
  const words = say(
    '{0} has no fp8, which needs compute capability 8.9: Accelerate warns, computes the rest in fp16, and layers of fp8 fail there.',
    card.name,
  );
  draft.leave('value', mixed, 'mixed_precision', words, PRECISION);
}

/** Accelerate's own count, else how often a loop asks for gradients before a step; a step under a condition adds up those of as many batches as the code states. */
function readAccumulation(calls: Calls, { accelerator, optimizer, backward }: TrainingLoop): void {
  const { program, draft } = calls;
  const steps = accelerator && argumentOf(accelerator, 'gradient_accumulation_steps');
  const count = integerOf(knownNode(steps));
  if (steps && count !== undefined) {
    draft.state('batch.accumulation', count, steps, 'gradient_accumulation_steps');
    return;
  }
  // `optimizer.step()`, or `GradScaler.step(optimizer)`, of what Accelerate gives back for it, too.
  const isIt = (value: PyValue | undefined): boolean => {
    if (value?.kind !== 'object' || !optimizer) return false;
    const made = program.calls[value.id];
    return (
      value.id === optimizer.id ||
      (made?.callee === 'prepare' && value.item !== undefined && isIt(made.positional[value.item]))
    );
  };
  const isStepped = ({ of, positional: [first] }: PyCall) => isIt(of) || isIt(first);
  const step = program.calls.find(
    (call): call is PyCall => call.callee === 'step' && call.id > backward.id && isStepped(call),
  );
  if (step && !steps && readRounds(draft, step, backward)) return;
  // What gradients are asked under, too, decides nothing about the step alone.
  const condition = steps?.range ?? step?.conditions.findLast((one) => !backward.conditions.includes(one));
  if (!steps && readRemainder(calls, backward, condition)) return;
  if (condition) guessRounds(draft, condition, say('the optimizer steps under a condition'));
}

/** The optimizer steps once in so many rounds: `if (i + 1) % n == 0`. Where n is 1 it steps in each, and only its name tells what it counts. */
function readRemainder({ program, draft }: Calls, backward: PyCall, condition: Range | undefined): boolean {
  const all = program.calls.filter(
    ({ callee, loops }) => callee === REMAINDER && loops.at(-1) === backward.loops.at(-1),
  );
  const found = all.flatMap(({ range, named: [divisor] }) => {
    if (!divisor) return [];
    const decides = condition ? isWithin(range, condition) : /accum/i.test(divisor.key);
    return decides ? [{ every: divisor, count: integerOf(knownNode(divisor.value)) ?? 0 }] : [];
  });
  const [first, ...others] = found;
  if (!first || others.some(({ count }) => count !== first.count)) return false;
  const { every, count } = first;
  // Under a condition that the text does not settle more is asked than whether a round is over.
  if (count < 1 || (condition === undefined) !== (count === 1)) return false;
  const note = say('the optimizer steps once in so many rounds');
  draft.state('batch.accumulation', count, { range: every.used }, every.key, note);
  return true;
}

/** Gradients that go between forward and backward alone lie there while forward runs. */
function readLateZero({ program, draft }: Calls, { backward }: TrainingLoop): void {
  const around = program.calls.filter(({ repeated }) => repeated);
  const forward = around.findLast(({ callee, id }) => callee === '()' && id < backward.id);
  const zeroes = around.filter(({ callee }) => callee === 'zero_grad');
  const [first] = zeroes;
  if (!forward || !first || !zeroes.every(({ id }) => forward.id < id && id < backward.id)) return;
  const note = say('`zero_grad` stands between forward and backward');
  draft.infer('optimizer.lateZero', true, note, { range: first.calleeRange });
}

/** Loops that ask for gradients once a round and that are over when the optimizer steps: their gradients add up. */
function readRounds(draft: Draft, step: PyCall, backward: PyCall): boolean {
  const inner = backward.loops.filter((loop) => !step.loops.includes(loop));
  const [first] = inner;
  if (!first) return false;
  const counts = inner.map(({ times }) => integerOf(knownNode(times)));
  if (counts.every((count) => count !== undefined && count > 0)) {
    const rounds = counts.reduce<number>((product, count) => product * (count ?? 1), 1);
    const note = say('a loop asks for gradients as often before a step');
    draft.state('batch.accumulation', rounds, { range: first.range }, 'for', note);
  } else guessRounds(draft, first.range, say('a loop asks for gradients several times before a step'));
  return true;
}

function guessRounds(draft: Draft, range: Range, note: string): void {
  const words = say('How many batches are accumulated the code decides: two are taken.');
  draft.leave('words', { range }, 'step', words);
  draft.infer('batch.accumulation', 2, note, { range }, undefined, true);
}
