import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import Ajv from 'ajv';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { checkFile } from '../../../server/src/cli/check-file';
import { type CheckedFile, findingsOf } from '../../../server/src/cli/checked-file';
import type { Format } from '../../../server/src/cli/formats/format';
import { FORMAT_NAMES, type FormatName } from '../../../server/src/cli/formats/format-names';
import { FORMATS } from '../../../server/src/cli/formats/formats';
import { Workspace } from '../../../server/src/workspace/analyze';
import { commandLineFacts } from '../../../server/src/workspace/command-line-facts';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { RULES } from '../../../server/src/workspace/rules';

const FOLDER = '/w';
const QLORA = `base_model: NousResearch/Llama-3.2-1B
adapter: qlora
load_in_4bit: true
gradient_acumulation_steps: 2   # größer
micro_batch_size: 512
sequence_len: 8192
datasets:
  - path: a
    type: alpaca
`;

async function checked(files: Readonly<Record<string, string>>): Promise<CheckedFile[]> {
  const texts = Object.fromEntries(
    Object.entries(files).map(([name, text]) => [`file://${FOLDER}/${name}`, text]),
  );
  const workspace = new Workspace(new MemoryHost(texts, { folders: [`file://${FOLDER}`] }), {
    commandLine: commandLineFacts({ gpu: 'A100-80GB', gpus: '1' }),
  });
  const found = await Promise.all(
    Object.keys(texts).map((uri) => checkFile(uri, [{ workspace }], FOLDER, { analysis: true, cost: true })),
  );
  return found.filter((file) => file !== undefined);
}

const formats = new Map<FormatName, Format>();

function written(name: FormatName, files: readonly CheckedFile[]): string {
  const format = formats.get(name);
  assert.ok(format, name);
  return format(files, { folder: FOLDER, version: '1.2.3', paint: (_style, text) => text });
}

/** Places of the two problems of `QLORA`, with the verdict. */
const TOO_LARGE = /^Does not fit: needs /;

