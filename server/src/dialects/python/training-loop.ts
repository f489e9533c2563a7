import { chosenIn } from '../../config/python/chosen-parameters';
import { isNone } from '../../config/python/node-of-value';
import { ALL, type ParameterChoice } from '../../config/python/parameter-choice';
import type { ChosenParameters, PyCall, PyObject, PyProgram, PyValue } from '../../config/python/value';
import { argumentOf } from './call-block';
import { returnsOwnLoss } from './lightning-loss';
import { type LightningTraining, lightningTraining, modelOfModule } from './lightning-run';
import { chainOf, ofOneModel } from './model-chain';
import { peftOptimizer } from './peft-optimizers';

/** A training loop that a program writes itself: gradients are asked for by `backward()`, and something steps. */
export interface TrainingLoop {
  /** The call that asks for gradients. */
  readonly backward: PyCall;
  /** What steps the weights; absent where DeepSpeed makes it of its config. */
  readonly optimizer?: PyCall;
  /** `deepspeed.initialize(...)`. */
  readonly engine?: PyCall;
  /** What DeepSpeed is given as optimizer, and steps in the place of the one of its config. */
  readonly handed?: PyValue;
  /** Engines of other models beside it, none of which is given an optimizer. */
  readonly besides: readonly PyCall[];
  /** `Trainer(...).fit(...)` of Lightning, which asks for gradients itself. */
  readonly lightning?: LightningTraining;
  /** `Accelerator(...)`. */
  readonly accelerator?: PyCall;
  /** `Fabric(...)` of Lightning. */
  readonly fabric?: PyCall;
  /** The model whose weights are stepped. */
  readonly model?: PyValue;
  /** Another optimizer, of other weights: more is trained than one model. */
  readonly another?: PyCall;
  /** The loss is the one that the model computes. */
  readonly ownLoss: boolean;
  /** Which weights of the model, of those that are not frozen, the optimizer gets by each group; none where that is not seen. */
  readonly choices: readonly ParameterChoice[];
}

/** Optimizers of DeepSpeed that a program makes itself (`ops/adam/fused_adam.py`, `ops/adam/cpu_adam.py` and their siblings). */
const BY_DEEPSPEED =
  /^deepspeed\.ops\.(?:\w+\.)+(FusedAdam|DeepSpeedCPUAdam|FusedLamb|FusedLion|DeepSpeedCPULion|DeepSpeedCPUAdagrad)$/;
const OPTIMIZER =
  /^(?:torch\.optim\.(?:\w+\.)?|bitsandbytes\.optim\.(?:\w+\.)?|transformers\.(?:optimization\.)?)([A-Z]\w*)$/;
const FABRIC = /^(?:lightning(?:\.fabric)?|lightning_fabric)\.(?:\w+\.)*Fabric$/;
/** Classes of these modules that are no optimizer. */
const NO_OPTIMIZER = /(?:LR|Scheduler|Optimizer)$/;

/** The class of an optimizer with the package that it is of; undefined for any other call. */
export function optimizerClass(call: PyCall): string | undefined {
  const { callee, of } = call;
  const byPeft = peftOptimizer(call);
  if (byPeft !== undefined) return `peft.${byPeft}`;
  const byDeepspeed = of ? undefined : BY_DEEPSPEED.exec(callee)?.[1];
  if (byDeepspeed !== undefined) return `deepspeed.${byDeepspeed}`;
  const name = of ? undefined : OPTIMIZER.exec(callee)?.[1];
  if (name === undefined || NO_OPTIMIZER.test(name)) return undefined;
  const isPlain = !callee.startsWith('transformers.') || /^(AdamW|Adafactor)$/.test(name);
  return isPlain ? `${callee.split('.')[0]}.${name}` : undefined;
}

