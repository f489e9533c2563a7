import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gitIn, oomlint } from '../../unit/cli/oomlint';

const zero = (micro: number) =>
  `{\n  // oomlint: gpu=H100 gpus=8 sequence=1024\n  "bf16": { "enabled": true },\n  "train_micro_batch_size_per_gpu": ${micro},\n  "zero_optimization": { "stage": 3 }\n}\n`;
const recipe = (model: string) =>
  `model_name_or_path: ${model}\nstage: sft\ndo_train: true\nfinetuning_type: full\ndataset: a\ntemplate: llama3\ncutoff_len: 1024\noutput_dir: out\ndeepspeed: ds/zero.json\nbf16: true\n`;
const MODEL =
  '{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 4096}\n';

/** What a commit does to the files, and the sides must not be mixed up over. */
const COMMITS: readonly (readonly [what: string, act: (folder: string) => Promise<void>])[] = [
  [
    'files of one run',
    async (folder) => {
      await mkdir(path.join(folder, 'ds'));
      await writeFile(path.join(folder, 'ds', 'zero.json'), zero(1));
      await writeFile(path.join(folder, 'sft.yaml'), recipe('meta-llama/Llama-3.1-8B'));
      await writeFile(path.join(folder, 'local.yaml'), recipe('./models/own'));
      await writeFile(path.join(folder, 'notes.yaml'), 'name: a\nport: 1\n');
    },
  ],
  ['a shared file', (folder) => writeFile(path.join(folder, 'ds', 'zero.json'), zero(16))],
  [
    'a folder that a config names comes',
    async (folder) => {
      await mkdir(path.join(folder, 'models', 'own'), { recursive: true });
      await writeFile(path.join(folder, 'models', 'own', 'config.json'), MODEL);
    },
  ],
  [
    'a project file comes',
    (folder) => writeFile(path.join(folder, 'oomlint.yaml'), 'targets:\n  gpu: RTX 4090\n  gpus: 1\n'),
  ],
  ['a config moves', (folder) => rename(path.join(folder, 'sft.yaml'), path.join(folder, 'tune.yaml'))],
  ['a shared file goes', (folder) => rm(path.join(folder, 'ds', 'zero.json'))],
  ['the folder goes', (folder) => rm(path.join(folder, 'models'), { recursive: true })],
  ['nothing of a run', (folder) => writeFile(path.join(folder, 'notes.yaml'), 'name: b\nport: 2\n')],
];

/** Two commits share a workspace that turns from one to the other; a commit and the disk have one each. Both must find the same. */
describe('a difference of two commits', function () {
  this.timeout(120_000);
  let folder = '';
  const commits: string[] = [];

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-turning-'));
    gitIn(folder, 'init', '-q', '-b', 'main');
    for (const [what, act] of COMMITS) {
      await act(folder);
      gitIn(folder, 'add', '-A');
      gitIn(folder, 'commit', '-q', '-m', what);
      commits.push(gitIn(folder, 'rev-parse', 'HEAD').trim());
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const found = async (range: string) => {
    const { out, err } = await oomlint(['diff', range, '--format', 'json'], folder);
    assert.equal(err, '');
    // How many others were looked at, and are as they were, depends on what each side saw before.
    const { runs, equal, unknown } = JSON.parse(out);
    return { runs, looked: runs.length + equal + unknown };
  };

  for (const [at, [what]] of COMMITS.entries())
    if (at > 0)
      for (const [first, last] of [
        [at - 1, at],
        [at, at - 1],
      ] as const)
        it(`${what}${first > last ? ', backwards' : ''}: is that of a commit and the disk`, async () => {
          gitIn(folder, 'checkout', '-q', '--detach', commits[last] ?? '');
          const onDisk = await found(commits[first] ?? '');
          const inGit = await found(`${commits[first]}..${commits[last]}`);
          assert.deepEqual(inGit.runs, onDisk.runs);
          assert.ok(inGit.looked > 0 || what === 'nothing of a run');
        });
});