describe('formats of check', () => {
  let files: readonly CheckedFile[];
  before(async () => {
    for (const name of FORMAT_NAMES) formats.set(name, await FORMATS[name]());
    files = await checked({ 'a b/run.yaml': QLORA });
  });

  it('print a problem a line', () => {
    const lines = written('concise', files).trimEnd().split('\n');
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? '', /^a b\/run\.yaml:4:1: warning unknown-key Axolotl knows no key/);
    assert.match(lines[1] ?? '', /^a b\/run\.yaml:5:1: error does-not-fit Does not fit/);
  });

  it('tell once what many files share, and errors where they stand', async () => {
    const unknown = QLORA.replace('NousResearch/Llama-3.2-1B', 'nobody/knows-this');
    const names = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}.yaml`);
    const many = await checked(Object.fromEntries(names.map((name) => [name, unknown])));
    const reported = written('text', many);
    assert.equal(reported.match(/"nobody\/knows-this" is neither/g)?.length, 1);
    assert.match(
      reported,
      /In 5 files\n {2}info {5}"nobody\/knows-this".*unknown-model\n {2}a\.yaml, b\.yaml, c\.yaml, and 2 more\n/,
    );
    // A warning is mended in its file.
    assert.equal(reported.match(/warning .*unknown-key/g)?.length, names.length);
    const pair = written('text', many.slice(0, 2));
    assert.equal(pair.match(/"nobody\/knows-this" is neither/g)?.length, 2);
    assert.equal(written('concise', many).match(/"nobody\/knows-this" is neither/g)?.length, 5);
  });

  it('annotate for GitHub, with what its commands would take for their own escaped', async () => {
    const [first] = written('github', files).split('\n');
    assert.match(
      first ?? '',
      /^::warning file=a b\/run\.yaml,line=4,endLine=4,col=1,endColumn=27,title=oomlint unknown-key::Axolotl/,
    );
    const odd = await checked({ 'a,b:c%.yaml': QLORA });
    assert.match(written('github', odd), /^::warning file=a%2Cb%3Ac%25\.yaml,line=4,/);
  });

  it('report for GitLab with a fingerprint that outlives edits elsewhere', async () => {
    const report = JSON.parse(written('gitlab', files));
    assert.deepEqual(
      report.map(({ check_name, severity, location }: Record<string, unknown>) => ({
        check_name,
        severity,
        location,
      })),
      [
        {
          check_name: 'unknown-key',
          severity: 'minor',
          location: { path: 'a b/run.yaml', lines: { begin: 4 } },
        },
        {
          check_name: 'does-not-fit',
          severity: 'major',
          location: { path: 'a b/run.yaml', lines: { begin: 5 } },
        },
      ],
    );
    const moved = await checked({ 'a b/run.yaml': `# one line more\n${QLORA}` });
    const prints = (all: readonly CheckedFile[]) => findingsOf(all).map(({ fingerprint }) => fingerprint);
    assert.deepEqual(prints(moved), prints(files));
    const changed = await checked({ 'a b/run.yaml': QLORA.replace('512', '1024') });
    assert.equal(prints(changed)[0], prints(files)[0]);
    assert.notEqual(prints(changed)[1], prints(files)[1], 'the line of the micro batch is another');
  });

  it('are XML for build servers, whatever the text holds', async () => {
    const odd = await checked({
      'x<&">.yaml': QLORA.replace('gradient_acumulation_steps', '"gr<a>\\u0001&dient_acumulation_steps"'),
    });
    const xml = written('junit', [
      ...files,
      ...odd,
      ...(await checked({ 'ok.yaml': QLORA.replace('512', '1').replace('gradient_acu', 'gradient_accu') })),
    ]);
    assert.equal(XMLValidator.validate(xml), true);
    const { testsuites } = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '' }).parse(xml);
    assert.deepEqual(
      testsuites.testsuite.map(({ name, tests, failures }: Record<string, string>) => [
        name,
        tests,
        failures,
      ]),
      [
        ['a b/run.yaml', '2', '2'],
        ['x<&">.yaml', '2', '2'],
        ['ok.yaml', '1', '0'],
      ],
    );
    assert.match(testsuites.testsuite[0].testcase[1].failure.message, TOO_LARGE);
  });

  it('carry edits for reviewdog, in columns of bytes', () => {
    const { diagnostics } = JSON.parse(written('rdjson', files));
    assert.deepEqual(diagnostics[0].suggestions, [
      {
        range: { start: { line: 4, column: 1 }, end: { line: 4, column: 27 } },
        text: 'gradient_accumulation_steps',
      },
    ]);
    assert.equal(
      diagnostics[0].code.url,
      'https://github.com/oomlint/oomlint/blob/main/docs/rules.md#unknown-key',
    );
    assert.equal(diagnostics[1].severity, 'ERROR');
  });

  it('are tables for a comment', () => {
    const lines = written('markdown', files).split('\n');
    assert.equal(lines[0], '**1 config checked: 1 error, 1 warning**');
    assert.match(
      lines[4] ?? '',
      /^\| a b\/run\.yaml \| does not fit \| [\d.,]+ of 79\.\d GiB, 1 × A100-SXM4-80GB \|$/,
    );
  });

  it('are JSON with peak, band and parts that add up', () => {
    const report = JSON.parse(written('json', files));
    const [run] = report.files[0].runs;
    const sum = run.parts.reduce((total: number, { bytes }: { bytes: number }) => total + bytes, 0);
    assert.equal(sum, run.peak.processBytes);
    assert.ok(run.peak.lowerBytes <= run.peak.processBytes && run.peak.processBytes <= run.peak.upperBytes);
    assert.equal(report.files[0].diagnostics[1].fingerprint.length, 32);
    const [line, ...rest] = written('jsonl', files).trimEnd().split('\n');
    assert.deepEqual(JSON.parse(line ?? ''), report.files[0]);
    assert.deepEqual(rest, []);
  });

  describe('SARIF', () => {
    it('is what the standard and code scanning ask for', async () => {
      const both = await checked({
        'train.sh':
          'deepspeed --num_gpus 8 run_clm.py --model_name_or_path gpt2 --deepspeed ds.json --per_device_train_batch_size 4 --bf16\n',
        'ds.json': '{"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}}',
      });
      const text = written('sarif', [...files, ...both]);
      const validate = new Ajv({ allErrors: true }).compile(SARIF);
      assert.ok(validate(JSON.parse(text)), JSON.stringify(validate.errors, null, 2));
      assert.deepEqual(faultsBySarif(JSON.parse(text)), []);
      const { tool, results } = JSON.parse(text).runs[0];
      const rules = new Set(tool.driver.rules.map(({ id }: { id: string }) => id));
      for (const { ruleId, locations } of results) {
        assert.ok(rules.has(ruleId));
        assert.doesNotMatch(locations[0].physicalLocation.artifactLocation.uri, /[ :\\]|^\//);
      }
      const chained = results.filter(({ codeFlows }: { codeFlows?: unknown }) => codeFlows);
      assert.ok(chained.length > 0, 'a run of two files has a chain');
    });

    it('would not be taken for it with a level that there is not', () => {
      const log = { version: '2.1.0', runs: [{ tool: { driver: { name: 'oomlint' } }, results: [{}] }] };
      const [result = {}] = log.runs[0]?.results ?? [];
      Object.assign(result, { message: { text: 'm' }, level: 'error' });
      assert.deepEqual(faultsBySarif(log), []);
      Object.assign(result, { level: 'grave' });
      assert.equal(faultsBySarif(log).length, 1);
    });

    it('describes rules in the length that is shown', () => {
      for (const [name, { summary }] of Object.entries(RULES)) assert.ok(summary.length <= 1024, name);
    });
  });
});