/** The loop of a program; undefined where it has none. Of several the last one counts that steps something. */
export function trainingLoop(program: PyProgram): TrainingLoop | undefined {
  const { calls } = program;
  const backward = calls.findLast(({ callee }) => callee === 'backward');
  if (!backward) return lightningLoop(program);
  const accelerators = calls.filter(({ callee }) => /^accelerate\.(?:\w+\.)?Accelerator$/.test(callee));
  const asks = accelerators.find(({ id }) => id === backward.of?.id);
  const accelerator = asks ?? accelerators.at(-1);
  // An engine that was made for another loop does nothing in this one.
  const engines = asks ? [] : calls.filter(({ callee }) => callee === 'deepspeed.initialize');
  const engine = engines.find(({ id }) => id === backward.of?.id) ?? engines.at(-1);
  const handed = handedTo(engine);
  const made = handed && optimizerBehind(program, handed);
  const last = calls.findLast((call) => optimizerClass(call) !== undefined && call.id < backward.id);
  const optimizer = handed ? made : last;
  if (!engine && !optimizer) return undefined;
  const fabric = calls.findLast(({ callee }) => FABRIC.test(callee));
  const given = givenTo(program, optimizer);
  const loss = lossCall(program, backward);
  const behind = loss && modelBehind(program, loss);
  const isModels = loss && !makesLoss(program, loss) && (!behind || behind.id === loss.of?.id);
  const answers = isModels ? loss : undefined;
  const model =
    given?.of ?? (engine && argumentOf(engine, 'model', 1)) ?? behind ?? answers?.of ?? called(program);
  const besides = engines.filter((one) => one !== engine && handedTo(one) === undefined);
  const another = calls.find(
    (call) =>
      optimizerClass(call) !== undefined &&
      optimizer !== undefined &&
      call.id < backward.id &&
      call.conditions.length === 0 &&
      call.calleeRange.start.line !== optimizer.calleeRange.start.line &&
      trainedBy(program, call) !== trainedBy(program, optimizer) &&
      !isOver(program, call, optimizer),
  );
  return {
    backward,
    ...(another ? { another } : {}),
    ownLoss: answers !== undefined,
    ...(optimizer ? { optimizer } : {}),
    ...(engine ? { engine } : {}),
    ...(handed ? { handed } : {}),
    besides,
    ...(accelerator ? { accelerator } : {}),
    ...(fabric ? { fabric } : {}),
    ...(model ? { model } : {}),
    choices: given?.choices ?? (optimizer === undefined && engine !== undefined ? [ALL] : []),
  };
}

/** The optimizer that DeepSpeed is given (`deepspeed/__init__.py`, `initialize`). */
function handedTo(engine: PyCall | undefined): PyValue | undefined {
  const given = engine && argumentOf(engine, 'optimizer', 2);
  return given && !isNone(given) ? given : undefined;
}

/** The call that makes an optimizer; of several between which a condition chooses none. */
function optimizerBehind({ calls }: PyProgram, value: PyValue): PyCall | undefined {
  const call = value.kind === 'object' && value.item === undefined ? calls[value.id] : undefined;
  return call && optimizerClass(call) !== undefined ? call : undefined;
}

/** The training that Lightning runs: the optimizer that `configure_optimizers` gives, of what the module holds. */
function lightningLoop(program: PyProgram): TrainingLoop | undefined {
  const lightning = lightningTraining(program);
  if (!lightning) return undefined;
  const { fit, module } = lightning;
  const optimizer = program.calls.findLast((call) => optimizerClass(call) !== undefined && call.id < fit.id);
  const model = modelOfModule(program, module) ?? module;
  return {
    backward: fit,
    lightning,
    besides: [],
    ownLoss: returnsOwnLoss(program, module),
    ...(optimizer ? { optimizer } : {}),
    ...(model ? { model } : {}),
    choices: givenTo(program, optimizer)?.choices ?? [],
  };
}

/** The model whose parameters an optimizer gets, and which of them; undefined where that is not seen. */
function givenTo(
  program: PyProgram,
  optimizer: PyCall | undefined,
): { readonly of: PyObject; readonly choices: readonly ParameterChoice[] } | undefined {
  // PEFT takes the model itself, and all of its weights that are not frozen.
  const whole = optimizer && peftOptimizer(optimizer) ? argumentOf(optimizer, 'model', 0) : undefined;
  if (whole?.kind === 'object') return { of: whole, choices: [ALL] };
  const groups = optimizer ? groupsIn(program, argumentOf(optimizer, 'params', 0)) : [];
  const of = ofOneModel(
    program,
    groups.map((group) => group?.of),
  );
  return of && { of, choices: groups.flatMap((group) => group?.choice ?? []) };
}

