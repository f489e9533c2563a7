import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { modelOfConfig, problemsOf, read, statedVersions } from './reading';

const LIGER =
  'model_name_or_path: gpt2\ndataset_name: a/b\noutput_dir: out\nmax_length: 512\nlearning_rate: 1.0e-6\nper_device_train_batch_size: 2\nuse_liger_kernel: true\n';
const MIXTRAL = modelOfConfig({
  model_type: 'qwen3_moe',
  vocab_size: 1000,
  hidden_size: 64,
  intermediate_size: 128,
  moe_intermediate_size: 32,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  num_experts: 8,
  num_experts_per_tok: 2,
});
const CODE = 'liger-combination';

/** Whether TRL's trainer of a method stops at a release on what stands beside Liger. */
function stops(
  method: string,
  beside: string,
  version: string,
  model?: typeof MIXTRAL,
  text = LIGER,
): boolean {
  const known = { 'version.trl': version };
  const reading = read('trl', `file:///${method}.yaml`, `${text}${beside}`, known, undefined, model);
  const found = problemsOf(reading).filter(({ code }) => code === CODE);
  assert.ok(found.length <= 1 && found.every(({ severity }) => severity === 'error'));
  return found.length > 0;
}

/** What a method stops on from one release until another, of which the last two do not. */
const REFUSED: readonly (readonly [
  method: string,
  beside: string,
  first: string,
  after: string,
  text?: string,
])[] = [
  ['dpo', 'use_peft: true', '0.29.0', '1.8.0'],
  ['kto', 'use_peft: true', '0.25.0', '1.8.0'],
  ['dpo', 'precompute_ref_log_probs: true', '0.29.0', '1.14.0'],
  ['kto', 'precompute_ref_log_probs: true', '0.25.0', '1.14.0'],
  ['kto', 'loss_type: apo_zero_unpaired', '0.25.0', '1.14.0'],
  ['dpo', 'loss_type: ipo', '0.25.0', '0.29.0'],
  ['dpo', 'loss_type: [sigmoid, bco_pair]', '0.29.0', '1.14.0'],
  ['dpo', 'f_divergence_type: js_divergence', '1.10.0', '1.14.0'],
  ['grpo', 'delta: 1.5', '0.25.0', '1.4.0'],
  ['grpo', 'importance_sampling_level: sequence', '0.25.0', '1.0.0'],
  ['grpo', 'top_entropy_quantile: 0.2', '0.25.0', '1.14.0'],
  ['grpo', 'off_policy_mask_threshold: 0.5', '0.27.0', '1.14.0'],
  ['grpo', 'entropy_coef: 0.01', '1.8.0', '1.14.0'],
  ['sft', 'loss_type: chunked_nll', '1.4.0', '1.15.0'],
  ['dpo', 'use_peft: true\nlora_target_modules: [q_proj, lm_head]', '1.8.0', '1.15.0'],
  ['grpo', 'use_peft: true\nlora_target_modules: [q_proj, lm_head]', '1.7.0', '1.15.0'],
];

describe("what TRL's trainers do not take with Liger", () => {
  before(loadPython);
  for (const [method, beside, first, after] of REFUSED)
    it(`${method}: ${beside.replace('\n', ', ')}`, () => {
      assert.ok(stops(method, beside, first), first);
      if (!beside.includes('lm_head')) assert.ok(!stops(method, beside, after), after);
      assert.ok(!stops(method, beside, after === '1.8.0' ? '1.8.1' : '1.16.0'));
      assert.ok(!stops(method, beside, first, undefined, LIGER.replace('true', 'false')), 'without Liger');
    });

  it('a release before the first takes it', () => {
    assert.ok(!stops('dpo', 'use_peft: true', '0.28.0'));
    assert.ok(!stops('grpo', 'entropy_coef: 0.01', '1.7.1'));
    assert.ok(!stops('sft', 'loss_type: chunked_nll', '1.3.0'));
    assert.ok(!stops('grpo', 'use_peft: true\nlora_target_modules: [lm_head]', '1.6.0'));
  });

  it('what a trainer takes stays unsaid', () => {
    for (const beside of ['loss_type: apo_zero', 'loss_type: [sigmoid]', 'precompute_ref_log_probs: false'])
      assert.ok(!stops('dpo', beside, '0.26.0') && !stops('dpo', beside, '1.9.0'), beside);
    for (const beside of [
      'delta: null',
      'top_entropy_quantile: 1.0',
      'importance_sampling_level: token',
      'entropy_coef: 0.0',
    ])
      assert.ok(!stops('grpo', beside, '0.29.0') && !stops('grpo', beside, '1.9.0'), beside);
    assert.ok(!stops('orpo', 'use_peft: true', '1.2.0'));
  });

  it('the key of older releases is as good', () => {
    const old = LIGER.replace('use_liger_kernel', 'use_liger_loss');
    assert.ok(stops('kto', 'use_peft: true', '0.20.0', undefined, old));
    assert.ok(stops('dpo', 'loss_type: apo_zero', '0.20.0', undefined, old));
    assert.ok(!stops('dpo', 'loss_type: apo_zero', '0.22.0', undefined, old));
    // Then it was the Trainer's key, which patched the layers alone.
    assert.ok(!stops('kto', 'use_peft: true', '0.20.0'));
    assert.ok(!stops('kto', 'use_peft: true', '0.28.0', undefined, old));
  });

  it('the balance of experts, unless nothing weighs it', () => {
    for (const method of ['dpo', 'kto']) {
      assert.ok(stops(method, '', '1.8.0', MIXTRAL));
      assert.ok(stops(method, '', '1.14.0', MIXTRAL));
      assert.ok(!stops(method, '', '1.15.0', MIXTRAL));
      assert.ok(!stops(method, '', '1.7.0', MIXTRAL));
      assert.ok(!stops(method, 'router_aux_loss_coef: 0.0', '1.9.0', MIXTRAL));
      assert.ok(!stops(method, '', '1.9.0'));
    }
    assert.ok(!stops('grpo', '', '1.9.0', MIXTRAL));
  });

  it('its fused loss, since TRL patches the head itself', () => {
    const fused = 'liger_kernel_config: {fused_linear_cross_entropy: true}';
    for (const method of ['sft', 'dpo', 'kto', 'grpo', 'rloo']) {
      assert.ok(stops(method, fused, '1.15.0'), method);
      assert.ok(!stops(method, fused, '1.14.0'), method);
    }
    assert.ok(!stops('sft', fused.replace('true', 'false'), '1.15.0'));
  });

  it('are reported with the version where no file names one, and of scripts', () => {
    const text = `from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer
model = AutoModelForCausalLM.from_pretrained("gpt2")
args = DPOConfig(use_liger_kernel=True, precompute_ref_log_probs=True)
DPOTrainer(model=model, args=args, train_dataset=data).train()
`;
    const of = (versions: ReturnType<typeof statedVersions>) =>
      problemsOf(read('python', 'file:///train.py', text, {}, versions))
        .filter(({ code }) => code === CODE)
        .map(({ severity, message }) => `${severity}: ${message}`);
    assert.match(
      of(statedVersions({ 'version.trl': '1.9.0' }))[0] ?? '',
      /^error: DPO .*precompute_ref_log_probs/,
    );
    const range = { trl: { version: '1.16.0', oldest: '1.9.0', source: 'stated' as const } };
    assert.match(of(range)[0] ?? '', /^warning: .*from TRL 1.9.0 to 1.16.0/);
    assert.deepEqual(of({ trl: { version: '1.16.0', source: 'assumed' } }), []);
  });
});
