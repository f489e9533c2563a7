import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { KeySpec } from '../../../server/src/dialects/dialect';
import { PROGRAMS } from '../../../server/src/dialects/families';
import { defaultOf, inVersion, wordOf } from '../../../server/src/dialects/key-value';
import { DIALECTS } from '../../../server/src/dialects/registry';
import { FIELDS } from '../../../server/src/run/fields';
import { fieldError } from '../../../server/src/run/parse-field';
import { defaultedReads, rowDefaultedReads, sourcesIn } from '../../house/restated-defaults';
import { typedReads } from '../../house/typed-reads';

const FOLDER = 'server/src/dialects';

/** Folders that hold no family of their own: parts that families share, launchers, vocabularies of teams. */
const NO_FAMILY: readonly string[] = ['hf', 'launch', 'not-modelled', 'olmo-core', 'python', 'vocabulary'];

/** `section.stateInteger('batch.micro', 'micro_batch_size', ...)`, with one spelling or a list of them. */
const STATEMENT =
  /\.state(?:Integer|Number|Flag|Text|Texts)\(\s*'(?<field>[^']+)',\s*(?<keys>'[^']+'|\[[^\]]*\])/g;

/** Statements of a family's code that a row of its table makes too. */
function repeated(folder: string, rows: readonly KeySpec[]): string[] {
  const states = (field: string, key: string) =>
    rows.some(
      ({ path: at, fields }) =>
        (at === key || at.endsWith(`.${key}`)) && (fields as readonly string[] | undefined)?.includes(field),
    );
  return readdirSync(path.join(FOLDER, folder)).flatMap((name) =>
    [...readFileSync(path.join(FOLDER, folder, name), 'utf8').matchAll(STATEMENT)].flatMap(({ groups }) => {
      const keys = [...(groups?.keys ?? '').matchAll(/'([^']+)'/g)].map(([, key]) => key ?? '');
      return keys.some((key) => states(groups?.field ?? '', key)) ? [`${name}: ${groups?.field}`] : [];
    }),
  );
}

/**
 * All of them, and why each is no row. A row makes its key one that is offered, checked and written, in each place where its block
 * may stand; none of these is such a key.
 */
const BY_HAND: Readonly<Record<string, string>> = {
  'axolotl/axolotl.ts: quantization.double':
    'arguments of BitsAndBytesConfig in `bnb_config_kwargs`, a block without rows',
  'axolotl/axolotl.ts: hardware.reservedFraction':
    'of the engine in `vllm`, counted in GRPO beside the policy alone',
  'axolotl/axolotl.ts: rollout.tensor': 'of the engine in `vllm`, counted in GRPO beside the policy alone',
  'axolotl/axolotl.ts: activations.reentrant': 'arguments of `torch.utils.checkpoint`, a block without rows',
  'gpt-neox/gpt-neox.ts: zero.stage':
    'GPT-NeoX fills it in from `zero_optimization`: read where it stands, never offered',
  'hf/training-arguments.ts: activations.reentrant':
    'arguments of `torch.utils.checkpoint`, a block without rows',
  'hf/training-arguments.ts: field':
    'arguments of ParallelismConfig in `parallelism_config`, a block without rows',
  'hf/training-arguments.ts: evaluation.generatedTokens':
    'an argument of example scripts, not of the Trainer',
  'hf/training-arguments.ts: evaluation.beams': 'an argument of example scripts, not of the Trainer',
  'llm-foundry/llm-foundry.ts: batch.sequence':
    'a variable that files interpolate, and a field of the model config',
  'llm-foundry/llm-foundry.ts: parallel.tensor': 'arguments of Composer in `tp_config`, a block without rows',
  'ms-swift/ms-swift.ts: batch.imagePixels': 'a variable of the environment',
  'ms-swift/ms-swift.ts: hardware.gpus': 'a variable of the environment, and sizes of groups of Ray',
  'ms-swift/ms-swift.ts: model.id': 'no argument of ms-swift since 3.0',
  'ms-swift/ms-swift.ts: evaluation.batch': 'no argument of ms-swift since 3.0',
  'ms-swift/ms-swift.ts: method.trainableLayers': 'one key, two fields: its row sets the other',
  'ms-swift/ms-swift.ts: lora.modulesToSave': 'no argument of ms-swift since 3.0',
  'ms-swift/ms-swift.ts: hardware.reservedFraction':
    'the same key in the block of the workers that generate over Ray',
  'ms-swift/swift-program.ts: batch.imagePixels': 'a variable of the environment',
  'verl/verl-model.ts: batch.paddingFree': 'one key, two fields: its row sets the other',
};