/** The schema of the standard itself, as OASIS has it; draft 4, whose other words for ranges it does not use. */
function faultsBySarif(log: unknown): unknown[] {
  const file = require.resolve('@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json');
  const { $schema: _draft, id: _id, ...schema } = JSON.parse(readFileSync(file, 'utf8'));
  const validate = new Ajv({
    allErrors: true,
    strict: false,
    validateFormats: false,
    unicodeRegExp: false,
  }).compile(schema);
  return validate(log) ? [] : (validate.errors ?? []);
}

const MESSAGE = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string', minLength: 1 } },
};
const LOCATION = {
  type: 'object',
  required: ['physicalLocation'],
  additionalProperties: false,
  properties: {
    id: { type: 'integer', minimum: 0 },
    message: MESSAGE,
    physicalLocation: {
      type: 'object',
      required: ['artifactLocation', 'region'],
      additionalProperties: false,
      properties: {
        artifactLocation: {
          type: 'object',
          required: ['uri'],
          additionalProperties: false,
          properties: { uri: { type: 'string', minLength: 1 }, uriBaseId: { type: 'string' } },
        },
        region: {
          type: 'object',
          required: ['startLine', 'startColumn', 'endLine', 'endColumn'],
          additionalProperties: false,
          properties: Object.fromEntries(
            ['startLine', 'startColumn', 'endLine', 'endColumn'].map((key) => [
              key,
              { type: 'integer', minimum: 1 },
            ]),
          ),
        },
      },
    },
  },
};
const LEVEL = { enum: ['none', 'note', 'warning', 'error'] };
/** What we write of SARIF 2.1.0 (sections 3.13 to 3.59), with what code scanning requires besides. */
const SARIF = {
  type: 'object',
  required: ['$schema', 'version', 'runs'],
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    version: { const: '2.1.0' },
    runs: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['tool', 'results'],
        additionalProperties: false,
        properties: {
          tool: {
            type: 'object',
            required: ['driver'],
            additionalProperties: false,
            properties: {
              driver: {
                type: 'object',
                required: ['name', 'version', 'informationUri', 'rules'],
                additionalProperties: false,
                properties: {
                  name: { const: 'oomlint' },
                  version: { const: '1.2.3' },
                  informationUri: { type: 'string' },
                  rules: {
                    type: 'array',
                    items: {
                      type: 'object',
                      required: [
                        'id',
                        'shortDescription',
                        'fullDescription',
                        'help',
                        'defaultConfiguration',
                        'helpUri',
                      ],
                      additionalProperties: false,
                      properties: {
                        id: { type: 'string' },
                        shortDescription: MESSAGE,
                        fullDescription: MESSAGE,
                        help: MESSAGE,
                        helpUri: { type: 'string' },
                        defaultConfiguration: {
                          type: 'object',
                          additionalProperties: false,
                          properties: { level: LEVEL },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
          results: {
            type: 'array',
            items: {
              type: 'object',
              required: ['ruleId', 'level', 'message', 'locations', 'partialFingerprints'],
              additionalProperties: false,
              properties: {
                ruleId: { type: 'string' },
                level: LEVEL,
                message: MESSAGE,
                locations: { type: 'array', minItems: 1, maxItems: 1, items: LOCATION },
                partialFingerprints: { type: 'object', additionalProperties: { type: 'string' } },
                relatedLocations: { type: 'array', items: LOCATION },
                codeFlows: {
                  type: 'array',
                  items: {
                    type: 'object',
                    required: ['threadFlows'],
                    properties: {
                      threadFlows: {
                        type: 'array',
                        minItems: 1,
                        items: {
                          type: 'object',
                          required: ['locations'],
                          properties: {
                            locations: {
                              type: 'array',
                              minItems: 1,
                              items: {
                                type: 'object',
                                required: ['location'],
                                additionalProperties: false,
                                properties: { location: LOCATION },
                              },
                            },
                          },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
};
