import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

/*
 * Findings of a review of published configs, each as the smallest file that shows it: what was a false error, a file that was taken for
 * another one, or a verdict on a run that was read wrongly.
 */

type Files = Readonly<Record<string, string>>;

async function look(file: string, text: string, files: Files = {}) {
  const { workspace } = smallWorkspace({ ...files, [file]: text });
  const analysis = await workspace.analyze(`file:///repo/${file}`);
  const problems = analysis?.problems ?? [];
  return {
    recognized: analysis !== undefined,
    errors: problems.filter(({ severity }) => severity === 'error').map(({ code }) => code),
    warnings: problems.filter(({ severity }) => severity === 'warning').map(({ code }) => code),
    values: analysis?.resolved.values ?? {},
    verdict: analysis?.estimate?.verdict,
    peak: (analysis?.estimate?.peak.processBytes ?? 0) / 2 ** 30,
    activations: analysis?.estimate?.parts.find(({ category }) => category === 'activations')?.bytes ?? 0,
  };
}

const GPT =
  '--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --bf16 --vocab-size 50257';

describe('launches as scripts state them', () => {
  it('fill the stage of a DeepSpeed file in where that is `auto`, and only there', async () => {
    const stageOf = async (stage: string, flag: string) => {
      const text = `accelerate launch --use_deepspeed --deepspeed_config_file ds.json ${flag} --num_processes 8 train.py --model_name_or_path gpt2 --per_device_train_batch_size 1\n`;
      const file = `{ "train_micro_batch_size_per_gpu": 1, "zero_optimization": { "stage": ${stage} } }`;
      const { values, errors } = await look('l.sh', text, { 'ds.json': file });
      assert.deepEqual(errors, []);
      return values['zero.stage'];
    };
    assert.equal(await stageOf('"auto"', ''), 2, 'the default of Accelerate');
    assert.equal(await stageOf('"auto"', '--zero_stage 3'), 3);
    assert.equal(await stageOf('1', '--zero_stage 3'), 1);
  });

  it('are those that run, not those that are printed', async () => {
    const { values, errors } = await look(
      'l.sh',
      `# oomlint: gpu=A100-80GB\nCMD="pretrain_gpt.py --tensor-model-parallel-size 4 ${GPT}"\necho $CMD\ntorchrun --nproc_per_node 8 $CMD\n`,
    );
    assert.equal(values['hardware.gpus'], 8);
    assert.deepEqual(errors, []);
  });

  it('are read out of `bash -c` in single quotes and out of `eval`', async () => {
    for (const end of [
      `export LAUNCHER CMD\nsrun bash -c '$LAUNCHER $CMD'\n`,
      'run="$LAUNCHER $CMD"\neval $run\n',
      'run="$LAUNCHER ${ARGS[@]} $CMD"\neval $run\n',
    ]) {
      const { values } = await look(
        'l.sh',
        `# oomlint: gpu=A100-80GB\nARGS=()\nLAUNCHER="torchrun --nproc_per_node 8"\nCMD="pretrain_gpt.py --tensor-model-parallel-size 4 ${GPT}"\n${end}`,
      );
      assert.equal(values['parallel.tensor'], 4, end);
      assert.equal(values['hardware.gpus'], 8, end);
    }
  });

  it('split the elements of an array that stands without quotes', async () => {
    const { values } = await look(
      'v.sh',
      `# oomlint: gpu=A100-80GB\nD=("--mock-data" "--vocab-size 128256")\ntorchrun --nproc_per_node 8 pretrain_gpt.py ${GPT.replace(' --vocab-size 50257', '')} \${D[@]}\n`,
    );
    const model = values['model.config'] as { vocab_size?: number } | undefined;
    assert.equal(model?.vocab_size, 128256);
  });

  it('skip comments in backquotes', async () => {
    const { values, warnings } = await look(
      'b.sh',
      'torchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 1 `# fits` \\\n  --block_size 512 --do_train\n',
    );
    assert.equal(values['batch.micro'], 1);
    assert.deepEqual(warnings, []);
  });

  it('fill a positional parameter by its default', async () => {
    const { values } = await look(
      'p.sh',
      'Z=$2\nif [ "$Z" == "" ]; then Z=3; fi\ndeepspeed main.py --model_name_or_path facebook/opt-1.3b --per_device_train_batch_size 4 --lora_dim 0 --zero_stage $Z --deepspeed --only_optimize_lora\n',
    );
    assert.equal(values['zero.stage'], 3);
  });

  it('count the GPUs that are stated, not those that are visible', async () => {
    const { values } = await look(
      'v.sh',
      'export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7\npython3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=1 trainer.nnodes=1\n',
    );
    assert.equal(values['hardware.gpus'], 1);
  });

  it('raise no error by a branch that is not settled', async () => {
    const { errors } = await look(
      'a.sh',
      `# oomlint: gpu=A100-80GB\nAC=\${14}\nif [ $AC = full ]; then\n  A="--recompute-granularity full"\nelse\n  A=""\nfi\ntorchrun --nproc_per_node 8 pretrain_gpt.py ${GPT} $A\n`,
    );
    assert.deepEqual(errors, []);
  });

  it('state their GPUs to Slurm', async () => {
    for (const [line, gpu] of [
      ['--gres=gpu:a100:8', /A100/],
      ['--gpus-per-node=h100:8', /H100/],
      ['--constraint=v100-32g --gres=gpu:8', /V100/],
    ] as const) {
      const { values } = await look(
        's.sh',
        `#!/bin/bash\n#SBATCH ${line}\n#SBATCH --nodes=1\ntorchrun --nproc_per_node 8 pretrain_gpt.py ${GPT}\n`,
      );
      assert.match(String(values['hardware.gpu']), gpu, line);
    }
  });

  it('get no verdict of a GPU that another size of the same name would change', async () => {
    const run = (gres: string, micro: number, directive = '') =>
      look(
        's.sh',
        `#!/bin/bash\n#SBATCH --gres=gpu:${gres}:1\n${directive}deepspeed --num_gpus 1 run_clm.py --model_name_or_path Qwen/Qwen2.5-3B --bf16 --torch_dtype bfloat16 --gradient_checkpointing --block_size 1024 --per_device_train_batch_size ${micro} --output_dir o\n`,
      );
    assert.equal((await run('a100', 16)).verdict, 'unknown', 'it fits the larger one alone');
    assert.equal((await run('a100', 1)).verdict, 'fits');
    assert.equal((await run('a100', 512)).verdict, 'exceeds');
    assert.equal((await run('a100_40gb', 16)).verdict, 'exceeds', 'the name tells the size');
    const stated = await run('a100', 16, '# oomlint: gpu=A100-SXM4-40GB\n');
    assert.equal(stated.verdict, 'exceeds', 'somebody else states the size');
  });
});

