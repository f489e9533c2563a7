import { callBuiltin } from './builtins';
import { parametersOfPart } from './chosen-parameters';
import { parsedClass, STARTS } from './command-libraries';
import { flagsAsArguments } from './command-line';
import { callFunction, instance, placesOf } from './functions';
import { lifted, type Machine } from './machine';
import { callMethod, callObject, followGiven } from './methods';
import { changeByMethod, handClasses, handOver } from './module-changes';
import { followBuilders } from './olmo-core-builders';
import { partialFunction } from './partial-functions';
import { brokenIn, childIn, type SyntaxNode } from './syntax-node';
import type { Passed, PyArgument, PyCall, PyUnknown, PyValue } from './value';

const FREEZES = /^freeze_\w+$/;
/** Methods of models that freeze a part of them, or all. */
export const FREEZES_PART = /^_?freeze(?:_\w+)?$/;

/** A call: of a function of the file, which is followed, of something built in, or of something imported, which is noted. */
export function evaluateCall(machine: Machine, node: SyntaxNode): PyValue {
  const callee = childIn(node, 'function');
  const args = childIn(node, 'arguments');
  if (!callee || !args) return machine.unknown(node);
  const method = callee.type === 'attribute' ? childIn(callee, 'attribute') : undefined;
  const owner = method ? machine.evaluate(machine, childIn(callee, 'object')) : undefined;
  // A name is looked up as a whole: `torch.cuda.is_available`.
  if (owner && method && owner.kind !== 'name') {
    const passed = passedTo(machine, args);
    handOver(machine, undefined, passed);
    const container = childIn(callee, 'object');
    if (container && machine.textOf(method) === '__init__') handToBase(machine, container, passed);
    if (container) changeByMethod(machine, owner, machine.textOf(method), passed, container);
    // Whoever asks for gradients trains, whatever they are of.
    if (owner.kind === 'unknown' && machine.textOf(method) === 'backward')
      machine.record({
        ...passed,
        positional: [owner],
        callee: 'backward',
        ...placesOf(machine, node, callee),
      });
    // Nor is what is frozen always seen: layers, or weights that a list holds.
    if (owner.kind === 'unknown' && machine.textOf(method) === 'requires_grad_')
      machine.record({ ...passed, callee: 'requires_grad_', ...placesOf(machine, node, callee) });
    // The same of methods that freeze: of a part of what a call made, or by a name that only models have.
    const freezes = owner.kind === 'unknown' && (owner.of === undefined ? FREEZES : FREEZES_PART);
    if (owner.kind === 'unknown' && freezes && freezes.test(machine.textOf(method)))
      machine.record({
        ...passed,
        ...(owner.of === undefined ? {} : { of: { kind: 'object', id: owner.of, range: owner.range } }),
        callee: machine.textOf(method),
        ...placesOf(machine, node, callee),
      });
    // vLLM inside of a model is put to sleep, and woken up.
    const engine = /\bvllm_engine\.(?:sleep|wake_up)$/.exec(machine.textOf(callee))?.[0];
    if (owner.kind === 'unknown' && engine)
      machine.record({ ...passed, callee: engine, ...placesOf(machine, node, callee) });
    // Whatever an image comes from, its size is written out.
    if (owner.kind === 'unknown' && /^(?:resize|thumbnail)$/.test(machine.textOf(method)))
      machine.record({ ...passed, callee: machine.textOf(method), ...placesOf(machine, node, callee) });
    const chosen = parametersOfPart(machine, owner, machine.textOf(method), node, container);
    if (chosen) return chosen;
    return lifted([owner], ([of]) =>
      of ? callMethod(machine, of, machine.textOf(method), passed, node) : machine.unknown(node),
    );
  }
  const target = machine.evaluate(machine, callee);
  return lifted([target], ([called]) => callValue(machine, called, node, args, callee));
}

