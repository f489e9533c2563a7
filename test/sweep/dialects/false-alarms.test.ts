import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { ConfigNode } from '../../../server/src/config/node';
import { parseConfig } from '../../../server/src/config/parse';
import type { Range } from '../../../server/src/text/place';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

/** A file in a workspace of its own; nothing where it is no training config. */
function analyzed(name: string, text: string) {
  const uri = `file:///w/${name}`;
  return new Workspace(new MemoryHost({ [uri]: text }, { folders: ['file:///w'] })).analyze(uri);
}

/** Problems of one config in a workspace of its own, as `code severity`. */
async function reported(name: string, text: string): Promise<string[]> {
  const analysis = await analyzed(name, text);
  assert.ok(analysis, name);
  return analysis.problems
    .filter(({ severity, code }) => severity !== 'information' && code !== 'unknown-model')
    .map(({ code, severity }) => `${code} ${severity}`);
}
const D = '$';

/** Places of all scalars, as far down as they go. */
function scalarsOf(node: ConfigNode): Range[] {
  if (node.kind === 'map') return node.entries.flatMap(({ value }) => scalarsOf(value));
  if (node.kind === 'list') return node.items.flatMap(scalarsOf);
  return [node.range];
}

/** Configs of families that read YAML or JSON; Oomlint's own takes no templates. */
const RECIPES = ['test/fixtures/configs', 'examples']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => path.join(folder, name)),
  )
  .filter((file) => /\.(ya?ml|json)$/.test(file) && !/(oomlint[^/]*|configs\/run)\.ya?ml$/.test(file));

/** What published configs have and their frameworks take without a word. */
describe('no false alarm', () => {
  for (const file of RECIPES)
    it(`about what a template fills in, at any value of ${file}`, async () => {
      const text = readFileSync(file, 'utf8');
      const { root } = parseConfig(file, text);
      assert.ok(root, file);
      const whole = TextDocument.create(`file:///w/${path.basename(file)}`, 'text', 1, text);
      for (const range of scalarsOf(root)) {
        const place = { start: { ...range.start }, end: { ...range.end } };
        if (place.start.line !== place.end.line) continue;
        for (const placeholder of [`"${D}{mine.value}"`, '"{{ value }}"']) {
          const filled = TextDocument.applyEdits(whole, [{ range: place, newText: placeholder }]);
          const workspace = new Workspace(
            new MemoryHost({ [whole.uri]: filled }, { folders: ['file:///w'] }),
          );
          const problems = (await workspace.analyze(whole.uri))?.problems ?? [];
          const there = problems.filter(
            ({ severity, range: at }) =>
              severity === 'error' &&
              at.start.line === place.start.line &&
              at.start.character >= place.start.character,
          );
          assert.deepEqual(
            there.map(({ message }) => message),
            [],
            `${filled.split('\n')[place.start.line]}`,
          );
        }
      }
    });

  it('about words of a command that YAML would read otherwise', async () => {
    const text = `NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --max_length 512 --eval_strategy no \\
  --gradient_checkpointing_kwargs '{"use_reentrant": false}'\n`;
    assert.deepEqual(await reported('run.sh', text), []);
  });

  it('about tuners that a plugin registers', async () => {
    const flags = 'swift sft --model Qwen/Qwen3-8B --max_length 512 --tuner_type mine';
    assert.deepEqual(await reported('run.sh', `${flags} --external_plugins mine.py\n`), []);
    assert.deepEqual(await reported('run.sh', `${flags}\n`), ['wrong-type warning']);
  });

  it('about dots that stand in the place of a value', async () => {
    const text = (value: string) =>
      `torchrun --nproc_per_node 8 mine.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 True --save_strategy no --max_length ${value} --deepspeed ${value}\n`;
    assert.deepEqual(await reported('run.sh', text('...')), []);
    assert.ok((await reported('run.sh', text('many'))).includes('wrong-type warning'));
  });

  it("about flags of a script that resemble the Trainer's", async () => {
    const text =
      'torchrun --nproc_per_node 8 mine.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 True --use_pefts 1\n';
    assert.deepEqual(await reported('run.sh', text), ['unknown-key hint']);
  });

  it('about lists of values that DeepSpeed searches through', async () => {
    const text = (enabled: boolean) =>
      JSON.stringify({
        zero_optimization: { stage: [0, 1, 2, 3] },
        train_micro_batch_size_per_gpu: [1, 2],
        autotuning: { enabled },
      });
    assert.deepEqual(await reported('ds.json', text(true)), []);
    assert.ok((await reported('ds.json', text(false))).includes('wrong-type error'));
  });

  it('about modules that a YAML file gives in brackets', async () => {
    const text = (modules: string) =>
      `MODEL_ARGS:
  --num-layers: 12
  --hidden-size: 512
  --num-attention-heads: 8
  --seq-length: 1024
  --micro-batch-size: 1
  --recompute-granularity: selective
  --recompute-modules: "${D}{x}${modules}"
`.replace(`${D}{x}`, '');
    const of = async (modules: string) => {
      const found = await reported('model_config.yaml', text(modules));
      return found.filter((problem) => problem.startsWith('unknown-module'));
    };
    assert.deepEqual(await of('[layernorm mla_up_proj mlp moe_act]'), []);
    // No release of Megatron-Core is named: a newer one may know it.
    assert.deepEqual(await of('[layernorm mla_up]'), ['unknown-module warning']);
  });

  it('about keys that an underscore takes out of use, and values that are still to come', async () => {
    const automodel = `model: {_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path: gpt2}
step_scheduler: {global_batch_size: 8, local_batch_size: 1, max_steps: ???}
dataset: {seq_length: 512}
_validation_dataset: {a: 1}
kd_loss_fn: {_target_: x}
distributed: {strategy: fsdp2}
`;
    assert.deepEqual(await reported('a.yaml', automodel), []);
  });

  it('about a path that the environment fills in', async () => {
    const text = `base_model: gpt2\nsequence_len: 512\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\ndatasets: []\ndeepspeed: ${D}{DEEPSPEED}\n`;
    const found = await reported('axolotl.yaml', text);
    assert.ok(!found.some((problem) => problem.startsWith('missing-file')), found.join());
  });

  it('about GPUs that the start of the run gives anew', async () => {
    const text = `NNODES=${D}WORLD_SIZE megatron sft --model Qwen/Qwen3-30B-A3B --max_length 512 --pipeline_model_parallel_size 2\n`;
    const found = await reported('run.sh', text);
    assert.ok(!found.some((problem) => problem.startsWith('world-size')), found.join());
  });
});