/** Reads that fall back to a value that some row has, too, and why it is not taken from there. */
const OWN_DEFAULT: Readonly<Record<string, string>> = {
  'nemo/nemo-model.ts: hidden_dropout ?? 0.1':
    'a row of Megatron-Bridge; NeMo 1 leaves it to the class of the model',
  'nemo/nemo-model.ts: attention_dropout ?? 0.1':
    'a row of Megatron-Bridge; NeMo 1 leaves it to the class of the model',
  'hf/fsdp-argument.ts: min_num_params ?? 0':
    'none is stated, in blocks of families of which Axolotl has no default',
  'hf/training-arguments-rules.ts: min_num_params ?? 0':
    'none is stated, in blocks of families of which Axolotl has no default',
  'hf/known-scripts.ts: use_llm_lora ?? 0': 'a number that was not understood is none; no default is taken',
  'hf/script-adapter.ts: use_llm_lora ?? 0': 'a number that was not understood is none; no default is taken',
};

const folders = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !NO_FAMILY.includes(entry.name))
  .map(({ name }) => name);
/** Rows of the families of a folder: of those whose id its files name, and of the program of its name. */
const rowsOf = (folder: string) => {
  const names = (id: string) =>
    readdirSync(path.join(FOLDER, folder)).some((name) =>
      readFileSync(path.join(FOLDER, folder, name), 'utf8').includes(`id: '${id}'`),
    );
  return [
    ...DIALECTS.filter(({ id }) => names(id)),
    ...PROGRAMS.filter(({ name }) => name.toLowerCase().replaceAll(' ', '-') === folder),
  ].flatMap(({ keys }) => keys);
};

/** Folders whose code reads the keys of several families. */
const SHARED: readonly string[] = ['hf', 'launch', 'python'];
const EVERY_ROW = [...DIALECTS, ...PROGRAMS].flatMap(({ keys }) => keys);
const named = (rows: readonly KeySpec[], key: string) =>
  rows.filter(({ path: at }) => at === key || at.endsWith(`.${key}`));

