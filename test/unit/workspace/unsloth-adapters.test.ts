import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const SWITCHES = ['vision_layers', 'language_layers', 'attention_modules', 'mlp_modules'];
const switches = (...on: readonly boolean[]) =>
  SWITCHES.map((name, i) => `finetune_${name}=${on[i] ? 'True' : 'False'}`).join(', ');

const script = (
  loader: string,
  model: string,
  rank: number,
  more: string,
) => `# oomlint: gpu=A100-SXM4-80GB gpus=1
from unsloth import FastModel, FastLanguageModel, FastVisionModel
from trl import SFTConfig, SFTTrainer
model, tokenizer = ${loader}.from_pretrained("${model}", max_seq_length=512, load_in_4bit=True)
model = ${loader}.get_peft_model(model, r=${rank}, ${more})
SFTTrainer(model=model, args=SFTConfig(dataset_text_field="text", max_length=512)).train()
`;

/**
 * What notebooks of unslothai/notebooks (bdda2efc) print as "Trainable parameters": loader, model, rank, arguments, count. Each was printed
 * by a release whose rules for these arguments are those of today.
 */
const PRINTED: readonly (readonly [string, string, number, string, number])[] = [
  ['FastModel', 'unsloth/gemma-3-4b-it', 8, switches(false, true, true, true), 14_901_248],
  [
    'FastVisionModel',
    'unsloth/gemma-3-4b-pt',
    16,
    `${switches(true, true, true, true)}, target_modules="all-linear"`,
    38_497_792,
  ],
  ['FastVisionModel', 'unsloth/Qwen2.5-VL-7B-Instruct', 16, switches(true, true, true, true), 51_521_536],
  ['FastVisionModel', 'unsloth/Qwen2.5-VL-7B-Instruct', 16, switches(false, true, true, true), 40_370_176],
  ['FastVisionModel', 'unsloth/Qwen3-VL-8B-Instruct', 16, switches(true, true, true, true), 51_346_944],
  ['FastVisionModel', 'unsloth/Qwen3-VL-8B-Instruct', 16, switches(false, true, true, true), 43_646_976],
  ['FastVisionModel', 'unsloth/Qwen3.5-4B', 16, switches(true, true, true, true), 38_756_352],
  ['FastVisionModel', 'unsloth/Qwen3.5-4B', 16, switches(false, true, true, true), 32_464_896],
  [
    'FastVisionModel',
    'unsloth/Ministral-3-3B-Instruct-2512',
    32,
    switches(true, true, true, true),
    67_502_080,
  ],
  ['FastModel', 'unsloth/LFM2-1.2B', 16, switches(false, true, true, true), 9_142_272],
  ['FastVisionModel', 'LiquidAI/LFM2.5-VL-1.6B', 16, switches(false, true, true, true), 9_142_272],
];

describe('towers beside quantized layers', () => {
  it('are in 16 bits since 2026.2.1', async () => {
    const weights = async (release: string) => {
      const text = script(
        'FastVisionModel',
        'unsloth/Qwen3-VL-8B-Instruct',
        16,
        switches(true, true, true, true),
      );
      // Not the checkpoint that is quantized already, whose own config has what it leaves.
      const exact = text.replace('load_in_4bit=True', 'load_in_4bit=True, use_exact_model_name=True');
      const files = { 'train.py': exact, 'requirements.txt': release };
      const { estimate } = await smallWorkspace(files).analyze('train.py');
      return ['quantized-weights', 'weights'].map(
        (category) => estimate?.parts.find((part) => part.category === category)?.bytes ?? 0,
      );
    };
    const [packedBefore = 0, plainBefore = 0] = await weights('unsloth==2025.12.8\n');
    const [packed = 0, plain = 0] = await weights('');
    assert.ok(packed < packedBefore);
    // 2 bytes an element in place of 4 bits and scales.
    assert.ok(plain - plainBefore > 3 * (packedBefore - packed));
  });
});

