import assert from 'node:assert/strict';
import fc from 'fast-check';
import { inFile, merged } from '../../../server/src/config/deep-merge';
import { baseConfigs, defaultsOf, packageHeader } from '../../../server/src/config/defaults-list';
import { parseConfig } from '../../../server/src/config/parse';
import { plainOf } from '../../../server/src/config/scalar';
import { compose } from '../../../server/src/workspace/composition';
import { FileCache, TrackedFiles } from '../../../server/src/workspace/file-cache';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///repo/conf';
const D = '$';

async function composed(files: Record<string, string>, name = 'config.yaml') {
  const texts = Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text]);
  const tracked = new TrackedFiles(
    new FileCache(new MemoryHost(Object.fromEntries(texts), { folders: ['file:///repo'] })),
    [],
  );
  const uri = `${ROOT}/${name}`;
  const found = await compose(parseConfig(uri, files[name] ?? ''), tracked);
  const whole = found?.document.root;
  const { defaults: _, ...values } = (whole ? plainOf(whole) : {}) as Record<string, unknown>;
  return { values, parts: found?.parts.map((part) => part.uri.slice(ROOT.length + 1)), found };
}

/** What `hydra.compose` of hydra-core 1.3.2 gives for these files is written beside each case. */
describe('configs composed as Hydra does', () => {
  const files = {
    'config.yaml': `defaults:
  - base
  - model: llama
  - optimizer: adamw
  - training: gpt3/5b
  - optional missing: nothing
  - extra@model.extra: one
  - inner_of: ${D}{model}_${D}{optimizer}
  - _self_
  - override optimizer/schedule: cosine
seed: 2
model: {hidden: 64, layers: "???"}
`,
    'base.yaml': 'seed: 1\nlist: [1, 2]\nfrom_base: true\n',
    'model/llama.yaml': `hidden: 4096\nlayers: 32\nlist: [1, 2, 3]\nffn: ${D}{.hidden}\n`,
    'optimizer/adamw.yaml':
      'defaults:\n  - schedule: linear\n  - /extra@here: one\nname: adamw\nlr: 1.0e-4\n',
    'optimizer/schedule/linear.yaml': 'kind: linear\n',
    'optimizer/schedule/cosine.yaml': 'kind: cosine\n',
    'training/gpt3/5b.yaml': 'defaults: [common, {parts: a}]\nmicro: 4\n',
    'training/common.yaml': 'micro: 2\nonly_common: 1\n',
    'training/parts/a.yaml': 'a: 1\n',
    'extra/one.yaml': 'e: 1\n',
    'inner_of/llama_adamw.yaml': '# a comment\n# @package _global_\nseed: 7\ntop: true\nlist: [9]\n',
  };

  it('puts groups into their blocks, follows packages, overrides and names made of choices', async () => {
    const { values } = await composed(files);
    assert.deepEqual(values, {
      seed: 2,
      list: [9],
      from_base: true,
      model: { hidden: 64, layers: 32, list: [1, 2, 3], ffn: `${D}{.hidden}`, extra: { e: 1 } },
      optimizer: { schedule: { kind: 'cosine' }, here: { e: 1 }, name: 'adamw', lr: 1e-4 },
      training: { micro: 4, only_common: 1, parts: { a: 1 } },
      top: true,
    });
  });

  it('lets the config itself come last unless `_self_` states otherwise', async () => {
    const with_ = (list: string) => ({
      'config.yaml': `defaults: [${list}]\nx: {a: 1, b: 1}\n`,
      'x/one.yaml': 'b: 2\nc: 2\n',
    });
    assert.deepEqual((await composed(with_('x: one'))).values, { x: { a: 1, b: 1, c: 2 } });
    assert.deepEqual((await composed(with_('_self_, x: one'))).values, { x: { a: 1, b: 2, c: 2 } });
  });

  it('takes several options of a group, in order, and none for null and ???', async () => {
    const { values } = await composed({
      'config.yaml': 'defaults:\n  - site: [apache, nginx]\n  - db: null\n  - cache: ???\nz: 1\n',
      'site/apache.yaml': 'first: apache\nlast: apache\n',
      'site/nginx.yaml': 'last: nginx\n',
    });
    assert.deepEqual(values, { site: { first: 'apache', last: 'nginx' }, z: 1 });
  });

  it('nests the package of a part in that of the part above it', async () => {
    const { values } = await composed({
      'config.yaml': 'defaults:\n  - server/apache\n',
      'server/apache.yaml':
        'defaults:\n  - db@backup: mysql\n  - db@_global_.top: mysql\n  - db: mysql\nname: apache\n',
      'server/db/mysql.yaml': 'driver: mysql\n',
    });
    assert.deepEqual(values, {
      server: { backup: { driver: 'mysql' }, db: { driver: 'mysql' }, name: 'apache' },
      top: { driver: 'mysql' },
    });
  });

  it('takes paths with their extension from the file that names them, and adds no block', async () => {
    const { values, parts } = await composed(
      {
        'recipes/llm/a.yaml': 'defaults: ../../base.yaml\npolicy: {tp: 2}\n',
        'base.yaml': 'defaults: deeper/root.yaml\npolicy: {tp: 1, name: x}\n',
        'deeper/root.yaml': 'policy: {tp: 0, name: y, precision: bf16}\n',
      },
      'recipes/llm/a.yaml',
    );
    assert.deepEqual(values, { policy: { tp: 2, name: 'x', precision: 'bf16' } });
    assert.deepEqual(parts, ['deeper/root.yaml', 'base.yaml']);
  });

  it('ends where files name each other in a circle, and leaves out what is missing', async () => {
    const { values } = await composed({
      'config.yaml': 'defaults: [one, gone]\na: 1\n',
      'one.yaml': 'defaults: [config]\nb: 2\n',
    });
    assert.deepEqual(values, { b: 2, a: 1 });
    assert.equal((await composed({ 'config.yaml': 'defaults: [gone]\na: 1\n' })).found, undefined);
  });

  it('keeps places of the file at hand, and marks those of other files with their address', async () => {
    const { found } = await composed({
      'config.yaml': 'defaults: [base]\nmodel:\n  hidden: 64\n',
      'base.yaml': 'model:\n  hidden: 1\n  layers: 2\n',
    });
    const root = found?.document.root;
    assert.ok(root?.kind === 'map');
    const model = root.entries.find(({ key }) => key === 'model');
    assert.equal(model?.keyRange.uri, undefined);
    assert.equal(model?.keyRange.start.line, 1);
    const inner = model?.value.kind === 'map' ? model.value.entries : [];
    assert.deepEqual(
      inner.map(({ key, value }) => [key, value.range.uri?.split('/').at(-1), value.range.start.line]),
      [
        ['hidden', undefined, 2],
        ['layers', 'base.yaml', 2],
      ],
    );
  });
});