describe('a script with places to fill in', () => {
  it('reports it, instead of what the shell makes of them', async () => {
    const text = `export ROOT=<your_path>\ntorchrun --nproc_per_node 8 mine.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 True\n`;
    assert.deepEqual(await reported('run.sh', text), ['placeholder warning']);
  });

  it('about recipes for a script with arguments of its own, which have words of TRL, too', async () => {
    const own = (lines: string) => `model_name_or_path: meta-llama/Llama-2-7b-hf
per_device_train_batch_size: 16
learning_rate: 5.0e-4
output_dir: out
dataset_name: wic
lora_r: 2
${lines}`;
    assert.deepEqual(
      await reported(
        'args.yaml',
        own('refresh: false\ndata_tag: base\nlora_only: false\nhf_learning_rate: 0.01\n'),
      ),
      [],
    );
    // Recipes of TRL have arguments of their scripts, too.
    assert.deepEqual(
      await reported('sft.yaml', own('packing: true\nmax_length: 2048\nmy_flag: 1\nmy_other: 2\n')),
      ['dead-key warning'],
    );
  });

  it('about recipes of tools that have words of Axolotl or of TRL, and a word of their own for the adapter', async () => {
    const lora = 'lora_r: 16\nlora_alpha: 32\nlora_dropout: 0.05\n';
    const tuner = (lines: string) => `base_model: gpt2\nmicro_batch_size: 1\n${lora}${lines}`;
    const other = tuner('prompt_template: chat\ndataset_rows: 95\nepochs: 16\ntrain_on_inputs: false\n');
    assert.equal(await analyzed('info.yaml', other), undefined);
    const loop = `base_model: gpt2\nbf16: true\nmax_steps: 100\n${lora}data_file: a.jsonl\nlr: 0.1\nis_qlora: true\n`;
    assert.equal(await analyzed('loop.yaml', loop), undefined);
    const own = await reported('axolotl.yaml', tuner('datasets: [{path: a}]\nsequence_len: 512\n'));
    assert.ok(own.includes('dead-key warning'), own.join());
    const series = 'prediction_length: 24\ncontext_length: 512\nfinetune_mode: lora\n';
    const script = `model_name_or_path: gpt2\nlearning_rate: 0.1\n${lora}${series}`;
    assert.deepEqual(await reported('recipe.yaml', `${script}gradient_accumulation_steps: 2\n`), []);
    assert.equal(await analyzed('recipe.yaml', `${script}num_steps: 5000\n`), undefined);
  });

  it('about arguments of other tools that have words of DeepSpeed', async () => {
    const diffusion = {
      model_family: 'sdxl',
      model_type: 'lora',
      resolution: 1024,
      optimizer: 'adamw_bf16',
      lr_scheduler: 'constant',
      gradient_accumulation_steps: 1,
      train_batch_size: 1,
    };
    assert.equal(await analyzed('config.json', JSON.stringify(diffusion)), undefined);
    const neox = {
      'pipe-parallel-size': 1,
      'model-parallel-size': 1,
      'num-layers': 24,
      'hidden-size': 2048,
      'num-attention-heads': 16,
      'seq-length': 2048,
      zero_optimization: { stage: 1 },
      fp16: { fp16: true, enabled: true },
      train_micro_batch_size_per_gpu: 1,
    };
    assert.deepEqual(await reported('tune.json', JSON.stringify(neox)), []);
  });

  it('about words of a JSON template that a script replaces', async () => {
    const text =
      '{"train_batch_size": CONFIG_GBSIZE, "train_micro_batch_size_per_gpu": CONFIG_MBSIZE,\n "zero_optimization": {"stage": ZERO_STAGE}}';
    assert.deepEqual(await reported('ds_config_TEMPLATE.json', text), []);
    // A slip is no template.
    assert.deepEqual(await reported('ds.json', '{"zero_optimization": {"stage": TWO}}'), ['syntax error']);
  });

  it('about null where a flag is off, and a length is left to the script', async () => {
    const nemo = `model:
  mcore_gpt: true
  micro_batch_size: 1
  global_batch_size: 8
  tensor_model_parallel_size: 1
  encoder_seq_length: 2048
  num_layers: 12
  hidden_size: 768
  num_attention_heads: 12
  ffn_hidden_size: 3072
  use_flash_attention: null
trainer:
  devices: 8
  num_nodes: 1
  precision: bf16
`;
    assert.ok(!(await reported('gpt.yaml', nemo)).some((problem) => problem.startsWith('wrong-type')));
    assert.ok(
      (await reported('ds.json', '{"zero_optimization": {"stage": 2, "overlap_comm": 3.5}}')).length > 0,
    );
  });

  it('about processes that a submitter counts', async () => {
    const flags =
      '--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 8 --tensor-model-parallel-size 8';
    assert.deepEqual(await reported('run.sh', `srun python -u pretrain_gpt.py ${flags}\n`), []);
    assert.deepEqual(
      await reported('run.sh', `ray job submit -- python3 train.py --actor-num-nodes 8 ${flags}\n`),
      [],
    );
    assert.deepEqual(await reported('run.sh', `python -u pretrain_gpt.py ${flags}\n`), ['world-size error']);
    // Several options on a line, with words of a template between them.
    const slurm = `#!/bin/bash\n#SBATCH <OPTIONS> --nodes=2 --exclusive --ntasks-per-node=8 # two\nsrun sh -c "python -u pretrain_gpt.py ${flags}"\n`;
    assert.deepEqual(await reported('job.sh', slurm), []);
  });

  it('about files of another checkout, of a submodule, or that the script makes', async () => {
    const recipe = (file: string) => `model_name_or_path: gpt2
stage: sft
do_train: true
finetuning_type: lora
dataset: mine
template: default
cutoff_len: 512
output_dir: out
per_device_train_batch_size: 1
deepspeed: ${file}
`;
    const problems = async (files: Record<string, string>, uri: string) => {
      const workspace = new Workspace(new MemoryHost(files, { folders: ['file:///w'] }));
      return (await workspace.analyze(uri))?.problems
        .filter(({ code }) => code === 'missing-file')
        .map(({ severity }) => severity);
    };
    const at = 'file:///w/recipes/sft.yaml';
    const of = (file: string, more = {}) => problems({ ...more, [at]: recipe(file) }, at);
    assert.deepEqual(await of('examples/deepspeed/ds_z3_config.json'), ['information']);
    assert.deepEqual(await of('z3.json'), ['warning']);
    assert.deepEqual(await of('recipes/z3.json'), ['warning']);
    // A slip in the name of a folder that is here.
    assert.deepEqual(await of('recipse/z3.json'), ['warning']);
    const script = (file: string) =>
      `sed "s/A_B/1/" template.json | sed "s/C_D/2/" > made.json\ndeepspeed train.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --deepspeed ${file}\n`;
    const run = 'file:///w/run.sh';
    assert.deepEqual(await problems({ [run]: script('made.json') }, run), []);
    assert.deepEqual(await problems({ [run]: script('other.json') }, run), ['warning']);
  });

  it('about clipping beside an optimizer that a script may give itself, but a warning', async () => {
    const text = JSON.stringify({
      zero_optimization: { stage: 1 },
      optimizer: { type: 'Adam', params: { max_grad_norm: 1 } },
    });
    const found = await reported('ds.json', text);
    assert.deepEqual(
      found.filter((problem) => problem.startsWith('max-grad-norm')),
      ['max-grad-norm warning'],
    );
  });

  it("about a trainer of the project's own, whose arguments nobody knows", async () => {
    const recipe = `model_name_or_path: meta-llama/Llama-2-7b-hf
per_device_train_batch_size: 16
learning_rate: 5.0e-4
output_dir: out
deepspeed: ds.json
`;
    const conflict = async (more: string) => {
      const uri = 'file:///w/args.yaml';
      const ds = '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 2}';
      const host = new MemoryHost({ [uri]: `${recipe}${more}`, 'file:///w/ds.json': ds });
      const analysis = await new Workspace(host).analyze(uri);
      return analysis?.problems.find(({ code }) => code === 'cross-file-conflict')?.severity;
    };
    assert.equal(await conflict(''), 'error');
    assert.equal(await conflict('refresh: false\ndata_tag: base\nlora_only: false\n'), 'information');
  });

  it('about members of an enumeration, and a file that a template beside it makes', async () => {
    const optim = 'transformers.training_args.OptimizerNames.ADAMW_BNB';
    const args = `{"per_device_train_batch_size": 1, "output_dir": "o", "optim": "${optim}"}`;
    assert.deepEqual(await reported('args.json', args), []);
    const run = 'file:///w/run.sh';
    const launch =
      'deepspeed train.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --deepspeed ds_config.json\n';
    const missing = async (files: Record<string, string>) =>
      (await new Workspace(new MemoryHost({ [run]: launch, ...files })).analyze(run))?.problems.find(
        ({ code }) => code === 'missing-file',
      )?.severity;
    assert.equal(await missing({}), 'warning');
    assert.equal(await missing({ 'file:///w/ds_config_TEMPLATE.json': '{}' }), 'information');
    const words = '{"train_batch_size": GBSIZE, "zero_optimization": {"stage": ZERO_STAGE}}';
    assert.deepEqual(await reported('ds_config_TEMPLATE.json', words), []);
  });
});

