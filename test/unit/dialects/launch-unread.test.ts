import assert from 'node:assert/strict';
import type { RunValues } from '../../../server/src/run/fields';
import type { Analysis } from '../../../server/src/workspace/analysis';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const URI = 'file:///w/run.sh';

async function analyzed(
  text: string,
  settings: RunValues = {},
  files: Record<string, string> = {},
): Promise<Analysis> {
  const workspace = new Workspace(new MemoryHost({ ...files, [URI]: text }), { settings: () => settings });
  const analysis = await workspace.analyze(URI);
  assert.ok(analysis, 'the script starts no training');
  return analysis;
}

const H100: RunValues = { 'hardware.gpu': 'H100-SXM5-80GB' };
const errors = ({ problems }: Analysis) => problems.filter(({ severity }) => severity === 'error');
const unread = (analysis: Analysis) => (analysis.unread ?? []).map(({ kind, text }) => `${kind} ${text}`);

const MEGATRON =
  '--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 4 --bf16 --vocab-size 50257';

describe('launches among other commands', () => {
  it('counts the launch, not the command that prints its words', async () => {
    const { resolved } = await analyzed(
      `#SBATCH --ntasks-per-node=1\nARGS="${MEGATRON}"\necho pretrain_gpt.py $ARGS\ntorchrun --nproc_per_node 8 pretrain_gpt.py $ARGS\n`,
    );
    assert.equal(resolved.values['hardware.gpus'], 8);
  });

  it('counts the GPUs of the launcher within a quoted command', async () => {
    const text = `#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
export LAUNCHER="python -u -m torch.distributed.run --nproc_per_node 8 --nnodes 4"
export CMD="pretrain_gpt.py ${MEGATRON}"
echo $CMD
clear; srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee -a main_log.txt
`;
    const { resolved } = await analyzed(text);
    assert.equal(resolved.values['hardware.gpus'], 32);
    assert.equal(resolved.values['hardware.nodes'], 4);
  });

  it('takes the branch of a plain start', async () => {
    const text = `if [ "$MULTI" = 1 ]; then
  torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py ${MEGATRON}
else
  torchrun --nproc_per_node 2 pretrain_gpt.py ${MEGATRON}
fi
`;
    const { resolved } = await analyzed(text);
    assert.equal(resolved.values['hardware.gpus'], 2);
  });
});

