import type { Tape } from '../../model/tape';
import { behaviours } from '../../run/behaviours';
import type { TrainingRun } from '../../run/fields';

/** The layer itself, as a path within it. */
export const WHOLE_LAYER = '';

/** Modules around a module, from the outermost: `self_attn` of `self_attn.q_proj`. */
export function containersOf(path: string): string[] {
  const parts = path.split('.').slice(0, -1);
  return parts.map((_, depth) => parts.slice(0, depth + 1).join('.'));
}

/**
 * Paths of a layer's modules that stage 3 takes for one, with no hooks inside: their weights are gathered, kept and let go of together
 * (`deepspeed/utils/z3_leaf_module.py`). What is stated are names of classes, of modules, or their ends.
 */
export function leafModules(tape: Tape, modelType: string, run: TrainingRun): readonly string[] {
  const stated = run['zero.leafModules'];
  if (stated === undefined) {
    const block = behaviours(run).wholeExpertBlocks.includes(modelType) ? expertBlock(tape) : undefined;
    return block === undefined ? [] : [block];
  }
  const found = stated.flatMap((name) =>
    /[A-Z]/.test(name) ? ofClass(name, tape, modelType) : named(name, tape),
  );
  return found.filter((path) => !found.some((other) => other !== path && isInside(path, other)));
}

const isInside = (path: string, around: string) => around === WHOLE_LAYER || path.startsWith(`${around}.`);

/** What the router and the experts of a layer are in. */
function expertBlock(tape: Tape): string | undefined {
  const first = tape.weights.find(({ expert }) => expert)?.name;
  const block = first?.slice(0, Math.max(0, first.indexOf('.experts')));
  return block === '' ? undefined : block;
}

const bare = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** Modules of a class of the model's own code, by what the end of its name calls it: `MixtralSparseMoeBlock`, `GptOssMLP`. */
function ofClass(name: string, tape: Tape, modelType: string): readonly string[] {
  const own = name.split('.').at(-1) ?? name;
  if (!bare(own).startsWith(bare(modelType.replace(/_text$/, '')))) return [];
  const block = expertBlock(tape);
  if (/(?:Decoder|Transformer)?Layer$/.test(own) && !/MoE?Layer$/i.test(own)) return [WHOLE_LAYER];
  const paths = [...new Set(tape.weights.flatMap((weight) => containersOf(weight.name)))];
  const ending = (end: RegExp) =>
    paths.filter((path) => end.test(path) && !end.test(path.slice(0, path.lastIndexOf('.'))));
  if (/Experts$/.test(own)) return ending(/(?:^|\.)experts$/);
  if (/Attention$/.test(own)) return ending(/^(?:self_attn|self_attention|attention|attn)$/);
  if (block !== undefined && /(?:MoE?(?:Block|MLP|FFN)?|SparseMLP|MLP|FFN)$/i.test(own)) return [block];
  return /MLP$/.test(own) ? ending(/^(?:mlp|feed_forward)$/) : [];
}

/** Modules of a name, with or without the layers that they are in, or of the end of one. */
function named(name: string, tape: Tape): readonly string[] {
  const within = name.replace(/^.*?\.\d+(?:\.|$)/, '');
  if (within === WHOLE_LAYER) return [WHOLE_LAYER];
  const paths = new Set(tape.weights.flatMap((weight) => containersOf(weight.name)));
  return [...paths].filter((path) => path === within || path.endsWith(within));
}
