import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { smallWorkspace } from '../workspace/small-workspace';
import { modelOf, problemsOf, read, refused, stated } from './reading';

const URI = 'file:///conf/config.yaml';

const NEMO = `
name: megatron_gpt
trainer:
  devices: 8
  num_nodes: 4
  accelerator: gpu
  precision: bf16-mixed
  max_steps: 1000
  accumulate_grad_batches: 1
  limit_val_batches: 50
exp_manager:
  name: megatron_gpt
model:
  mcore_gpt: True
  micro_batch_size: 2
  global_batch_size: 256
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  virtual_pipeline_model_parallel_size: 4
  sequence_parallel: True
  encoder_seq_length: 4096
  max_position_embeddings: \${.encoder_seq_length}
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 11008
  num_attention_heads: 32
  num_query_groups: 32
  kv_channels: null
  hidden_dropout: 0.0
  attention_dropout: 0.0
  normalization: rmsnorm
  make_vocab_size_divisible_by: 128
  bias: False
  activation: fast-swiglu
  position_embedding_type: rope
  rotary_percentage: 1.0
  share_embeddings_and_output_weights: False
  tokenizer:
    library: huggingface
    type: meta-llama/Llama-2-7b-hf
    model: null
  megatron_amp_O2: True
  activations_checkpoint_granularity: full
  activations_checkpoint_method: block
  activations_checkpoint_num_layers: 3
  transformer_engine: True
  data:
    seq_length: \${model.encoder_seq_length}
  optim:
    name: distributed_fused_adam
    grad_sync_dtype: bf16
`;

describe('NeMo 1', () => {
  it('reads a GPT with every kind of parallelism', () => {
    const reading = read('nemo', URI, NEMO);
    // Llama 2 7B, its vocabulary padded to a multiple of 128 x 4.
    assert.equal(modelOf(reading).parameters.total, 6_738_415_616 + 2 * 256 * 4096);
    const expected = {
      'hardware.gpus': '32 file',
      'hardware.nodes': '4 file',
      'batch.micro': '2 file',
      'batch.global': '256 file',
      'batch.sequence': '4096 file',
      'parallel.tensor': '4 file',
      'parallel.pipeline': '2 file',
      'parallel.virtualStages': '4 file',
      'parallel.pipelineSchedule': 'interleaved file',
      'parallel.sequence': 'true file',
      'parallel.distributedOptimizer': 'true file',
      'parallel.data': 'ddp default',
      'precision.scheme': 'megatron file',
      'precision.weights': 'bf16 file',
      'precision.gradientAccumulation': 'bf16 file',
      'activations.checkpointing': 'full file',
      'activations.layers': '3 file',
      'optimizer.name': 'adamw file',
      'attention.implementation': 'flash2 default',
      'schedule.steps': '1000 file',
      'evaluation.enabled': 'true file',
    } as const;
    for (const [field, value] of Object.entries(expected))
      assert.equal(stated(reading, field as keyof typeof expected), value, field);
    assert.deepEqual(problemsOf(reading), []);
  });

  it('computes by autocast over fp32 weights without `megatron_amp_O2`', () => {
    const reading = read('nemo', URI, NEMO.replace('megatron_amp_O2: True', 'megatron_amp_O2: False'));
    assert.equal(stated(reading, 'precision.scheme'), 'autocast file');
    assert.equal(stated(reading, 'precision.weights'), 'fp32 file');
    assert.equal(stated(reading, 'precision.compute'), 'bf16 file');
  });

  it('quantizes the layers that adapters are stated for, all where none are', () => {
    const values = (tuning: string) => {
      const text = `${NEMO}  peft:\n    peft_scheme: qlora\n    lora_tuning:\n      adapter_dim: 16\n${tuning}`;
      const { facts } = read('nemo', URI, text);
      const value = (field: string) => facts.find((fact) => fact.field === field)?.value;
      return [value('quantization.kind'), value('quantization.double'), value('features.unmodelled')];
    };
    assert.deepEqual(values(''), ['nf4', true, undefined]);
    assert.deepEqual(values('      target_modules: [all]\n'), ['nf4', true, undefined]);
    assert.deepEqual(values('      target_modules: [attention_qkv]\n'), [
      'nf4',
      true,
      ['partial-quantization'],
    ]);
  });

  it("reads adapters in NeMo's names", () => {
    const text = `${NEMO}  peft:\n    peft_scheme: lora\n    lora_tuning:\n      target_modules: [attention_qkv, attention_dense]\n      adapter_dim: 16\n      adapter_dropout: 0.1\n`;
    const reading = read('nemo', URI, text);
    assert.equal(stated(reading, 'method.kind'), 'lora file');
    assert.equal(stated(reading, 'lora.rank'), '16 file');
    assert.equal(stated(reading, 'lora.targets'), 'linear_qkv,q_proj,k_proj,v_proj,linear_proj,o_proj file');
  });

  it('reads lengths and batches of fine-tuning from the data', () => {
    const text = NEMO.replace(/ {2}micro_batch_size.*\n {2}global.*\n/, '')
      .replace(/ {2}encoder_seq_length.*\n {2}max_position.*\n/, '')
      .replace(
        / {4}seq_length: .*encoder_seq_length.*/,
        '    train_ds:\n      micro_batch_size: 1\n      global_batch_size: 128\n      max_seq_length: 2048',
      );
    const reading = read('nemo', URI, text);
    assert.equal(stated(reading, 'batch.micro'), '1 file');
    assert.equal(stated(reading, 'batch.global'), '128 file');
    assert.equal(stated(reading, 'batch.sequence'), '2048 file');
  });

  it('refuses what NeMo and Megatron refuse', () => {
    assert.deepEqual(
      refused(read('nemo', URI, NEMO.replace('accumulate_grad_batches: 1', 'accumulate_grad_batches: 4'))),
      ['accumulation'],
    );
    assert.deepEqual(
      refused(read('nemo', URI, NEMO.replace('num_attention_heads: 32', 'num_attention_heads: 30'))),
      ['hidden-not-divisible', 'heads-not-divisible'],
    );
  });
});

