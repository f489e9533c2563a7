import assert from 'node:assert/strict';
import type { Analysis } from '../../../server/src/workspace/analysis';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

async function analyze(name: string, text: string): Promise<Analysis> {
  const uri = `file:///w/${name}`;
  const workspace = new Workspace(new MemoryHost({ [uri]: text }, { folders: ['file:///w'] }));
  const analysis = await workspace.analyze(uri);
  assert.ok(analysis);
  return analysis;
}

const gib = (bytes = 0) => bytes / 2 ** 30;

/** Peaks that Axolotl's documentation gives for its own examples. */
describe('experts that Axolotl quantizes', () => {
  const qlora = (model: string, rest: string) =>
    `# oomlint: gpu=H200 gpus=1
base_model: ${model}
plugins: [axolotl.integrations.liger.LigerPlugin, axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]
load_in_4bit: true
adapter: qlora
lora_alpha: 8
lora_dropout: 0
lora_mlp_kernel: false
lora_qkv_kernel: false
lora_o_kernel: false
datasets: [{path: x, type: alpaca}]
sample_packing: true
optimizer: adamw_bnb_8bit
bf16: auto
attn_implementation: flash_attention_2
${rest}`;
  const attention = 'lora_target_modules: [q_proj, v_proj, k_proj, o_proj]\n';

  it('are unpacked a whole stack at a time: GLM 4.5 Air takes 63.4 GiB', async () => {
    const config = qlora(
      'zai-org/GLM-4.5-Air',
      `${attention}sequence_len: 2048\nlora_r: 16\nmicro_batch_size: 2\ngradient_checkpointing: true\n`,
    );
    const found = await analyze('glm.yaml', `${config}quantize_moe_experts: true\n`);
    assert.equal(found.resolved.values['quantization.experts'], true);
    const peak = gib(found.estimate?.peak.processBytes);
    assert.ok(Math.abs(peak / 63.4 - 1) < 0.03, `${peak} GiB`);
    // Left as they are, they do not fit.
    assert.ok(gib((await analyze('glm.yaml', config)).estimate?.peak.processBytes) > 190);
  });

  it('are linear layers where Llama 4 is built so: Scout takes 64.5 GiB', async () => {
    const config = qlora(
      'meta-llama/Llama-4-Scout-17B-16E',
      `lora_target_modules: [self_attn.q_proj, self_attn.k_proj, self_attn.v_proj, self_attn.o_proj, shared_expert.gate_proj, shared_expert.up_proj, shared_expert.down_proj]
sequence_len: 4096
lora_r: 32
micro_batch_size: 1
gradient_checkpointing: offload
liger_glu_activation: true
liger_rms_norm: true
liger_layer_norm: true
llama4_linearized_experts: true
torch_compile: true
`,
    );
    const found = await analyze('scout.yaml', config);
    assert.equal(found.resolved.values['model.linearExperts'], true);
    const peak = gib(found.estimate?.peak.processBytes);
    assert.ok(Math.abs(peak / 64.5 - 1) < 0.05, `${peak} GiB`);
  });

  it('are multiplied in TF32 where the GPU has it and nothing is stated', async () => {
    const tf32 = async (line: string) =>
      (await analyze('a.yaml', qlora('Qwen/Qwen2.5-7B', `sequence_len: 512\nmicro_batch_size: 1\n${line}`)))
        .resolved.values['kernels.tf32'];
    assert.equal(await tf32(''), true);
    assert.equal(await tf32('tf32: auto\n'), true);
    assert.equal(await tf32('tf32: false\n'), false);
  });
});

