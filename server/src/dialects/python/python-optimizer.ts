import { isNone, knownNode } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { flagOf, textOf } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { fileIn, PYTORCH } from '../../sources/repositories';
import type { OptimizerName } from '../../terms/optimizers';
import { say } from '../../wording/say';
import { BITSANDBYTES_OPTIMIZERS, bitsandbytesRelease } from '../bitsandbytes-releases';
import type { Draft } from '../draft';
import { argumentOf, type Calls, leaveArgument, overrule } from './call-block';
import { peftOptimizer, readPeftOptimizer } from './peft-optimizers';
import { optimizerClass } from './training-loop';

const OPTIM = 'https://docs.pytorch.org/docs/stable/optim.html';

/** Optimizers by package and class. Those of torch step lists of tensors at a time on a GPU unless set otherwise. */
const OPTIMIZERS: Readonly<Record<string, OptimizerName>> = {
  'torch.AdamW': 'adamw',
  'torch.Adam': 'adam',
  'torch.NAdam': 'nadam',
  'torch.RAdam': 'radam',
  'torch.Adamax': 'adamax',
  'torch.Adagrad': 'adagrad',
  'torch.Adadelta': 'adadelta',
  'torch.RMSprop': 'rmsprop',
  'torch.Rprop': 'rprop',
  'torch.SGD': 'sgd',
  'torch.Adafactor': 'torch-adafactor',
  'transformers.AdamW': 'adamw',
  'transformers.Adafactor': 'adafactor',
  'deepspeed.FusedAdam': 'adamw',
  'deepspeed.DeepSpeedCPUAdam': 'adamw',
  'deepspeed.FusedLamb': 'lamb',
  'deepspeed.FusedLion': 'lion',
  'deepspeed.DeepSpeedCPULion': 'lion',
  'deepspeed.DeepSpeedCPUAdagrad': 'adagrad',
  'bitsandbytes.AdamW8bit': 'adamw-8bit',
  'bitsandbytes.Adam8bit': 'adam-8bit',
  'bitsandbytes.PagedAdamW8bit': 'paged-adamw-8bit',
  'bitsandbytes.PagedAdamW32bit': 'paged-adamw',
  'bitsandbytes.PagedAdamW': 'paged-adamw',
  'bitsandbytes.Lion8bit': 'lion-8bit',
};

/** The first release of PyTorch with a class, where older ones have none of the name (`torch/optim`). */
const TORCH_SINCE: Readonly<Record<string, string>> = { Adafactor: '2.5', Muon: '2.9' };

/** The package of a class, the first release that has it where older ones do not, and where that stands. */
function classRelease(name: string): readonly [product: string, since: string, source: string] | undefined {
  const [library, className = ''] = name.split('.');
  const ofTorch = library === 'torch' ? TORCH_SINCE[className] : undefined;
  if (ofTorch !== undefined)
    return ['PyTorch', ofTorch, fileIn({ ...PYTORCH, at: `v${ofTorch}.0` }, 'torch/optim/__init__.py')];
  const since = library === 'bitsandbytes' ? bitsandbytesRelease(className) : undefined;
  return since === undefined ? undefined : ['bitsandbytes', since, BITSANDBYTES_OPTIMIZERS];
}

/** A release that is named has no class of the name: the call stops. */
function checkClass(draft: Draft, name: string, { calleeRange }: PyCall): void {
  const release = classRelease(name);
  if (!release) return;
  const [product, since, source] = release;
  const releases = { until: since };
  if (!draft.isRefusedByNamed(source, releases)) return;
  const message = say(
    '{0} has the optimizer "{1}" since version {2}.',
    product,
    name.split('.')[1] ?? '',
    since,
  );
  draft.refuse('unknown-optimizer', message, calleeRange, { source, releases });
}