describe('what of a launch is not understood', () => {
  it('is what another script of the shell starts with the words that it is given', async () => {
    const flags =
      '--model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --learning_rate 1e-5 --output_dir o --max_seq_length 2048';
    const values =
      'actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8';
    for (const launch of [
      `bash scripts/train.sh ${flags}`,
      `./scripts/train.sh ${flags}`,
      `sh -x scripts/train.sh ${flags}`,
      `sbatch -N 2 scripts/train.sh ${flags}`,
      `srun -n 1 bash scripts/train.sh ${flags}`,
      `bash "$ROOT/scripts/train.sh" ${values}`,
    ]) {
      const analysis = await analyzed(`${launch}\n`, H100);
      assert.equal(analysis.estimate, undefined, launch);
      assert.match(unread(analysis).join(), /^script \S*scripts\/train\.sh$/, launch);
      assert.doesNotMatch(JSON.stringify(analysis.problems), /``/);
    }
  });

  it('takes the default that a script gives its argument', async () => {
    const text = `ZERO_STAGE=$2
if [ "$ZERO_STAGE" == "" ]; then
  ZERO_STAGE=3
fi
deepspeed main.py --data_path x --model_name_or_path facebook/opt-13b --per_device_train_batch_size 4 --max_seq_len 512 --zero_stage $ZERO_STAGE --deepspeed --output_dir o
`;
    const analysis = await analyzed(text, { ...H100, 'hardware.gpus': 8 });
    assert.equal(analysis.resolved.values['zero.stage'], 3);
    assert.equal(analysis.unread, undefined);
  });

  it('is unknown where a decisive flag takes a variable that is never set, not the default of the flag', async () => {
    const text =
      'deepspeed main.py --data_path x --model_name_or_path facebook/opt-13b --per_device_train_batch_size 4 --max_seq_len 512 --zero_stage $2 --deepspeed --output_dir o\n';
    const analysis = await analyzed(text, { ...H100, 'hardware.gpus': 8 });
    assert.equal(analysis.estimate, undefined);
    assert.deepEqual(
      analysis.resolved.unknown.map(({ field, reason }) => [field, reason]),
      [['zero.stage', '`--zero_stage` takes `$2`, which nothing that is read sets.']],
    );
    assert.deepEqual(errors(analysis), []);
    const stated = await analyzed(text, { ...H100, 'hardware.gpus': 8, 'zero.stage': 3 });
    assert.ok(stated.estimate);
  });

  it('raises no error in a branch that was guessed, nor because of one', async () => {
    const text = `AC=\${14}
TP=\${11}
if [ $AC = full ]; then
  A="--recompute-granularity full --tensor-model-parallel-size 3"
elif [ $AC = sel ]; then
  A="--recompute-granularity selective"
fi
torchrun --nproc_per_node 8 pretrain_gpt.py ${MEGATRON} $A
`;
    const analysis = await analyzed(text, H100);
    assert.deepEqual(errors(analysis), []);
    assert.ok(unread(analysis).includes('branch [ $AC = full ]'), String(unread(analysis)));
    const settled = await analyzed(text.replace('${14}', 'full'), H100);
    assert.deepEqual(
      errors(settled)
        .map(({ code }) => code)
        .sort(),
      ['full-without-method', 'heads-not-divisible', 'world-size'],
    );
  });

  it('names what full recomputation lacks, and since when', async () => {
    const run = (more: string) =>
      analyzed(
        `torchrun --nproc_per_node 8 pretrain_gpt.py ${MEGATRON} --recompute-granularity full ${more}\n`,
        H100,
      );
    const found = async (more: string) =>
      (await run(more)).problems
        .filter(({ code }) => code.startsWith('full-without'))
        .map(({ code, severity }) => `${severity} ${code}`);
    assert.deepEqual(await found(''), ['error full-without-method']);
    assert.deepEqual(await found('--recompute-num-layers 1'), ['error full-without-method']);
    assert.deepEqual(await found('--recompute-method uniform'), ['warning full-without-layers']);
    assert.deepEqual(await found('--recompute-method uniform --recompute-num-layers 1'), []);
  });

  it('is any flag that a parser which refuses others does not know, whatever its name', async () => {
    const large = MEGATRON.replace('24', '40')
      .replace('1024', '5120')
      .replace('attention-heads 16', 'attention-heads 40');
    const swift =
      'swift sft --model huggyllama/llama-13b --train_type full --max_length 2048 --torch_dtype bfloat16';
    for (const launch of [`torchrun --nproc_per_node 8 pretrain_gpt.py ${large}`, swift]) {
      const plain = await analyzed(`${launch}\n`, { ...H100, 'hardware.gpus': 8 });
      assert.deepEqual(
        errors(plain).map(({ code }) => code),
        ['does-not-fit'],
        launch,
      );
      const own = await analyzed(`${launch} --use-fancy-memory-saver 3 --my-log-path x\n`, {
        ...H100,
        'hardware.gpus': 8,
      });
      assert.deepEqual(unread(own), ['flag --use_fancy_memory_saver'], launch);
      assert.deepEqual(errors(own), [], launch);
      const found = own.problems.find(({ code }) => code === 'does-not-fit');
      assert.equal(found?.severity, 'warning', launch);
    }
  });

  it('is no error but a warning that names what was not read', async () => {
    const text = (script: string, more: string) =>
      `torchrun --nproc_per_node 8 ${script} --model_name_or_path meta-llama/Llama-3.1-70B --per_device_train_batch_size 4 --max_seq_length 4096 --bf16 True --output_dir o ${more}\n`;
    const own = await analyzed(text('my_train.py', '--use_my_offload True --my_name x'), H100);
    assert.deepEqual(errors(own), []);
    assert.deepEqual(unread(own), ['flag --use_my_offload', 'script my_train.py']);
    const problem = own.problems.find(({ code }) => code === 'does-not-fit');
    assert.equal(problem?.severity, 'warning');
    assert.match(problem?.message ?? '', /Not understood: `--use_my_offload`, `my_train.py`\.$/);
    const adapted = await analyzed(text('my_train.py', '--use_my_lora True'), H100);
    assert.deepEqual(
      adapted.resolved.unknown.map(({ field }) => field),
      ['method.kind'],
    );
    const known = await analyzed(text('examples/scripts/sft.py', ''), H100);
    assert.deepEqual(
      errors(known).map(({ code }) => code),
      ['does-not-fit'],
    );
    assert.deepEqual(unread(known), []);
    const words = await analyzed(text('examples/scripts/sft.py', '--bf16 True $EXTRA_ARGS'), H100);
    assert.deepEqual(unread(words), ['words $EXTRA_ARGS']);
    assert.deepEqual(errors(words), []);
    assert.equal(words.resolved.values['precision.compute'], 'bf16');
  });
});