describe('a recipe whose launch nobody shows', () => {
  it('does not fit by no error', async () => {
    const recipe = (extra = '') =>
      `# oomlint: gpu=A100-80GB gpus=8\nmodel_name_or_path: mistralai/Mistral-7B-v0.1\ndataset_name: d\nlearning_rate: 2.0e-5\nper_device_train_batch_size: 8\nmax_length: 2048\nbf16: true\noutput_dir: o\npacking: true\n${extra}`;
    const { errors, verdict } = await look('recipes/sft.yaml', recipe());
    assert.equal(verdict, 'exceeds');
    assert.deepEqual(errors, []);
  });

  it('is joined by what is launched, whatever the script is called', async () => {
    const { values } = await look(
      'recipes/sft.yaml',
      'model_name_or_path: mistralai/Mistral-7B-v0.1\ndataset_name: d\nlearning_rate: 2.0e-5\nper_device_train_batch_size: 1\nmax_length: 2048\nbf16: true\noutput_dir: o\n',
      {
        'run.sh': 'accelerate launch --config_file acc/zero3.yaml my/run_spin.py recipes/sft.yaml\n',
        'acc/zero3.yaml':
          'compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n',
      },
    );
    assert.equal(values['zero.stage'], 3);
    assert.equal(values['hardware.gpus'], 8);
  });
});

