import { childIn, parametersIn, type SyntaxNode } from '../../config/python/syntax-node';
import type { PyCall, PyClass, PyFunction } from '../../config/python/value';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import { suggested } from '../../wording/closest';
import { say } from '../../wording/say';
import { type Calls, surelyPassed } from './call-block';
import { isBase } from './trainer-classes';

const TRAINER = fileIn(TRANSFORMERS, 'src/transformers/trainer.py');

/** What `Trainer` takes, or took in a release since 3.0: none takes anything else (`trainer.py`, `Trainer.__init__`; 5.23 takes all but `tokenizer` and the last two). */
const TAKEN: readonly string[] = [
  'model',
  'args',
  'data_collator',
  'train_dataset',
  'eval_dataset',
  'processing_class',
  'model_init',
  'compute_loss_func',
  'compute_metrics',
  'callbacks',
  'optimizers',
  'optimizer_cls_and_kwargs',
  'preprocess_logits_for_metrics',
  'tokenizer',
  'prediction_loss_only',
  'tb_writer',
];

/** The parameters of a trainer's own `__init__`. */
interface OwnParameters {
  readonly names: readonly string[];
  /** What it does not name goes to the trainer's, and nothing takes any of it before. */
  readonly handsOn: boolean;
  /** It takes what it does not name, whatever becomes of that. */
  readonly takesRest: boolean;
}

/**
 * Arguments that neither the trainer nor a class of the file that is made of it takes: the call stops with a `TypeError`. Those of TRL's
 * trainers change with every release, and are not looked at.
 */
export function checkTrainerArguments({ program, draft }: Calls, call: PyCall): void {
  if (!isBase(call.callee)) return;
  const own = call.subclass === undefined ? undefined : parametersOf(program.classes, call.subclass);
  if (own === 'unknown' || (own?.takesRest && !own.handsOn)) return;
  const names = own === undefined ? TAKEN : own.handsOn ? [...own.names, ...TAKEN] : own.names;
  for (const { key, keyRange } of surelyPassed(program, program.calls[call.id])) {
    if (names.includes(key)) continue;
    const near = draft.near(key, names, 1);
    const message = say(
      '`{0}` takes no `{1}`: the call stops with a `TypeError`.{2}',
      call.subclass ?? call.callee.split('.').at(-1) ?? '',
      key,
      suggested(near),
    );
    const [replacement] = near;
    const data = replacement === undefined ? { key } : { replacement, suggestions: near };
    draft.refuse('trainer-argument', message, keyRange, { source: TRAINER, data });
  }
}

/** What the class of a name takes itself; undefined where it leaves that to what it is made of, `unknown` where that is another class of the file. */
function parametersOf(classes: readonly PyClass[], name: string): OwnParameters | undefined | 'unknown' {
  const made = classes.filter((one) => one.name === name);
  const [only] = made;
  if (!only || made.length > 1) return 'unknown';
  const init = only.methods.get('__init__');
  if (init) return ownParameters(init);
  return only.bases.some(({ kind }) => kind === 'class') ? 'unknown' : undefined;
}

function ownParameters({ node, home }: PyFunction): OwnParameters {
  const text = (one: SyntaxNode) => home.lines.text.slice(one.start, one.end);
  const parameters = parametersIn(node);
  const rest = parameters.find(({ type }) => type === 'dictionary_splat_pattern')?.children[0];
  const names = parameters.flatMap((one) => {
    const place = childIn(one, 'name') ?? (one.type === 'identifier' ? one : one.children[0]);
    return place && !/splat_pattern|separator/.test(one.type) ? [text(place)] : [];
  });
  const body = childIn(node, 'body');
  const written = body ? text(body) : '';
  const mentions = rest ? written.split(new RegExp(`\\b${text(rest)}\\b`)).length - 1 : 0;
  const handed = rest ? new RegExp(`__init__\\s*\\([^)]*\\*\\*${text(rest)}\\b`).test(written) : false;
  return { names: names.slice(1), takesRest: rest !== undefined, handsOn: handed && mentions === 1 };
}
