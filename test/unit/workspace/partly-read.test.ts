import assert from 'node:assert/strict';
import { supplyActions } from '../../../server/src/features/supply';
import { supplyExamples } from '../../../server/src/workspace/verdict';
import { smallWorkspace } from './small-workspace';

const FLAGS =
  '--model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 1 --bf16 True --model_max_length 2048 --data_path d.json';

async function read(text: string, name = 'run.sh', files: Record<string, string> = {}) {
  const analysis = await smallWorkspace({ ...files, [name]: `# oomlint: gpu=H100 gpus=8\n${text}` }).analyze(
    name,
  );
  const { problems, estimate, resolved, unread = [] } = analysis;
  return {
    problems,
    verdict: estimate?.verdict,
    unknown: resolved.unknown.map(({ field }) => field),
    unread: unread.map(({ kind, text }) => `${kind} ${text}`),
    values: resolved.values,
  };
}

describe('runs that are read in part', () => {
  it('have no micro batch where the script states it by a variable that nobody sets', async () => {
    const megatron =
      'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --global-batch-size 512 --bf16 --vocab-size 50000';
    assert.equal((await read(`${megatron}\n`)).values['batch.micro'], 64);
    const { unknown, verdict } = await read(`${megatron} --micro-batch-size $MBS\n`);
    assert.deepEqual(unknown, ['batch.micro']);
    assert.equal(verdict, undefined);
  });

  it('have no verdict where a flag of the script itself decides how the model is shared', async () => {
    const shared = await read(`deepspeed main.py ${FLAGS} --ds_zero_stage 2\n`);
    assert.deepEqual(shared.unknown, ['parallel.data']);
    assert.equal((await read(`deepspeed main.py ${FLAGS} --ds_zero_stage 0\n`)).verdict !== undefined, true);
    assert.equal(
      (await read(`torchrun --nproc_per_node 8 main.py ${FLAGS} --use_fsdp True\n`)).verdict,
      undefined,
    );
    assert.equal(
      (await read(`torchrun --nproc_per_node 8 main.py ${FLAGS} --use_fsdp False\n`)).unknown.length,
      0,
    );
  });

  it('count a script of a known name as somebody’s own where it has more flags', async () => {
    const start = `torchrun --nproc_per_node 8 medusa/train/train.py ${FLAGS}`;
    assert.deepEqual((await read(`${start} --lazy_preprocess True --cache_dir c\n`)).unread, []);
    assert.deepEqual((await read(`${start} --medusa_num_heads 3\n`)).unread, [
      'flag --medusa_num_heads',
      'script train.py',
    ]);
  });

  it('count no flag of Megatron that shapes no tensor, and name whose one is that may', async () => {
    const { analyze } = smallWorkspace({
      'a.sh':
        'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 8 --bf16 --vocab-size 50257 --tokenizer-type NullTokenizer --tensor-model-parallel-size 8 --finetune --no-load-optim --exit-duration-in-mins 230 --distributed-timeout-minutes 60 --apply-layernorm-1p --fp8-param-gather --own-norm 2\n',
    });
    const unread = (await analyze('a.sh')).unread ?? [];
    assert.deepEqual(
      unread.map(({ message }) => message),
      [
        'What `--fp8_param_gather` of Megatron-LM changes is not counted.',
        '`--own_norm` is a flag of the script itself: what it changes is not counted.',
      ],
    );
  });

  it('take what stands there by default for no word that is not known', async () => {
    const { unread } = await read(
      `torchrun --nproc_per_node 8 fastchat/train/train.py ${FLAGS} --max_steps -1\n`,
    );
    assert.deepEqual(unread, []);
  });
});

