import type { ScalarNode } from './node';

/**
 * Whether a text may be filled in when the tool runs: by OmegaConf (`${x}`), a shell (`$X`, `$(x)`, a backtick), whoever renders a
 * template (`{{ x }}`, `{% if %}`, `__X__` and `@X@` by `sed`), or whoever starts it, in the place of dots that stand alone. Asked before something is held against
 * what stands there, so that anything that looks like it counts; what is withdrawn from a run because a file leaves it open has to be one
 * for sure (`dialects/templated-values.ts`).
 */
export function isFilledLater(text: string): boolean {
  return /\$[\w{(@*#?!]|\{\{|\{%|^`|^(?:\.{3}|…)$|__[A-Z][A-Z\d_]*__|^@[A-Z][A-Z\d_]*@$/.test(text);
}

/** Whether a value is not there yet: a script sets it that does not show how, or somebody fills it in. */
export const isLeftOpen = ({ open, text }: ScalarNode): boolean => open !== undefined || isFilledLater(text);
