import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const TARGETS = 'targets: {gpu: H100, gpus: 8}\n';
const DEEPSPEED = JSON.stringify({ zero_optimization: { stage: 3 }, bf16: { enabled: true } });

async function leaves(path: string, text: string, requirements: string) {
  const analysis = await smallWorkspace({
    'oomlint.yaml': TARGETS,
    'requirements.txt': requirements,
    'ds.json': DEEPSPEED,
    [path]: text,
  }).analyze(path);
  const { values, origins } = analysis.resolved;
  return { leaves: values['zero.leafModules'], kind: origins['zero.leafModules']?.kind, analysis };
}

const GPT_OSS = 'openai/gpt-oss-20b';
const GLM = 'zai-org/GLM-4.5-Air';

describe('modules that a framework has ZeRO 3 gather whole', () => {
  const swift = (model: string) =>
    `model: ${model}\ntrain_type: full\ndataset: a\ntorch_dtype: bfloat16\nmax_length: 1024\ndeepspeed: ds.json\n`;

  it('are those that ms-swift names by the type of the model, since the release that does', async () => {
    const of = async (model: string, release: string) =>
      (await leaves('train.yaml', swift(model), `ms-swift==${release}\ndeepspeed==0.19.8\n`)).leaves;
    assert.deepEqual(await of(GPT_OSS, '3.8.3'), undefined);
    assert.deepEqual(await of(GPT_OSS, '3.9.0'), ['GptOssMLP']);
    assert.deepEqual(await of('allenai/OLMoE-1B-7B-0924', '3.12.0'), undefined);
    assert.deepEqual(await of('allenai/OLMoE-1B-7B-0924', '4.0.0'), ['OlmoeSparseMoeBlock']);
    assert.deepEqual(await of('Qwen/Qwen2.5-7B', '4.0.0'), undefined);
  });

  it('are whole layers of some models in Axolotl', async () => {
    const of = async (model: string, release: string) =>
      (
        await leaves(
          'train.yaml',
          `base_model: ${model}\ndatasets: [{path: a, type: alpaca}]\nsequence_len: 1024\nmicro_batch_size: 1\nbf16: true\ndeepspeed: ds.json\n`,
          `axolotl==${release}\ndeepspeed==0.19.8\n`,
        )
      ).leaves;
    assert.deepEqual(await of(GPT_OSS, '0.11.0'), undefined);
    assert.deepEqual(await of(GPT_OSS, '0.12.0'), ['GptOssDecoderLayer']);
    assert.deepEqual(await of(GLM, '0.15.0'), ['Glm4MoeDecoderLayer']);
    // It goes by the language model inside since 0.16, whose type it does not name.
    assert.deepEqual(await of('Qwen/Qwen3-VL-30B-A3B-Instruct', '0.15.0'), ['Qwen3VLMoeTextSparseMoeBlock']);
    assert.deepEqual(await of('Qwen/Qwen3-VL-30B-A3B-Instruct', '0.16.0'), undefined);
  });

  it('are those whose class has the name in OpenRLHF', async () => {
    const of = async (model: string, release: string) =>
      (
        await leaves(
          'train.sh',
          `deepspeed --module openrlhf.cli.train_sft --pretrain ${model} --zero_stage 3 --bf16 --max_len 1024 --micro_train_batch_size 1 --train_batch_size 8\n`,
          `openrlhf==${release}\ndeepspeed==0.19.8\n`,
        )
      ).leaves;
    assert.deepEqual(await of('allenai/OLMoE-1B-7B-0924', '0.8.9'), undefined);
    assert.deepEqual(await of('allenai/OLMoE-1B-7B-0924', '0.9.0'), ['OlmoeSparseMoeBlock']);
    assert.deepEqual(await of(GPT_OSS, '0.9.0'), undefined);
  });
});

describe('modules that a script has ZeRO 3 gather whole', () => {
  const script = (lines: string) => `from deepspeed.utils import set_z3_leaf_modules
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from transformers.models.olmoe.modeling_olmoe import OlmoeSparseMoeBlock
import sys

model = AutoModelForCausalLM.from_pretrained("allenai/OLMoE-1B-7B-0924", dtype="bfloat16")
${lines}
args = TrainingArguments(output_dir="out", per_device_train_batch_size=1, bf16=True, deepspeed="ds.json")
Trainer(model=model, args=args, train_dataset=None).train()
`;
  const of = (lines: string) => leaves('train.py', script(lines), 'transformers==5.0.0\ndeepspeed==0.19.8\n');

  it('are the classes that it states, beside those that DeepSpeed knows', async () => {
    const stated = await of('set_z3_leaf_modules(model, [OlmoeSparseMoeBlock])');
    assert.equal(stated.leaves?.at(-1), 'OlmoeSparseMoeBlock');
    assert.equal(stated.leaves?.length, 4);
    assert.equal((await of('')).leaves, undefined);
    const byName = await of('set_z3_leaf_modules(model, ["OlmoeSparseMoeBlock"])');
    assert.equal(byName.leaves?.at(-1), 'OlmoeSparseMoeBlock');
  });

  it('are counted as not understood where only a run tells', async () => {
    for (const lines of [
      'set_z3_leaf_modules(model, [type(one) for one in model.modules()])',
      'if len(sys.argv) > 3:\n    set_z3_leaf_modules(model, [OlmoeSparseMoeBlock])',
    ]) {
      const { analysis, leaves: found } = await of(lines);
      assert.equal(found, undefined);
      assert.ok(
        analysis.reading.unread?.some(({ fields }) => fields?.includes('zero.leafModules')),
        lines,
      );
    }
  });
});