/** `super().__init__(model=student)` in the `__init__` of a class of the file: what it inherits from is made with that. */
function handToBase(machine: Machine, container: SyntaxNode, { named }: Passed): void {
  if (!/^super\(/.test(machine.textOf(container))) return;
  const self = machine.lookup('self');
  const made = self?.kind === 'object' && self.item === undefined ? machine.calls[self.id] : undefined;
  if (made?.subclass !== undefined && machine.instances.has(made.id))
    machine.calls[made.id] = { ...made, handed: [...(made.handed ?? []), ...named] };
}

function callValue(
  machine: Machine,
  called: PyValue | undefined,
  node: SyntaxNode,
  args: SyntaxNode,
  callee: SyntaxNode,
): PyValue {
  const passed = passedTo(machine, args);
  if (called?.kind === 'function') return callFunction(machine, called, passed, node);
  handOver(machine, called?.kind === 'name' ? called.name : undefined, passed);
  if (called?.kind === 'class') return instance(machine, called, passed, node);
  if (called?.kind !== 'name') {
    if (called?.kind === 'object') return callObject(machine, called, passed, node);
    // The tokenizer of a processor cuts as the processor does.
    if (called?.kind === 'unknown' && called.of !== undefined && isTokenizerOf(machine, called))
      return callObject(machine, { kind: 'object', id: called.of, range: called.range }, passed, node);
    const given = called?.kind === 'unknown' ? called.given : undefined;
    return machine.unknown(node, given ? { given } : {});
  }
  const answer = callBuiltin(machine, called.name, passed, node);
  if (answer) return answer;
  const partly = partialFunction(called.name, passed);
  if (partly) return partly;
  const built = followBuilders(machine, called.name, passed, node);
  if (built) return built;
  handClasses(called.name, passed);
  return recorded(machine, called.name, passed, node, callee);
}

const isTokenizerOf = ({ calls }: Machine, { of, path }: PyUnknown): boolean =>
  path === 'tokenizer' && of !== undefined && /Processor\w*\.from_pretrained$/.test(calls[of]?.callee ?? '');

/** Notes a call of something imported. Functions of the file that it is given may be run by it: they are followed once. */
function recorded(
  machine: Machine,
  name: string,
  passed: Passed,
  node: SyntaxNode,
  callee: SyntaxNode,
): PyValue {
  const given = withModel(machine, passed, node);
  const made = machine.record({
    ...given,
    callee: name,
    ...placesOf(machine, node, callee),
  });
  const [first] = passed.positional;
  const parsed = parsedClass(machine, name, passed, node);
  if (parsed) return parsed;
  if (ADDS_FLAGS.test(name) && first) return first;
  if (STARTS.test(name) && first?.kind === 'function')
    callFunction(
      machine,
      first,
      { positional: [], named: flagsAsArguments(machine, /Fire$/.test(name)) },
      node,
    );
  else if (LAUNCHES.test(name) && first?.kind === 'function')
    callFunction(machine, first, launchedWith(machine, name, passed, node), node);
  else if (given === passed) followGiven(machine, passed, node);
  return made;
}

/** DeepSpeed adds flags of its own to a parser, and gives it back (`deepspeed/__init__.py`). */
const ADDS_FLAGS = /^deepspeed\.add_(?:config|tuning)_arguments$/;

/** What runs a function in processes of its own: `notebook_launcher(train, (model,), num_processes=2)`. */
const LAUNCHES =
  /^(?:accelerate\.(?:launchers\.)?notebook_launcher|torch\.multiprocessing\.(?:spawn\.)?spawn)$/;

/** What the function is given: the second argument's items, behind the rank where PyTorch spawns it. */
function launchedWith(
  machine: Machine,
  name: string,
  { positional, named }: Passed,
  node: SyntaxNode,
): Passed {
  const given = named.find(({ key }) => key === 'args')?.value ?? positional[1];
  const rank = name.startsWith('torch.') ? [machine.unknown(node)] : [];
  const more = given?.kind === 'list' ? given.items : [];
  return {
    positional: [...rank, ...more],
    named: [],
    ...(given && given.kind !== 'list' ? { open: given.range } : {}),
  };
}

/** `Trainer(model_init=make)`: the trainer calls the function, and trains what it gives. */
function withModel(machine: Machine, passed: Passed, node: SyntaxNode): Passed {
  const init = passed.named.find(({ key }) => key === 'model_init');
  if (init?.value.kind !== 'function') return passed;
  const value = callFunction(machine, init.value, { positional: [], named: [] }, node);
  const others = passed.named.filter(({ key }) => key !== 'model');
  return { ...passed, named: [...others, { ...init, key: 'model', value }] };
}

/** The arguments of a call, those of a dictionary behind `**` among them. */
function passedTo(machine: Machine, args: SyntaxNode): Passed {
  const positional: PyValue[] = [];
  const named = new Map<string, PyArgument>();
  // What could not be read there may be any argument.
  const broken = brokenIn(args);
  let open: PyCall['open'] = broken ? machine.rangeOf(broken) : undefined;
  let openBy: PyCall['openBy'] = broken ? 'broken' : undefined;
  // `min(x for x in y)`
  if (args.type === 'generator_expression') positional.push(machine.evaluate(machine, args));
  for (const child of args.type === 'argument_list' ? args.children : []) {
    if (child.type === 'keyword_argument') {
      const [name, value] = [childIn(child, 'name'), childIn(child, 'value')];
      if (!name || !value) continue;
      const key = machine.textOf(name);
      const known = machine.evaluate(machine, value);
      named.set(key, {
        key,
        keyRange: machine.rangeOf(name),
        value: known,
        used: machine.rangeOf(value),
        text: machine.shown(value),
      });
    } else if (child.type === 'dictionary_splat') {
      const more = machine.evaluate(machine, child.children[0]);
      if (more.kind === 'dict') for (const entry of more.entries) named.set(entry.key, entry);
      if (more.kind !== 'dict' || more.open) [open, openBy] = [machine.rangeOf(child), undefined];
    } else if (child.type === 'list_splat') {
      const more = machine.evaluate(machine, child.children[0]);
      if (more.kind === 'list') positional.push(...more.items);
      else [open, openBy] = [machine.rangeOf(child), '*'];
    } else if (child.broken !== true) positional.push(machine.evaluate(machine, child));
  }
  return { positional, named: [...named.values()], ...(open ? { open } : {}), ...(openBy ? { openBy } : {}) };
}
