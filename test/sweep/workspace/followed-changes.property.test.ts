import assert from 'node:assert/strict';
import fc from 'fast-check';
import { EditorHost } from '../../../server/src/lsp/open-files';
import type { OpenTexts } from '../../../server/src/lsp/open-texts';
import type { LocalMachine } from '../../../server/src/lsp/runtime';
import { WorkspaceConfigs } from '../../../server/src/lsp/workspace-configs';
import { Workspace } from '../../../server/src/workspace/analyze';
import { listedConfigs } from '../../../server/src/workspace/listed-configs';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { runs } from '../../unit/long';

const ROOT = 'file:///repo';
const NO_TEXTS = { get: () => undefined, all: () => [] } as unknown as OpenTexts;

const project = (gpus: number, rest = '') =>
  `targets: { gpu: H100, gpus: ${gpus} }\ndefaults: { sequence: 4096 }\n${rest}`;
const zero = (stage: number, micro: number | string) =>
  `{ "train_micro_batch_size_per_gpu": ${JSON.stringify(micro)}, "bf16": { "enabled": true }, "zero_optimization": { "stage": ${stage} } }\n`;
const recipe = (micro: number, rest = '') =>
  `model_name_or_path: Qwen/Qwen3-8B\nper_device_train_batch_size: ${micro}\nbf16: true\nmax_length: 2048\noutput_dir: out\n${rest}`;
const launch = (gpus: number, what: string) =>
  `accelerate launch --num_processes ${gpus} --multi_gpu train.py --config ${what}\n`;
const axolotl = (micro: number, rest = '') =>
  `base_model: Qwen/Qwen3-8B\nadapter: lora\nlora_r: 8\nmicro_batch_size: ${micro}\nsequence_len: 1024\ndatasets:\n  - { path: x, type: alpaca }\n${rest}`;
const trainer = (micro: number) =>
  `from trl import SFTConfig, SFTTrainer\nargs = SFTConfig(output_dir="o", per_device_train_batch_size=${micro}, bf16=True, max_length=1024, deepspeed="ds/zero3.json")\ntrainer = SFTTrainer("Qwen/Qwen3-4B", args=args)\ntrainer.train()\n`;

/** What each file may hold one day; undefined is that there is none. */
const TEXTS: Readonly<Record<string, readonly (string | undefined)[]>> = {
  'oomlint.yaml': [
    undefined,
    project(8),
    project(2),
    project(8, 'files:\n  - match: ds/*.json\n    model: Qwen/Qwen3-4B\n'),
    'targets: [\n',
    'targets: { gpu: RTX 4090 }\nvocabularies: [words.yaml]\n',
  ],
  'ds/oomlint.yaml': [undefined, project(1, 'files:\n  - match: zero3.json\n    model: Qwen/Qwen3-0.6B\n')],
  'ds/zero3.json': [zero(3, 1), zero(3, 'auto'), zero(2, 'auto'), undefined, '{ "a": 1 }'],
  'ds/plain.json': [zero(1, 4), undefined],
  'recipes/sft.yaml': [recipe(1), recipe(2, 'deepspeed: ../ds/zero3.json\n'), 'a: 1\n', undefined],
  'more/dpo.yaml': [undefined, recipe(4, 'deepspeed: ../ds/zero3.json\n')],
  'axolotl/lora.yaml': [undefined, axolotl(2), axolotl(2, 'deepspeed: ../ds/zero3.json\n')],
  'scripts/run.sh': [undefined, launch(4, 'recipes/sft.yaml'), launch(2, 'recipes/sft.yaml'), 'echo 1\n'],
  'run.sh': [undefined, launch(2, 'recipes/sft.yaml'), launch(8, '$1'), 'bash scripts/run.sh\n'],
  'README.md': [undefined, `# Run\n\n\`\`\`bash\n${launch(4, 'recipes/sft.yaml')}\`\`\`\n`],
  'train.py': [undefined, trainer(1), trainer(2), 'print(1)\n'],
  'requirements.txt': [undefined, 'transformers==4.40.0\n', 'transformers==4.57.0\ntrl==0.20.0\n'],
  'words.yaml': [undefined, 'keys:\n  my_stage: { field: zero.stage }\n  my_batch: { field: batch.micro }\n'],
  'own.json': [undefined, '{ "my_stage": 3, "my_batch": 2 }\n'],
  'conf/config.yaml': [
    undefined,
    'defaults: [{ model: small }, _self_]\nper_device_train_batch_size: 2\noutput_dir: o\n',
  ],
  'conf/model/small.yaml': [
    undefined,
    '# @package _global_\nmodel_name_or_path: Qwen/Qwen3-0.6B\nbf16: true\nmax_length: 512\n',
    '# @package _global_\nmodel_name_or_path: Qwen/Qwen3-4B\nbf16: true\nmax_length: 512\n',
  ],
};
const NAMES = Object.keys(TEXTS);

