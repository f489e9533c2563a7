import assert from 'node:assert/strict';
import { joinCells } from '../../../server/src/config/python/cells';
import { ROOT, smallWorkspace } from '../workspace/small-workspace';

/** Problems of one file of a small workspace that are more than information, as `code severity`. */
async function reported(files: Readonly<Record<string, string>>, path: string): Promise<string[]> {
  const { problems } = await smallWorkspace(files).analyze(path);
  return problems
    .filter(({ severity }) => severity === 'error' || severity === 'warning')
    .map(({ code, severity }) => `${code} ${severity}`);
}

const YUAN = `torchrun --nproc_per_node 8 --nnodes 2 pretrain_yuan.py --num-layers 42 --hidden-size 8192 \\
  --num-attention-heads 64 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 \\
  --global-batch-size 1152 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 16 --bf16`;
const ENCODER = (
  gpus: number,
) => `torchrun --nproc_per_node ${gpus} pretrain_gpt.py --num-layers 12 --hidden-size 624 \
  --num-attention-heads 12 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 32 \
  --tokenizer-type NullTokenizer --vocab-size 8192 --tensor-model-parallel-size 4 --pipeline-model-parallel-size 1 \
  --encoder-pipeline-model-parallel-size 1 --encoder-tensor-model-parallel-size 3 --bf16
`;
const NEMO = (machines: string) => `trainer:
  devices: 8
${machines}  precision: bf16
exp_manager: {exp_dir: null}
model:
  mcore_gpt: true
  micro_batch_size: 1
  global_batch_size: 1024
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 8
`;