const BASE = `
defaults: []
grpo:
  num_prompts_per_step: 32
  max_num_steps: 1000
policy:
  model_name: "Qwen/Qwen2.5-1.5B"
  train_global_batch_size: 512
  train_micro_batch_size: 4
  max_total_sequence_length: 512
  precision: "bfloat16"
  dtensor_cfg:
    enabled: true
    cpu_offload: False
    sequence_parallel: false
    activation_checkpointing: false
    tensor_parallel_size: 1
    context_parallel_size: 1
  megatron_cfg:
    enabled: false
    activation_checkpointing: false
    tensor_model_parallel_size: 1
    pipeline_model_parallel_size: 1
    context_parallel_size: 1
    sequence_parallel: false
    optimizer:
      optimizer: "adam"
      bf16: true
      use_distributed_optimizer: true
      use_precision_aware_optimizer: true
    distributed_data_parallel_config:
      grad_reduce_in_fp32: false
  sequence_packing:
    enabled: True
    train_mb_tokens: \${mul:\${policy.max_total_sequence_length}, \${policy.train_micro_batch_size}}
  dynamic_batching:
    enabled: False
  optimizer:
    name: "torch.optim.AdamW"
    kwargs:
      lr: 5.0e-6
      foreach: False
      fused: False
  generation:
    backend: "vllm"
    max_new_tokens: \${policy.max_total_sequence_length}
    colocated:
      enabled: true
cluster:
  gpus_per_node: 1
  num_nodes: 1
`;

const CHILD = `
defaults: ../../grpo_math_1B.yaml
policy:
  model_name: Qwen/Qwen2.5-7B-Instruct
  train_micro_batch_size: 1
  max_total_sequence_length: 4096
  dtensor_cfg:
    enabled: false
  megatron_cfg:
    enabled: true
    tensor_model_parallel_size: 4
cluster:
  gpus_per_node: 8
  num_nodes: 4
`;

describe('NeMo 1, precisions', () => {
  it('reports a number that is none', () => {
    const text = (precision: string) =>
      `trainer: {devices: 8, num_nodes: 1, precision: ${precision}}\nmodel: {micro_batch_size: 1, global_batch_size: 8, encoder_seq_length: 2048, num_layers: 12, hidden_size: 768}\n`;
    const left = (precision: string) =>
      (read('nemo', URI, text(precision)).unread ?? []).map(({ text }) => text);
    assert.deepEqual(left('32'), []);
    assert.deepEqual(left('24'), ['trainer.precision: 24']);
  });
});