const change = fc.constantFrom(...NAMES).chain((name) =>
  fc.record({
    name: fc.constant(name),
    text: fc.constantFrom(...(TEXTS[name] ?? [])),
    /** Who watches the files states it before the next look; a config that nobody states is found by a whole look. */
    isStated: fc.boolean(),
  }),
);
const looks = fc.record({
  changes: fc.array(change, { minLength: 1, maxLength: 3 }),
  again: fc.boolean(),
  analysed: fc.array(fc.constantFrom(...NAMES), { maxLength: 2 }),
  /** Turns after which nobody waits for a look before this one any more. */
  patience: fc.option(fc.nat({ max: 25 })),
});

function world(disk: MemoryHost, stamps: ReadonlyMap<string, number>) {
  const host = new EditorHost(NO_TEXTS, disk);
  const machine: LocalMachine = {
    configsBelow: (folder: string) => listedConfigs(folder, disk),
    look: async (uri: string) => {
      const text = await disk.readText(uri);
      return text === undefined ? undefined : { stamp: String(stamps.get(uri)), text: () => text };
    },
    detectGpus: async () => undefined,
    measuredRuns: () => Promise.reject(new Error('nobody asks for runs')),
  };
  const workspace = new Workspace(host);
  const configs = new WorkspaceConfigs(workspace, host, machine);
  return { host, workspace, configs };
}

describe('configs of a workspace whose files change', function () {
  this.timeout(600_000);

  it('are listed as who looks for the first time finds them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(looks, { minLength: 1, maxLength: 6 }), async (steps) => {
        const disk = new MemoryHost({}, { folders: [ROOT] });
        const stamps = new Map<string, number>();
        let clock = 0;
        const write = (name: string, text: string | undefined) => {
          const uri = `${ROOT}/${name}`;
          stamps.set(uri, ++clock);
          if (text === undefined) disk.remove(uri);
          else disk.write(uri, text);
          return uri;
        };
        for (const name of NAMES) write(name, TEXTS[name]?.[0]);
        write('keep/other.json', '{}');
        const { host, workspace, configs } = world(disk, stamps);
        await host.open([ROOT]);
        await configs.look(() => false);
        for (const { changes, again, analysed, patience } of steps) {
          for (const { name, text, isStated } of changes) {
            const uri = write(name, text);
            if (again || isStated || !/\.(?:ya?ml|json|sh|py)$/.test(name)) {
              workspace.invalidate(uri);
              configs.changed(uri);
            }
          }
          for (const name of analysed) await workspace.analyze(`${ROOT}/${name}`);
          let turns = 0;
          if (patience !== null) await configs.look(() => ++turns > patience, again);
          const found = await configs.look(() => false, again);
          const fresh = world(disk, stamps);
          await fresh.host.open([ROOT]);
          assert.deepEqual(found, await fresh.configs.look(() => false));
        }
      }),
      { numRuns: runs(12, 200) },
    );
  });
});
