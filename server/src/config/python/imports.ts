import type { Lines } from '../lines';
import { childIn, type SyntaxNode } from './syntax-node';

/** What a statement imports: `import a.b` and `from ..a import b, c`. */
export interface PyImport {
  /** As it is written, with its dots. */
  readonly module: string;
  /** Of `from`: the names that are taken out of it, `*` for all. */
  readonly names: readonly string[];
}

/** Libraries whose names have a meaning of their own: they are never looked for in a workspace. */
export const LIBRARY =
  /^(?:torch\w*|transformers|trl|peft|unsloth\w*|accelerate|bitsandbytes|deepspeed|lightning|pytorch_lightning|datasets|optimum|liger_kernel|diffusers|tensorflow|keras|jax|flax|litgpt|yaml|ruamel|omegaconf|hydra)(?:\.|$)/;

/** The module that a name of another would be, where that is a package: `.` and `config` make `.config`. */
export const submodule = (module: string, name: string): string =>
  module.endsWith('.') ? `${module}${name}` : `${module}.${name}`;

/** A module and those that hold it: `a`, `a.b`. */
export function modulesAround(module: string): string[] {
  const dots = /^\.*/.exec(module)?.[0] ?? '';
  const parts = module.slice(dots.length).split('.');
  return parts.map((_, index) => `${dots}${parts.slice(0, index + 1).join('.')}`);
}

/** Every import of a text, wherever it stands. */
export function importsIn(root: SyntaxNode, lines: Lines): PyImport[] {
  const textOf = (node: SyntaxNode) => lines.text.slice(node.start, node.end).replace(/\s/g, '');
  const plain = (node: SyntaxNode) =>
    textOf(node.type === 'aliased_import' ? (childIn(node, 'name') ?? node) : node);
  const found: PyImport[] = [];
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    if (node.type === 'import_statement')
      found.push(...node.children.map((child) => ({ module: plain(child), names: [] })));
    else if (node.type === 'import_from_statement') {
      const from = childIn(node, 'module_name');
      const names = node.children.flatMap((child) =>
        child.field === 'name' ? [plain(child)] : child.type === 'wildcard_import' ? ['*'] : [],
      );
      if (from) found.push({ module: textOf(from), names });
    } else open.push(...node.children);
  }
  return found;
}

/** Words that stand in a text as strings of their own, wherever: `{"type": "image"}` has two. Those longer than a name are left out. */
export function wordsIn(root: SyntaxNode, lines: Lines): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    if (node.type === 'string') {
      const word = /^["'](\w{1,32})["']$/.exec(lines.text.slice(node.start, node.end))?.[1];
      if (word !== undefined) found.add(word);
    } else open.push(...node.children);
  }
  return found;
}