describe('NeMo-RL', () => {
  it('leaves out machines of generation, judges and teachers, whose numbers launchers give anew', () => {
    const text = `policy:
  model_name: Qwen/Qwen2.5-1.5B
  megatron_cfg: {enabled: true, tensor_model_parallel_size: 8, context_parallel_size: 2}
  generation: {colocated: {enabled: false, resources: {num_nodes: 4, gpus_per_node: 8}}}
grpo: {max_num_steps: 10}
cluster: {num_nodes: 16, gpus_per_node: 8}
env: {nemo_gym: {num_gpu_nodes: 2}}
on_policy_distillation:
  enabled: true
  teacher_model_by_agent_name: {a: big, b: big, c: other}
  non_colocated_teachers:
    enabled: true
    default_teacher_cfg: {num_nodes: 1}
    teacher_overrides: {c: {num_nodes: 3}}
`;
    const reading = read('nemo-rl', URI, text);
    const gpus = reading.facts.filter(({ field }) => field === 'hardware.gpus');
    assert.deepEqual(
      gpus.map(({ value, origin }) => [value, origin.kind]),
      [[(16 - 4 - 2 - (1 + 3)) * 8, 'inferred']],
    );
  });

  it("reads the states and masters of Transformer Engine's Adam, and what is handed on to Automodel", async () => {
    const adam = (options: string) =>
      BASE.replace('torch.optim.AdamW', 'transformer_engine.pytorch.optimizers.fused_adam.FusedAdam').replace(
        /kwargs:\n( {6}.*\n)+/,
        `kwargs: ${options}\n`,
      );
    const facts = (options: string) => {
      const { facts } = read('nemo-rl', URI, adam(options));
      const value = (field: string) => facts.find((fact) => fact.field === field)?.value;
      return [
        value('precision.optimizerStates'),
        value('optimizer.extraStates'),
        value('features.unmodelled'),
      ];
    };
    const bf16 = 'exp_avg_dtype: torch.bfloat16, exp_avg_sq_dtype: torch.bfloat16';
    assert.deepEqual(facts('{lr: 1.0e-6}'), [undefined, undefined, undefined]);
    assert.deepEqual(facts('{master_weights: true}'), [undefined, 1, undefined]);
    assert.deepEqual(facts(`{master_weights: true, ${bf16}}`), ['bf16', 2, ['raised-states']]);
    assert.deepEqual(facts('{exp_avg_dtype: torch.bfloat16}'), [undefined, undefined, undefined]);

    const frozen = BASE.replace(
      '  dtensor_cfg:\n',
      '  dtensor_cfg:\n    automodel_kwargs: {freeze_config: {freeze_audio_tower: false}}\n',
    ).replace('Qwen/Qwen2.5-1.5B', 'google/gemma-3-4b-it');
    const { analyze } = smallWorkspace({ 'a.yaml': `# oomlint: gpu=H100-SXM5-80GB gpus=8\n${frozen}` });
    const { estimate } = await analyze('a.yaml');
    assert.equal(
      estimate && estimate.model.totalParameters - estimate.model.trainableParameters,
      416_866_032,
    );
  });

  it('reads FSDP 2 over fp32 weights', () => {
    const reading = read('nemo-rl', URI, BASE);
    const expected = {
      'model.id': 'Qwen/Qwen2.5-1.5B file',
      'method.objective': 'grpo file',
      'method.referenceModel': 'false file',
      'batch.micro': '4 file',
      'batch.global': '512 file',
      'batch.sequence': '512 file',
      'batch.packed': 'true file',
      'parallel.data': 'fsdp2 file',
      'parallel.tensor': '1 file',
      'precision.weights': 'fp32 default',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'fsdp file',
      'precision.reduce': 'fp32 default',
      'activations.checkpointing': 'none file',
      'optimizer.name': 'adamw file',
      'optimizer.implementation': 'for-loop file',
      'rollout.engine': 'vllm-colocate file',
      'rollout.sleep': 'true file',
      'hardware.gpus': '1 file',
    } as const;
    for (const [field, value] of Object.entries(expected)) {
      const facts = reading.facts.filter((fact) => fact.field === field);
      assert.equal(`${facts[0]?.value} ${facts[0]?.origin.kind}`, value, field);
    }
    assert.deepEqual(problemsOf(reading), []);
  });

  it('takes from the config that it starts from what it does not say itself', async () => {
    const host = new MemoryHost(
      {
        'file:///rl/examples/configs/grpo_math_1B.yaml': BASE,
        'file:///rl/examples/configs/recipes/llm/child.yaml': CHILD,
      },
      { folders: ['file:///rl'] },
    );
    const analysis = await new Workspace(host).analyze('file:///rl/examples/configs/recipes/llm/child.yaml');
    assert.deepEqual(
      analysis?.links.map(({ uri, role }) => `${uri} ${role}`),
      ['file:///rl/examples/configs/grpo_math_1B.yaml include'],
    );
    const { values, origins } = analysis?.resolved ?? { values: {}, origins: {} };
    assert.equal(values['model.id'], 'Qwen/Qwen2.5-7B-Instruct');
    assert.equal(values['batch.micro'], 1);
    assert.equal(values['batch.global'], 512);
    assert.equal(origins['batch.global']?.kind, 'linked-file');
    assert.equal(values['method.objective'], 'grpo');
    // The base has both backends; this file chooses the other one.
    assert.equal(values['model.code'], 'megatron');
    assert.equal(values['precision.scheme'], 'megatron');
    assert.equal(values['precision.weights'], 'bf16');
    assert.equal(values['precision.gradientAccumulation'], 'bf16');
    assert.equal(values['parallel.distributedOptimizer'], true);
    assert.equal(values['parallel.tensor'], 4);
    assert.equal(values['parallel.data'], 'ddp');
    assert.equal(values['hardware.gpus'], 32);
    assert.deepEqual(
      analysis?.problems.filter(({ severity }) => severity === 'error'),
      [],
    );
  });

  it("knows the tool's own base configs where they are not at hand, weakly", () => {
    const reading = read('nemo-rl', URI, CHILD.replace(/ {2}train_micro.*\n/, ''));
    assert.equal(stated(reading, 'batch.micro'), '4 default');
    assert.equal(stated(reading, 'batch.global'), '512 default');
    assert.equal(stated(reading, 'batch.sequence'), '4096 file');
  });

  it('reads rows that hold another number of tokens, LoRA, offload, and GPUs that generate', () => {
    const text = BASE.replace(/train_mb_tokens:.*/, 'train_mb_tokens: 16384')
      .replace(
        'cpu_offload: False',
        'cpu_offload: True\n    lora_cfg:\n      enabled: True\n      dim: 32\n      alpha: 64\n      match_all_linear: true',
      )
      .replace('activation_checkpointing: false', 'activation_checkpointing: true')
      .replace(
        '      enabled: true\ncluster',
        '      enabled: false\n      resources:\n        gpus_per_node: 8\n        num_nodes: 1\ncluster',
      )
      .replace('gpus_per_node: 1\n  num_nodes: 1', 'gpus_per_node: 8\n  num_nodes: 3');
    const reading = read('nemo-rl', URI, text);
    assert.equal(stated(reading, 'batch.micro'), '1 file');
    assert.equal(stated(reading, 'batch.sequence'), '16384 file');
    assert.equal(stated(reading, 'method.kind'), 'lora file');
    assert.equal(stated(reading, 'lora.rank'), '32 file');
    assert.equal(stated(reading, 'lora.targets'), 'all-linear,lm_head file');
    assert.equal(stated(reading, 'offload.parameters'), 'cpu file');
    assert.equal(stated(reading, 'activations.checkpointing'), 'full file');
    assert.equal(stated(reading, 'rollout.engine'), 'vllm-server file');
    assert.equal(stated(reading, 'hardware.gpus'), '16 file');
  });

  it('adapts the modules that the matcher of Automodel takes', () => {
    const adapted = (words: string) =>
      read(
        'nemo-rl',
        URI,
        BASE.replace('cpu_offload: False', `lora_cfg:\n      enabled: true\n      dim: 8\n${words}`),
      );
    const without = adapted(
      "      target_modules: []\n      exclude_modules: ['*out_proj*']\n      match_all_linear: false",
    );
    assert.equal(stated(without, 'lora.targets'), 'all-linear,lm_head file');
    assert.equal(stated(without, 'lora.exclude'), '*out_proj* file');
    const named = adapted("      target_modules: ['*_proj']\n      match_all_linear: false");
    assert.equal(stated(named, 'lora.targetPattern'), '(.*)_proj file');
    const nothing = adapted(
      '      target_modules: []\n      exclude_modules: []\n      match_all_linear: false',
    );
    assert.equal(stated(nothing, 'lora.targetPattern'), '(.*)_proj default');
    // What the recipe that it starts from states of them is not here.
    assert.equal(stated(adapted('      alpha: 16'), 'lora.targetPattern'), undefined);
  });

  it('refuses what its asserts refuse', () => {
    const both = BASE.replace(
      '  dynamic_batching:\n    enabled: False',
      '  dynamic_batching:\n    enabled: True',
    );
    assert.deepEqual(refused(read('nemo-rl', URI, both)), ['packing-with-dynamic-batches']);
    const two = BASE.replace('  megatron_cfg:\n    enabled: false', '  megatron_cfg:\n    enabled: true');
    // The command line may switch one of them off.
    assert.deepEqual(
      problemsOf(read('nemo-rl', URI, two), 'warning').map(({ code }) => code),
      ['two-backends'],
    );
    assert.deepEqual(refused(read('nemo-rl', URI, two)), []);
  });
});