describe('quantization-aware training', () => {
  it('unties the head that goes to a phone, as the notebook prints it', async () => {
    const text = (scheme: string) => `# oomlint: gpu=A100-SXM4-80GB gpus=1
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen3-0.6B", max_seq_length=512, full_finetuning=True${scheme})
SFTTrainer(model=model, args=SFTConfig(dataset_text_field="text", max_length=512)).train()
`;
    const estimated = async (scheme: string) => {
      const { estimate } = await smallWorkspace({ 'train.py': text(scheme) }).analyze('train.py');
      return [estimate?.model.trainableParameters, estimate?.verdict];
    };
    assert.deepEqual(await estimated(''), [596_049_920, 'fits']);
    assert.deepEqual(await estimated(', qat_scheme="phone-deployment"'), [751_632_384, 'unknown']);
    assert.deepEqual(await estimated(', qat_scheme="int4"'), [596_049_920, 'unknown']);
    // What other schemes add is not counted: no run with them is sure to fit.
    assert.deepEqual(await estimated(', qat_scheme="fp8-int4"'), [596_049_920, 'unknown']);
  });
});

describe("adapters of Unsloth's models with switches", () => {
  for (const [loader, model, rank, more, count] of PRINTED)
    it(`are those that the notebook prints: ${model}, ${more.replace(/finetune_/g, '')}`, async () => {
      const { analyze } = smallWorkspace({ 'train.py': script(loader, model, rank, more) });
      const { estimate } = await analyze('train.py');
      assert.equal(estimate?.model.trainableParameters, count);
    });
});

/**
 * Experts of gpt-oss in 4 bits are linear layers of their own, 2,880 to 5,760 and back in each of 32 experts of 24 layers. Attention alone is
 * what a notebook prints of 2025.11.3 (1,990,656); `_utils.py`, `get_moe_target_modules`, adapts the others since 2026.7.2.
 */
describe('adapters of experts that are linear layers', () => {
  const ATTENTION = 1_990_656;
  const joint = 24 * 32 * 4 * (2_880 + 5_760);
  const down = 24 * 32 * 4 * (2_880 + 2_880);
  const trained = async (targets: string, release = '') => {
    const text = script('FastLanguageModel', 'unsloth/gpt-oss-20b', 4, `target_modules=[${targets}]`);
    const files = { 'train.py': text, ...(release ? { 'requirements.txt': `unsloth==${release}\n` } : {}) };
    const { estimate } = await smallWorkspace(files).analyze('train.py');
    return estimate?.model.trainableParameters;
  };
  const all = '"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"';

  it('are made since 2026.7.2, where their layers are named', async () => {
    assert.equal(await trained(all, '2025.11.3'), ATTENTION);
    assert.equal(await trained(all, '2026.7.1'), ATTENTION);
    assert.equal(await trained(all, '2026.7.2'), ATTENTION + joint + down);
    assert.equal(await trained(all), ATTENTION + joint + down);
    assert.equal(await trained('"q_proj", "k_proj", "v_proj", "o_proj", "down_proj"'), ATTENTION + down);
    assert.equal(await trained('"q_proj", "k_proj", "v_proj", "o_proj"'), ATTENTION);
  });
});

describe("adapters of Gemma 4's towers", () => {
  // What Gemma4_(E2B)_Reinforcement_Learning_Sudoku_Game.ipynb of unslothai/notebooks (bdda2efc) prints of this list.
  it('are those of the layers inside the modules that are named', async () => {
    const names = '"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"';
    const trained = async (loader: string, more: string) => {
      const text = script(loader, 'unsloth/gemma-4-E2B-it', 32, `target_modules=[${names}]${more}`);
      const { estimate } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
      return estimate?.model.trainableParameters;
    };
    assert.equal(await trained('FastVisionModel', ''), 59_719_680);
    // Layers of the vision tower alone: its projections and its MLP.
    assert.equal(await trained('FastVisionModel', ', finetune_language_layers=False'), 9_043_968);
  });
});
