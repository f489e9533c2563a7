import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { CompletionItem, CompletionList, Diagnostic, Hover } from 'vscode-languageserver-protocol';
import { givesWay } from '../../client/src/left-to-others';
import { schemaByName } from '../../client/src/schema-by-name';
import { FAMILY_NOTIFICATION, type FamilyParams, SCHEMA_REQUEST } from '../../server/src/shared/protocol';
import { TestServer } from './server-process';
import { YamlNeighbour, yamlServerProgram } from './yaml-neighbour';

const SCHEME = 'oomlint://schemas/';
const FIXTURES = 'test/fixtures/configs';
const fixtures = readdirSync(FIXTURES)
  // A manifest of a job has the schema of its own system, and none of ours.
  .filter((name) => name.endsWith('.yaml') && !/^(?:kubernetes|skypilot)-/.test(name))
  .map((name) => [name, readFileSync(path.join(FIXTURES, name), 'utf8')] as const);

/** Configs as people write them, and with the slips that they make. */
const WRITTEN: Readonly<Record<string, string>> = {
  'oomlint.yaml':
    'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 8\ndefaults:\n  sequence: 2048\nrules:\n  does-not-fit: warning\n',
  'axolotl.yaml': `# oomlint: gpu=A100-SXM4-80GB gpus=2
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
sequence_len: 4096
micro_batch_size: 2
gradient_accumulation_steps: 4
gradient_checkpointing: true
optimizer: adamw_torch
learning_rate: 2.0e-5
bf16: true
`,
  'axolotl-slips.yaml': `# oomlint: gpu=A100-SXM4-80GB gpus=2
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: tatsu-lab/alpaca
    type: alpaca
sequence_len: many
micro_batch_size: -2
gradient_acumulation_steps: 4
gradient_checkpointing: 7
optimizer: adamw_torhc
learning_rate: [2]
bf16: maybe
adapter: lorra
`,
  'factory.yaml': `# oomlint: gpu=A100-SXM4-80GB gpus=4
model_name_or_path: Qwen/Qwen2.5-7B
stage: sft
do_train: true
finetuning_type: full
dataset: alpaca_en
template: default
cutoff_len: 2048
output_dir: out
per_device_train_batch_size: 1
optim: adamw_trch
bf16: 3
lora_rnk: 8
`,
  'accelerate_config.yaml': `compute_environment: LOCAL_MACHINE
distributed_type: FSPD
mixed_precision: bf61
num_machines: 1
num_processes: eight
num_processes: 8
fsdp_config:
  fsdp_version: 2
  fsdp_sharding: FULL
`,
  'broken.yaml': `# oomlint: gpu=A100-SXM4-80GB gpus=2
base_model: meta-llama/Llama-3.1-8B
sequence_len: [4096
micro_batch_size: 2
`,
};

const CONFIGS: Readonly<Record<string, string>> = { ...Object.fromEntries(fixtures), ...WRITTEN };

