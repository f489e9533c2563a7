import assert from 'node:assert/strict';
import Ajv from 'ajv';
import { parseConfig } from '../../../server/src/config/parse';
import { plainOf } from '../../../server/src/config/scalar';
import type { Dialect } from '../../../server/src/dialects/dialect';
import { schemaOf } from '../../../server/src/dialects/json-schema';
import { KeyTable } from '../../../server/src/dialects/key-table';
import { DIALECTS, detectDialect, mightBeTrainingConfig } from '../../../server/src/dialects/registry';
import { oncePer } from '../../../server/src/memo/remembered';
import { type CorpusFile, corpusFiles, corpusIsThere, DIALECTS_OF } from '../../corpus/corpus-files';
import { statedVersions } from '../../unit/dialects/reading';

/** Families that are read today; others of the corpus wait for theirs, and their files are nobody's. */
const OURS: ReadonlySet<string> = new Set(DIALECTS.map(({ id }) => id));
const expectedOf = (family: string) => (DIALECTS_OF[family] ?? []).filter((id) => OURS.has(id));

/** Why the frameworks refuse each of these files, looked up in their sources. */
const REFUSED: readonly (readonly [file: RegExp, codes: readonly string[], reason: string])[] = [
  [
    /checkpoints_config|gpt-neox__configs__deepspeed_zero2|adam_zero3_fp16/,
    ['onebit-zero'],
    '1-bit optimizer with ZeRO',
  ],
  [/invalid_keys\.yaml$/, ['unknown-key', 'unknown-key'], "a test of Accelerate's own refusal"],
  [/zero1_torch_compile/, ['unknown-key', 'unknown-key'], 'compile keys of old versions'],
  [
    /DeepSpeedExamples__Megatron-LM-v1\.1\.5-ZeRO3__examples__ds_zero_stage_3_config\.json/,
    ['unknown-key'],
    'misspelt key',
  ],
  [
    /DeepSpeedExamples__Megatron-LM-v1\.1\.5-ZeRO3__examples__ds_zero_stage_3_config_release/,
    ['unknown-key', 'unknown-key'],
    'misspelt keys',
  ],
  [
    /megatron__Megatron-LM-v1\.1\.5-ZeRO3__examples__ds_zero_stage_3_config_release/,
    ['unknown-key'],
    'misspelt key',
  ],
  [
    /configs__llama_13B_alpaca\.yml|examples__4bit-lora-7b__config\.yml|examples__gptq-lora-7b__config\.yml/,
    ['quantized-without-adapter'],
    'a config of 2023 whose quantized weights would be trained themselves',
  ],
  [/examples__mistral4__fft-text\.yml/, ['optimizer-fsdp2'], '8-bit AdamW of bitsandbytes under FSDP 2'],
];

/** Files among those of a family that train nothing, or another model: ms-swift's sampler, Composer's BERT and diffusion. */
const NO_TRAINING =
  /torchtune\/\S*(?:eval|generation|quantization)|llamafactory\/\S*predict|megatron_yaml\/\S*inference|nemo\/\S*(?:_inference|_eval_config|_generate_config|_zeroshot|_ptq|quantization)|swift\/\S*__sampler__|llm-foundry__(?:bert|examples__(?:bert|stable_diffusion))__/;