describe('what trains otherwise', () => {
  it('never fits with a teacher, a drafter or a critic that a script of its own loads', async () => {
    const start = `accelerate launch --num_processes 8 distill.py ${FLAGS} --fsdp full_shard`;
    const features = async (flag: string) =>
      (await read(`${start} ${flag}\n`)).values['features.unmodelled'] ?? [];
    for (const flag of [
      '--teacher_model_name_or_path Qwen/Qwen2.5-72B',
      '--ref_model meta-llama/Llama-2-7b-hf',
      '--critic_model_path c',
    ]) {
      assert.deepEqual(await features(flag), ['model-beside'], flag);
      assert.notEqual((await read(`${start} ${flag}\n`)).verdict, 'fits', flag);
    }
    for (const flag of [
      '--reward_model http://judge:8000',
      '--ref_model none',
      '--reward_path reward.py',
      '--ref 3',
    ])
      assert.deepEqual(await features(flag), [], flag);
  });

  it('never fits beside a model that a script puts on the GPU and whose size is not known', async () => {
    const judged = async (gpu: string, first: string) => {
      const text = `# oomlint: gpu=${gpu} gpus=1 sequence=512
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from unsloth import FastLanguageModel
${first}
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=32), train_dataset=rows).train()
print(judge)
`;
      const { estimate } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
      return estimate?.verdict;
    };
    const large = 'A100-SXM4-80GB';
    assert.equal(await judged(large, 'judge = None'), 'fits');
    for (const load of [
      'FastLanguageModel.from_pretrained("unsloth/Qwen3-32B")',
      'AutoModelForCausalLM.from_pretrained("somebody/judge", device_map="auto")',
      'AutoModelForCausalLM.from_pretrained("somebody/judge").to(where())',
    ]) {
      assert.equal(await judged(large, `judge = ${load}`), 'unknown', load);
      assert.equal(await judged('T4', `judge = ${load}`), 'exceeds', load);
    }
    assert.equal(
      await judged(large, 'judge = AutoModelForCausalLM.from_pretrained("somebody/judge")'),
      'fits',
    );
  });

  it('never fits, nor exceeds, with layers that the script makes anew', async () => {
    const judged = async (gpu: string, layers: string) => {
      const text = `# oomlint: gpu=${gpu} gpus=1 sequence=512
from torch import nn
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("gpt2")
${layers}
Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=32), train_dataset=rows).train()
`;
      return (await smallWorkspace({ 'train.py': text }).analyze('train.py')).estimate?.verdict;
    };
    const anew = 'model.transformer.h = nn.ModuleList([Block(i) for i in range(depth)])';
    assert.equal(await judged('A100-SXM4-80GB', 'model.train()'), 'fits');
    assert.equal(await judged('A100-SXM4-80GB', anew), 'unknown');
    assert.equal(await judged('T4', anew), 'unknown');
  });

  it('is a task of ms-swift whose rows only the data knows', async () => {
    const start =
      'NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-4B --train_type full --max_length 2048 --deepspeed zero3';
    for (const task of ['embedding', 'reranker', 'generative_reranker']) {
      const { unknown, verdict } = await read(`${start} --task_type ${task}\n`);
      assert.deepEqual(unknown, ['method.kind'], task);
      assert.equal(verdict, undefined, task);
    }
    assert.deepEqual((await read(`${start} --task_type seq_cls --num_labels 2\n`)).unknown, []);
  });

  it('is a head or a loss that Axolotl is given', async () => {
    const config = (lines: string) =>
      read(
        `base_model: meta-llama/Llama-3.1-8B\nsequence_len: 2048\nmicro_batch_size: 1\ndatasets: [{path: d, type: alpaca}]\n${lines}`,
        'a.yml',
      );
    const objective = async (lines: string) => (await config(lines)).values['method.objective'];
    assert.equal(await objective('process_reward_model: true\n'), 'token-classification');
    assert.equal(await objective('model_type: AutoModelForSequenceClassification\n'), 'classification');
    assert.equal(await objective('model_type: AutoModelForCausalLM\n'), 'lm');
    for (const lines of [
      'plugins: [axolotl.integrations.kd.KDPlugin]\nkd_trainer: true\n',
      'plugins: [axolotl.integrations.diffusion.DiffusionPlugin]\n',
    ])
      assert.deepEqual((await config(lines)).unknown, ['method.kind'], lines);
    assert.deepEqual((await config('plugins: [axolotl.integrations.liger.LigerPlugin]\n')).unknown, []);
  });
});

