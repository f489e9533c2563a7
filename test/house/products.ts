import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sourcesOf } from './imports';

/** Folders whose formulas ask for behaviours, and what is made of them. */
export const FORMULAS = ['model', 'memory', 'compute', 'explanation'].map((folder) => `server/src/${folder}`);

/** Names that stand for nothing but a product. */
const PRODUCT = "'(?:litgpt|torchtune|torchtitan|megatron|timm|tensorflow|deepspeed|apex-o2)'";
const FIELD = "'(?:model\\.code|precision\\.scheme|version\\.\\w+)'";

/** What a formula that knows a product or a version looks like. */
const KNOWING = new RegExp(
  [
    `\\[\\s*${FIELD}\\s*\\]`,
    `[=!]==?\\s*${PRODUCT}`,
    `${PRODUCT}\\s*[=!]==?`,
    `\\bcase\\s+${PRODUCT}`,
    `\\bnew Set(?:<[^>]*>)?\\(\\[[^\\]]*${PRODUCT}`,
    '\\bisAtLeast\\b',
    '/terms/version',
  ].join('|'),
  'g',
);

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, (comment) => comment.replace(/[^\n]/g, ' '));
}

/** Comparisons with a product or a version in a source. */
export function knowing(text: string): string[] {
  return [...withoutComments(text).matchAll(KNOWING)].map(([found]) => found);
}

/** The same of every formula, behind the names of their files. */
export function productComparisons(root = '.'): string[] {
  return FORMULAS.flatMap((folder) => sourcesOf(folder, root)).flatMap((file) =>
    knowing(readFileSync(path.join(root, file), 'utf8')).map((text) => `${file}: ${text}`),
  );
}