describe("scripts of people's own", () => {
  const FLAGS = '--per_device_train_batch_size 1 --bf16 True --output_dir o';

  it('are read by the names that have one meaning', async () => {
    const { resolved } = await analyzed(
      `torchrun --nproc_per_node 2 my.py --model_id meta-llama/Llama-3.1-8B --use_flash_attn True --use_gradient_checkpointing True --packing True --max_seq_length 2048 ${FLAGS}\n`,
      H100,
    );
    assert.equal(resolved.values['model.id'], 'meta-llama/Llama-3.1-8B');
    assert.equal(resolved.values['attention.implementation'], 'flash2');
    assert.equal(resolved.values['activations.checkpointing'], 'full');
    assert.equal(resolved.values['batch.packed'], true);
  });

  it('train what nobody knows, where a flag of their own turns adapters on', async () => {
    const decided = async (flag: string) =>
      (
        await analyzed(
          `torchrun --nproc_per_node 8 train_own.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --max_seq_length 2048 --bf16 ${flag}\n`,
          { ...H100, 'hardware.gpus': 8 },
        )
      ).estimate === undefined;
    assert.equal(await decided(''), false);
    for (const flag of ['--lora', '--with_lora', '--enable_lora 1', '--prompt_tuning'])
      assert.equal(await decided(flag), true, flag);
    assert.equal(await decided('--enable_lora 0'), false);
  });

  it('LongLoRA trains adapters unless it is asked not to', async () => {
    const run = (low: string) =>
      analyzed(
        `torchrun --nproc_per_node 8 fine-tune.py --model_name_or_path meta-llama/Llama-2-7b-hf --model_max_length 8192 --low_rank_training ${low} ${FLAGS}\n`,
        { 'hardware.gpu': 'A100-SXM4-80GB' },
      );
    const [low, full] = [await run('True'), await run('False')];
    assert.equal(low.resolved.values['method.kind'], 'lora');
    assert.equal(full.resolved.values['method.kind'], 'full');
    const peak = (analysis: Analysis) => analysis.estimate?.peak.processBytes ?? 0;
    assert.ok(peak(low) < peak(full) * 0.6, `${peak(low)} ${peak(full)}`);
    assert.deepEqual(unread(low), []);
  });

  it('LLaVA has a vision tower and a projector', async () => {
    const run = (more: string, model = 'lmsys/vicuna-7b-v1.5') =>
      analyzed(
        `torchrun --nproc_per_node 8 llava/train/train_mem.py --model_name_or_path ${model} --vision_tower openai/clip-vit-large-patch14-336 --mm_projector_type mlp2x_gelu --model_max_length 2048 ${more} ${FLAGS}\n`,
        { 'hardware.gpu': 'A100-SXM4-80GB' },
      );
    const trained = async (more: string) => {
      const { estimate, resolved } = await run(more);
      assert.equal(resolved.values['model.id'], 'llava-hf/llava-1.5-7b-hf');
      return estimate?.model.trainableParameters ?? 0;
    };
    // Two linear layers with biases: 1024 x 4096 + 4096 x 4096.
    assert.equal(await trained('--tune_mm_mlp_adapter True'), 1024 * 4096 + 4096 + 4096 * 4096 + 4096);
    const full = await trained('');
    assert.ok(full > 6.7e9 && full < 6.8e9, String(full));
    // Rank 128 in the seven linear layers of 32 layers, and the projector.
    const rank = 128 * 32 * (4 * (4096 + 4096) + 3 * (4096 + 11008));
    assert.equal(
      await trained('--lora_enable True --lora_r 128'),
      rank + 1024 * 4096 + 4096 + 4096 * 4096 + 4096,
    );
    const other = await run('', 'Qwen/Qwen2.5-7B');
    assert.deepEqual(unread(other), []);
  });

  it('with a tower that is not modelled fits in no case, and nobody calls its projector nothing', async () => {
    for (const flag of ['vision_tower', 'vision_encoder']) {
      const { problems, estimate } = await analyzed(
        `torchrun llava/train/train_mem.py --model_name_or_path Qwen/Qwen2.5-0.5B --${flag} x --mm_projector_type linear --tune_mm_mlp_adapter True --model_max_length 512 ${FLAGS}\n`,
        H100,
      );
      assert.deepEqual(estimate?.unmodelled, ['vision-tower']);
      assert.equal(estimate?.verdict, 'unknown');
      const found = problems.map(({ code }) => code);
      assert.ok(found.includes('feature-not-modelled'), found.join());
      assert.ok(!found.includes('nothing-trained'), found.join());
    }
  });
});