describe('a defaults list', () => {
  const parsed = (text: string) => parseConfig(`${ROOT}/config.yaml`, text);

  it('names its bases, the one that counts most first, groups with their folder', () => {
    const text = `defaults:
  - base
  - optional model@net: llama
  - override optimizer: sgd
  - hydra/launcher: slurm
  - data: ${D}{model}
  - _self_
`;
    assert.deepEqual(
      baseConfigs(parsed(text)).map(({ path, optional }) => [path, optional]),
      [
        ['model/llama.yaml', true],
        ['base.yaml', undefined],
      ],
    );
  });

  it('is none where `defaults` is a block of a project', () => {
    assert.deepEqual(defaultsOf(parsed('defaults:\n  model: x\n')), []);
  });

  it('leaves odd items out without a word', () => {
    assert.deepEqual(defaultsOf(parsed('defaults: [1, null, [], {}, "a b"]\n')), []);
  });

  it('has packages in the comments above the first key only', () => {
    assert.equal(packageHeader('\n# x\n# @package _global_\na: 1\n'), '_global_');
    assert.equal(packageHeader('a: 1\n# @package _global_\n'), undefined);
  });
});

describe('merging', () => {
  const tree = (value: unknown) => parseConfig('file:///w/a.json', JSON.stringify(value)).root;
  const json = fc
    .jsonValue({ maxDepth: 3 })
    .filter((value) => !JSON.stringify(value).includes('__proto__'))
    // As it is written: there is no -0 then.
    .map((value): unknown => JSON.parse(JSON.stringify(value)));
  const expected = (under: unknown, over: unknown): unknown => {
    if (over === '???') return under;
    const map = (value: unknown): value is Record<string, unknown> =>
      typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!map(under) || !map(over)) return over;
    const result: Record<string, unknown> = { ...under };
    for (const [key, value] of Object.entries(over))
      result[key] = Object.hasOwn(under, key) ? expected(under[key], value) : value;
    return result;
  };

  it('joins blocks and replaces the rest, whatever is merged', () => {
    fc.assert(
      fc.property(json, json, (under, over) => {
        const [a, b] = [tree(under), tree(over)];
        fc.pre(a !== null && b !== null);
        assert.deepEqual(plainOf(merged(inFile(a, 'file:///w/b.json'), b)), expected(under, over));
      }),
    );
  });
});

describe("Hydra's search path", () => {
  const files = {
    'file:///repo/examples/config/geo.yaml':
      'hydra:\n  searchpath:\n    - file://verl/conf\ndefaults:\n  - ppo\n  - _self_\nx: 2\n',
    'file:///repo/verl/conf/ppo.yaml': 'defaults:\n  - actor@a: dp\n  - _self_\nx: 1\ny: 1\n',
    'file:///repo/verl/conf/actor/dp.yaml': 'micro: 4\n',
  };
  const uri = 'file:///repo/examples/config/geo.yaml';

  it('finds configs that lie elsewhere, and the groups beside them', async () => {
    const tracked = new TrackedFiles(new FileCache(new MemoryHost(files, { folders: ['file:///repo'] })), []);
    const found = await compose(parseConfig(uri, files[uri]), tracked);
    const {
      defaults: _,
      hydra: __,
      ...values
    } = plainOf(found?.document.root ?? assert.fail()) as Record<string, unknown>;
    assert.deepEqual(values, { a: { micro: 4 }, x: 2, y: 1 });
  });

  it('finds packages of the repository', async () => {
    const inPackage = files[uri].replace('file://verl/conf', 'pkg://verl.conf');
    const all = { ...files, [uri]: inPackage };
    const tracked = new TrackedFiles(new FileCache(new MemoryHost(all, { folders: ['file:///repo'] })), []);
    const found = await compose(parseConfig(uri, inPackage), tracked);
    const values = plainOf(found?.document.root ?? assert.fail()) as Record<string, unknown>;
    assert.deepEqual([values.a, values.y], [{ micro: 4 }, 1]);
  });
});