describe('what trains nothing', () => {
  const taken = async (name: string, text: string) => {
    const uri = `file:///w/${name}`;
    return (await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri))?.dialect.id;
  };

  it('is no config of torchtune: evaluation, generation, quantization', async () => {
    const model = 'model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\n';
    assert.equal(
      await taken('evaluation.yaml', `${model}tasks: ["truthfulqa_mc2"]\nbatch_size: 8\n`),
      undefined,
    );
    assert.equal(
      await taken('generation.yaml', `${model}prompt: {user: hi}\nmax_new_tokens: 300\n`),
      undefined,
    );
    const quantizer =
      'quantizer:\n  _component_: torchtune.training.quantization.Int8DynActInt4WeightQATQuantizer\n';
    assert.equal(await taken('quantization.yaml', `${model}${quantizer}`), undefined);
    const optimizer = 'optimizer:\n  _component_: torch.optim.AdamW\n';
    assert.equal(await taken('qat.yaml', `${model}${quantizer}${optimizer}batch_size: 2\n`), 'torchtune');
  });

  it('is no run of LLaMA-Factory, verl, Megatron or a script of HF arguments', async () => {
    const recipe =
      'model_name_or_path: gpt2\nstage: sft\nfinetuning_type: lora\ntemplate: llama3\ncutoff_len: 2048\n';
    assert.equal(await taken('predict.yaml', `${recipe}do_predict: true\n`), undefined);
    assert.equal(await taken('both.yaml', `${recipe}do_train: true\ndo_predict: true\n`), 'llama-factory');
    const verl =
      'python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8';
    assert.equal(await taken('evaluate.sh', `${verl} +trainer.val_only=true\n`), undefined);
    assert.equal(await taken('train.sh', `${verl}\n`), 'launch-script');
    const megatron =
      '--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1';
    assert.equal(
      await taken('m.sh', `torchrun tasks/msdp/main.py --task MSDP-EVAL-F1 ${megatron}\n`),
      undefined,
    );
    assert.equal(
      await taken('e.sh', 'python loss.py --model_name_or_path gpt2 --do_eval --bf16\n'),
      undefined,
    );
  });
});
