import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const FIELD = 'loss.routerLogits';

/** Whether a run balances its experts by the logits of the routers, and who states it. */
async function balance(files: Readonly<Record<string, string>>, path: string, pins = '') {
  const { resolved, analysis } = await run(files, path, pins);
  assert.ok(analysis);
  const origin = resolved.origins[FIELD]?.kind;
  return origin === undefined ? undefined : `${resolved.values[FIELD]} ${origin}`;
}

async function run(files: Readonly<Record<string, string>>, path: string, pins = '') {
  const requirements: Readonly<Record<string, string>> =
    pins === '' ? {} : { 'requirements.txt': `${pins}\n` };
  const analysis = await smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100, gpus: 1}\n',
    ...requirements,
    ...files,
  }).analyze(path);
  return { analysis, resolved: analysis.resolved };
}

const MOE = 'Qwen/Qwen3-30B-A3B';
const DENSE = 'Qwen/Qwen2.5-7B';

const recipe = (model: string, more = '') =>
  `model_name_or_path: ${model}\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-5\ndataset_name: d\nuse_peft: true\n${more}`;

describe('the balance of experts by the logits of their routers', () => {
  it('is taken by trainers of TRL that weigh it themselves, in the releases that do, of models that have it', async () => {
    const of = (pins: string, more = '', name = 'sft.yaml', model = MOE) =>
      balance({ [name]: recipe(model, more) }, name, pins);
    assert.equal(await of('trl==1.6.0'), undefined);
    assert.equal(await of('trl==1.7.1'), 'true default');
    assert.equal(await of('trl==1.16.0'), 'true default');
    assert.equal(await of('trl==1.16.0', '', 'sft.yaml', DENSE), undefined);
    assert.equal(await of('trl==1.16.0', '', 'sft.yaml', 'zai-org/GLM-4.5-Air'), undefined);
    assert.equal(await of('trl==1.16.0', 'router_aux_loss_coef: 0.0\n'), 'false file');
    assert.equal(await of('trl==1.16.0', 'router_aux_loss_coef: 0.01\n'), 'true file');
    assert.equal(await of('trl==1.16.0', 'router_aux_loss_coef: null\n'), 'true default');
    const dpo = 'beta: 0.1\nloss_type: sigmoid\n';
    assert.equal(await of('trl==1.7.1', dpo, 'dpo.yaml'), undefined);
    assert.equal(await of('trl==1.8.0', dpo, 'dpo.yaml'), 'true default');
    assert.equal(await of('trl==1.16.0', 'cpo_alpha: 1.0\n', 'cpo.yaml'), undefined);
  });

  it('is left out by TRL since 1.14 where the config of the model weighs it with nothing', async () => {
    const config = {
      model_type: 'mixtral',
      hidden_size: 256,
      intermediate_size: 512,
      num_hidden_layers: 2,
      num_attention_heads: 8,
      num_key_value_heads: 4,
      num_local_experts: 8,
      num_experts_per_tok: 2,
      vocab_size: 1000,
    };
    const of = (pins: string, weight: number) =>
      balance(
        {
          'sft.yaml': recipe('./model'),
          'model/config.json': JSON.stringify({ ...config, router_aux_loss_coef: weight }),
        },
        'sft.yaml',
        pins,
      );
    assert.equal(await of('trl==1.16.0', 0), 'false default');
    assert.equal(await of('trl==1.16.0', 0.02), 'true default');
    assert.equal(await of('trl==1.13.0', 0), 'true default');
  });

  it('is what a script sets of the config, or of the trainer', async () => {
    const of = (load: string, more = '', pins = 'trl==1.6.0', trainer = 'SFTTrainer', config = 'SFTConfig') =>
      balance(
        {
          'train.py': `from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer
${load}
${more}
args = ${config}(output_dir="o", per_device_train_batch_size=1, bf16=True)
${trainer}(model=model, args=args, train_dataset=data).train()
`,
        },
        'train.py',
        pins,
      );
    const plain = `model = AutoModelForCausalLM.from_pretrained("${MOE}")`;
    assert.equal(await of(plain), undefined);
    assert.equal(await of(plain, 'model.config.output_router_logits = True'), 'true file');
    assert.equal(
      await of(`model = AutoModelForCausalLM.from_pretrained("${MOE}", output_router_logits=True)`),
      'true file',
    );
    const made = `config = AutoConfig.from_pretrained("${MOE}")
config.output_router_logits = True
model = AutoModelForCausalLM.from_pretrained("${MOE}", config=config)`;
    assert.equal(await of(made), 'true file');
    assert.equal(await of(plain, '', 'trl==1.16.0'), 'true default');
    assert.equal(await of(plain, '', 'trl==1.16.0', 'Trainer', 'TrainingArguments'), undefined);
  });

  it('is off in Unsloth, whose trainers weigh it with nothing', async () => {
    const script = `from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen3-30B-A3B", max_seq_length=2048, load_in_4bit=True)
model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj", "v_proj"])
SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=1), train_dataset=data).train()
`;
    assert.equal(await balance({ 'train.py': script }, 'train.py', 'trl==1.13.0'), undefined);
  });

  it('is what the config of the model asks for where nobody states it', async () => {
    const config = (asked: boolean) =>
      JSON.stringify({
        model_type: 'qwen3_moe',
        hidden_size: 512,
        intermediate_size: 1024,
        moe_intermediate_size: 256,
        num_hidden_layers: 4,
        num_attention_heads: 8,
        num_key_value_heads: 8,
        head_dim: 64,
        num_experts: 64,
        num_experts_per_tok: 8,
        vocab_size: 1000,
        output_router_logits: asked,
      });
    const peak = async (asked: boolean) => {
      const { analysis } = await run(
        {
          'a.yaml':
            'base_model: ./model\ndatasets: [{path: a, type: alpaca}]\nsequence_len: 2048\nmicro_batch_size: 8\n',
          'model/config.json': config(asked),
        },
        'a.yaml',
        'transformers==5.15.0',
      );
      return analysis.estimate?.peak.processBytes ?? Number.NaN;
    };
    assert.ok((await peak(true)) > (await peak(false)));
  });

  it('is a key of LLaMA-Factory since 0.9.3, and what it did of itself before', async () => {
    const of = (model: string, pins: string, more = '') =>
      balance(
        {
          'a.yaml': `model_name_or_path: ${model}\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: a\ntemplate: qwen\ncutoff_len: 2048\noutput_dir: o\nper_device_train_batch_size: 1\n${more}`,
        },
        'a.yaml',
        pins,
      );
    assert.equal(await of(MOE, 'llamafactory==0.9.5'), undefined);
    assert.equal(await of(MOE, 'llamafactory==0.9.5', 'moe_aux_loss_coef: 0.001\n'), 'true file');
    assert.equal(await of(MOE, 'llamafactory==0.9.5', 'moe_aux_loss_coef: 0\n'), 'false file');
    assert.equal(await of('mistralai/Mixtral-8x7B-v0.1', 'llamafactory==0.9.2'), 'true default');
    assert.equal(await of(MOE, 'llamafactory==0.9.2', 'moe_aux_loss_coef: 0.001\n'), undefined);
  });

  it('is a key of ms-swift', async () => {
    const of = (pins: string, more = '', rlhf = '') =>
      balance(
        { 'run.sh': `swift ${rlhf || 'sft'} --model ${MOE} --dataset a --torch_dtype bfloat16 ${more}\n` },
        'run.sh',
        pins,
      );
    assert.equal(await of('ms-swift==4.6.0'), undefined);
    assert.equal(await of('ms-swift==4.6.0', '--router_aux_loss_coef 0.001'), 'true file');
    assert.equal(
      await of('ms-swift==3.7.3', '--router_aux_loss_coef 0.001', 'rlhf --rlhf_type dpo'),
      undefined,
    );
    assert.equal(
      await of('ms-swift==4.6.0', '--router_aux_loss_coef 0.001', 'rlhf --rlhf_type dpo'),
      'true file',
    );
  });

  it('is taken by OpenRLHF whatever it is weighed with, but for rewards', async () => {
    const of = (trainer: string, model: string) =>
      balance(
        { 'run.sh': `deepspeed --module openrlhf.cli.${trainer} --pretrain ${model} --dataset a --bf16\n` },
        'run.sh',
      );
    assert.equal(await of('train_sft', MOE), 'true default');
    assert.equal(await of('train_rm', MOE), undefined);
    assert.equal(await of('train_sft', DENSE), undefined);
  });

  it('is what Axolotl puts over the config of the model, and what TRL does where Axolotl trains by it', async () => {
    const of = (pins: string, more: string) =>
      balance(
        {
          'a.yaml': `base_model: ${MOE}\ndatasets: [{path: a, type: alpaca}]\nsequence_len: 2048\nmicro_batch_size: 1\n${more}`,
        },
        'a.yaml',
        pins,
      );
    assert.equal(await of('axolotl==0.19.0', ''), undefined);
    assert.equal(
      await of('axolotl==0.19.0', 'overrides_of_model_config: {output_router_logits: true}\n'),
      'true file',
    );
    assert.equal(await of('axolotl==0.9.2', 'model_config: {output_router_logits: true}\n'), 'true file');
    assert.equal(await of('axolotl==0.19.0', 'rl: dpo\n'), 'true default');
    assert.equal(await of('axolotl==0.16.1', 'rl: dpo\n'), undefined);
  });

  it('is a key of open-instruct, of verl and of XTuner', async () => {
    const open = `model_name_or_path: ${MOE}\nuse_slow_tokenizer: true\nwith_tracking: true\nuse_flash_attn: true\nper_device_train_batch_size: 1\nmax_seq_length: 2048\nload_balancing_loss: true\n`;
    assert.equal(await balance({ 'a.yaml': open }, 'a.yaml'), 'true file');
    const verl = `actor_rollout_ref:\n  model: {path: ${MOE}, override_config: {output_router_logits: true}}\n  rollout: {name: vllm}\n  actor: {ppo_micro_batch_size_per_gpu: 1}\nalgorithm: {adv_estimator: grpo}\ndata: {train_batch_size: 8, max_prompt_length: 512, max_response_length: 512}\ntrainer: {n_gpus_per_node: 8, nnodes: 1}\n`;
    assert.equal(await balance({ 'a.yaml': verl }, 'a.yaml'), 'true file');
    const xtuner = `from mmengine.optim import AmpOptimWrapper
from torch.optim import AdamW
from transformers import AutoModelForCausalLM
from xtuner.dataset import process_hf_dataset
from xtuner.model import SupervisedFinetune

model = dict(
    type=SupervisedFinetune,
    llm=dict(type=AutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path="${MOE}", output_router_logits=True),
)
train_dataloader = dict(batch_size=1, dataset=dict(type=process_hf_dataset, max_length=2048))
optim_wrapper = dict(type=AmpOptimWrapper, optimizer=dict(type=AdamW, lr=2e-4), dtype="bfloat16")
`;
    assert.equal(
      await balance({ 'config.py': xtuner, 'run.sh': 'xtuner train config.py\n' }, 'config.py'),
      'true file',
    );
  });
});