/** What public repositories hold that no rule was made for. */
describe('files of repositories that no rule was made for', () => {
  it('split layers by flags of a fork, which Megatron itself would refuse', async () => {
    assert.deepEqual(await reported({ 'a.sh': `${YUAN}\n` }, 'a.sh'), ['layers-not-divisible warning']);
    const own = `${YUAN} --pipeline-model-parallel-method block --pipeline-model-parallel-blocks 2,2,2,2,2,3,3,3,3,3,3,3,3,3,3,2\n`;
    assert.deepEqual(await reported({ 'a.sh': own }, 'a.sh'), []);
  });

  it('give an encoder GPUs of its own', async () => {
    assert.deepEqual(await reported({ 'a.sh': ENCODER(7) }, 'a.sh'), []);
    assert.deepEqual(await reported({ 'a.sh': ENCODER(8) }, 'a.sh'), ['world-size warning']);
    const files = { 'a.sh': ENCODER(7), 'oomlint.yaml': 'gpu: H100-SXM5-80GB\n' };
    const { estimate } = await smallWorkspace(files).analyze('a.sh');
    assert.equal(estimate, undefined);
  });

  it('say how many machines there are where the run is started', async () => {
    assert.deepEqual(await reported({ 'a.yaml': NEMO('') }, 'a.yaml'), []);
    assert.deepEqual(await reported({ 'a.yaml': NEMO('  num_nodes: 1\n') }, 'a.yaml'), ['world-size error']);
    assert.deepEqual(await reported({ 'a.yaml': NEMO('  num_nodes: 4\n') }, 'a.yaml'), []);
  });

  it('split checkpoints, which trains nothing', async () => {
    const text = YUAN.replace(/^.*pretrain_yuan\.py/, 'python tools/split_tp_partitions.py');
    const { workspace } = smallWorkspace({ 'a.sh': `${text}\n` });
    assert.equal(await workspace.analyze(`${ROOT}/a.sh`), undefined);
  });

  it('tell the trainer itself how the model is loaded, and keep the GPU that Colab once gave', async () => {
    const cell = (bits: string) => `from transformers import BitsAndBytesConfig, TrainingArguments
from trl import SFTTrainer
from peft import LoraConfig
how = dict(torch_dtype="auto", use_cache=False${bits})
SFTTrainer(
    model="mistralai/Mistral-7B-v0.1", model_init_kwargs=how, max_seq_length=2048, packing=True,
    args=TrainingArguments(fp16=True, gradient_checkpointing=True, per_device_train_batch_size=1),
    peft_config=LoraConfig(r=64, target_modules=["q_proj"]),
).train()`;
    const four = ', quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")';
    const analyze = async (bits: string) =>
      smallWorkspace({ 'a.ipynb': joinCells([cell(bits)], 'T4').text }).analyze('a.ipynb');
    const quantized = await analyze(four);
    assert.equal(quantized.resolved.values['quantization.kind'], 'nf4');
    const whole = await analyze('');
    assert.equal(whole.estimate?.verdict, 'exceeds');
    const problem = whole.problems.find(({ code }) => code === 'does-not-fit');
    assert.equal(problem?.severity, 'warning');
    assert.match(problem?.message ?? '', /Colab/);
  });

  it('pass names that nothing sets', async () => {
    const text = `from transformers import AutoModelForCausalLM, TrainingArguments
from trl import SFTTrainer
model = AutoModelForCausalLM.from_pretrained("gpt2")
SFTTrainer(model=model, max_seq_length=max_seq_length, args=TrainingArguments("o")).train()
`;
    const { problems, unread } = await smallWorkspace({ 'a.py': text }).analyze('a.py');
    assert.deepEqual(
      problems.filter(({ code }) => code === 'wrong-type'),
      [],
    );
    assert.ok(unread?.some((each) => each.text === 'max_seq_length=max_seq_length'));
  });

  it('name modules as the code of the model names them', async () => {
    const text = (trusts: string) => `from transformers import AutoModelForCausalLM, TrainingArguments
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
model = AutoModelForCausalLM.from_pretrained("gpt2"${trusts})
SFTTrainer(model=model, args=SFTConfig(max_length=512), peft_config=LoraConfig(target_modules=["Wqkv"])).train()
`;
    const severity = async (trusts: string) => {
      const files = { 'a.py': text(trusts), 'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 1\n' };
      const { problems } = await smallWorkspace(files).analyze('a.py');
      return problems.find(({ code }) => code === 'nothing-trained')?.severity;
    };
    assert.equal(await severity(''), 'warning');
    assert.equal(await severity(', trust_remote_code=True'), 'information');
  });

  it('have values that Hydra makes by a call', async () => {
    const text = `output_dir: out
per_device_train_batch_size: 1
learning_rate: 1.0e-5
model_name_or_path: gpt2
torch_dtype: {_target_: mine.return_torch_dtype, dtype: float16}
gradient_accumulation_steps: {_target_: mine.steps}
`;
    assert.deepEqual(await reported({ 'a.yaml': text }, 'a.yaml'), []);
    const { unread } = await smallWorkspace({ 'a.yaml': text }).analyze('a.yaml');
    assert.deepEqual(unread?.map(({ text: word }) => word).sort(), [
      'gradient_accumulation_steps',
      'torch_dtype',
    ]);
    const plain = text.replace(/\{_target_: mine.return[^}]*\}/, '{dtype: float16}');
    assert.deepEqual(await reported({ 'a.yaml': plain }, 'a.yaml'), ['wrong-type warning']);
  });

  it('are templates, or end in a place that is still to be filled in', async () => {
    const yaml =
      'run:\n  results_dir: {$results_dir}/llama\nmodel: {micro_batch_size: 1}\ntrainer: {devices: 8}\n';
    assert.deepEqual(await reported({ 'a.yaml': yaml }, 'a.yaml'), []);
    const launch =
      'torchrun train.py --model_name_or_path gpt2 --per_device_train_batch_size 1 \\\n  --output_dir <mine> \\\n';
    assert.deepEqual(await reported({ 'a.sh': launch }, 'a.sh'), ['placeholder warning']);
  });

  it('have a global batch, a model and an optimizer without being of LLM Foundry', async () => {
    const text =
      'global_train_batch_size: 256\nper_device_train_batch_size: 1\noptimizer: ADAMW_TORCH_XLA\nmodel: {name_or_path: a/b}\n';
    const { workspace } = smallWorkspace({ 'a.yaml': text });
    assert.equal(await workspace.analyze(`${ROOT}/a.yaml`), undefined);
  });

  it('call a few keys as Axolotl does, and most by names of their own', async () => {
    const mine =
      'base_model: null\nmicro_batch_size: 16\nuse_kernels: false\noptimizer_kind: adamw\nmuon_rate: 0.02\nshards: 8\npath_to_config: a.json\n';
    const { workspace } = smallWorkspace({
      'a.yaml': mine,
      'b.yaml': `${mine.slice(0, mine.indexOf('optimizer'))}sequence_len: 2048\n`,
    });
    assert.equal(await workspace.analyze(`${ROOT}/a.yaml`), undefined);
    assert.equal((await workspace.analyze(`${ROOT}/b.yaml`))?.dialect.id, 'axolotl');
  });

  it('refer to what stands in their own block', async () => {
    const own = (length: string) => `compute: {gpus: 8, gpu_type: h100_80gb}
parameters:
  max_seq_len: 8192
  model: {name: mpt_causal_lm, d_model: 512, n_heads: 8, n_layers: 2, max_seq_len: "${length}", vocab_size: 50368}
  train_loader: {name: text, dataset: {max_seq_len: "${length}"}}
  optimizer: {name: decoupled_adamw}
  max_duration: 10ba
  global_train_batch_size: 8
  device_train_microbatch_size: 1
`;
    const of = async (length: string) =>
      (await smallWorkspace({ 'a.yaml': own(length) }).analyze('a.yaml')).unread ?? [];
    assert.deepEqual(await of('${max_seq_len}'), []);
    assert.deepEqual((await of('${length}')).map(({ text }) => text).sort(), [
      'max_seq_len: ${length}',
      'max_seq_len: ${length}',
    ]);
  });

  it('give MPT experts, which are not counted', async () => {
    const mpt = (kind: string) => `max_seq_len: 2048
model: {name: mpt_causal_lm, d_model: 512, n_heads: 8, n_layers: 2, max_seq_len: 2048, vocab_size: 50368, ffn_config: {ffn_type: ${kind}, moe_num_experts: 8}}
train_loader: {name: text, dataset: {max_seq_len: 2048}}
optimizer: {name: decoupled_adamw}
max_duration: 10ba
global_train_batch_size: 8
device_train_microbatch_size: 1
`;
    const estimateOf = async (kind: string) => {
      const files = { 'a.yaml': mpt(kind), 'oomlint.yaml': 'targets: {gpu: H100, gpus: 8}\n' };
      return (await smallWorkspace(files).analyze('a.yaml')).estimate;
    };
    assert.ok(await estimateOf('mptmlp'));
    assert.equal(await estimateOf('mb_dmoe'), undefined);
    assert.equal(await estimateOf('torch_dmoe'), undefined);
  });

  it('hold keys that a framework refuses, which a changed copy of it defines', async () => {
    const neox = `{"pipe_parallel_size": 1, "model_parallel_size": 1, "num_layers": 2, "hidden_size": 512,
"num_attention_heads": 8, "seq_length": 2048, "max_position_embeddings": 2048, "train_micro_batch_size_per_gpu": 4`;
    const wordsOf = async (keys: string) =>
      ((await smallWorkspace({ 'a.yml': `${neox}${keys}}\n` }).analyze('a.yml')).unread ?? []).map(
        ({ text }) => text,
      );
    assert.deepEqual(await wordsOf(', "gd_mode": true, "ga_dataset": "/data/forget"'), ['gd_mode']);
    assert.deepEqual(await wordsOf(', "te_mha": true, "launcher": "slurm"'), []);
  });

  it("have a trainer of their own on OpenRLHF's flags", async () => {
    const unread = async (script: string, flags = '') => {
      const text = `deepspeed ${script} --pretrain meta-llama/Llama-3.1-8B --max_len 2048 --micro_train_batch_size 1 --train_batch_size 8 --bf16${flags}\n`;
      return ((await smallWorkspace({ 'a.sh': text }).analyze('a.sh')).unread ?? []).map(
        ({ text: word }) => word,
      );
    };
    assert.deepEqual(await unread('cli/denoise/train_sft.py'), ['train_sft.py']);
    assert.deepEqual(await unread('../train_sft.py'), []);
    assert.deepEqual(
      await unread('--module openrlhf.cli.train_sft', ' --pretrain_mode --max_ckpt_num 3'),
      [],
    );
    assert.deepEqual(await unread('--module openrlhf.cli.train_sft', ' --negatives 4'), ['--negatives']);
  });

  it('choose how they shard by a flag of their own', async () => {
    const launch = (flag: string) =>
      `torchrun --nproc_per_node 8 speculator.py --model_path meta-llama/Llama-2-7b-hf --learning_rate 1e-3 --batch_size 8${flag}\n`;
    const fieldsOf = async (flag: string) =>
      (await smallWorkspace({ 'a.sh': launch(flag) }).analyze('a.sh')).unread?.flatMap(
        ({ fields = [] }) => fields,
      );
    assert.deepEqual(await fieldsOf(''), []);
    assert.deepEqual(await fieldsOf(' --sharding_strategy hsdp'), ['parallel.data']);
  });
});
