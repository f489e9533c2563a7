import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import Ajv from 'ajv';
import { parseConfig } from '../../../server/src/config/parse';
import { loadPython } from '../../../server/src/config/python/grammar';
import { plainOf } from '../../../server/src/config/scalar';
import { schemaOf } from '../../../server/src/dialects/json-schema';
import { KeyTable } from '../../../server/src/dialects/key-table';
import { DIALECTS, detectDialect, mightBeTrainingConfig } from '../../../server/src/dialects/registry';
import { vocabularySchema } from '../../../server/src/dialects/vocabulary/vocabulary-schema';
import { isFieldPath } from '../../../server/src/run/fields';
import { isAtLeast } from '../../../server/src/terms/version';

const detect = (uri: string, text: string) => detectDialect(parseConfig(uri, text))?.id;

describe('detection', () => {
  it('leaves the files of this repository alone', () => {
    for (const name of ['package.json', 'tsconfig.json', 'biome.json', 'package-lock.json']) {
      const text = readFileSync(name, 'utf8');
      assert.equal(detect(name, text), undefined, name);
      // The manifest of this extension names keys that it contributes to.
      if (name !== 'package.json') assert.equal(mightBeTrainingConfig(text, name), false, name);
    }
  });

  it('sees at a glance what the whole look finds, where all of a file or its first key is indented', () => {
    const files = {
      'nemo-rl':
        'policy:\n  model_name: Qwen/Qwen2.5-1.5B\n  train_global_batch_size: 512\n  train_micro_batch_size: 4\n  max_total_sequence_length: 512\ncluster:\n  gpus_per_node: 8\n',
      nanotron:
        'parallelism:\n  dp: 2\n  pp: 1\n  tp: 4\nmodel:\n  model_config: {hidden_size: 2048}\ntokens:\n  micro_batch_size: 2\n  sequence_length: 512\n',
    };
    for (const [id, text] of Object.entries(files))
      for (const written of [text, text.replace(/^(?=.)/gm, '  '), `# A comment.\n\n\t${text}`])
        if (detect('a.yaml', written) !== undefined) {
          assert.equal(detect('a.yaml', written), id);
          assert.equal(mightBeTrainingConfig(written, 'a.yaml'), true, written);
        }
    assert.equal(detect('a.yaml', files['nemo-rl'].replace(/^(?=.)/gm, '  ')), 'nemo-rl');
    assert.equal(detect('a.yaml', files.nanotron.replace(/^(?=.)/gm, '  ')), 'nanotron');
  });

  it('knows an Axolotl config before its model is written, where enough else states it', () => {
    const lora = 'adapter: lora\nlora_r: 16\nmicro_batch_size: 2\n';
    assert.equal(detect('a.yaml', `${lora}sequence_len: 4096\n`), 'axolotl');
    assert.equal(mightBeTrainingConfig(`${lora}sequence_len: 4096\n`, 'a.yaml'), true);
    assert.equal(detect('a.yaml', 'lora_r: 16\nmicro_batch_size: 2\nsequence_len: 4096\n'), undefined);
    assert.equal(detect('a.yaml', `${lora}datasets: [{ path: a }]\n`), undefined);
  });

  it('leaves a base model with a block of an adapter to others: that of Axolotl is a name', () => {
    assert.equal(detect('a.yaml', 'base_model: gpt2\nadapter: lora\n'), 'axolotl');
    assert.equal(detect('a.yaml', 'base_model: gpt2\nadapter: { kind: lora }\n'), undefined);
  });

  it('leaves workflows, compose files and model configs alone', () => {
    const workflow =
      'on: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: npm test\n';
    assert.equal(detect('.github/workflows/test.yml', workflow), undefined);
    assert.equal(detect('compose.yaml', 'services:\n  a:\n    image: x\n    run: y\n'), undefined);
    assert.equal(
      detect('config.json', '{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096}'),
      undefined,
    );
    assert.equal(detect('trainer_state.json', '{"train_batch_size": 8, "global_step": 5}'), undefined);
    assert.equal(
      detect('neox.yml', 'zero_optimization: {stage: 1}\ntrain_micro_batch_size_per_gpu: 4\n'),
      undefined,
    );
  });

  it('goes by content, not by name', () => {
    assert.equal(detect('whatever.json', '{"zero_optimization": {"stage": 2}}'), 'deepspeed');
    assert.equal(detect('x.json', '{"train_micro_batch_size_per_gpu": 2}'), 'deepspeed');
    assert.equal(detect('x.json', '{"train_batch_size": 8, "fp16": {"enabled": true}}'), 'deepspeed');
    assert.equal(detect('deepspeed.json', '{"a": 1}'), undefined);
    assert.equal(detect('x.yaml', 'distributed_type: FSDP\nnum_processes: 2\n'), 'accelerate');
    assert.equal(detect('x.yaml', 'distributed_type: FSDP\n'), undefined);
  });
});