/** States the optimizer that a call makes. */
export function readMadeOptimizer(calls: Calls, optimizer: PyCall): void {
  const { draft } = calls;
  if (peftOptimizer(optimizer) !== undefined) {
    const own = readPeftOptimizer(calls, optimizer);
    if (own && optimizerClass(own) === undefined) leaveUnknown(draft, own);
    else if (own) readMadeOptimizer(calls, own);
    return;
  }
  const name = optimizerClass(optimizer);
  if (name === undefined) return;
  checkClass(draft, name, optimizer);
  const known = Object.hasOwn(OPTIMIZERS, name) ? OPTIMIZERS[name] : undefined;
  const place = { range: optimizer.calleeRange };
  if (!known) {
    leaveUnknown(draft, optimizer);
    return;
  }
  const momentum = argumentOf(optimizer, 'momentum');
  // Of DeepSpeed's Adam it is a switch whether weight decay is decoupled.
  const coupled = ['adam_w_mode', 'adamw_mode'].map((key) => argumentOf(optimizer, key));
  const isPlain = coupled.some((one) => one !== undefined && flagOf(knownNode(one)) === false);
  const moves = known === 'sgd' && momentum !== undefined && Number(textOf(knownNode(momentum)) ?? 1) !== 0;
  draft.state(
    'optimizer.name',
    moves ? 'sgd-momentum' : isPlain && known === 'adamw' ? 'adam' : known,
    place,
    optimizer.callee,
  );
  if (/^deepspeed\.Fused/.test(name))
    draft.state('optimizer.implementation', 'fused', place, optimizer.callee);
  else if (name.startsWith('transformers.')) {
    draft.assume('optimizer.implementation', 'for-loop', say('{0} default', 'transformers'), OPTIM);
  } else if (name.startsWith('torch.')) {
    const [fused, foreach] = ['fused', 'foreach'].map((key) => argumentOf(optimizer, key));
    if (fused && flagOf(knownNode(fused)) === true)
      draft.state('optimizer.implementation', 'fused', fused, 'fused');
    else if (foreach && flagOf(knownNode(foreach)) === false)
      draft.state('optimizer.implementation', 'for-loop', foreach, 'foreach');
    else draft.assume('optimizer.implementation', 'foreach', say('{0} default', 'PyTorch'), OPTIM);
  }
}

function leaveUnknown(draft: Calls['draft'], optimizer: PyCall): void {
  const { callee, calleeRange } = optimizer;
  const words = say('The optimizer `{0}` is not known.', callee);
  draft.leave('value', { range: calleeRange }, optimizerClass(optimizer) ?? callee, words, [
    'optimizer.name',
  ]);
}

/** Methods of a trainer's subclass that make another optimizer than its arguments ask for. */
const MAKES_OPTIMIZER = [
  'create_optimizer',
  'create_optimizer_and_scheduler',
  'get_optimizer_cls_and_kwargs',
];

/** What the Trainer's arguments state of an optimizer that it makes itself. */
const MADE_FIELDS: readonly FieldPath[] = ['optimizer.name', 'optimizer.implementation'];

/** `Trainer(optimizers=(optimizer, scheduler))`, and subclasses that make their own: it counts, whatever the arguments ask for. The call that makes it, where that is read. */
export function readGivenOptimizer(calls: Calls, trainer: PyCall): PyCall | undefined {
  const { program, draft } = calls;
  const own = program.classes.find(({ name }) => name === trainer.subclass);
  const method = MAKES_OPTIMIZER.find((name) => own?.methods.has(name));
  if (method !== undefined) {
    draft.leave(
      'script',
      { range: trainer.calleeRange },
      method,
      say('The optimizer is made by `{0}` of the file, which is not read.', method),
      ['optimizer.name'],
    );
    overrule(draft, MADE_FIELDS);
    return undefined;
  }
  const named = argumentOf(trainer, 'optimizer_cls_and_kwargs');
  if (named && !isNone(named)) {
    readNamedOptimizer(calls, trainer, named);
    return undefined;
  }
  const pair = argumentOf(trainer, 'optimizers');
  if (!pair || isNone(pair)) return undefined;
  const first = pair.kind === 'list' ? pair.items[0] : undefined;
  if (first && isNone(first)) return undefined;
  const made = first?.kind === 'object' ? program.calls[first.id] : undefined;
  if (made && optimizerClass(made) !== undefined) {
    readMadeOptimizer(calls, made);
    return made;
  }
  leaveArgument(draft, 'optimizers', pair, ['optimizer.name']);
  overrule(draft, MADE_FIELDS);
  return undefined;
}

/** `optimizer_cls_and_kwargs=(torch.optim.SGD, {"lr": 0.1})`: the trainer calls the class itself, with these. */
function readNamedOptimizer(calls: Calls, trainer: PyCall, pair: PyValue): void {
  const [kind, words] = pair.kind === 'list' ? pair.items : [];
  const made: PyCall | undefined =
    kind?.kind === 'name' && words?.kind === 'dict' && !words.open
      ? {
          ...trainer,
          callee: kind.name,
          positional: [],
          named: words.entries,
          calleeRange: kind.range,
          range: pair.range,
          argumentsRange: words.range,
        }
      : undefined;
  if (made && optimizerClass(made) !== undefined) readMadeOptimizer(calls, made);
  else {
    leaveArgument(calls.draft, 'optimizer_cls_and_kwargs', pair, ['optimizer.name']);
    overrule(calls.draft, MADE_FIELDS);
  }
}