describe('what trains nothing', () => {
  const NOTHING: Files = {
    'convert.sh': `torchrun --nproc_per_node 8 hf2mcore_convertor.py ${GPT} --tensor-model-parallel-size 4 --load a --save b\n`,
    'run_evaluate_llama.sh': `torchrun --nproc_per_node 8 evaluate_llama.py ${GPT}\n`,
    'text_generation.sh': `torchrun --nproc_per_node 8 generate_text_gpt.py ${GPT}\n`,
    'eval.yaml':
      'model:\n  _component_: torchtune.models.llama2.llama2_7b\ntasks: [truthfulqa_mc2]\nlimit: null\nbatch_size: 8\ndevice: cuda\ndtype: bf16\n',
    'conversion.yaml':
      'run:\n  convert_name: convert_nemo\n  model_train_name: llama\nmodel:\n  tensor_model_parallel_size: 8\n  pipeline_model_parallel_size: 2\ntrainer: {devices: 1, num_nodes: 1}\n',
    // NeMo-Framework-Launcher, `conversion/llama/convert_llama.yaml` with a name of one's own.
    'convert.yaml':
      'run:\n  name: to_nemo\ntrainer: {devices: 16, num_nodes: 1}\nmodel:\n  model_type: gpt\n  checkpoint_folder: c\n  checkpoint_name: latest\n  hparams_file: h.yaml\n  tensor_model_parallel_size: 8\n  pipeline_model_parallel_size: 2\n',
    // NeMo, `megatron_gpt_export.yaml`, `megatron_gpt_inference_batch_mcore.yaml`, `prompt_learning_ckpt_to_nemo.yaml`.
    'export.yaml':
      'trainer: {devices: 1, num_nodes: 1, precision: bf16}\nmodel_type: gpt\ntensor_model_parallel_size: 8\npipeline_model_parallel_size: 2\ngpt_model_file: null\nonnx_model_file: null\nexport_options: {onnx_opset: 17}\n',
    // `evaluation/t5/squad.yaml`: samples to validate with, and no optimizer.
    'squad.yaml':
      'trainer: {devices: 1, num_nodes: 1, precision: bf16}\nexp_manager: {name: squad}\nmodel:\n  restore_from_path: t5.nemo\n  megatron_amp_O2: false\n  tensor_model_parallel_size: 8\n  pipeline_model_parallel_size: 2\n  data:\n    validation_ds: {global_batch_size: 64, micro_batch_size: 64, max_src_seq_length: 512}\n',
    // What NeMo stores beside weights (`model_config.yaml`), which its converters start from (`hf_t5v1_1_base_config.yaml`).
    'model_config.yaml':
      'micro_batch_size: 4\nglobal_batch_size: 8\ntensor_model_parallel_size: 8\npipeline_model_parallel_size: 2\nnum_layers: 32\nhidden_size: 4096\nffn_hidden_size: 11008\nnum_attention_heads: 32\nseq_length: 512\nmax_position_embeddings: 512\noptim: {name: fused_adam}\ntarget: nemo.collections.nlp.models.language_modeling.megatron_gpt_model.MegatronGPTModel\nnemo_version: 1.11.0rc0\n',
    'main_generation.sh':
      'python3 -m verl.trainer.main_generation trainer.n_gpus_per_node=8 model.path=Qwen/Qwen2.5-7B\n',
    'ref.yaml':
      'strategy: ${actor_rollout_ref.actor.strategy}\nfsdp_config:\n  param_offload: false\n  wrap_policy:\n    min_num_params: 0\nlog_prob_micro_batch_size: null\n',
  };
  for (const [file, text] of Object.entries(NOTHING))
    it(`has no verdict and no error: ${file}`, async () => {
      const { errors, verdict, recognized } = await look(file, `# oomlint: gpu=H100 gpus=8\n${text}`);
      assert.equal(verdict, undefined);
      assert.deepEqual(errors, []);
      if (/nemo|^trainer|^run:/m.test(text)) assert.equal(recognized, false, 'nothing is asked of it');
    });
});

