import assert from 'node:assert/strict';
import { completions } from '../../../server/src/features/completion/completion';
import { hover } from '../../../server/src/features/hover';
import { projectCompletions, projectHover } from '../../../server/src/features/project-file-help';
import { speakLanguage } from '../../../server/src/wording/language';
import { Workspace } from '../../../server/src/workspace/analyze';
import { readConfig } from '../../../server/src/workspace/file-cache';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { marked } from './sample';

const FACTS = 'gpu=H100-SXM5-80GB gpus=8 model=meta-llama/Llama-3.1-8B sequence=2048';

/** Configs of several families with the caret on a key, and words of what is shown about it. */
const KEYS: readonly (readonly [family: string, name: string, text: string, stated: RegExp])[] = [
  [
    'DeepSpeed',
    'ds.json',
    `// oomlint: ${FACTS}\n{ "train_micro_batch_size_per_gpu": 1, "zero_optimization": { "sta|ge": 2 } }`,
    /0: не делится ничего\. 1: состояния оптимизатора\./,
  ],
  [
    'Accelerate',
    'accelerate.yaml',
    `compute_environment: LOCAL_MACHINE\ndistri|buted_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\n`,
    /Как GPU работают вместе: реплики \(`MULTI_GPU`\)/,
  ],
  [
    'HF TrainingArguments',
    'args.json',
    `{ "output_dir": "out", "per_device_train_batch_size": 2, "gradient_check|pointing": true, "bf16": true, "learning_rate": 1e-5 }`,
    /Чекпойнтинг активаций: хранить только вход каждого слоя/,
  ],
  [
    'TRL',
    'recipe.yaml',
    'model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 2\nmax_|length: 2048\nlearning_rate: 1.0e-5\noutput_dir: out\n',
    /Токенов в примере, 1024, если ключа нет/,
  ],
  [
    'Axolotl',
    'axolotl.yaml',
    'base_model: meta-llama/Llama-3.1-8B\nmicro_batch_size: 1\nsequence_len: 2048\nsample_pa|cking: true\ndatasets:\n  - path: a\n    type: alpaca\n',
    /Склеивать примеры в полные строки по `sequence_len` токенов/,
  ],
  [
    'LLaMA-Factory',
    'llama.yaml',
    'model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: lora\nlora_tar|get: all\ntemplate: llama3\ncutoff_len: 2048\ndataset: a\n',
    /Модули, которые получают адаптер; `all`/,
  ],
  [
    'torchtitan',
    'titan.toml',
    '[model]\nname = "llama3"\nflavor = "8B"\n\n[training]\nlocal_batch_size = 1\nseq_|len = 8192\n\n[parallelism]\ndata_parallel_shard_degree = -1\n',
    /Токенов в примере; строки всегда полные\./,
  ],
  [
    'a launch script',
    'run.sh',
    'torchrun --nproc_per|_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --output_dir out\n',
    /Процессов на каждой машине, по одному на GPU\./,
  ],
  [
    'Oomlint run',
    'qlora.oomlint.yaml',
    'run:\n  model.id: meta-llama/Llama-3.1-8B\n  method.ki|nd: lora\n  hardware.gpu: H100-SXM5-80GB\n  hardware.gpus: 1\n  batch.micro: 1\n  batch.sequence: 2048\n',
    /Что обучается: все веса, адаптеры \(`lora\.kind`\)/,
  ],
  [
    'a group of Oomlint run',
    'group.oomlint.yaml',
    'run:\n  ze|ro:\n    stage: 3\n  model.id: meta-llama/Llama-3.1-8B\n  batch.micro: 1\n',
    /Группа полей: `stage`, `reduceBucket`/,
  ],
];

describe('in Russian', function () {
  this.timeout(20_000);
  before(() => speakLanguage('ru'));
  after(() => speakLanguage(undefined));

  for (const [family, name, withMark, stated] of KEYS) {
    it(`a key of ${family} is explained`, async () => {
      const { text, position } = marked(withMark);
      const uri = `file:///w/${name}`;
      const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
      assert.ok(analysis, `${name} is no config`);
      const found = hover(analysis, position)?.markdown ?? '';
      assert.match(found, stated);
    });
  }

  it('a directive explains its fields', async () => {
    const { text, position } = marked(`// oomlint: gp|us=8\n{ "train_micro_batch_size_per_gpu": 1 }`);
    const uri = 'file:///w/ds.json';
    const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
    assert.ok(analysis);
    assert.match(hover(analysis, position)?.markdown ?? '', /GPU на всех узлах/);
  });

  it('a rule of the project file is explained, and completed with what it is about', async () => {
    const shown = projectHover(
      'file:///w/oomlint.yaml',
      'rules:\n  tight: off\n',
      { line: 1, character: 4 },
      [],
    );
    assert.match(shown?.markdown ?? '', /Пик так близок к объёму памяти GPU/);
    const { text, position } = marked('rules:\n  tig|');
    const offered = await projectCompletions('file:///w/oomlint.yaml', text, position);
    assert.match(offered.find(({ label }) => label === 'tight')?.documentation ?? '', /может поместиться/);
  });

  it('keys and their values are completed with what they mean', async () => {
    for (const [withMark, label, stated] of [
      [
        '{ "train_micro_batch_size_per_gpu": 1, "zero_optimization": { "|" } }',
        'stage',
        /0: не делится ничего/,
      ],
      [
        '{ "train_micro_batch_size_per_gpu": 1, "zero_optimization": { "stage": | } }',
        '3',
        /По умолчанию: `0`/,
      ],
    ] as const) {
      const { text, position } = marked(withMark);
      const config = readConfig('file:///w/ds.json', text);
      assert.ok(config);
      const offered = await completions({ ...config, text, position });
      assert.match(offered.find((one) => one.label === label)?.documentation ?? '', stated, label);
    }
  });
});
