import type { Range } from '../../text/place';
import type { Lines } from '../lines';
import { childIn, type SyntaxNode } from './syntax-node';

/** What a statement imports: `import a.b` and `from ..a import b, c`. */
export interface PyImport {
  /** As it is written, with its dots. */
  readonly module: string;
  /** Of `from`: the names that are taken out of it, `*` for all. */
  readonly names: readonly string[];
  /** Where each of them stands. */
  readonly places: readonly Range[];
  /** It stands below a condition, in a `try` or in a function: it may never be imported, or fail without harm. */
  readonly guarded?: true;
}

/** Libraries whose names have a meaning of their own: they are never looked for in a workspace. */
export const LIBRARY =
  /^(?:torch\w*|transformers|trl|peft|unsloth\w*|accelerate|bitsandbytes|deepspeed|lightning|pytorch_lightning|datasets|optimum|liger_kernel|diffusers|tensorflow|keras|jax|flax|litgpt|olmo_core|mmengine|xtuner|vllm|snac|yaml|ruamel|omegaconf|hydra)(?:\.|$)/;

/** The module that a name of another would be, where that is a package: `.` and `config` make `.config`. */
export const submodule = (module: string, name: string): string =>
  module.endsWith('.') ? `${module}${name}` : `${module}.${name}`;

/** A module and those that hold it: `a`, `a.b`. */
export function modulesAround(module: string): string[] {
  const dots = /^\.*/.exec(module)?.[0] ?? '';
  const parts = module.slice(dots.length).split('.');
  return parts.map((_, index) => `${dots}${parts.slice(0, index + 1).join('.')}`);
}

/** What may leave its body out, or catch what is raised in it. */
const GUARDS = /^(?:try|if|while|for|match)_statement$|^(?:function|class)_definition$|^lambda$/;

/** Every import of a text, wherever it stands. */
export function importsIn(root: SyntaxNode, lines: Lines): PyImport[] {
  const textOf = (node: SyntaxNode) => lines.text.slice(node.start, node.end).replace(/\s/g, '');
  const plain = (node: SyntaxNode) =>
    textOf(node.type === 'aliased_import' ? (childIn(node, 'name') ?? node) : node);
  const found: PyImport[] = [];
  const open: { readonly node: SyntaxNode; readonly guarded?: true }[] = [{ node: root }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node } = next;
    const guarded = next.guarded ? { guarded: next.guarded } : {};
    if (node.type === 'import_statement')
      found.push(
        ...node.children.map((child) => ({ module: plain(child), names: [], places: [], ...guarded })),
      );
    else if (node.type === 'import_from_statement') {
      const from = childIn(node, 'module_name');
      const named = node.children.filter(({ field, type }) => field === 'name' || type === 'wildcard_import');
      const names = named.map((child) => (child.field === 'name' ? plain(child) : '*'));
      const places = named.map(({ start, end }) => lines.range(start, end));
      if (from) found.push({ module: textOf(from), names, places, ...guarded });
    } else {
      const below = GUARDS.test(node.type) ? { guarded: true as const } : guarded;
      open.push(...node.children.map((child) => ({ node: child, ...below })));
    }
  }
  return found;
}

/** Words that stand in a text as strings of their own, wherever: `{"type": "image"}` has two, `"cuda:1"` is one. Those longer than a name are left out. */
export function wordsIn(root: SyntaxNode, lines: Lines): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    if (node.type === 'string') {
      const word = /^["'](\w{1,32}(?::\d+)?)["']$/.exec(lines.text.slice(node.start, node.end))?.[1];
      if (word !== undefined) found.add(word);
    } else open.push(...node.children);
  }
  return found;
}
