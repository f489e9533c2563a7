import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const script = (
  targets: string,
  before = '',
  model = 'Qwen/Qwen2.5-0.5B',
) => `# oomlint: gpu=H100-SXM5-80GB gpus=1 sequence=512
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("${model}", torch_dtype=torch.bfloat16)
${before}
model = get_peft_model(model, LoraConfig(r=8, target_modules=${targets}))
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=2)).train()
`;

describe('modules that a condition chooses', () => {
  it('are those of either list that the model has', async () => {
    const of = async (targets: string) => {
      const { analyze } = smallWorkspace({ 'train.py': script(targets) });
      const analysis = await analyze('train.py');
      const codes = analysis.problems.map(({ code }) => code);
      return { trained: analysis.resolved.values['lora.targets'], stops: codes.includes('nothing-trained') };
    };
    const either =
      '(["q_a_proj", "kv_b_proj"] if model.config.architectures == ["Other"] else ["q_proj", "v_proj"])';
    const { trained, stops } = await of(either);
    assert.deepEqual(trained, ['q_a_proj', 'kv_b_proj', 'q_proj', 'v_proj']);
    assert.equal(stops, false);
    assert.equal((await of('["q_a_proj", "kv_b_proj"]')).stops, true);
  });
});

describe('modules that a loop collects', () => {
  const WANTED =
    'WANTED = ["q_proj", "k_proj", "v_proj", "out_proj", "in_proj", "w1", "w2", "w3", "gate_proj"]';
  const ALL = ['q_proj', 'k_proj', 'v_proj', 'out_proj', 'in_proj', 'w1', 'w2', 'w3', 'gate_proj'];
  const read = async (before: string, targets = 'found', model?: string) => {
    const { analyze } = smallWorkspace({ 'train.py': script(targets, before, model) });
    const { resolved, estimate, problems } = await analyze('train.py');
    const asked = resolved.unknown
      .filter(({ field }) => field === 'lora.targets')
      .map(({ reason }) => reason);
    return {
      trained: resolved.values['lora.targets'],
      estimate,
      asked,
      codes: problems.map(({ code }) => code),
    };
  };

  it('are those of the list that it goes through, whether the model has each or not', async () => {
    const there = '{name.split(".")[-1] for name, _ in model.named_modules()}';
    for (const [before, targets] of [
      [`${WANTED}\nfound = []\nfor one in WANTED:\n    found.append(one)`, 'found'],
      [
        `${WANTED}\nfound = []\nthere = ${there}\nfor one in WANTED:\n    if one in there:\n        found.append(one)`,
        'found',
      ],
      [
        `${WANTED}\nfound = []\nthere = ${there}\nfor one in WANTED:\n    if one not in there:\n        continue\n    found.append(one)`,
        'found',
      ],
      [`${WANTED}\nthere = ${there}`, '[one for one in WANTED if one in there]'],
      [WANTED, '[one for one in WANTED]'],
    ] as const) {
      const { trained, estimate } = await read(before, targets, 'LiquidAI/LFM2-1.2B');
      assert.deepEqual(trained, ALL, before);
      assert.ok(estimate, before);
    }
  });

  it('are not known where each round makes a name of its own', async () => {
    for (const before of [
      `found = []\nfor name, _ in model.named_modules():\n    if "proj" in name:\n        found.append(name.split(".")[-1])`,
      `${WANTED}\nfound = []\nfor one in WANTED:\n    one = pick(model, one)\n    found.append(one)`,
      `${WANTED}\nfound = []\nfor layer in model.layers:\n    for one in WANTED:\n        if pick(layer, one):\n            found.append(layer.name + one)`,
    ])
      for (const model of ['Qwen/Qwen2.5-0.5B', 'LiquidAI/LFM2-1.2B']) {
        const { trained, estimate, asked, codes } = await read(before, 'found', model);
        assert.deepEqual(trained ?? [], [], before);
        // What PEFT lists for the type is for runs that name no modules.
        assert.equal(estimate, undefined, before);
        assert.equal(asked.length, 1, before);
        assert.doesNotMatch(asked[0] ?? '', /PEFT lists no modules/, before);
        assert.ok(!codes.includes('no-lora-targets'), before);
      }
  });
});
