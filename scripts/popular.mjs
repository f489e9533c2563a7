// Counts in how many public repositories of trainings each model and GPU of the catalogs is named, and writes those that most name to
// server/data/popular.json: node scripts/popular.mjs --folder CLONES [--folder CORPUS]
// A folder has clones called owner+name, or files called owner__name__path (docs/corpus.md), in folders or not.
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';

/** As many as are looked through at a glance. */
const MOST = 10;
/** What fewer name is no habit. */
const LEAST = 5;
const READ = /\.(?:py|ipynb|ya?ml|sh|md|toml|json)$/;
/** Larger files are data. */
const LARGEST_BYTES = 3_000_000;
const NAME = /[a-z0-9][\w.-]*\/[a-z0-9][\w.-]*[a-z0-9]/gi;
/** Pictures inside notebooks. */
const BINARY = /[A-Za-z0-9+/=]{200,}/g;

const { values } = parseArgs({ options: { folder: { type: 'string', multiple: true } } });
if (!values.folder) throw new Error('Where are the clones? --folder DIR');
const root = path.resolve(import.meta.dirname, '..');
const data = (name) => path.join(root, 'server', 'data', name);
const { models } = JSON.parse(await readFile(data('models.json'), 'utf8'));
const { accelerators } = JSON.parse(await readFile(data('gpus.json'), 'utf8'));

const modelOf = new Map();
for (const { id, aliases } of models)
  for (const name of [id, ...aliases]) modelOf.set(name.toLowerCase(), id);
const bare = (name) => name.toLowerCase().replace(/[\s_-]+/g, '');
const cardOf = new Map();
for (const { name, aliases } of accelerators)
  for (const other of [name, ...aliases]) if (!cardOf.has(bare(other))) cardOf.set(bare(other), name);
const CARD = cardPattern([...new Set(accelerators.flatMap(({ name, aliases }) => [name, ...aliases]))]);

const naming = new Map();
const repositories = new Set();
const count = (name, repository) => naming.set(name, (naming.get(name) ?? new Set()).add(repository));

for (const folder of values.folder) await look(folder);
const rank = (names) =>
  names
    .map((name) => ({ name, repositories: naming.get(name)?.size ?? 0 }))
    .filter((row) => row.repositories >= LEAST)
    .sort((a, b) => b.repositories - a.repositories || a.name.localeCompare(b.name))
    .slice(0, MOST);
await writeFile(
  data('popular.json'),
  `${JSON.stringify(
    {
      source: `${repositories.size} public repositories of trainings: in how many of them a model or a GPU is named (scripts/popular.mjs)`,
      models: rank(models.map(({ id }) => id)),
      gpus: rank(accelerators.map(({ name }) => name)),
    },
    undefined,
    2,
  )}\n`,
);

async function look(folder) {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const inside = path.relative(folder, file);
    if (!entry.isFile() || !READ.test(entry.name) || inside.split(path.sep).includes('.git')) continue;
    const repository = repositoryOf(inside);
    if (repository === undefined || (await stat(file)).size > LARGEST_BYTES) continue;
    repositories.add(repository);
    read(repository, (await readFile(file, 'utf8')).replace(BINARY, ''));
  }
}

function repositoryOf(inside) {
  const clone = inside.split(path.sep)[0] ?? '';
  if (clone.includes('+')) return clone.replace('+', '/').toLowerCase();
  const [owner, name] = path.basename(inside).split('__');
  return name === undefined ? undefined : `${owner}/${name}`.toLowerCase();
}

function read(repository, text) {
  for (const [name] of text.matchAll(NAME)) {
    const model = modelOf.get(name.toLowerCase());
    if (model !== undefined) count(model, repository);
  }
  for (const { 1: before, 2: name, 3: after } of text.matchAll(CARD)) {
    // Names of two characters are those of much else: norms, paper sizes.
    if (name.length > 2 || before !== undefined || after !== undefined)
      count(cardOf.get(bare(name)), repository);
  }
}

function cardPattern(names) {
  const longestFirst = names.sort((a, b) => b.length - a.length);
  const one = longestFirst
    .map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/[\s_-]+/g, '[\\s_-]?'))
    .join('|');
  return new RegExp(
    `((?:nvidia|tesla|gputype"?:\\s*"?)\\s?)?(?<![a-z0-9])(${one})(?![a-z0-9])(\\s?gpu)?`,
    'gi',
  );
}
