import assert from 'node:assert/strict';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

/** Problems of one config in a workspace of its own, as `code severity`. */
async function told(name: string, text: string): Promise<string[]> {
  const uri = `file:///w/${name}`;
  const workspace = new Workspace(new MemoryHost({ [uri]: text }, { folders: ['file:///w'] }));
  const analysis = await workspace.analyze(uri);
  assert.ok(analysis, name);
  return analysis.problems
    .filter(({ severity, code }) => severity !== 'information' && code !== 'unknown-model')
    .map(({ code, severity }) => `${code} ${severity}`);
}
const D = '$';

/** What published configs have and their frameworks take without a word. */
describe('no false alarm', () => {
  it('about words of a command that YAML would read otherwise', async () => {
    const text = `NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --max_length 512 --eval_strategy no \\
  --gradient_checkpointing_kwargs '{"use_reentrant": false}'\n`;
    assert.deepEqual(await told('run.sh', text), []);
  });

  it('about tuners that a plugin registers', async () => {
    const flags = 'swift sft --model Qwen/Qwen3-8B --max_length 512 --tuner_type mine';
    assert.deepEqual(await told('run.sh', `${flags} --external_plugins mine.py\n`), []);
    assert.deepEqual(await told('run.sh', `${flags}\n`), ['wrong-type warning']);
  });

  it("about flags of a script that resemble the Trainer's", async () => {
    const text =
      'torchrun --nproc_per_node 8 mine.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 True --use_lora 1\n';
    assert.deepEqual(await told('run.sh', text), ['unknown-key hint']);
  });

  it('about lists of values that DeepSpeed searches through', async () => {
    const text = (enabled: boolean) =>
      JSON.stringify({
        zero_optimization: { stage: [0, 1, 2, 3] },
        train_micro_batch_size_per_gpu: [1, 2],
        autotuning: { enabled },
      });
    assert.deepEqual(await told('ds.json', text(true)), []);
    assert.ok((await told('ds.json', text(false))).includes('wrong-type error'));
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
      const found = await told('model_config.yaml', text(modules));
      return found.filter((problem) => problem.startsWith('unknown-module'));
    };
    assert.deepEqual(await of('[layernorm mla_up_proj mlp moe_act]'), []);
    assert.deepEqual(await of('[layernorm mla_up]'), ['unknown-module error']);
  });

  it('about keys that an underscore takes out of use, and values that are still to come', async () => {
    const automodel = `model: {_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path: gpt2}
step_scheduler: {global_batch_size: 8, local_batch_size: 1, max_steps: ???}
dataset: {seq_length: 512}
_validation_dataset: {a: 1}
kd_loss_fn: {_target_: x}
distributed: {strategy: fsdp2}
`;
    assert.deepEqual(await told('a.yaml', automodel), []);
  });

  it('about a path that the environment fills in', async () => {
    const text = `base_model: gpt2\nsequence_len: 512\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\ndatasets: []\ndeepspeed: ${D}{DEEPSPEED}\n`;
    const found = await told('axolotl.yaml', text);
    assert.ok(!found.some((problem) => problem.startsWith('missing-file')), found.join());
  });

  it('about GPUs that the start of the run gives anew', async () => {
    const text = `NNODES=${D}WORLD_SIZE megatron sft --model Qwen/Qwen3-30B-A3B --max_length 512 --pipeline_model_parallel_size 2\n`;
    const found = await told('run.sh', text);
    assert.ok(!found.some((problem) => problem.startsWith('world-size')), found.join());
  });
});

describe('a script with places to fill in', () => {
  it('says so, instead of what the shell makes of them', async () => {
    const text = `export ROOT=<your_path>\ntorchrun --nproc_per_node 8 mine.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --bf16 True\n`;
    assert.deepEqual(await told('run.sh', text), ['placeholder warning']);
  });
});