/** Every file of the engine below a folder. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const at = path.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(at) : at.endsWith('.ts') ? [at] : [];
  });
}

describe('families', () => {
  it('are named in their folders alone: elsewhere nothing asks for one by its id', () => {
    const shared = [FOLDER, ...NO_FAMILY.map((name) => path.join(FOLDER, name))];
    const outside = filesBelow('server/src').filter(
      (file) => !file.startsWith(`${FOLDER}/`) || shared.includes(path.dirname(file)),
    );
    const asks = /\bdialect\??\.id\s*[!=]==\s*['"]|\[[^\]]*\]\.includes\((?:\w+\.)*dialect\.id\)/;
    assert.ok(outside.length > 300);
    assert.deepEqual(
      outside.filter((file) => asks.test(readFileSync(file, 'utf8'))),
      [],
    );
  });
});

describe('rows of key tables', () => {
  for (const folder of folders)
    it(`say alone what ${folder} reads plainly`, () => {
      const rows = rowsOf(folder);
      assert.ok(rows.length > 0, folder);
      assert.deepEqual(repeated(folder, rows), []);
    });

  it('say alone what scripts around the Trainer read plainly', () => {
    const script = PROGRAMS.find(({ name }) => name === 'a script around the Trainer');
    const file = DIALECTS.find(({ id }) => id === 'hf-training-arguments');
    assert.ok(script && file);
    assert.deepEqual(repeated('hf', [...script.keys, ...file.keys]), []);
  });

  it('read every key of one type but those that are listed, each with its reason', () => {
    assert.deepEqual([...new Set(typedReads())].sort(), Object.keys(BY_HAND).sort());
    assert.equal(typedReads().length, 21);
  });

  for (const folder of [...folders, ...SHARED]) {
    const rows = SHARED.includes(folder) ? EVERY_ROW : rowsOf(folder);
    it(`alone have the defaults that ${folder} falls back to`, () => {
      const restated = sourcesIn(folder)
        .flatMap(({ name, source }) => defaultedReads(source, name))
        .flatMap(({ file, keys, value, composed }) =>
          (composed ? keys : keys.slice(0, 1))
            .filter((key) => named(rows, key).some((row) => row.default === value))
            .map((key) => `${file}: ${key} ?? ${value}`),
        );
      assert.deepEqual(
        restated.filter((read) => OWN_DEFAULT[read] === undefined),
        [],
      );
    });

    it(`have each default that ${folder} takes from them`, () => {
      const reads = sourcesIn(folder).flatMap(({ source }) => rowDefaultedReads(source));
      assert.deepEqual(
        reads.filter(({ key, type }) => !named(rows, key).some((row) => typeof row.default === type)),
        [],
      );
    });
  }

  it('are missed where code restates them, by a key or by way of its node', () => {
    const source =
      "const found = section.find('steps');\nif ((section.integer(['micro', 'batch']) ?? 8) > 1) run(integerOf(found?.node) ?? 1);";
    assert.deepEqual(defaultedReads(source, 'a.ts'), [
      { file: 'a.ts', keys: ['micro', 'batch'], value: 8 },
      { file: 'a.ts', keys: ['steps'], value: 1 },
    ]);
    const nodes =
      "const node = nodeAt(root, 'batch');\nif ((numberOf(node) ?? 1) > (flagOf(nodeAt(root, ['zero', 'overlap'])) ?? true)) run(numberOf(nodeAt(root, 'fp16.scale')) ?? 0);";
    assert.deepEqual(defaultedReads(nodes, 'a.ts'), [
      { file: 'a.ts', keys: ['zero.overlap'], value: true },
      { file: 'a.ts', keys: ['fp16.scale'], value: 0 },
      { file: 'a.ts', keys: ['batch'], value: 1 },
    ]);
    const composed =
      "const size = (key: string) => block.integer(`trainer.${key}`) ?? 1;\nsize('tp');\nfor (const name of ['lr', 'eps']) run(section.number(name) ?? 2);\nconst part = section.integer('parts');\nrun(part ?? 3);";
    assert.deepEqual(defaultedReads(composed, 'a.ts'), [
      { file: 'a.ts', keys: ['trainer.tp'], value: 1, composed: true },
      { file: 'a.ts', keys: ['eps', 'lr'], value: 2, composed: true },
      { file: 'a.ts', keys: ['parts'], value: 3 },
    ]);
    assert.deepEqual(rowDefaultedReads("section.flagOrDefault('bf16')"), [{ key: 'bf16', type: 'boolean' }]);
  });

  for (const { id, keys } of DIALECTS) {
    const setting = keys.filter(({ sets }) => sets !== undefined);
    if (setting.length === 0) continue;
    it(`of ${id} state values that their fields can hold`, () => {
      for (const row of setting) {
        const { sets, spellings, assumes, path: at } = row;
        assert.ok(sets);
        const { type } = FIELDS[sets];
        if (spellings)
          for (const name of Object.keys(spellings)) {
            const value = type === 'flag' ? name === 'true' : type === 'integer' ? Number(name) : name;
            assert.equal(fieldError(sets, value), undefined, `${at}: ${name}`);
            assert.notEqual(wordOf(row, value), undefined, `${at}: ${name}`);
          }
        if (assumes === undefined) continue;
        const value = defaultOf(inVersion(row, {}).row);
        assert.notEqual(value, undefined, `${at} has no default to assume`);
        assert.equal(fieldError(sets, value as never), undefined, `${at}: its default ${String(value)}`);
      }
    });
  }
});