describe('a script that nobody knows', () => {
  const RECIPE = `model_name_or_path: meta-llama/Llama-3.1-8B
learning_rate: 1.0e-5
per_device_train_batch_size: 2
max_length: 2048
bf16: true
output_dir: o
`;
  const ZERO =
    'compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nnum_machines: 1\nnum_processes: 8\n';
  const files = {
    'file:///w/recipes/sft.yaml': RECIPE,
    'file:///w/acc/zero3.yaml': ZERO,
    'file:///w/notes.yaml': 'a: 1\n',
  };
  const script = 'accelerate launch --config_file acc/zero3.yaml my/run_spin.py recipes/sft.yaml --x 1\n';

  it('is joined by what its recipe is', async () => {
    const analysis = await analyzed(script, H100, files);
    assert.equal(analysis.resolved.values['zero.stage'], 3);
    assert.equal(analysis.resolved.values['model.id'], 'meta-llama/Llama-3.1-8B');
    assert.equal(analysis.resolved.values['hardware.gpus'], 8);
    assert.deepEqual(unread(analysis), ['script run_spin.py']);
    const host = new MemoryHost({ ...files, [URI]: script });
    const recipe = await new Workspace(host, { settings: () => H100 }).analyze('file:///w/recipes/sft.yaml');
    assert.equal(recipe?.resolved.values['zero.stage'], 3);
    assert.equal(recipe?.run, URI);
  });

  it('takes a recipe as its only flag', async () => {
    const analysis = await analyzed(
      'torchrun --nproc_per_node 4 tune_it.py --config recipes/sft.yaml\n',
      H100,
      files,
    );
    assert.equal(analysis.resolved.values['hardware.gpus'], 4);
    assert.equal(analysis.resolved.values['batch.micro'], 2);
  });

  it('is no config where the file is none', async () => {
    for (const text of [
      'torchrun my.py --config notes.yaml\n',
      'python serve.py missing.yaml\n',
      'python eval.py --config recipes/sft.yaml\n',
    ]) {
      const workspace = new Workspace(new MemoryHost({ ...files, [URI]: text }));
      assert.equal(await workspace.analyze(URI), undefined, text);
    }
  });
});