const AUTOMODEL = `
recipe: TrainFinetuneRecipeForNextTokenPrediction
step_scheduler:
  global_batch_size: 64
  local_batch_size: 8
  max_steps: 100
model:
  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained
  pretrained_model_name_or_path: meta-llama/Llama-3.2-1B
distributed:
  strategy: fsdp2
  dp_size: none
  tp_size: 2
  cp_size: 1
  activation_checkpointing: true
loss_fn:
  _target_: nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy
dataset:
  _target_: nemo_automodel.components.datasets.llm.squad.make_squad_dataset
  seq_length: 2048
packed_sequence:
  packed_sequence_size: 0
optimizer:
  _target_: torch.optim.Adam
  lr: 1e-5
`;

describe('NeMo Automodel', () => {
  it('reports no verdict of a model that its own class has layers for further tokens of', async () => {
    const features = async (hub: string, more = '') => {
      const text = AUTOMODEL.replace('meta-llama/Llama-3.2-1B\n', `${hub}\n${more}`);
      const { resolved } = await smallWorkspace({ 'a.yaml': text }).analyze('a.yaml');
      return resolved.values['features.unmodelled'] ?? [];
    };
    const beside = ['multi-token-prediction'];
    assert.deepEqual(await features('deepseek-ai/DeepSeek-V4-Flash'), beside);
    assert.deepEqual(
      await features('deepseek-ai/DeepSeek-V4-Flash', '  config:\n    num_nextn_predict_layers: 0\n'),
      [],
    );
    assert.deepEqual(
      await features('deepseek-ai/DeepSeek-V4-Flash', '  num_nextn_predict_layers: null\n'),
      [],
    );
    assert.deepEqual(await features('Qwen/Qwen3-30B-A3B', '  num_nextn_predict_layers: 2\n'), beside);
    // transformers' classes, and those of DeepSeek V3 here, drop them.
    assert.deepEqual(await features('deepseek-ai/DeepSeek-V4-Flash', '  force_hf: true\n'), []);
    assert.deepEqual(await features('deepseek-ai/DeepSeek-V3'), []);
  });

  it('reads a full fine-tune in bf16', () => {
    const reading = read('nemo-automodel', URI, AUTOMODEL);
    const expected = {
      'model.id': 'meta-llama/Llama-3.2-1B file',
      'batch.micro': '8 file',
      'batch.global': '64 file',
      'batch.sequence': '2048 file',
      'batch.packed': 'false file',
      'parallel.data': 'fsdp2 file',
      'parallel.tensor': '2 file',
      'parallel.embedding': 'split default',
      'parallel.headOutput': 'split default',
      'parallel.pipeline': '1 default',
      'precision.weights': 'bf16 default',
      'precision.scheme': 'native default',
      'precision.reduce': 'fp32 default',
      'activations.checkpointing': 'full file',
      'optimizer.name': 'adam file',
      'method.kind': 'full default',
      'schedule.steps': '100 file',
    } as const;
    for (const [field, value] of Object.entries(expected))
      assert.equal(stated(reading, field as keyof typeof expected), value, field);
    assert.deepEqual(problemsOf(reading), []);
  });

  it('reports nothing of tensor parallelism without it', () => {
    const reading = read('nemo-automodel', URI, AUTOMODEL.replace('tp_size: 2', 'tp_size: 1'));
    assert.equal(stated(reading, 'parallel.embedding'), undefined);
  });

  it('keeps fp32 shards where the model is loaded in fp32', () => {
    const reading = read(
      'nemo-automodel',
      URI,
      AUTOMODEL.replace('Llama-3.2-1B', 'Llama-3.2-1B\n  torch_dtype: float32'),
    );
    assert.equal(stated(reading, 'precision.weights'), 'fp32 file');
    assert.equal(stated(reading, 'precision.scheme'), 'fsdp default');
    assert.equal(stated(reading, 'precision.compute'), 'bf16 default');
  });

  it('cuts the samples of a GPU into micro batches of a pipeline', () => {
    const text = AUTOMODEL.replace(
      'cp_size: 1',
      'cp_size: 1\n  pp_size: 4\n  pipeline:\n    pp_schedule: interleaved1f1b\n    pp_microbatch_size: 2',
    ).replace('dp_size: none', 'dp_size: 4');
    const reading = read('nemo-automodel', URI, text);
    assert.equal(stated(reading, 'batch.micro'), '2 file');
    assert.equal(stated(reading, 'parallel.pipelineSchedule'), 'interleaved file');
    assert.equal(stated(reading, 'hardware.gpus'), '32 file');
    assert.equal(stated(reading, 'fsdp.strategy'), 'grad-op default');
  });

  it('reads adapters over 4-bit weights, and packed rows', () => {
    const text = `${AUTOMODEL.replace('packed_sequence_size: 0', 'packed_sequence_size: 4096')}peft:\n  _target_: nemo_automodel.components._peft.lora.PeftConfig\n  match_all_linear: True\n  dim: 16\nquantization:\n  load_in_4bit: true\n`;
    const reading = read('nemo-automodel', URI, text);
    assert.equal(stated(reading, 'method.kind'), 'lora file');
    assert.equal(stated(reading, 'lora.rank'), '16 file');
    assert.equal(stated(reading, 'lora.alpha'), '32 default');
    assert.equal(stated(reading, 'quantization.kind'), 'nf4 file');
    assert.equal(stated(reading, 'batch.sequence'), '4096 file');
    assert.equal(stated(reading, 'batch.packed'), 'true file');
  });

  it('takes the word none for nothing', () => {
    const text = AUTOMODEL.replace('max_steps: 100', 'max_steps: None').concat(
      'validation_dataloader: none\n',
    );
    assert.deepEqual(problemsOf(read('nemo-automodel', URI, text)), []);
  });

  it('adapts what its own matcher takes', async () => {
    const trained = async (peft: string, model = 'meta-llama/Llama-3.2-1B') => {
      const text = `${AUTOMODEL.replace('meta-llama/Llama-3.2-1B', model)}peft:\n  dim: 8\n${peft}`;
      const { analyze } = smallWorkspace({ 'a.yaml': `# oomlint: gpu=H100-SXM5-80GB gpus=8\n${text}` });
      const { estimate, problems } = await analyze('a.yaml');
      assert.deepEqual(
        problems.filter(({ code }) => code === 'no-lora-targets'),
        [],
      );
      return estimate?.model.trainableParameters;
    };
    // 16 layers of width 2048: queries and outputs square, keys and values 512 wide, an MLP of 8192; 128,256 words.
    const layers = 16 * 8 * (2 * (2048 + 2048) + 2 * (2048 + 512) + 3 * (2048 + 8192));
    const head = 8 * (2048 + 128_256);
    assert.equal(await trained('  match_all_linear: true\n'), layers + head);
    assert.equal(await trained(''), layers);
    assert.equal(await trained('  exclude_modules: ["*lm_head*"]\n'), layers);
    assert.equal(await trained('  exclude_modules: ["*.q_proj", lm_head]\n'), layers - 16 * 8 * 4096);
    const queries = 16 * 8 * 4096;
    assert.equal(await trained("  target_modules: '*_proj'\n"), layers);
    assert.equal(await trained('  target_modules: ["*"]\n'), layers + head);
    assert.equal(await trained('  target_modules: ["*q_proj", "*.self_attn.o_proj"]\n'), 2 * queries);
    assert.equal(await trained('  target_modules: ["model.layers.*.self_attn.q_proj"]\n'), queries);
    assert.equal(await trained('  target_modules: ["*.layers.3.*.q_proj"]\n'), queries / 16);
    // A dot is any character there.
    assert.equal(await trained('  target_modules: ["*.attn.q_proj"]\n'), queries);
  });

  it('knows what it reads by the name of a class', () => {
    const validation = 'validation_dataset:\n  _target_: nemo_automodel.components.datasets.llm.squad.make\n';
    const { unread = [] } = read('nemo-automodel', URI, AUTOMODEL + validation);
    assert.deepEqual(unread, []);
    const own = read('nemo-automodel', URI, AUTOMODEL.replace('torch.optim.Adam', 'mine.Optimizer'));
    assert.deepEqual(
      (own.unread ?? []).map(({ fields }) => fields?.[0]),
      ['optimizer.name'],
    );
  });

  it('reads a config that stands in the file, and asks where fields stand over those of a named model', () => {
    const from = (config: string) =>
      read(
        'nemo-automodel',
        URI,
        AUTOMODEL.replace(/^ {2}pretrained_model_name_or_path: .*\n/m, `  config: ${config}\n`),
      );
    const stated = (config: string, field: string) =>
      from(config).facts.find((fact) => fact.field === field)?.value;
    const own =
      '{_target_: transformers.LlamaConfig, model_type: llama, hidden_size: 64, torch_dtype: bfloat16}';
    assert.deepEqual(stated(own, 'model.config'), { model_type: 'llama', hidden_size: 64 });
    const named = (more: string) =>
      `{_target_: transformers.AutoConfig.from_pretrained, pretrained_model_name_or_path: Qwen/Qwen3-8B${more}}`;
    assert.equal(stated(named(''), 'model.id'), 'Qwen/Qwen3-8B');
    const unread = (config: string) => (from(config).unread ?? []).map(({ fields }) => fields?.[0]);
    assert.deepEqual(unread(named('')), []);
    assert.deepEqual(unread(named(', num_hidden_layers: 4')), []);
    assert.deepEqual(stated(named(', num_hidden_layers: 4'), 'model.changes'), { num_hidden_layers: 4 });
    assert.deepEqual(unread(named(', num_flux_gates: 4')), ['model.config']);
  });

  it('trains what it does not freeze of a model that sees', async () => {
    const parts = async (frozen: string) => {
      const text = AUTOMODEL.replace('meta-llama/Llama-3.2-1B', 'google/gemma-3-4b-it') + frozen;
      const { analyze } = smallWorkspace({ 'a.yaml': `# oomlint: gpu=H100-SXM5-80GB gpus=8\n${text}` });
      const { estimate } = await analyze('a.yaml');
      return estimate && estimate.model.totalParameters - estimate.model.trainableParameters;
    };
    const tower = 416_866_032;
    assert.equal(await parts(''), 0);
    assert.equal(await parts('freeze_config:\n  freeze_audio_tower: true\n'), tower);
    assert.equal(await parts('freeze_config:\n  freeze_vision_tower: false\n'), 0);
    assert.equal(await parts('freeze_config:\n  freeze_language_model: true\n'), undefined);
    // What is named is the framework's own module: which weights it holds is not known, and nothing is frozen by default.
    assert.equal(await parts('freeze_config:\n  freeze_modules:\n    - path: visual\n'), undefined);
  });

  it('does not pass checkpointing over that the plan of experts asks for', () => {
    const plan = (on: boolean) =>
      `parallelizer:\n  _target_: x.parallelize_model\n  activation_checkpointing: ${on}\n`;
    const text = AUTOMODEL.replace('  activation_checkpointing: true\n', '');
    const left = (yaml: string) =>
      (read('nemo-automodel', URI, yaml).unread ?? []).map(({ fields }) => fields?.[0]);
    assert.deepEqual(left(text + plan(false)), []);
    assert.deepEqual(left(text + plan(true)), ['activations.checkpointing']);
    assert.deepEqual(left(AUTOMODEL + plan(true)), []);
  });

  it('adapts no vision tower that it is to leave out', async () => {
    const out = ['*vision*', '*visual*', '*multi_modal_projector*', '*lm_head*'];
    const trained = async (peft: string) => {
      const model = 'google/gemma-3-4b-it';
      const text = `${AUTOMODEL.replace('meta-llama/Llama-3.2-1B', model)}peft:\n  dim: 8\n${peft}`;
      const { analyze } = smallWorkspace({ 'a.yaml': `# oomlint: gpu=H100-SXM5-80GB gpus=8\n${text}` });
      return (await analyze('a.yaml')).estimate?.model.trainableParameters;
    };
    const spared = await trained(`  exclude_modules: ${JSON.stringify(out)}\n`);
    // 34 layers of width 2560: 8 heads and 4 groups of 256, an MLP of 10240.
    const each = 2560 + 2048 + 2 * (2560 + 1024) + 2048 + 2560 + 3 * (2560 + 10_240);
    assert.equal(spared, 34 * 8 * each);
  });

  it('notes that nothing limits the length', () => {
    const reading = read('nemo-automodel', URI, AUTOMODEL.replace('  seq_length: 2048\n', ''));
    assert.deepEqual(
      problemsOf(reading).map(({ code }) => code),
      ['missing-length-cap'],
    );
  });

  it('refuses batches that do not divide', () => {
    const text = AUTOMODEL.replace('dp_size: none', 'dp_size: 3');
    assert.deepEqual(refused(read('nemo-automodel', URI, text)), ['batch-not-divisible']);
    assert.deepEqual(refused(read('nemo-automodel', URI, AUTOMODEL, { 'hardware.gpus': 7 })), ['world-size']);
  });
});

