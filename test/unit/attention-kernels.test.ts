import assert from 'node:assert/strict';
import KERNELS from '../../server/data/attention-kernels.json';
import RELEASES from '../../server/data/releases.json';
import { decisionsOf } from '../../server/src/advice/decisions';
import { lacksKernel, languageType } from '../../server/src/behaviours/attention-kernels';
import { modelTypes } from '../../server/src/model/families/registry';
import type { FieldPath, RunValues } from '../../server/src/run/fields';
import { Workspace } from '../../server/src/workspace/analyze';
import { MemoryHost } from '../../server/src/workspace/memory-host';
import { smallWorkspace } from './workspace/small-workspace';

/** Types that are played here and have no SDPA in the newest release, by the classes of transformers (`_supports_sdpa`). */
const WITHOUT = modelTypes().filter((type) => lacksKernel('sdpa', type, undefined));

async function attentionOf(model: string, more: string, trainer = '', first = '') {
  const text = `${first}from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("${model}"${more})
Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=1, bf16=True)${trainer}).train()
`;
  const host = new MemoryHost({ 'file:///w/train.py': text });
  const settings = (): RunValues => ({
    'hardware.gpu': 'H100-SXM5-80GB',
    'hardware.gpus': 1,
    'batch.sequence': 512,
  });
  const analysis = await new Workspace(host, { settings }).analyze('file:///w/train.py');
  const field: FieldPath = 'attention.implementation';
  const { values, origins } = analysis?.resolved ?? {};
  const { kind, note } = origins?.[field] ?? {};
  return { value: values?.[field], kind, note, analysis };
}

describe('attention that transformers has for a model', () => {
  it('is looked up in the releases whose newest is assumed', () => {
    assert.equal(KERNELS.releases.at(-1), RELEASES.releases.transformers.at(-1));
  });

  it('names the release that the run has: another may choose SDPA', async () => {
    const of = (release: string) =>
      attentionOf('google-t5/t5-small', '', '', `# oomlint: version.transformers=${release}\n`);
    assert.deepEqual(
      [(await of('4.57.6')).note, (await of('5.23.0')).value],
      ['transformers 4.57.6 chooses no SDPA for `t5`', 'sdpa'],
    );
  });

  it('is no SDPA where the class takes none, by release', () => {
    for (const type of ['gemma2', 'gpt_oss', 'bloom', 'deepseek_v4', 'git', 'vilt'])
      assert.ok(WITHOUT.includes(type), type);
    for (const type of ['llama', 'gemma', 'gemma3_text', 'opt', 'qwen3', 'nemotron_h'])
      assert.ok(!WITHOUT.includes(type), type);
    const gemma2 = (release: string) => lacksKernel('sdpa', 'gemma2', release);
    assert.deepEqual(['4.44.2', '4.45.0', '4.47.1', '4.48.0', '5.20.2', '5.21.0', '5.23'].map(gemma2), [
      false,
      true,
      true,
      false,
      false,
      true,
      true,
    ]);
    assert.deepEqual(
      [lacksKernel('sdpa', 'opt', '4.45.2'), lacksKernel('sdpa', 'opt', '4.46.3')],
      [true, false],
    );
    assert.deepEqual(
      [lacksKernel('sdpa', 'gptj', '5.23.0'), lacksKernel('sdpa', 'gptj', '5.24.0')],
      [true, false],
    );
    assert.equal(languageType({ model_type: 'paligemma', text_config: { model_type: 'gemma2' } }), 'gemma2');
  });

  it('is the eager one where nobody asks for another and there is no SDPA', async () => {
    const eager = await attentionOf('google/gemma-2-2b', '');
    assert.deepEqual([eager.value, eager.kind], ['eager', 'inferred']);
    const asked = await attentionOf('google/gemma-2-2b', ', attn_implementation="flash_attention_2"');
    assert.deepEqual([asked.value, asked.kind], ['flash2', 'file']);
    const llama = await attentionOf('meta-llama/Llama-3.2-1B', '');
    assert.equal(llama.value, 'sdpa');
    // `tokenizer` is an argument of transformers before 5, whose SDPA leaves the cap out.
    const older = await attentionOf('google/gemma-2-2b', '', ', tokenizer=t');
    assert.deepEqual(
      [older.value, older.analysis?.resolved.values['version.transformers']],
      ['sdpa', '4.57.6'],
    );
    const written = await attentionOf('google/gemma-2-2b', ', attn_implementation="eager"', ', tokenizer=t');
    const bytes = (of: typeof older) => of.analysis?.estimate?.peak.processBytes ?? Number.NaN;
    assert.ok(bytes(older) < bytes(written), `${bytes(older)} of ${bytes(written)}`);
  });

  it('is the SDPA that transformers chooses, which nobody assumes', async () => {
    const llama = await attentionOf('meta-llama/Llama-3.2-1B', '', '', '!pip install transformers==4.46.3\n');
    assert.deepEqual([llama.value, llama.kind], ['sdpa', 'inferred']);
    assert.ok(llama.analysis);
    const note = llama.analysis.resolved.origins['attention.implementation']?.note;
    assert.equal(note, 'transformers 4.46.3 chooses SDPA for `llama`');
    assert.ok(!decisionsOf(llama.analysis).some(({ field }) => field === 'attention.implementation'));
    // Before PyTorch 2.1.1 it runs none, and arguments that are not known may name another.
    const torch = '!pip install torch==2.0.1 transformers==4.36.2\n';
    assert.equal((await attentionOf('meta-llama/Llama-3.2-1B', '', '', torch)).value, 'eager');
    const open = await attentionOf('meta-llama/Llama-3.2-1B', ', **read_arguments()');
    assert.notEqual(open.kind, 'inferred');
  });

  it('is the eager one before transformers has SDPA, but of classes that call it themselves', async () => {
    const sdpa = (type: string, release: string) => !lacksKernel('sdpa', type, release);
    assert.deepEqual(
      [
        sdpa('llama', '4.35.2'),
        sdpa('llama', '4.36.0'),
        sdpa('wav2vec2', '4.11.3'),
        sdpa('falcon', '4.33.3'),
      ],
      [false, true, false, true],
    );
    // What comes with its own code is decided by no release.
    assert.ok(sdpa('chatglm', '4.30.2'));
    const flash = (type: string, release: string) => !lacksKernel('flash', type, release);
    assert.deepEqual(
      [flash('llama', '4.33.3'), flash('llama', '4.34.1'), flash('bart', '4.34.1'), flash('bart', '4.35.2')],
      [false, true, false, true],
    );
    for (const model of ['meta-llama/Llama-3.2-1B', 'Qwen/Qwen2-VL-2B-Instruct']) {
      const old = await attentionOf(model, '', '', '!pip install transformers==4.30.2\n');
      assert.deepEqual([old.value, old.kind], ['eager', 'inferred'], model);
    }
  });

  it('is the eager one of a release without SDPA where no model is known, too', async () => {
    for (const [release, expected] of [
      ['4.15.0', 'eager inferred'],
      ['4.34.0', 'eager inferred'],
      ['4.36.0', 'sdpa default'],
    ] as const) {
      const { resolved } = await smallWorkspace({
        'ds_config.json': '{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}',
        'requirements.txt': `transformers==${release}\n`,
      }).analyze('ds_config.json');
      const { values, origins } = resolved;
      const found = `${values['attention.implementation']} ${origins['attention.implementation']?.kind}`;
      assert.equal(found, expected, release);
    }
  });
});