describe('verl without a micro batch', () => {
  const config = (actor: string) => `actor_rollout_ref:
  model:
    path: Qwen/Qwen2.5-7B
  actor:
    strategy: fsdp
    ppo_mini_batch_size: 256
${actor}
  rollout:
    name: vllm
data:
  max_prompt_length: 512
  max_response_length: 512
trainer:
  n_gpus_per_node: 8
  nnodes: 1
`;

  it('does not start, so that there is nothing to judge', async () => {
    const open = await read(config('    ppo_micro_batch_size_per_gpu: null'), 'ppo.yaml');
    assert.deepEqual(open.unknown, ['batch.micro']);
    for (const stated of [
      'ppo_micro_batch_size_per_gpu: 4',
      'use_dynamic_bsz: true',
      'ppo_micro_batch_size: 64',
    ])
      assert.deepEqual((await read(config(`    ${stated}`), 'ppo.yaml')).unknown, [], stated);
  });

  it('takes the engine by the name that it had until 0.4', async () => {
    const text = config('    ppo_micro_batch_size_per_gpu: 4').replace('vllm', 'sglang_async');
    assert.deepEqual(
      (await read(text, 'ppo.yaml')).problems.filter(({ severity }) => /error|warning/.test(severity)),
      [],
    );
  });
});

describe('the micro batch of verl over all GPUs', () => {
  it('is divided among data-parallel ranks', async () => {
    const micro = async (actor: string) =>
      (
        await read(
          `actor_rollout_ref:
  model:
    path: Qwen/Qwen2.5-7B
  actor:
    ppo_micro_batch_size: 64
${actor}
trainer:
  n_gpus_per_node: 8
  nnodes: 1
`,
          'ppo.yaml',
        )
      ).values['batch.micro'];
    assert.equal(await micro('    strategy: fsdp'), 8);
    assert.equal(await micro('    strategy: fsdp\n    ulysses_sequence_parallel_size: 2'), 16);
    assert.equal(
      await micro('    strategy: megatron\n    megatron:\n      tensor_model_parallel_size: 4'),
      32,
    );
  });
});

describe('PPO of OpenRLHF without Ray', () => {
  const FLAGS_OF_PPO =
    '--pretrain meta-llama/Meta-Llama-3-8B --reward_pretrain OpenRLHF/Llama-3-8b-rm-mixture --micro_train_batch_size 1 --zero_stage 2 --bf16 --adam_offload';

  it('holds policy, critic, reference and reward model on every GPU of the launcher', async () => {
    const { values } = await read(`deepspeed --num_gpus 4 --module openrlhf.cli.train_ppo ${FLAGS_OF_PPO}\n`);
    assert.equal(values['method.referenceModel'], true);
    assert.equal(values['method.valueModel'], true);
    assert.equal(values['method.frozenModels'], 1);
    assert.equal(values['rollout.engine'], 'transformers');
    assert.deepEqual(values['features.unmodelled'], ['rollout-buffers']);
    const critic = await read(
      `deepspeed --module openrlhf.cli.train_ppo ${FLAGS_OF_PPO} --advantage_estimator rloo --remote_rm_url http://rm\n`,
    );
    assert.equal(critic.values['method.valueModel'], false);
    assert.equal(critic.values['method.frozenModels'] ?? 0, 0);
  });

  it('over Ray gives each model GPUs of its own', async () => {
    const { values } = await read(
      `python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 4 ${FLAGS_OF_PPO}\n`,
    );
    assert.equal(values['method.referenceModel'], false);
    assert.equal(values['method.valueModel'], false);
  });
});

describe('a config of a package that is not here', () => {
  it('is no missing file', async () => {
    for (const place of ['pkg://verl/trainer/config', 'file://verl/verl/trainer/config']) {
      const text = `hydra:\n  searchpath:\n    - ${place}\ndefaults:\n  - ppo_trainer\n  - _self_\nactor_rollout_ref:\n  actor:\n    ppo_micro_batch_size_per_gpu: 1\n`;
      const missing = (problems: Awaited<ReturnType<typeof read>>['problems']) =>
        problems.find(({ code }) => code === 'missing-file')?.severity;
      assert.equal(missing((await read(text, 'config/own.yaml')).problems), 'information', place);
      const here = {
        'verl/trainer/config/other.yaml': 'a: 1\n',
        'verl/verl/trainer/config/other.yaml': 'a: 1\n',
      };
      assert.equal(missing((await read(text, 'config/own.yaml', here)).problems), 'warning', place);
    }
  });
});