const BRIDGE = `
model:
  seq_length: 4096
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 4
  virtual_pipeline_model_parallel_size: 2
  context_parallel_size: 1
  expert_model_parallel_size: 8
  recompute_granularity: selective
  recompute_modules: [core_attn, moe_act]
train:
  global_batch_size: 2048
  micro_batch_size: 1
  train_iters: 25
  eval_iters: 0
ddp:
  grad_reduce_in_fp32: false
mixed_precision:
  grad_reduce_in_fp32: false
optimizer:
  use_precision_aware_optimizer: true
  exp_avg_dtype: bf16
  exp_avg_sq_dtype: bf16
logger:
  log_interval: 1
`;

describe('Megatron-Bridge', () => {
  it('reads overrides of a recipe that the file is named for', () => {
    const reading = read('megatron-bridge', 'file:///configs/deepseek_v3_pretrain_overrides.yaml', BRIDGE);
    const expected = {
      'model.id': 'deepseek-ai/DeepSeek-V3 inferred',
      'model.code': 'megatron default',
      'batch.micro': '1 file',
      'batch.global': '2048 file',
      'batch.sequence': '4096 file',
      'parallel.tensor': '2 file',
      'parallel.pipeline': '4 file',
      'parallel.virtualStages': '2 file',
      'parallel.expert': '8 file',
      'activations.checkpointing': 'selective file',
      'activations.modules': 'core_attn,moe_act file',
      'precision.weights': 'bf16 default',
      'precision.scheme': 'megatron default',
      'precision.gradientAccumulation': 'bf16 file',
      'precision.optimizerStates': 'bf16 file',
      'parallel.distributedOptimizer': 'true default',
      'schedule.steps': '25 file',
      'evaluation.enabled': 'false file',
    } as const;
    for (const [field, value] of Object.entries(expected))
      assert.equal(stated(reading, field as keyof typeof expected), value, field);
    assert.deepEqual(problemsOf(reading), []);
  });

  it('takes no distillation for the training of the model that its name has', () => {
    const uri = 'file:///configs/llama32_3b-1b_distill_override.yaml';
    const text =
      'model:\n  tensor_model_parallel_size: 2\n  seq_length: 4096\n  teacher:\n    tensor_model_parallel_size: 2\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 8\n';
    const reading = read('megatron-bridge', uri, text);
    assert.equal(stated(reading, 'model.id'), undefined);
    assert.ok(reading.unread?.some((each) => each.kind === 'refused' && each.text === 'model.teacher'));
  });

  it('reports no verdict of a published model that it trains with layers for further tokens', async () => {
    const features = async (hub: string, more = '', name = 'overrides.yaml') => {
      const text = BRIDGE.replace('model:\n', `model:\n${hub === '' ? '' : `  hf_path: ${hub}\n`}${more}`);
      const { analyze } = smallWorkspace({ [name]: text });
      const { resolved } = await analyze(name);
      return resolved.values['features.unmodelled'] ?? [];
    };
    const beside = ['multi-token-prediction'];
    for (const hub of ['deepseek-ai/DeepSeek-V3', 'zai-org/GLM-4.5-Air', 'XiaomiMiMo/MiMo-7B-Base'])
      assert.deepEqual(await features(hub), beside, hub);
    assert.deepEqual(await features('', '', 'deepseek_v3_pretrain_overrides.yaml'), beside);
    assert.deepEqual(await features('', '', 'qwen3_next_80b_a3b.yaml'), beside);
    // The file turns them off, their bridge drops them, the published config has none of them.
    for (const off of ['0', 'null', ''])
      assert.deepEqual(await features('deepseek-ai/DeepSeek-V3', `  mtp_num_layers: ${off}\n`), [], off);
    assert.deepEqual(await features('', '  mtp_num_layers: null\n', 'qwen3_next_80b_a3b.yaml'), []);
    for (const hub of ['zai-org/GLM-4.5V', 'Qwen/Qwen3-Next-80B-A3B-Instruct', 'Qwen/Qwen3-30B-A3B'])
      assert.deepEqual(await features(hub), [], hub);
    assert.deepEqual(await features('Qwen/Qwen3-30B-A3B', '  mtp_num_layers: 1\n'), beside);
  });

  it('leaves a verdict to what the recipe states where the file does not', () => {
    const sizes =
      'model:\n  seq_length: 4096\n  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 1\n  context_parallel_size: 1\n';
    const train = 'train:\n  train_iters: 10\n  micro_batch_size: 1\n  global_batch_size: 8\n';
    const experts = '  expert_model_parallel_size: 8\n  recompute_granularity: selective\n';
    const open = (name: string, text: string) =>
      stated(read('megatron-bridge', `file:///${name}.yaml`, text), 'features.unmodelled') !== undefined;
    const none = sizes + train;
    assert.ok(!open('llama32_1b_pretrain', none));
    assert.ok(!open('llama32_1b_finetune', `${none}peft:\n  dim: 8\n`));
    // Adapters or every weight: the name does not say it.
    assert.ok(open('llama32_1b_finetune', none));
    for (const size of ['tensor_model', 'pipeline_model', 'context'])
      assert.ok(open('llama32_1b_pretrain', none.replace(`  ${size}_parallel_size: 1\n`, '')), size);
    // Recipes of models with experts, and those that no name speaks of, compute layers again.
    assert.ok(open('qwen3_30b_a3b_pretrain', none));
    assert.ok(open('mine_pretrain', none));
    for (const name of ['qwen3_30b_a3b_pretrain', 'mine_pretrain'])
      assert.ok(!open(name, sizes + experts + train), name);
    // A model whose sizes stand in the file is as open: its recipe splits it.
    assert.ok(open('mine', `model:\n  num_layers: 4\n  hidden_size: 512\n  seq_length: 4096\n${train}`));
  });

  it('takes types by the names that PyTorch gives them, too', () => {
    const states = (type: string) =>
      read(
        'megatron-bridge',
        URI,
        `${BRIDGE}optimizer:\n  use_precision_aware_optimizer: true\n  exp_avg_sq_dtype: ${type}\n`,
      );
    for (const type of ['torch.bfloat16', 'bfloat16', 'bf16']) {
      assert.equal(stated(states(type), 'precision.optimizerStates'), 'bf16 file', type);
      assert.deepEqual(problemsOf(states(type)), [], type);
    }
    assert.deepEqual(problemsOf(states('torch.int3')).length, 1);
  });

  it('reads Megatron-FSDP and adapters', () => {
    const text = `${BRIDGE.replace('  grad_reduce_in_fp32: false\nmixed', '  grad_reduce_in_fp32: true\n  data_parallel_sharding_strategy: optim_grads_params\nmixed')}dist:\n  use_megatron_fsdp: true\npeft:\n  dim: 8\n  alpha: 16\n`;
    const reading = read('megatron-bridge', URI, text);
    assert.equal(stated(reading, 'parallel.data'), 'fsdp2 file');
    assert.equal(stated(reading, 'method.kind'), 'lora file');
    assert.equal(stated(reading, 'lora.rank'), '8 file');
  });
});

