import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import { smallWorkspace } from '../workspace/small-workspace';
import { factOf, read } from './reading';

const HEAD = `import torch
from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
from trl import SFTConfig, SFTTrainer
args = TrainingArguments("out", eval_strategy="epoch", gradient_checkpointing=True)
`;
const LOAD = 'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")\n';
const TRAINER = 'trainer = Trainer(model=model, args=args, train_dataset=d, eval_dataset=e)\n';
const TRAIN = 'trainer.train()\n';

const python = (text: string, transformers = '4.50.0') =>
  read('python', 'file:///train.py', HEAD + text, { 'version.transformers': transformers });
const kept = (text: string, transformers?: string) =>
  factOf(python(text, transformers), 'evaluation.keepsCache')?.value;

/** Ways to switch the cache off before the model is trained. */
const OFF: readonly string[] = [
  `${LOAD}model.config.use_cache = False\n`,
  `${LOAD}setattr(model.config, "use_cache", False)\n`,
  `${LOAD}config = model.config\nconfig.use_cache = False\n`,
  `${LOAD}model.config.use_cache = not args.gradient_checkpointing\n`,
  `${LOAD}model = get_peft_model(model, LoraConfig(r=8))\nmodel.config.use_cache = False\n`,
  `${LOAD}model.config.use_cache = False\nmodel = get_peft_model(model, LoraConfig(r=8))\n`,
  'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", use_cache=False)\n',
  'more = dict(use_cache=False)\nmodel = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", **more)\n',
  `config = AutoConfig.from_pretrained("meta-llama/Llama-2-7b-hf")
config.use_cache = False
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", config=config)\n`,
  `config = AutoConfig.from_pretrained("meta-llama/Llama-2-7b-hf", use_cache=False)
model = AutoModelForCausalLM.from_config(config)\n`,
  'model = LlamaForCausalLM(LlamaConfig(use_cache=False))\n',
];