describe('relatives of families', () => {
  it('are not taken for llm-foundry: OLMo, Composer’s vision', async () => {
    for (const text of [
      'run_name: o\nmodel:\n  d_model: 2048\n  n_heads: 16\n  n_layers: 16\n  init_device: cuda\nmax_sequence_length: 2048\nsave_folder: s\nglobal_train_batch_size: 64\ndevice_train_microbatch_size: 8\nfsdp:\n  wrapping_strategy: by_block\n',
      'model:\n  name: resnet_56\ntrain_dataset:\n  path: d\nmax_duration: 30ep\ntrain_batch_size: 1024\n',
    ]) {
      const { errors, warnings, verdict } = await look('c.yaml', `# oomlint: gpu=H100 gpus=8\n${text}`);
      assert.deepEqual([errors, warnings, verdict], [[], [], undefined], text);
    }
  });
});

describe('rules that ask for a version', () => {
  it('are no errors where nobody states it', async () => {
    for (const config of [
      '{"train_batch_size": 8, "compile": {"enabled": true, "backend": "inductor"}}',
      '{"train_batch_size": 8, "fp16": {"enabled": true, "opt_level": "O1"}}',
      '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "grad_hooks": true}}',
    ])
      assert.deepEqual((await look('ds_config.json', config)).errors, [], config);
    const { errors } = await look(
      'acc.yaml',
      'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nipex_config: {ipex: false}\nnum_processes: 8\n',
    );
    assert.deepEqual(errors, []);
  });
});

describe('DeepSpeed under a pipeline in bf16', () => {
  it('shards its states at stage 0 as at stage 1', async () => {
    const script = (stage: number) =>
      `# oomlint: gpu=A100-80GB gpus=48\ncat <<EOF > ds.json\n{"train_micro_batch_size_per_gpu": 2, "train_batch_size": 48, "zero_optimization": {"stage": ${stage}}, "bf16": {"enabled": true}}\nEOF\ndeepspeed pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 48 --bf16 --vocab-size 50257 --deepspeed --deepspeed_config ds.json --zero-stage ${stage}\n`;
    const [none, one] = [await look('a.sh', script(0)), await look('a.sh', script(1))];
    assert.ok(none.peak > 0 && Math.abs(none.peak - one.peak) < 1, `${none.peak} and ${one.peak}`);
  });
});

describe('fp8 copies of weights', () => {
  it('are one a module, however many micro batches are in flight', async () => {
    const script = (fp8: string) =>
      `# oomlint: gpu=H100 gpus=64\ntorchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size 8 --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 --group-query-attention --num-query-groups 8 --swiglu --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --bf16 --vocab-size 32000 --transformer-impl transformer_engine --use-flash-attn ${fp8}\n`;
    const [plain, fp8] = [await look('f.sh', script('')), await look('f.sh', script('--fp8-format hybrid'))];
    assert.ok(plain.peak > 0 && fp8.peak < plain.peak + 3, `${plain.peak} and ${fp8.peak}`);
  });
});

describe('encoders', () => {
  it('need no length of a sequence', async () => {
    const { values, verdict } = await look(
      'vit.sh',
      '# oomlint: gpu=H100 gpus=8\ntorchrun --nproc_per_node 8 run_image_classification.py --model_name_or_path google/vit-large-patch16-224 --per_device_train_batch_size 8 --do_train --fp16\n',
    );
    assert.equal(values['model.id'], 'google/vit-large-patch16-224');
    assert.ok(verdict !== undefined);
  });
});

