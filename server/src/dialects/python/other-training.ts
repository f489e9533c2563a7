import type { ConfigDocument } from '../../config/node';
import type { PyCall, PyProgram } from '../../config/python/value';
import { fileName } from '../../text/uri';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';

/** A training by a library or a class whose calls are not read. */
interface OtherTraining {
  readonly call: PyCall;
  /** What trains, as people call it. */
  readonly library: string;
  readonly words: string;
}

const KERAS = /^(?:(?:tensorflow\.(?:python\.)?|tf_)?keras|keras_(?:hub|nlp|cv))\./;
const JAX = /^(?:jax\.(?:value_and_)?grad|flax\.nnx\.(?:value_and_)?grad)$/;
/** How what such a config makes is called. */
export const TRAINER_CONFIG = /^\w*TrainerConfig$/;
/** Functions of libraries that train by a config which a recipe of Python makes, as people call the libraries. */
const BY_RECIPE: readonly (readonly [library: string, trains: RegExp])[] = [
  // NVIDIA-NeMo/Megatron-Bridge v0.6.0, `src/megatron/bridge/training`.
  ['Megatron-Bridge', /^megatron\.bridge\.(?:\w+\.)*(?:pretrain(?:_megatron_mimo)?|finetune|distill)$/],
  // NVIDIA/NeMo v2.4.0, `nemo/collections/llm/api.py`.
  ['NeMo', /^nemo\.collections\.(?:llm|vlm)\.(?:api\.)?(?:pretrain|finetune|train|distill)$/],
];
/** The same by their last names. */
export const TRAINS_BY_RECIPE = /^(?:pretrain(?:_megatron_mimo)?|finetune|distill)$/;
/** What a config of XTuner's second trainer makes, which runs its own models. */
const XTUNER_V1 = /^xtuner\.v1\.(?:\w+\.)*\w*TrainerConfig$/;
/** Libraries beside transformers that have trainers of their own, as people call them. */
const LIBRARIES: Readonly<Record<string, string>> = {
  sentence_transformers: 'sentence-transformers',
  setfit: 'SetFit',
  adapters: 'adapters',
  span_marker: 'SpanMarker',
  optimum: 'optimum',
  gliner: 'GLiNER',
  pylate: 'PyLate',
};
/** The same as a file names them. */
const TRAINERS_OF = new RegExp(`\\b(?:${Object.keys(LIBRARIES).join('|')})\\b`);
/**
 * Trainers that are made of that of transformers and train otherwise: those of TRL that are not read (`experimental/`, and what 1.0 moved
 * there), and those of libraries beside transformers, whose models or losses are their own.
 */
const TRAINER = new RegExp(
  `^(?:trl|unsloth|unsloth_zoo|${Object.keys(LIBRARIES).join('|')})\\.(?:\\w+\\.)*(?:[A-Z]\\w*)?Trainer$`,
);
/** The first training by Keras, JAX, a recipe of torchtune whose config is not seen, or a trainer that is not read. */
export function otherTraining({ calls }: PyProgram): OtherTraining | undefined {
  const first = (library: string, is: (call: PyCall) => boolean): OtherTraining[] => {
    const call = calls.find(is);
    return call ? [{ call, library, words: say('{0} trains here: that is not estimated.', library) }] : [];
  };
  const unreadTrainer = (): OtherTraining[] => {
    const made = calls.filter(({ callee, of }) => of === undefined && TRAINER.test(callee));
    const call = made.find((one) => calls.some(({ callee, of }) => callee === 'train' && of?.id === one.id));
    if (!call) return [];
    const parts = call.callee.split('.');
    const other = LIBRARIES[parts[0] ?? ''];
    const library = other ?? parts.at(-1) ?? '';
    const words =
      other === undefined
        ? say('Runs of `{0}` are not estimated.', library)
        : say('{0} trains here: that is not estimated.', library);
    return [{ call, library, words }];
  };
  const hasKeras = calls.some(({ callee }) => KERAS.test(callee));
  const found = [
    ...first('Keras', ({ callee, of }) => hasKeras && of !== undefined && callee === 'fit'),
    ...first('JAX', ({ callee, of }) => of === undefined && JAX.test(callee)),
    ...first(
      'torchtune',
      ({ callee, of }) => callee === 'train' && /Recipe\w*$/.test((of && calls[of.id]?.callee) ?? ''),
    ),
    // `xtuner/v1/train/trainer.py` of InternLM/xtuner: what `-m xtuner.v1.train.cli.sft --config` takes.
    ...first('XTuner V1', ({ callee, of }) => of === undefined && XTUNER_V1.test(callee)),
    ...BY_RECIPE.flatMap(([library, trains]) =>
      first(library, ({ callee, of }) => of === undefined && trains.test(callee)),
    ),
    ...unreadTrainer(),
  ];
  return found[0];
}

const STARTS_RECIPE = /\b(?:pretrain(?:_megatron_mimo)?|finetune|train|distill)[ \t]*\(/;

/** Whether a file goes over the recipe of a training, which is read by itself; what the program makes of the recipe beside it is not. */
export function leftToRecipe(
  { call, library }: OtherTraining,
  { uri }: ConfigDocument,
  draft: Draft,
  { known }: ReadContext,
): boolean {
  if (library !== 'Megatron-Bridge' || known.framework !== 'megatron-bridge') return false;
  draft.joinsOnly = true;
  const name = fileName(uri);
  const words = say('`{0}` is a script of the project: what it does beyond its flags is not read.', name);
  draft.leave('script', { range: call.calleeRange }, call.callee.split('.').at(-1) ?? name, words);
  return true;
}

/** Texts that may hold such a training, in linear time. */
export function namesOther(text: string): boolean {
  // Most files name none of them, and looking for a plain word costs the least.
  if (text.includes('keras') && /\b(?:tf_)?keras\b/.test(text) && /\.fit[ \t]*\(/.test(text)) return true;
  if (text.includes('grad(') && /\b(?:jax|nnx)\.(?:value_and_)?grad\(/.test(text)) return true;
  if (text.includes('litgpt') && /\blitgpt\b/.test(text)) return /\bsetup[ \t]*\(/.test(text);
  if (text.includes('xtuner.v1') && /TrainerConfig[ \t]*\(/.test(text)) return true;
  if (/\b(?:megatron\.bridge|nemo\.collections)\b/.test(text) && STARTS_RECIPE.test(text)) return true;
  if (/Trainer[ \t]*\(/.test(text) && TRAINERS_OF.test(text)) return true;
  return text.includes('torchtune') && /\btorchtune\b/.test(text) && /\.train[ \t]*\(/.test(text);
}