describe('LoRA of DeepSpeed-Chat', () => {
  const script = (flags: string) =>
    `# oomlint: gpu=A100-40GB
deepspeed --num_gpus 8 main.py --model_name_or_path facebook/opt-13b --data_path Dahoas/rm-static --max_seq_len 512 \\
  --per_device_train_batch_size 4 --zero_stage 3 --gradient_checkpointing --deepspeed ${flags}
`;

  it('freezes the weights that it adapts and nothing else', async () => {
    const beside = await analyze('a.sh', script('--lora_dim 128 --lora_module_name decoder.layers.'));
    const alone = await analyze(
      'a.sh',
      script('--lora_dim 128 --lora_module_name decoder.layers. --only_optimize_lora'),
    );
    const full = await analyze('a.sh', script(''));
    const trained = ({ estimate }: Analysis) => estimate?.model.trainableParameters ?? 0;
    const layers = 40;
    const [width, inner, rank] = [5120, 4 * 5120, 128];
    // q, k, v and o; fc1 and fc2.
    const lora = layers * rank * (4 * 2 * width + 2 * (width + inner));
    // Tokens, positions, biases, norms.
    const rest = 50272 * width + 2050 * width + layers * (4 * width + inner + width + 4 * width) + 2 * width;
    assert.equal(trained(alone), lora);
    assert.equal(trained(beside), lora + rest);
    assert.ok(trained(full) > 12.8e9);
  });

  it('is none where no layer has the name', async () => {
    const found = await analyze('a.sh', script('--lora_dim 128 --lora_module_name model.blocks.'));
    assert.ok((found.estimate?.model.trainableParameters ?? 0) > 12.8e9);
  });

  it('generates by parts of the weights where GPUs share them', async () => {
    const actor = (flags: string) =>
      `# oomlint: gpu=A100-40GB
deepspeed --num_gpus 8 main.py --actor_model_name_or_path facebook/opt-13b --critic_model_name_or_path facebook/opt-350m \\
  --actor_zero_stage 3 --actor_gradient_checkpointing --per_device_training_batch_size 1 \\
  --per_device_generation_batch_size 1 --max_prompt_seq_len 256 --max_answer_seq_len 256 ${flags}
`;
    const [plain, shared] = await Promise.all([
      analyze('a.sh', actor('--enable_hybrid_engine')),
      analyze('a.sh', actor('--enable_hybrid_engine --inference_tp_size 8')),
    ]);
    assert.equal(shared.resolved.values['rollout.tensor'], 8);
    const generation = ({ estimate }: Analysis) =>
      estimate?.timeline.find(({ moment }) => moment === 'generation')?.bytes ?? 0;
    // Seven eighths of 12.85 B weights of 2 bytes lie on other GPUs; with eight to a copy, none is gathered.
    const less = gib(generation(plain) - generation(shared));
    assert.ok(Math.abs(less - gib((12.85e9 * 2 * 7) / 8)) < 1, `${less} GiB`);
  });
});

describe("Megatron's optimizer in verl", () => {
  const script = (flags: string) => `# oomlint: gpu=H100-SXM5-80GB
python3 -m verl.trainer.main_ppo --config-path=config --config-name=ppo_megatron_trainer.yaml \\
  algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B data.max_prompt_length=512 \\
  data.max_response_length=512 data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=64 \\
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.actor.strategy=megatron \\
  actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 trainer.n_gpus_per_node=8 trainer.nnodes=1 ${flags}
`;
  const OPTIM = '+actor_rollout_ref.actor.optim.override_optimizer_config';

  it('goes by what is given over its arguments', async () => {
    const plain = await analyze('a.sh', script(''));
    const away = await analyze(
      'a.sh',
      script(`${OPTIM}.optimizer_cpu_offload=True ${OPTIM}.optimizer_offload_fraction=0.5`),
    );
    const { values } = away.resolved;
    assert.equal(values['offload.optimizer'], 'cpu');
    assert.equal(values['offload.optimizerRatio'], 0.5);
    assert.notEqual(plain.resolved.values['offload.optimizer'], 'cpu');
    const states = ({ estimate }: Analysis) =>
      estimate?.parts.find(({ category }) => category === 'optimizer-states')?.bytes ?? 0;
    assert.ok(states(away) < 0.6 * states(plain));
    const low = await analyze(
      'a.sh',
      script(
        `${OPTIM}.use_precision_aware_optimizer=True ${OPTIM}.exp_avg_dtype=bf16 ${OPTIM}.exp_avg_sq_dtype=bf16`,
      ),
    );
    assert.equal(low.resolved.values['precision.optimizerStates'], 'bf16');
  });
});
