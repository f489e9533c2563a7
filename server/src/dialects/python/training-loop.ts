import type { PyCall, PyObject, PyProgram, PyValue } from '../../config/python/value';
import { argumentOf } from './call-block';
import { type LightningTraining, lightningTraining, modelOfModule } from './lightning-run';

/** A training loop that a program writes itself: gradients are asked for by `backward()`, and something steps. */
export interface TrainingLoop {
  /** The call that asks for gradients. */
  readonly backward: PyCall;
  /** What steps the weights; absent where DeepSpeed makes it of its config. */
  readonly optimizer?: PyCall;
  /** `deepspeed.initialize(...)`. */
  readonly engine?: PyCall;
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
  /** The optimizer gets the weights by `model.parameters()` and nothing else. */
  readonly whole: boolean;
}

const OPTIMIZER =
  /^(?:torch\.optim\.(?:\w+\.)?|bitsandbytes\.optim\.(?:\w+\.)?|transformers\.(?:optimization\.)?)([A-Z]\w*)$/;
const FABRIC = /^(?:lightning(?:\.fabric)?|lightning_fabric)\.(?:\w+\.)*Fabric$/;
/** Classes of these modules that are no optimizer. */
const NO_OPTIMIZER = /(?:LR|Scheduler|Optimizer)$/;

/** The class of an optimizer with the package that it is of; undefined for any other call. */
export function optimizerClass({ callee, of }: PyCall): string | undefined {
  const name = of ? undefined : OPTIMIZER.exec(callee)?.[1];
  if (name === undefined || NO_OPTIMIZER.test(name)) return undefined;
  const isPlain = !callee.startsWith('transformers.') || /^(AdamW|Adafactor)$/.test(name);
  return isPlain ? `${callee.split('.')[0]}.${name}` : undefined;
}

const made = ({ calls }: PyProgram, value: PyValue | undefined): PyCall | undefined =>
  value?.kind === 'object' ? calls[value.id] : undefined;

/** The loop of a program; undefined where it has none. Of several the last one counts that steps something. */
export function trainingLoop(program: PyProgram): TrainingLoop | undefined {
  const { calls } = program;
  const backward = calls.findLast(({ callee }) => callee === 'backward');
  if (!backward) return lightningLoop(program);
  const accelerators = calls.filter(({ callee }) => /^accelerate\.(?:\w+\.)?Accelerator$/.test(callee));
  const asks = accelerators.find(({ id }) => id === backward.of?.id);
  const accelerator = asks ?? accelerators.at(-1);
  // An engine that was made for another loop does nothing in this one.
  const engine = asks ? undefined : calls.findLast(({ callee }) => callee === 'deepspeed.initialize');
  const optimizer = calls.findLast((call) => optimizerClass(call) !== undefined && call.id < backward.id);
  if (!engine && !optimizer) return undefined;
  const fabric = calls.findLast(({ callee }) => FABRIC.test(callee));
  const given = optimizer && argumentOf(optimizer, 'params', 0);
  const parameters = made(program, given);
  const whole = parameters?.callee === 'parameters' && parameters.of !== undefined;
  const answers = lossCall(program, backward);
  const model =
    (whole ? parameters.of : undefined) ??
    (engine && argumentOf(engine, 'model', 1)) ??
    answers?.of ??
    called(program);
  const another = calls.find(
    (call) =>
      optimizerClass(call) !== undefined &&
      call.id < backward.id &&
      call.conditions.length === 0 &&
      call.calleeRange.start.line !== optimizer?.calleeRange.start.line &&
      trainedBy(program, call) !== trainedBy(program, optimizer) &&
      !isOver(program, call, optimizer),
  );
  return {
    backward,
    ...(another ? { another } : {}),
    ownLoss: answers !== undefined,
    ...(optimizer ? { optimizer } : {}),
    ...(engine ? { engine } : {}),
    ...(accelerator ? { accelerator } : {}),
    ...(fabric ? { fabric } : {}),
    ...(model ? { model } : {}),
    whole: whole || (optimizer === undefined && engine !== undefined),
  };
}

/** The training that Lightning runs: the optimizer that `configure_optimizers` gives, of what the module holds. */
function lightningLoop(program: PyProgram): TrainingLoop | undefined {
  const lightning = lightningTraining(program);
  if (!lightning) return undefined;
  const { fit, module } = lightning;
  const optimizer = program.calls.findLast((call) => optimizerClass(call) !== undefined && call.id < fit.id);
  const parameters = made(program, optimizer && argumentOf(optimizer, 'params', 0));
  const model = modelOfModule(program, module) ?? module;
  return {
    backward: fit,
    lightning,
    // `training_step` is the module's own.
    ownLoss: false,
    ...(optimizer ? { optimizer } : {}),
    ...(model ? { model } : {}),
    whole: parameters?.callee === 'parameters' && parameters.of !== undefined,
  };
}

/** Whose parameters an optimizer gets. */
function trainedBy(program: PyProgram, optimizer: PyCall | undefined): number | undefined {
  const parameters = made(program, optimizer && argumentOf(optimizer, 'params', 0));
  return parameters?.of?.id;
}

/** Whether a training is over when a later optimizer is made: gradients were asked for before that, and its own steps nothing after. */
function isOver({ calls }: PyProgram, earlier: PyCall, later: PyCall | undefined): boolean {
  if (!later || later.id < earlier.id) return false;
  const trained = calls.some(({ callee, id }) => callee === 'backward' && id > earlier.id && id < later.id);
  return (
    trained &&
    !calls.some(({ callee, of, id }) => callee === 'step' && of?.id === earlier.id && id > later.id)
  );
}

/** The call of a model whose answer, such as `outputs.loss`, gradients are asked of. */
function lossCall({ calls }: PyProgram, { of, positional }: PyCall): PyCall | undefined {
  const [given] = positional;
  const id = given?.kind === 'unknown' ? given.of : given?.kind === 'object' ? given.id : of?.id;
  const call = id === undefined ? undefined : calls[id];
  // `GradScaler.scale(loss)` hands on the loss.
  const scaled = call?.callee === 'scale' ? call.positional[0] : undefined;
  const from = scaled?.kind === 'unknown' ? scaled.of : scaled?.kind === 'object' ? scaled.id : call?.id;
  const answer = from === undefined ? undefined : calls[from];
  return answer?.callee === '()' ? answer : undefined;
}

/** The model that is called in a loop, where it is one alone. */
function called(program: PyProgram): PyObject | undefined {
  const found = program.calls.flatMap(({ callee, of, repeated }) =>
    callee === '()' && of && repeated ? [of] : [],
  );
  const [first] = found;
  return first && found.every(({ id, item }) => id === first.id && item === first.item) ? first : undefined;
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