describe('keys and flags that published files have', () => {
  const clean = async (file: string, text: string, files: Files = {}) => {
    const { errors, warnings } = await look(file, text, files);
    return [...errors, ...warnings];
  };

  it('draw nothing where the framework takes them', async () => {
    for (const [file, text] of [
      ['fp4.sh', `torchrun --nproc_per_node 8 pretrain_gpt.py ${GPT} --fp4-format e2m1 --fp4-recipe nvfp4\n`],
      [
        'acc.yaml',
        'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\ngpu_ids: null\nmachine_rank: 0\nmain_process_ip: null\nmain_process_port: null\nmixed_precision: null\nnum_machines: 1\nnum_processes: 8\n',
      ],
      [
        'neox.json',
        '{"num-layers": 12, "hidden-size": 768, "num-attention-heads": 12, "seq-length": 2048, "max-position-embeddings": 2048, "pipe-parallel-size": 1, "model-parallel-size": 1, "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}, "tokenizer-type": "GPT2BPETokenizer"}',
      ],
    ] as const)
      assert.deepEqual(await clean(file, text), [], file);
  });

  it('are judged as who reads them does: Megatron builds the optimizer itself', async () => {
    const text = `deepspeed pretrain_gpt.py ${GPT} --deepspeed --deepspeed_config ds.json\n`;
    const ds =
      '{"train_micro_batch_size_per_gpu": 4, "train_batch_size": 32, "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "max_grad_norm": 1.0}}}';
    const { errors } = await look('ds.json', ds, { 'run.sh': text });
    assert.deepEqual(errors, []);
  });

  it('have one message for one fault: a template in braces', async () => {
    const { errors } = await look(
      'ds_config_TEMPLATE.json',
      '{"train_micro_batch_size_per_gpu": CONFIG_MBSIZE, "train_batch_size": CONFIG_BATCH_SIZE, "zero_optimization": {"stage": ZERO_STAGE}, "fp16": {"enabled": CONFIG_FP16}}',
    );
    assert.ok(errors.length <= 1, errors.join());
  });
});

describe('llm-foundry', () => {
  const yaml = (attention: string, micro: string) => `# oomlint: gpu=A100-80GB gpus=8
max_seq_len: 8192
model:
  name: mpt_causal_lm
  d_model: 2048
  n_heads: 16
  n_layers: 24
  vocab_size: 50368
  max_seq_len: 8192
  attn_config: {attn_impl: ${attention}}
optimizer: {name: decoupled_adamw, lr: 1.0e-4}
global_train_batch_size: 64
device_train_microbatch_size: ${micro}
precision: amp_bf16
fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: PURE, activation_checkpointing: false}
`;

  it('writes out no scores with its own flash attention', async () => {
    const [flash, torch] = [
      await look('c.yaml', yaml('flash', '1')),
      await look('c.yaml', yaml('torch', '1')),
    ];
    assert.ok(
      flash.activations > 0 && flash.activations < torch.activations / 3,
      `${flash.activations} of ${torch.activations}`,
    );
  });

  it('finds the micro batch that fits where it is `auto`', async () => {
    const { errors, verdict } = await look('c.yaml', yaml('flash', 'auto'));
    assert.deepEqual(errors, []);
    assert.equal(verdict, 'fits');
  });
});