/** Sentences of a text of Markdown that are long enough to be read twice. */
const sentencesOf = (text: string) =>
  text
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .split(/\n|(?<=[.!?])\s/)
    .map((sentence) => sentence.replace(/[\s*_`\\>#|-]+/g, ' ').trim())
    .filter((sentence) => sentence.length >= 12);

function textOf(hover: Hover | null): string {
  const contents = hover?.contents ?? '';
  const parts = Array.isArray(contents) ? contents : [contents];
  return parts.map((part) => (typeof part === 'string' ? part : part.value)).join('\n');
}

const labelsOf = (answer: CompletionList | CompletionItem[] | null) =>
  (Array.isArray(answer) ? answer : (answer?.items ?? [])).map(({ label }) => label.replace(/:?\s*$/, ''));

/** As our extension hands problems on: some are left to another one that has an error of the same line. */
const shown = (ours: readonly Diagnostic[], theirs: readonly Diagnostic[]) =>
  ours.filter(
    ({ code, range }) =>
      !givesWay(code) || !theirs.some((other) => other.range.start.line === range.start.line),
  );

const overlap = (a: Diagnostic, b: Diagnostic) =>
  a.range.start.line === b.range.start.line &&
  a.range.start.character < b.range.end.character &&
  b.range.start.character < a.range.end.character;

/** Columns of a line where somebody asks: in the key, and behind the value. */
const placesIn = (line: string): readonly number[] => {
  const key = /^[\s-]*(?=[\w."'])/.exec(line)?.[0].length;
  return key === undefined ? [] : [...new Set([key + 1, line.length])];
};

for (const language of ['en', 'ru'])
  describe(`the YAML extension's server with our schemas, beside ours, in ${language}`, function () {
    this.timeout(120_000);
    let server: TestServer;
    let neighbour: YamlNeighbour;
    const families = new Map<string, string>();

    before(async function () {
      const program = await yamlServerProgram();
      if (program === undefined) return this.skip();
      server = await TestServer.start({
        initializationOptions: { trusted: false, language, schemasServed: true },
      });
      server.connection.onNotification(FAMILY_NOTIFICATION, ({ uri, family }: FamilyParams) => {
        if (family === undefined) families.delete(uri);
        else families.set(uri, family);
      });
      neighbour = await YamlNeighbour.start(program, server.uri(''), language, {
        addressOf: (uri) => {
          const name = families.get(uri) ?? schemaByName(uri);
          return name === undefined ? undefined : `${SCHEME}${name}`;
        },
        content: async (address) =>
          JSON.stringify(
            (await server.request(SCHEMA_REQUEST, { name: address.slice(SCHEME.length) })) ?? {},
          ),
      });
    });
    after(async () => {
      await neighbour?.stop();
      await server?.stop();
    });

    it('offers each choice of a value once, with what the run would need with it', async () => {
      const text = WRITTEN['axolotl.yaml'] ?? '';
      const uri = await server.open('choices.yaml', text);
      await server.published(uri);
      await neighbour.open(uri, text);
      for (const [key, values] of [
        ['optimizer', ['adamw_torch_fused', 'adamw_bnb_8bit', 'sgd']],
        ['gradient_checkpointing', ['true', 'false', 'offload']],
        ['bf16', ['true', 'false', 'auto']],
      ] as const) {
        const line = text.split('\n').findIndex((words) => words.startsWith(`${key}:`));
        const words = text.split('\n')[line] ?? '';
        const at = server.at(uri, line, words.length);
        const completion = 'textDocument/completion';
        const own = await server.request<CompletionList | CompletionItem[] | null>(completion, at);
        const theirs = labelsOf(await neighbour.request(completion, at));
        const items = (Array.isArray(own) ? own : own?.items) ?? [];
        for (const value of values) {
          const rows = items.filter(({ label }) => label === value);
          assert.equal(rows.length + theirs.filter((label) => label === value).length, 1, `${key}: ${value}`);
          assert.match(JSON.stringify(rows[0]), language === 'en' ? /GiB, / : /ГиБ, /, `${key}: ${value}`);
        }
      }
    });

    // What is offered is the same in each language: fixtures in one of them are enough.
    for (const [name, text] of Object.entries(language === 'en' ? CONFIGS : WRITTEN))
      it(`states, offers and reports nothing twice: ${name}`, async () => {
        const uri = await server.open(name, text);
        const { diagnostics: ours } = await server.published(uri);
        const theirs = await neighbour.open(uri, text);
        const twice: string[] = [];
        const mine = shown(ours, theirs);
        for (const problem of mine)
          for (const other of theirs.filter((one) => overlap(one, problem)))
            twice.push(
              `problem of line ${problem.range.start.line + 1}: ${problem.message} | ${other.message}`,
            );
        let [hovers, offers] = [0, 0];
        for (const [line, words] of text.split('\n').entries())
          for (const character of placesIn(words)) {
            const at = server.at(uri, line, character);
            const hover = 'textDocument/hover';
            const own = sentencesOf(textOf(await server.request<Hover | null>(hover, at)));
            const others = sentencesOf(textOf(await neighbour.request<Hover | null>(hover, at)));
            hovers += others.length;
            for (const sentence of own.filter((one) => others.includes(one)))
              twice.push(`hover of line ${line + 1}: ${sentence}`);
            const completion = 'textDocument/completion';
            const labels = labelsOf(await server.request(completion, at));
            const offered = labelsOf(await neighbour.request(completion, at));
            offers += offered.length;
            for (const label of labels.filter((one) => offered.includes(one)))
              twice.push(`offer of line ${line + 1}: ${label}`);
            assert.deepEqual(offered, [...new Set(offered)], `line ${line + 1}`);
          }
        assert.deepEqual(twice, []);
        assert.ok(hovers > 0 && offers > 0, 'the schema is served');
      });
  });