describe('corpus of real configs', function () {
  this.timeout(60_000);
  let all: readonly CorpusFile[] = [];
  before(function () {
    if (!corpusIsThere) {
      console.log('      skipped: the corpus is not at hand');
      this.skip();
    }
    all = corpusFiles();
  });
  // Each file is parsed once, and read once as far as several tests read it alike.
  const document = oncePer((file: CorpusFile) => parseConfig(file.uri, file.text));
  const dialectOf = oncePer((file: CorpusFile) => detectDialect(document(file)));
  const readingOf = oncePer((file: CorpusFile) => dialectOf(file)?.read(document(file), { known: {} }));
  const own = (...families: string[]) => all.filter(({ family }) => families.includes(family));

  it('recognizes the files of every family, and takes none for those of another', () => {
    const missed: string[] = [];
    const counts: Record<string, [number, number]> = {};
    for (const file of all) {
      const expected = expectedOf(file.family);
      const id = dialectOf(file)?.id;
      const place = `${file.family}/${file.name}`;
      if (id !== undefined) {
        // Tools on top of the Trainer take its arguments: until theirs is read, their files are the Trainer's.
        const general = expected.length === 0 && id === 'hf-training-arguments';
        // GPT-NeoX' own autotuning examples are JSON.
        const neox = /gpt-neox__configs__autotuning_configs/.test(file.name) && id === 'gpt-neox';
        assert.ok(general || neox || expected.includes(id), `${place} is taken for ${id}`);
        assert.ok(mightBeTrainingConfig(file.text, file.uri.split('/').at(-1) ?? ''), place);
      } else if (NO_TRAINING.test(place)) continue;
      else if (expected.length > 0) missed.push(place);
      const count = counts[file.family] ?? [0, 0];
      counts[file.family] = [count[0] + (id === undefined ? 0 : 1), count[1] + 1];
    }
    for (const [family, [found, files]] of Object.entries(counts)) {
      console.log(`      ${family}: ${found} of ${files}`);
      if (expectedOf(family).length > 0) assert.ok(found >= 0.99 * files, family);
    }
    assert.ok(missed.length <= 0.01 * all.length, missed.join('\n'));
  });

  it('states fields that the row of their key names, so that hovers show them', () => {
    const tables = new Map<Dialect, KeyTable>();
    const without = new Set<string>();
    for (const file of all) {
      const dialect = dialectOf(file);
      const reading = readingOf(file);
      if (!dialect || !reading) continue;
      const table = tables.get(dialect) ?? new KeyTable(dialect.keys);
      tables.set(dialect, table);
      for (const { field, origin } of reading.facts) {
        if (origin.kind !== 'file' || !origin.key) continue;
        const path = origin.key.split('.');
        const rowOf = (keys: readonly string[]) => table.find(keys.join('.')) ?? dialect.rowAt?.(keys);
        const named = path.some((_, end) => rowOf(path.slice(0, end + 1))?.fields?.includes(field));
        if (!named) without.add(`${dialect.id}: ${origin.key} states ${field}`);
      }
    }
    assert.deepEqual([...without], []);
  });

  it('places a problem where a template does not parse', () => {
    for (const file of own('deepspeed', 'accelerate')) {
      const { problems } = document(file);
      const broken = problems.some(({ code }) => code === 'syntax' || code === 'placeholder');
      let strict = true;
      try {
        if (file.name.endsWith('.json')) JSON.parse(file.text);
      } catch {
        strict = false;
      }
      assert.equal(broken, !strict, file.name);
      for (const { code, range } of problems) {
        if (code !== 'syntax') continue;
        const line = file.text.split('\n')[range.start.line] ?? '';
        // Placeholders stand bare where a value belongs, or in double braces.
        assert.match(
          line,
          /[A-Z]{2,}|\{\{|\}\}|\$|:\s*,?\s*$|[^"\s\d{}[\],:]/,
          `${file.name}:${range.start.line + 1}`,
        );
      }
    }
  });

  it('refuses only what the frameworks refuse', () => {
    const met = new Set<RegExp>();
    for (const file of all) {
      const reading = dialectOf(file)?.read(document(file), {
        known: {},
        versions: statedVersions({ 'version.deepspeed': '0.17.0' }),
      });
      const codes = reading?.problems
        .filter((problem) => problem.severity === 'error')
        .map((problem) => problem.code);
      const rule = REFUSED.find(([pattern]) => pattern.test(file.name));
      assert.deepEqual(codes ?? [], rule?.[1] ?? [], file.name);
      if (rule) met.add(rule[0]);
    }
    assert.equal(met.size, REFUSED.length);
  });

  it('publishes schemas that accept what the frameworks accept', () => {
    // What is made of each schema is used for a few dozen files: to make it shorter takes longer than it saves.
    const ajv = new Ajv({ strict: false, code: { optimize: false } });
    const validatorOf = oncePer((dialect: Dialect) => ajv.compile(schemaOf(dialect)));
    for (const file of all) {
      const config = document(file);
      const problems = [...config.problems, ...(readingOf(file)?.problems ?? [])];
      const faulty = problems.some(
        ({ severity, code }) => severity === 'error' || code === 'wrong-type' || code === 'placeholder',
      );
      const dialect = dialectOf(file);
      if (faulty || !config.root || !dialect) continue;
      const validate = validatorOf(dialect);
      assert.ok(validate(plainOf(config.root)), `${file.name}: ${ajv.errorsText(validate.errors)}`);
    }
  });
});