describe('families around NeMo', () => {
  const id = (text: string) => detectDialect(parseConfig(URI, text))?.id;
  it('tell each other apart, and leave others alone', () => {
    assert.equal(id(NEMO), 'nemo');
    assert.equal(id(BASE), 'nemo-rl');
    assert.equal(id(AUTOMODEL), 'nemo-automodel');
    assert.equal(id(BRIDGE), 'megatron-bridge');
    assert.equal(id('trainer:\n  max_epochs: 3\nmodel:\n  name: resnet\n'), undefined);
    assert.equal(id('policy:\n  name: allow\n  rules: []\ncluster:\n  name: k8s\n'), undefined);
    assert.equal(id('model: gpt\ntrain:\n  epochs: 3\n  lr: 0.1\n'), undefined);
    assert.equal(
      id(
        'train:\n  micro_batch_size: 2\n  global_batch_size: 8\ncheckpoint_dir: checkpoints/x\nprecision: bf16-true\n',
      ),
      undefined,
    );
  });

  it('do not take shards of FSDP for replicas', () => {
    for (const [stated, known] of [
      ['fsdp: True', false],
      ['fsdp: False', true],
    ] as const) {
      const { facts, unread = [] } = read(
        'nemo',
        'file:///a.yaml',
        NEMO.replace('  mcore_gpt: True', `  mcore_gpt: True\n  ${stated}`),
      );
      assert.equal(
        facts.some(({ field }) => field === 'parallel.data'),
        known,
        stated,
      );
      assert.equal(
        unread.some(({ fields = [] }) => fields.includes('parallel.data')),
        !known,
        stated,
      );
    }
  });
});
