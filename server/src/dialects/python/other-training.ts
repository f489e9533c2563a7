import type { PyCall, PyProgram } from '../../config/python/value';

/** A training by a library whose calls are not read. */
interface OtherTraining {
  readonly call: PyCall;
  /** What trains, as people call it. */
  readonly library: string;
}

const KERAS = /^(?:(?:tensorflow\.(?:python\.)?|tf_)?keras|keras_(?:hub|nlp|cv))\./;
const JAX = /^(?:jax\.(?:value_and_)?grad|flax\.nnx\.(?:value_and_)?grad)$/;
/** Functions of litgpt that its commands call (`__main__.py`). */
const LITGPT = /^litgpt\.(?:pretrain|finetune\.\w+|finetune_\w+)\.(?:setup|main)$/;

/** The first training by Keras, JAX, litgpt's own functions or a recipe of torchtune. */
export function otherTraining({ calls }: PyProgram): OtherTraining | undefined {
  const first = (library: string, is: (call: PyCall) => boolean): OtherTraining[] => {
    const call = calls.find(is);
    return call ? [{ call, library }] : [];
  };
  const hasKeras = calls.some(({ callee }) => KERAS.test(callee));
  const found = [
    ...first('Keras', ({ callee, of }) => hasKeras && of !== undefined && callee === 'fit'),
    ...first('JAX', ({ callee, of }) => of === undefined && JAX.test(callee)),
    ...first('LitGPT', ({ callee, of }) => of === undefined && LITGPT.test(callee)),
    ...first(
      'torchtune',
      ({ callee, of }) => callee === 'train' && /Recipe\w*$/.test((of && calls[of.id]?.callee) ?? ''),
    ),
  ];
  return found[0];
}

/** Texts that may hold such a training, in linear time. */
export function namesOther(text: string): boolean {
  // Most files name none of them, and looking for a plain word costs the least.
  if (text.includes('keras') && /\b(?:tf_)?keras\b/.test(text) && /\.fit[ \t]*\(/.test(text)) return true;
  if (text.includes('grad(') && /\b(?:jax|nnx)\.(?:value_and_)?grad\(/.test(text)) return true;
  if (text.includes('litgpt') && /\blitgpt\b/.test(text)) return /\b(?:setup|main)[ \t]*\(/.test(text);
  return text.includes('torchtune') && /\btorchtune\b/.test(text) && /\.train[ \t]*\(/.test(text);
}
