import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import Ajv from 'ajv';
import { parseConfig } from '../../../server/src/config/parse';
import { plainOf } from '../../../server/src/config/scalar';
import { schemaOf } from '../../../server/src/dialects/json-schema';
import { DIALECTS, detectDialect, mightBeTrainingConfig } from '../../../server/src/dialects/registry';

/** Real configs of public repositories, where they are at hand; they are not part of this repository. */
const CORPUS = path.join('..', 'shared', 'corpus');
const FAMILIES = ['deepspeed', 'accelerate'];

/** Why the frameworks refuse each of these files, looked up in their sources. */
const REFUSED: readonly (readonly [file: RegExp, codes: readonly string[], reason: string])[] = [
  [
    /gpt-neox__configs__deepspeed_configs__ds_(config|zero_stage_1_config|zero_stage_1_config_2-7B)\.json$/,
    ['max-grad-norm'],
    'clipping as an optimizer argument',
  ],
  [
    /gpt-neox__examples__ds_config|Megatron-LM__scripts__ds_config|bing_bert__deepspeed_bsz(16K_lamb_config(_seq512)?|4096_adam_config)|ds_zero_stage_2_config_baseline|Megatron_GPT2__ds_config_func_bs4\.json/,
    ['max-grad-norm'],
    'clipping as an optimizer argument',
  ],
  [
    /checkpoints_config|gpt-neox__configs__deepspeed_zero2|adam_zero3_fp16/,
    ['onebit-zero'],
    '1-bit optimizer with ZeRO',
  ],
  [/invalid_keys\.yaml$/, ['unknown-key', 'unknown-key'], "a test of Accelerate's own refusal"],
  [
    /ds_config_trlx_gptj_summarize/,
    ['wrong-type', 'unknown-key', 'unknown-key'],
    'fp16 keys that DeepSpeed never had',
  ],
  [/sft__ds_config_gptj/, ['unknown-key'], 'Apex key in the fp16 block'],
  [/autotuning_configs__tune_1-3B/, ['unknown-key'], 'GPT-NeoX key in the fp16 block'],
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
  [/tests__torch_compile__ds_config\.json/, Array(5).fill('unknown-key'), 'fp16 keys in the bf16 block'],
];

interface CorpusFile {
  readonly family: string;
  readonly name: string;
  readonly text: string;
}
function files(): CorpusFile[] {
  return readdirSync(CORPUS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name: family }) =>
      readdirSync(path.join(CORPUS, family)).map((name) => ({
        family,
        name,
        text: readFileSync(path.join(CORPUS, family, name), 'utf8'),
      })),
    );
}

describe('corpus of real configs', function () {
  this.timeout(60_000);
  let all: CorpusFile[] = [];
  before(function () {
    if (!existsSync(CORPUS)) {
      console.log(`      skipped: no corpus at ${CORPUS}`);
      this.skip();
    }
    all = files();
  });
  const document = (file: CorpusFile) => parseConfig(`file:///${file.name}`, file.text);
  const own = () => all.filter((file) => FAMILIES.includes(file.family));

  it('recognizes every DeepSpeed and Accelerate file, and no other', () => {
    const counts: Record<string, number> = {};
    for (const file of all) {
      const id = detectDialect(document(file))?.id;
      const expected = FAMILIES.includes(file.family) ? file.family : undefined;
      assert.equal(id, expected, `${file.family}/${file.name}`);
      const key = `${file.family} → ${id ?? 'none'}`;
      counts[key] = (counts[key] ?? 0) + 1;
      if (id) assert.ok(mightBeTrainingConfig(file.text, file.name), file.name);
    }
    for (const [key, count] of Object.entries(counts)) console.log(`      ${key}: ${count}`);
  });

  it('places a problem where a template does not parse', () => {
    for (const file of own()) {
      const { problems } = document(file);
      const broken = problems.some((problem) => problem.code === 'syntax');
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
    for (const file of own()) {
      const config = document(file);
      const reading = detectDialect(config)?.read(config, { known: {} });
      const codes = reading?.problems
        .filter((problem) => problem.severity === 'error')
        .map((problem) => problem.code);
      const rule = REFUSED.find(([pattern]) => pattern.test(file.name));
      assert.deepEqual(codes, rule?.[1] ?? [], file.name);
      if (rule) met.add(rule[0]);
    }
    assert.equal(met.size, REFUSED.length);
  });

  it('publishes schemas that accept what the frameworks accept', () => {
    const ajv = new Ajv({ strict: false });
    const validators = new Map(DIALECTS.map((dialect) => [dialect.id, ajv.compile(schemaOf(dialect))]));
    for (const file of own()) {
      const config = document(file);
      const reading = detectDialect(config)?.read(config, { known: {} });
      const faulty = [...config.problems, ...(reading?.problems ?? [])].some(
        (problem) => problem.severity === 'error',
      );
      if (faulty || !config.root) continue;
      const validate = validators.get(file.family);
      assert.ok(validate?.(plainOf(config.root)), `${file.name}: ${ajv.errorsText(validate?.errors)}`);
    }
  });

  it('turns most other files away unparsed', () => {
    const others = all.filter((file) => !FAMILIES.includes(file.family));
    const parsed = others.filter((file) => mightBeTrainingConfig(file.text, file.name)).length;
    console.log(`      ${parsed} of ${others.length} other configs are parsed`);
    assert.ok(parsed < others.length * 0.1);
  });
});