describe('a cache of keys and values that evaluation keeps', () => {
  before(loadPython);

  it('is none where the config of the model has it switched off before the training', () => {
    for (const way of OFF) assert.equal(kept(way + TRAINER + TRAIN), false, way);
    assert.equal(kept(`${LOAD}${TRAINER}trainer.model.config.use_cache = False\n${TRAIN}`), false);
    assert.equal(kept(`${LOAD}${TRAINER}model.config.use_cache = False\n${TRAIN}`), false);
  });

  it('hangs on nothing that is set after the training, of generation, or of another model', () => {
    for (const text of [
      `${LOAD}${TRAINER}${TRAIN}model.config.use_cache = False\n`,
      `${LOAD}model.generation_config.use_cache = False\n${TRAINER}${TRAIN}`,
      `${LOAD}other = AutoModelForCausalLM.from_pretrained("gpt2", use_cache=False)\n${TRAINER}${TRAIN}`,
      `${LOAD}model.generate(x, use_cache=False)\n${TRAINER}${TRAIN}`,
    ])
      assert.equal(kept(text), undefined, text);
  });

  it('is there again where the last setting switches it on, which the Trainer overrules since transformers 5', () => {
    const again = `${LOAD}model.config.use_cache = False\nmodel.config.use_cache = True\n`;
    assert.equal(kept(again + TRAINER + TRAIN), undefined);
    const late = `${LOAD}${TRAINER}model.config.use_cache = True\n${TRAIN}`;
    assert.equal(kept(late, '5.23.0'), true);
    assert.equal(kept(`${LOAD}model.config.use_cache = True\n${TRAINER}${TRAIN}`, '5.23.0'), undefined);
  });

  it('is an open question where the setting is known only when the script runs', () => {
    const text = `${LOAD}model.config.use_cache = load_setting()\n${TRAINER}${TRAIN}`;
    const open = (python(text).unread ?? []).filter(({ fields }) =>
      fields?.includes('evaluation.keepsCache'),
    );
    assert.equal(open.length, 1);
    assert.equal((python(text, '5.23.0').unread ?? []).length, 0);
  });

  it('is none in models that trainers of TRL load so, and in the passes of its newer ones', () => {
    const named = (more: string, trl: string) =>
      factOf(
        read(
          'python',
          'file:///train.py',
          `${HEAD}trainer = SFTTrainer("meta-llama/Llama-2-7b-hf", args=SFTConfig("o", eval_strategy="steps"${more}))\n${TRAIN}`,
          { 'version.transformers': '4.50.0', 'version.trl': trl },
        ),
        'evaluation.keepsCache',
      )?.value;
    assert.equal(named(', model_init_kwargs={"use_cache": False}', '0.19.0'), false);
    assert.equal(named('', '0.19.0'), undefined);
    assert.equal(named('', '0.22.0'), false);
    assert.equal(named(', gradient_checkpointing=True', '0.16.0'), false);
    assert.equal(named(', gradient_checkpointing=True', '0.17.0'), undefined);
  });

  it('is none in Axolotl, in LLaMA-Factory, and in ms-swift, which switch it off themselves', () => {
    const known = { 'version.transformers': '4.50.0' } as const;
    const axolotl = read(
      'axolotl',
      'file:///a.yml',
      'base_model: meta-llama/Llama-2-7b-hf\nadapter: lora\nmicro_batch_size: 1\nsequence_len: 512\nval_set_size: 0.1\n',
      known,
    );
    assert.equal(factOf(axolotl, 'evaluation.keepsCache')?.value, false);
    const factory = (more: string, version: string) =>
      factOf(
        read(
          'llama-factory',
          'file:///f.yaml',
          `model_name_or_path: meta-llama/Llama-2-7b-hf\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: llama2\nval_size: 0.1\neval_strategy: steps\n${more}`,
          { ...known, 'version.llamafactory': version } as typeof known,
        ),
        'evaluation.keepsCache',
      )?.value;
    const swift = (more: string) =>
      factOf(
        read(
          'ms-swift',
          'file:///w/sft.yaml',
          `model: Qwen/Qwen2.5-7B-Instruct\ntrain_type: lora\ndataset: d\nmax_length: 512\nsplit_dataset_ratio: 0.1\nper_device_train_batch_size: 1\n${more}`,
          known,
        ),
        'evaluation.keepsCache',
      )?.value;
    assert.equal(swift(''), false);
    assert.equal(swift('gradient_checkpointing: false\n'), undefined);
    assert.equal(factory('', '0.9.0'), false);
    assert.equal(factory('disable_gradient_checkpointing: true\n', '0.9.0'), undefined);
    assert.equal(factory('disable_gradient_checkpointing: true\n', '0.9.3'), false);
  });

  it('is kept by a language model inside another, which reads its own config, whatever the Trainer sets', async () => {
    const peak = async (id: string, line: string) => {
      const text = `# oomlint: gpu=H200-SXM-141GB gpus=1 sequence=512 version.transformers=5.23.0 ${line}
from transformers import AutoModelForImageTextToText, Trainer, TrainingArguments
model = AutoModelForImageTextToText.from_pretrained("${id}", dtype="bfloat16", use_cache=False)
args = TrainingArguments("o", eval_strategy="steps", per_device_train_batch_size=1, per_device_eval_batch_size=64, optim="sgd")
Trainer(model=model, args=args, train_dataset=d, eval_dataset=e).train()
`;
      const { estimate } = await smallWorkspace({ 'train.py': text }).analyze('train.py');
      return Math.max(
        ...(estimate?.timeline ?? []).filter((s) => s.moment === 'evaluation').map((s) => s.bytes),
      );
    };
    for (const id of ['google/gemma-3-4b-it', 'Qwen/Qwen2-VL-2B-Instruct']) {
      const off = await peak(id, 'evaluation.keepsCache=false');
      assert.ok(off > 0 && (await peak(id, '')) > off, id);
    }
  });
});
