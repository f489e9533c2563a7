import type { Library } from '../../server/src/behaviours/products';
import { type BehaviourCase, type BehaviourRow, TABLE } from '../../server/src/behaviours/table';
import type { ModelCode } from '../../server/src/terms/model-codes';
import type { PrecisionScheme } from '../../server/src/terms/precision-schemes';

const CODES: Readonly<Record<ModelCode, string>> = {
  transformers: "transformers' models",
  litgpt: 'litgpt',
  torchtune: 'torchtune',
  torchtitan: 'torchtitan',
  olmo: "OLMo's own code",
  'olmo-core': "OLMo-core's own code",
  megatron: 'Megatron',
  timm: 'timm',
  tensorflow: 'TensorFlow',
};
const SCHEMES: Readonly<Record<PrecisionScheme, string>> = {
  native: 'PyTorch without mixed precision',
  autocast: 'torch.autocast',
  deepspeed: "DeepSpeed's engine",
  fsdp: "FSDP's mixed precision",
  megatron: "Megatron's mixed precision",
  'apex-o2': 'Apex O2',
};
const LIBRARIES: Readonly<Record<Library, string>> = {
  torch: 'PyTorch',
  transformers: 'transformers',
  deepspeed: 'DeepSpeed',
  bitsandbytes: 'bitsandbytes',
  liger: 'Liger Kernel',
  trl: 'TRL',
  accelerate: 'Accelerate',
  peft: 'PEFT',
};

const HEAD = `# What is modelled of whom, since which version

What frameworks do differently from each other, as far as memory or time depend on it. Formulas know these behaviours by
name and no product: [\`server/src/behaviours/table.ts\`](../server/src/behaviours/table.ts) shows who does what. Where a run
states no version, the default of the field \`version.*\` is taken; a version that is too short to say (\`0.17\` for something
that began with 0.17.2) is taken for one that does not.

This page is made from that table by \`node scripts/behaviours-page.mjs\`.`;

/** Sections and behaviours of the interface in their order, each with its sentences. */
function described(source: string): readonly { readonly name?: string; readonly text: string }[] {
  const parts = source.matchAll(/\/\/ --- (.+)\n|\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*readonly (\w+):/g);
  return [...parts].map(([, section, doc = '', name]) =>
    section === undefined
      ? { name, text: doc.replace(/\s*\n\s*\*\s*/g, ' ').trim() }
      : { text: section.charAt(0).toUpperCase() + section.slice(1) },
  );
}

function who({ code = [], scheme = [], library }: BehaviourCase<unknown>): string {
  const range = library && (library.since ? `since ${library.since}` : `before ${library.before}`);
  const version = library ? [`${LIBRARIES[library.of]} ${range}`] : [];
  const named = [...code.map((one) => CODES[one]), ...scheme.map((one) => SCHEMES[one])];
  if (library && code.some((one) => CODES[one].startsWith(LIBRARIES[library.of]))) return version.join();
  return [named.join(', '), ...version].filter((text) => text !== '').join(' with ');
}

function link(url: string): string {
  const [, at = '', file = ''] = url.match(/blob\/([^/]+)\/.*?([^/]+)$/) ?? [];
  const version = /^[0-9a-f]{40}$/.test(at) ? at.slice(0, 7) : at;
  const label =
    file === ''
      ? url.replace(/^https:\/\/github\.com\//, '').replace('/issues/', '#')
      : `${file}, ${version}`;
  return `[${label}](${url})`;
}

function written(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return value.toLocaleString('en-US');
  return value === undefined ? 'none' : String(value);
}

/** One line for each who does something else than the rest, and one for the rest where that is more than not doing it. */
function rows(name: string, text: string, { cases, otherwise }: BehaviourRow<unknown>): string[] {
  const what = `\`${name}\`: ${text}`;
  const lines = cases.map((one, index) => {
    const does = one.value === true ? who(one) : `${who(one)}: ${written(one.value)}`;
    return `| ${index === 0 ? what : ''} | ${does} | ${link(one.source)} |`;
  });
  return otherwise === false ? lines : [...lines, `| | others: ${written(otherwise)} | |`];
}

/** The page of behaviours as Markdown. `source`: text of the interface that documents them. */
export function behavioursPage(source: string): string {
  const table = new Map<string, BehaviourRow<unknown>>(Object.entries(TABLE));
  const lines = described(source).flatMap(({ name, text }) => {
    if (name === undefined) return ['', `## ${text}`, '', '| what | who | source |', '| --- | --- | --- |'];
    const row = table.get(name);
    if (!row) throw new Error(`no row of ${name}`);
    table.delete(name);
    return rows(name, text, row);
  });
  if (table.size > 0) throw new Error(`not documented: ${[...table.keys()].join()}`);
  return `${[HEAD, ...lines].join('\n').trimEnd()}\n`;
}