describe('values that a branch of a program decides', () => {
  it('are no fault of the program', async () => {
    const text = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
import sys
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
settings = dict(output_dir="out", per_device_train_batch_size=1)
if sys.argv[1] == "fp16":
    settings["fp16"] = True
if sys.argv[1] == "bf16":
    settings["bf16"] = True
trainer = Trainer(model=model, args=TrainingArguments(**settings), train_dataset=data)
trainer.train()
`;
    const codes = async (source: string) => (await read(source, 'train.py')).problems.map(({ code }) => code);
    assert.equal((await codes(text)).includes('two-precisions'), false);
    assert.equal((await codes(text.replace(/if sys.*\n {4}/g, ''))).includes('two-precisions'), true);
  });
});

const TOP = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

const ON_COLAB = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model=model, args=TrainingArguments("o"), train_dataset=rows).train()
`;

describe('a GPU that a notebook asks Colab for, and another that it printed', () => {
  const analysisOf = (first: string, printed: string) => {
    const outputs = [{ output_type: 'stream', text: [`GPU = ${printed} GB.\n`] }];
    const cells = [{ cell_type: 'code', source: `${first}${ON_COLAB}`, outputs }];
    const metadata = { accelerator: 'GPU', colab: { gpuType: 'T4' } };
    return smallWorkspace({ 'a.ipynb': JSON.stringify({ cells, metadata, nbformat: 4 }) }).analyze('a.ipynb');
  };

  it('leave it open, and are the reason of that', async () => {
    const { resolved, unread = [] } = await analysisOf(
      '# oomlint: sequence=512\n',
      'NVIDIA A100-SXM4-40GB. Max memory = 39.494',
    );
    const words =
      'The notebook asks Colab for T4, and its saved output comes from another GPU (NVIDIA A100-SXM4-40GB): which one it will have is not known.';
    assert.deepEqual(
      resolved.unknown.map(({ field, reason }) => [field, reason]),
      [
        ['hardware.gpu', words],
        ['hardware.gpus', words],
      ],
    );
    assert.deepEqual(
      unread.map(({ fields }) => fields),
      [['hardware.gpu', 'hardware.gpus']],
    );
  });

  it('leave nothing open where the run states its GPU', async () => {
    const { estimate, unread = [] } = await analysisOf(
      '# oomlint: sequence=512 gpu=A100-SXM4-80GB gpus=1\n',
      'NVIDIA A100-SXM4-40GB. Max memory = 39.494',
    );
    assert.deepEqual([estimate?.verdict, unread], ['fits', []]);
  });
});

describe('a GPU that nobody names, where cells install PyTorch for those of AMD', () => {
  const install = '!pip install torch --index-url https://download.pytorch.org/whl/rocm6.4\n';
  const notebook = (metadata: object, first = install) => {
    const source = `# oomlint: sequence=512\n${first}${ON_COLAB}`;
    const cells = [{ cell_type: 'code', source, outputs: [] }];
    return smallWorkspace({ 'a.ipynb': JSON.stringify({ cells, metadata, nbformat: 4 }) }).analyze('a.ipynb');
  };

  it('has one of them as its example, wherever one is shown', async () => {
    for (const metadata of [{}, { accelerator: 'GPU', colab: { gpuType: 'T4' } }]) {
      const analysis = await notebook(metadata);
      const { resolved, problems } = analysis;
      assert.deepEqual(supplyExamples(resolved.unknown), ['gpu=MI300X', 'gpus=8'], JSON.stringify(metadata));
      const asked = problems.find(({ code }) => code === 'unknown-fields');
      assert.match(String(asked?.message), /for AMD GPUs.*gpu=MI300X gpus=8/);
      const [, directive] = supplyActions(analysis, { text: '# oomlint: sequence=512\n', range: TOP }, asked);
      assert.match(String(directive?.title), /gpu=MI300X/);
    }
    const plain = await notebook({}, '!pip install torch\n');
    assert.deepEqual(supplyExamples(plain.resolved.unknown), ['gpu=H100-SXM5-80GB', 'gpus=8']);
  });
});

describe('how many GPUs Unsloth trains on in a notebook', () => {
  const rocm = '!pip install torch --index-url https://download.pytorch.org/whl/rocm6.4\n';
  const words = 'a notebook is one process, in which Unsloth trains on one GPU';
  const text = (load: string, trainer: string, last: string) => `from unsloth import FastLanguageModel
from transformers import Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer
from accelerate import notebook_launcher
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B", max_seq_length=512${load})
model = FastLanguageModel.get_peft_model(model, r=8)
${trainer}(model=model, args=${trainer === 'Trainer' ? 'TrainingArguments' : 'SFTConfig'}("o"), train_dataset=rows)${last}
`;
  const analysisOf = async (more: {
    readonly first?: string;
    readonly load?: string;
    readonly trainer?: string;
    readonly last?: string;
    readonly name?: string;
    readonly metadata?: object;
  }) => {
    const { first = '', load = '', trainer = 'SFTTrainer', last = '.train()', name = 'a.ipynb' } = more;
    const cells = [{ cell_type: 'code', source: first + text(load, trainer, last), outputs: [] }];
    const file = name.endsWith('.py')
      ? text(load, trainer, last)
      : JSON.stringify({ cells, metadata: more.metadata ?? {}, nbformat: 4 });
    const { resolved } = await smallWorkspace({ [name]: file }).analyze(name);
    const { 'hardware.gpus': gpus } = resolved.values;
    return {
      gpus,
      note: resolved.origins['hardware.gpus']?.note,
      open: resolved.unknown.map(({ field }) => field),
    };
  };

  it('is one: in one process it makes no replicas, whichever trainer runs', async () => {
    for (const trainer of ['SFTTrainer', 'Trainer'])
      assert.deepEqual(await analysisOf({ trainer }), { gpus: 1, note: words, open: ['hardware.gpu'] });
    const colab = { accelerator: 'GPU', colab: { gpuType: 'T4' } };
    const ofAmd = await analysisOf({ first: rocm, metadata: colab });
    assert.deepEqual(ofAmd, { gpus: 1, note: words, open: ['hardware.gpu'] });
    const seen = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n';
    assert.equal((await analysisOf({ first: seen })).gpus, 1);
    assert.equal((await analysisOf({ metadata: colab })).note, 'Colab has one GPU');
  });

  it('is not known where processes are started, or a map has the model lie on several', async () => {
    for (const open of [
      { last: '\nnotebook_launcher(trainer.train, ())' },
      { load: ', device_map="balanced"' },
      { name: 'train.py' },
    ])
      assert.equal((await analysisOf(open)).gpus, undefined, JSON.stringify(open));
  });
});

describe('a GPU that Colab calls by the name of two', () => {
  const analysisOf = (first: string) => {
    const cells = [{ cell_type: 'code', source: `${first}${ON_COLAB}`, outputs: [] }];
    const metadata = { accelerator: 'GPU', colab: { gpuType: 'A100' } };
    return smallWorkspace({ 'a.ipynb': JSON.stringify({ cells, metadata, nbformat: 4 }) }).analyze('a.ipynb');
  };

  it('is no GPU that nobody names, and there is one of it', async () => {
    const { resolved, unread = [] } = await analysisOf('# oomlint: sequence=512\n');
    assert.equal(resolved.values['hardware.gpus'], 1);
    assert.deepEqual(
      resolved.unknown.map(({ field }) => field),
      ['hardware.gpu'],
    );
    assert.match(String(resolved.unknown[0]?.reason), /`A100`, which has 40 or 80 GB/);
    assert.deepEqual(
      unread.map(({ fields }) => fields),
      [['hardware.gpu']],
    );
  });

  it('is open no more where the run states which', async () => {
    const { estimate, unread = [] } = await analysisOf('# oomlint: sequence=512 gpu=A100-SXM4-80GB\n');
    assert.deepEqual([estimate?.verdict, unread], ['fits', []]);
  });
});