/** Documented by Oomlint alone: its own file, and flags of a team. */
const OWN: readonly string[] = ['oomlint-run', 'in-house'];
/** Paths that are no blocks of a file: fields of runs, and arguments of commands. */
const FREE: readonly string[] = ['oomlint-run', 'launch-script'];

describe('key tables', () => {
  for (const dialect of DIALECTS) {
    it(`of ${dialect.name} state each key once, with a sentence and fields that exist`, () => {
      const seen = new Set<string>();
      const table = new KeyTable(dialect.keys);
      for (const spec of dialect.keys) {
        assert.ok(!seen.has(spec.path), spec.path);
        seen.add(spec.path);
        assert.match(spec.doc, /^\S.*[.)*]$/s, spec.path);
        assert.ok(spec.fields?.every(isFieldPath) ?? true, spec.path);
        assert.ok(OWN.includes(dialect.id) || /^https:\/\//.test(spec.source ?? ''), spec.path);
        if (spec.deprecated)
          assert.ok(table.find(spec.deprecated.split('.')[0] ?? ''), `${spec.path} → ${spec.deprecated}`);
        const parent = spec.path.split('.').slice(0, -1).join('.');
        assert.ok(parent === '' || FREE.includes(dialect.id) || table.find(parent), `${parent} is missing`);
      }
    });
  }
});

describe('tables of keys', () => {
  it('are made once, and are the same whichever language asks for them first', () => {
    const asked = (language: string) =>
      execFileSync(
        process.execPath,
        [
          '--require',
          './scripts/typescript.cjs',
          '--eval',
          `const { DIALECTS } = require('./server/src/dialects/registry.ts');
           require('./server/src/wording/language.ts').speakLanguage('${language}').then(() => {
             process.stdout.write(DIALECTS.map(({ id, keys }) => id + ' ' + JSON.stringify(keys)).join('\\n'));
           });`,
        ],
        { encoding: 'utf8', maxBuffer: 2 ** 26 },
      );
    const english = asked('en');
    assert.ok(english.length > 100_000);
    assert.equal(asked('ru') === english, true);
  });
});

describe('JSON Schemas', () => {
  for (const dialect of DIALECTS) {
    it(`of ${dialect.name} are up to date (else: npm run schemas)`, () => {
      const file = readFileSync(`server/schemas/${dialect.id}.schema.json`, 'utf8');
      assert.equal(file, `${JSON.stringify(schemaOf(dialect), null, 2)}\n`);
    });
  }
  it('of vocabularies is up to date, and takes the built-in one', () => {
    const file = readFileSync('server/schemas/vocabulary.schema.json', 'utf8');
    assert.equal(file, `${JSON.stringify(vocabularySchema(), null, 2)}\n`);
    const validate = new Ajv({ strict: false, code: { optimize: false } }).compile(vocabularySchema());
    const document = parseConfig('x.yaml', readFileSync('server/vocabularies/in-house.yaml', 'utf8'));
    assert.ok(document.root);
    assert.ok(validate(plainOf(document.root)), JSON.stringify(validate.errors?.slice(0, 3)));
    assert.equal(validate({ keys: { a: { type: 'integre' } } }), false);
    assert.equal(validate({ keys: { a: { sets: 'batch.micr' } } }), false);
    assert.equal(validate({ rules: [] }), false);
  });
  it('accept the fixtures', async () => {
    await loadPython();
    const ajv = new Ajv({ strict: false, code: { optimize: false } });
    for (const name of readdirSync('test/fixtures/configs')) {
      const document = parseConfig(name, readFileSync(`test/fixtures/configs/${name}`, 'utf8'));
      const dialect = detectDialect(document);
      assert.ok(dialect && document.root, name);
      const valid = ajv.validate(schemaOf(dialect), plainOf(document.root));
      assert.ok(valid, `${name}: ${ajv.errorsText()}`);
    }
  });
  it('refuse wrong types', () => {
    const ajv = new Ajv({ strict: false, code: { optimize: false } });
    const [deepspeed] = DIALECTS;
    assert.ok(deepspeed);
    assert.equal(ajv.validate(schemaOf(deepspeed), { zero_optimization: { stage: 7 } }), false);
    assert.equal(ajv.validate(schemaOf(deepspeed), { zero_optimization: { stage: 'auto' } }), true);
  });
});

describe('versions', () => {
  it('compare number by number and know what they do not know', () => {
    assert.equal(isAtLeast('0.19.8', '0.19.7'), true);
    assert.equal(isAtLeast('0.19.6', '0.19.7'), false);
    assert.equal(isAtLeast('1.0', '0.19.7'), true);
    assert.equal(isAtLeast('0.19', '0.19.7'), undefined);
    assert.equal(isAtLeast(undefined, '1'), undefined);
  });
});