/** Parameters by the groups in which an optimizer gets them; one that is not seen is undefined. */
function groupsIn(program: PyProgram, value: PyValue | undefined): readonly (ChosenParameters | undefined)[] {
  if (value?.kind === 'list') return value.items.flatMap((item) => groupsIn(program, item));
  // A model that a branch wraps holds the same parameters in either arm.
  if (value?.kind === 'either') {
    const groups = value.options.flatMap((option) => groupsIn(program, option));
    return groups.every((group) => group?.choice.kind === 'all') ? groups : [undefined];
  }
  if (value?.kind !== 'dict') return [chosenIn(program.calls, value)];
  return groupsIn(program, value.entries.find(({ key }) => key === 'params')?.value);
}

/** Whose parameters an optimizer gets. */
const trainedBy = (program: PyProgram, optimizer: PyCall | undefined): number | undefined =>
  givenTo(program, optimizer)?.of.id;

/** Whether a training is over when a later optimizer is made: gradients were asked for before that, and its own steps nothing after. */
function isOver({ calls }: PyProgram, earlier: PyCall, later: PyCall | undefined): boolean {
  if (!later || later.id < earlier.id) return false;
  const trained = calls.some(({ callee, id }) => callee === 'backward' && id > earlier.id && id < later.id);
  return (
    trained &&
    !calls.some(({ callee, of, id }) => callee === 'step' && of?.id === earlier.id && id > later.id)
  );
}

/** The call of a model whose answer, such as `outputs.loss`, gradients are asked of; of one that a branch wraps, the last. */
function lossCall(program: PyProgram, { of, positional }: PyCall): PyCall | undefined {
  const [given] = positional;
  if (given?.kind !== 'either') return answerOf(program, given ?? of);
  const answers = given.options.map((option) => answerOf(program, option));
  const called = ofOneModel(
    program,
    answers.map((answer) => answer?.of),
  );
  return called && answers.at(-1);
}

function answerOf({ calls }: PyProgram, given: PyValue | undefined): PyCall | undefined {
  const id = given?.kind === 'unknown' ? given.of : given?.kind === 'object' ? given.id : undefined;
  const call = id === undefined ? undefined : calls[id];
  // `GradScaler.scale(loss)` hands on the loss.
  const scaled = call?.callee === 'scale' ? call.positional[0] : undefined;
  const from = scaled?.kind === 'unknown' ? scaled.of : scaled?.kind === 'object' ? scaled.id : call?.id;
  const answer = from === undefined ? undefined : calls[from];
  return answer?.callee === '()' ? answer : undefined;
}

/** How many modules a loss is followed back through. */
const DEEPEST = 6;
/** What is loaded in the same way, and is no model. */
const PREPARES = /(?:Tokenizer\w*|Processor|FeatureExtractor)\.from_pretrained$/;

/** The model whose answer a loss is made of, through what is called with that: `criterion(head(model(x).pooler_output), y)`. */
function modelBehind(program: PyProgram, call: PyCall, depth = 0): PyObject | undefined {
  if (!call.of || depth > DEEPEST) return undefined;
  const { load } = chainOf(program, call.of);
  if (load) return PREPARES.test(load.callee) ? undefined : call.of;
  for (const value of [...call.positional, ...call.named.map((argument) => argument.value)]) {
    const answer = answerOf(program, value);
    const found = answer && answer.id < call.id ? modelBehind(program, answer, depth + 1) : undefined;
    if (found) return found;
  }
  return undefined;
}

/** Whether what is called is a loss of PyTorch (`torch.nn.modules.loss`). */
const makesLoss = ({ calls }: PyProgram, { of }: PyCall): boolean =>
  of !== undefined && /^torch\.nn\.(?:\w+\.)*\w+Loss$/.test(calls[of.id]?.callee ?? '');

/** The model that is called in a loop, where it is one alone. */
function called(program: PyProgram): PyObject | undefined {
  const found = program.calls.flatMap((call) =>
    call.callee === '()' && call.of && call.repeated && !makesLoss(program, call) ? [call.of] : [],
  );
  return ofOneModel(program, found);
}

/** Texts that may hold such a loop, of an optimizer of PyTorch or around a model of transformers, or a trainer of Lightning, in linear time. */
export function namesLoop(text: string): boolean {
  if (text.includes('.backward') && /\.backward[ \t]*\(/.test(text))
    return /\b(?:transformers|optim)\b/.test(text);
  return (
    text.includes('lightning') &&
    /\b(?:lightning|pytorch_lightning)\b/.test(text) &&
    /\.fit[ \t]*\(/.test(text)
  );
}