describe('families’ own switches', () => {
  it('verl: Megatron’s optimizer on the host', async () => {
    const script = (more: string) =>
      `# oomlint: gpu=H100 gpus=32\npython3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-32B actor_rollout_ref.actor.strategy=megatron actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.actor.megatron.tensor_model_parallel_size=8 trainer.n_gpus_per_node=8 trainer.nnodes=4 ${more}\n`;
    const on = await look(
      'v.sh',
      script(
        '+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True +actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction=1',
      ),
    );
    assert.equal(on.values['offload.optimizer'], 'cpu');
    assert.equal((await look('v.sh', script(''))).values['offload.optimizer'] ?? 'none', 'none');
  });

  it('DeepSpeed-Chat: a rank freezes the weights that it adapts', async () => {
    const { values } = await look(
      'd.sh',
      'deepspeed main.py --model_name_or_path facebook/opt-1.3b --per_device_train_batch_size 4 --lora_dim 128 --zero_stage 2 --deepspeed\n',
    );
    assert.equal(values['method.kind'], 'lora');
  });

  it('Axolotl: stacked experts are quantized where it is asked to', async () => {
    const config = (more: string) =>
      `# oomlint: gpu=H200 gpus=1\nbase_model: zai-org/GLM-4.5-Air\nload_in_4bit: true\nadapter: qlora\nlora_r: 16\nlora_target_linear: true\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\ngradient_checkpointing: true\ndatasets: [{path: d}]\n${more}`;
    const [on, off] = [
      await look('c.yaml', config('quantize_moe_experts: true\n')),
      await look('c.yaml', config('')),
    ];
    assert.ok(on.peak > 0 && on.peak < off.peak / 2, `${on.peak} of ${off.peak}`);
  });

  it('NeMo: samples are as long as its data, not as the model’s positions', async () => {
    const { values } = await look(
      'n.yaml',
      'trainer: {devices: 8, num_nodes: 1}\nexp_manager: {name: n}\nmodel:\n  mcore_gpt: true\n  micro_batch_size: 1\n  global_batch_size: 8\n  tensor_model_parallel_size: 8\n  encoder_seq_length: 1024000\n  max_position_embeddings: 1024000\n  num_layers: 4\n  hidden_size: 512\n  num_attention_heads: 8\n  data:\n    data_prefix: [d]\n    seq_length: 2048\n',
    );
    assert.equal(values['batch.sequence'], 2048);
  });

  it('open-instruct: `--max_token_length` is the length', async () => {
    const { values } = await look(
      'r.sh',
      'accelerate launch --num_processes 8 open_instruct/reward_modeling.py --model_name_or_path allenai/Llama-3.1-Tulu-3-8B-SFT --max_token_length 4096 --per_device_train_batch_size 1\n',
    );
    assert.equal(values['batch.sequence'], 4096);
  });

  it('PEFT refuses LoRA without modules where it has none for the architecture', async () => {
    const { errors, warnings, verdict } = await look(
      'l.yaml',
      '# oomlint: gpu=H100 gpus=1\nmodel_name_or_path: HuggingFaceTB/SmolLM3-3B\ndataset_name: d\nlearning_rate: 2.0e-4\nuse_peft: true\nlora_r: 16\nper_device_train_batch_size: 1\nmax_length: 1024\noutput_dir: o\nbf16: true\n',
    );
    assert.ok(
      [...errors, ...warnings].includes('no-lora-targets') || verdict === undefined,
      [...errors, ...warnings].join(),
    );
  });
});

describe('names', () => {
  it('of GPUs that papers and examples use are known', async () => {
    for (const gpu of [
      'H20',
      'H800',
      'A800',
      'L20',
      'RTX 4090D',
      'TITAN RTX',
      'RTX 8000',
      'Ascend 910B',
      'Gaudi 2',
      'RTX 3080 Ti',
    ]) {
      const { values } = await look(
        'c.yaml',
        `# oomlint: gpu="${gpu}" gpus=1\nbase_model: Qwen/Qwen2.5-0.5B\nsequence_len: 512\nmicro_batch_size: 1\ndatasets: [{path: d}]\n`,
      );
      assert.ok(values['hardware.gpu'] !== undefined, gpu);
    }
  });

  it('that a variable states are asked of the script, not of the catalog', async () => {
    const { workspace } = smallWorkspace({
      's.sh':
        'torchrun --nproc_per_node 8 run_clm.py --model_name_or_path "$2" --per_device_train_batch_size 1 --block_size 512 --do_train\n',
    });
    const analysis = await workspace.analyze('file:///repo/s.sh');
    const problem = analysis?.problems.find(({ code }) => code === 'unknown-model');
    assert.equal(problem?.severity, 'information');
    assert.match(problem.message, /a variable that is not set here/);
  });

  it('are suggested of the same size, or not at all', async () => {
    for (const model of ['Qwen/Qwen9.5-2B', 'SmallDoge/Doge-999M', 'zai-org/GLM-9.1V-9B']) {
      const { workspace } = smallWorkspace({
        'c.yaml': `base_model: ${model}\nsequence_len: 512\nmicro_batch_size: 1\ndatasets: [{path: d}]\n`,
      });
      const analysis = await workspace.analyze('file:///repo/c.yaml');
      const problem = analysis?.problems.find(({ code }) => code === 'unknown-model');
      assert.ok(problem, model);
      assert.doesNotMatch(problem.message, /Did you mean/, problem.message);
    }
  });
});