describe("rules of the Trainer in a script of the project's own", () => {
  it('are no errors', async () => {
    const files = {
      'file:///w/args.yaml':
        'model_name_or_path: meta-llama/Llama-3.1-8B\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 16\nmax_length: 512\noutput_dir: o\ndeepspeed: ds.json\nmy_own_rate: 1\n',
      'file:///w/ds.json': '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}}',
    };
    const own = await analyzed('deepspeed src/train_lomo.py args.yaml\n', H100, files);
    assert.deepEqual(errors(own), []);
    const known = await analyzed(
      'accelerate launch examples/scripts/sft.py --config args.yaml\n',
      H100,
      files,
    );
    assert.deepEqual(
      errors(known).map(({ code }) => code),
      ['cross-file-conflict'],
    );
  });

  it('are none of a loop that has a batch of its own', async () => {
    const conflicts = async (batch: string) => {
      const launch = `accelerate launch --use_deepspeed --deepspeed_config_file ds.json train_video.py --model_name_or_path gpt2 --learning_rate 1e-5 --max_grad_norm 0.05 --output_dir o ${batch} 1\n`;
      const files = { 'file:///w/ds.json': '{"gradient_clipping": 1.0, "zero_optimization": {"stage": 3}}' };
      const { problems } = await analyzed(launch, H100, files);
      return problems.filter(({ code }) => code === 'cross-file-conflict').length;
    };
    assert.equal(await conflicts('--train_batch_size'), 0);
    assert.equal(await conflicts('--per_device_train_batch_size'), 1);
  });

  it('take the modules by another name', async () => {
    const { resolved } = await analyzed(
      'python3 training/dpo_training.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 4 --use_peft True --target_modules all --lora_rank 8 --max_length 512\n',
      H100,
    );
    assert.deepEqual(resolved.values['lora.targets'], ['all-linear']);
    assert.equal(resolved.values['lora.rank'], 8);
  });
});

describe('a config that a script writes', () => {
  const write = (stage: number) =>
    `cat > ds.json << EOF\n{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": ${stage}}}\nEOF\n`;
  const start =
    'deepspeed --num_gpus 8 train.py --deepspeed ./ds.json --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --max_length 512 --bf16\n';
  const whole = (condition: string, first: number, second: number, middle = 'else') =>
    analyzed(`if ${condition}; then\n${write(first)}${middle}\n${write(second)}fi\n${start}`, H100);

  const branches = (analysis: Analysis) => unread(analysis).filter((text) => text.startsWith('branch'));

  it('hangs on the condition that decides which one it is', async () => {
    const other = await whole('[ "$MODE" != a ]', 3, 2);
    assert.deepEqual(branches(other), ['branch [ "$MODE" != a ]']);
    assert.equal(other.resolved.values['zero.stage'], 3, 'of the way that is taken, not of the last');
    const elif = await whole('[ "$1" = a ]', 3, 2, 'elif [ "$1" = b ]; then');
    assert.equal(branches(elif).length, 1);
  });

  it('is known where the script settles it, or both ways write the same', async () => {
    for (const [condition, second] of [
      ['[ 1 = 1 ]', 2],
      ['[ "$MODE" = a ]', 3],
    ] as const) {
      const settled = await whole(condition, 3, second);
      assert.deepEqual(branches(settled), []);
      assert.equal(settled.resolved.values['zero.stage'], 3);
    }
  });
});

describe("NeMo's launcher", () => {
  it('starts the config of a stage, with values over it', async () => {
    const config = `run: {name: x}
trainer: {num_nodes: 1, devices: 8, precision: bf16}
model:
  micro_batch_size: 1
  global_batch_size: 128
  encoder_seq_length: 8192
  num_layers: 32
  hidden_size: 4096
  num_attention_heads: 32
  tensor_model_parallel_size: 1
  pipeline_model_parallel_size: 1
  data: {data_impl: mmap}
`;
    const script = `python3 \${LAUNCHER:-/opt/x}/launcher_scripts/main.py training=llama/llama3_8b stages=[training] training.trainer.num_nodes=2 training.model.tensor_model_parallel_size=4 +training.model.optim.lr=1\n`;
    const { resolved } = await analyzed(script, H100, {
      'file:///w/launcher_scripts/conf/training/llama/llama3_8b.yaml': config,
    });
    assert.equal(resolved.values['hardware.gpus'], 16);
    assert.equal(resolved.values['parallel.tensor'], 4);
    assert.equal(resolved.values['batch.sequence'], 8192);
  });
});
