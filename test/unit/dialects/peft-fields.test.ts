import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { loadPython } from '../../../server/src/config/python/grammar';
import { isDecisive } from '../../../server/src/run/unread';
import { factOf, read } from './reading';

const VARIANT = 'adapter-variant';
/** Fields that are read and decide nothing: a scale, and the task, whose head is small. */
const DECIDES_NOTHING = /^(lora_)?alpha$|^task_type$/;

/** Fields of PEFT's configs and their defaults, by kind (`test/oracle/peft_fields.py`). */
const { kinds } = JSON.parse(readFileSync('test/oracle/peft_fields.json', 'utf8')) as {
  readonly kinds: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

const CLASSES: Readonly<Record<string, string>> = {
  LORA: 'LoraConfig',
  ADALORA: 'AdaLoraConfig',
  VERA: 'VeraConfig',
  VBLORA: 'VBLoRAConfig',
  FOURIERFT: 'FourierFTConfig',
  LOHA: 'LoHaConfig',
  LOKR: 'LoKrConfig',
  OFT: 'OFTConfig',
  BOFT: 'BOFTConfig',
  MISS: 'MissConfig',
  IA3: 'IA3Config',
  LN_TUNING: 'LNTuningConfig',
  PROMPT_TUNING: 'PromptTuningConfig',
  PREFIX_TUNING: 'PrefixTuningConfig',
  P_TUNING: 'PromptEncoderConfig',
};

/** Fields of all kinds that may have any value without a word. */
const NAMES = 'peft_type task_type auto_mapping peft_version base_model_name_or_path revision fan_in_fan_out';
/** Fields of a kind that may have another value than their default without a word, since they change no memory and no count. */
const UNREPORTED: Readonly<Record<string, string>> = {
  LORA: 'init_lora_weights use_rslora alpha_pattern megatron_core eva_config corda_config lora_ga_config qalora_group_size loftq_config runtime_config',
  ADALORA:
    'r init_lora_weights use_rslora alpha_pattern megatron_core eva_config corda_config lora_ga_config qalora_group_size loftq_config runtime_config target_r tinit tfinal deltaT beta1 beta2 orth_reg_weight total_step',
  VERA: 'projection_prng_key save_projection d_initial init_weights',
  VBLORA: 'save_only_topk_weights init_vector_bank_bound init_logits_std',
  FOURIERFT: 'scaling random_loc_seed init_weights',
  LOHA: 'alpha_pattern module_dropout init_weights',
  LOKR: 'alpha_pattern module_dropout rank_dropout_scale init_weights',
  OFT: 'eps init_weights',
  BOFT: 'init_weights',
  MISS: 'mini_r init_weights',
  IA3: 'init_ia3_weights',
  LN_TUNING: '',
  PROMPT_TUNING: 'prompt_tuning_init prompt_tuning_init_text tokenizer_name_or_path tokenizer_kwargs',
  // An encoder is one that has a size, and its size counts where there is one.
  PREFIX_TUNING: 'init_weights prefix_projection encoder_hidden_size',
  P_TUNING: 'encoder_num_layers encoder_dropout',
};

const START = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
import peft
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
`;

const reading = (kind: string, fields: string) =>
  read(
    'python',
    'file:///train.py',
    `${START}model = peft.get_peft_model(model, peft.${CLASSES[kind]}(${fields}))\nTrainer(model=model, args=TrainingArguments()).train()`,
  );

/** Another value than the default of a field, as Python has it. */
function otherThan(byDefault: unknown): readonly string[] {
  if (typeof byDefault === 'boolean') return [byDefault ? 'False' : 'True'];
  if (typeof byDefault === 'number') return [Number.isInteger(byDefault) ? String(byDefault + 3) : '0.25'];
  // Of what is nothing by default any object and any number may be given.
  if (byDefault === null) return ['peft.Some(count=2)', '[7]', '7', '{"q_proj": 7}'];
  return typeof byDefault === 'string' ? ['"all"'] : ['{"q_proj": 7}', 'peft.Some(count=2)'];
}

/** Whether what a field changes is reported as not counted, so that no verdict follows. */
function withholds({ unread = [], facts }: ReturnType<typeof reading>, key: string): boolean {
  const found = unread.find(({ text }) => text.startsWith(key));
  if (!found) return false;
  const left = facts.some(
    ({ field, value }) => field === 'features.unmodelled' && `${value}`.includes(VARIANT),
  );
  return left || found.fields?.some(isDecisive) === true;
}

/** Whether a value of a field changes what is stated, or withholds the verdict. */
function isHeard(kind: string, key: string, value: string): boolean {
  const facts = (fields: string) =>
    JSON.stringify(reading(kind, fields).facts.map(({ field, value: of }) => [field, of]));
  const { unread = [] } = reading(kind, `${key}=${value}`);
  if (unread.some(({ text }) => text.startsWith(key))) {
    assert.ok(
      DECIDES_NOTHING.test(key) || withholds(reading(kind, `${key}=${value}`), key),
      `${key}=${value} withholds the verdict`,
    );
    return true;
  }
  return facts(`${key}=${value}`) !== facts('');
}

describe('fields of PEFT configs', () => {
  before(loadPython);

  for (const [kind, fields] of Object.entries(kinds)) {
    it(`of ${kind} are read, not counted, or change nothing`, () => {
      const unreported = Object.entries(fields).flatMap(([key, byDefault]) =>
        otherThan(byDefault).every((value) => !isHeard(kind, key, value)) ? [key] : [],
      );
      const expected = [...NAMES.split(' '), ...(UNREPORTED[kind] ?? '').split(' ')];
      assert.deepEqual(
        unreported.filter((key) => !expected.includes(key)),
        [],
      );
    });
    it(`of ${kind} change nothing with the value of their default`, () => {
      const given = Object.entries(fields).flatMap(([key, byDefault]) => {
        if (byDefault === null || key === 'runtime_config') return [];
        const python = { true: 'True', false: 'False' }[String(byDefault)] ?? JSON.stringify(byDefault);
        return [`${key}=${python}`];
      });
      assert.deepEqual(reading(kind, given.join(', ')).unread, undefined);
    });
  }

  for (const field of [
    'use_bdlora=peft.BdLoraConfig(nblocks=2)',
    'use_qalora=True',
    'velora_config=peft.VeloraConfig()',
    'monteclora_config={"samples": 4}',
    'kasa_config=peft.KasaConfig()',
    'arrow_config=peft.ArrowConfig()',
    'alora_invocation_tokens=[1, 2]',
    'inference_mode=True',
    'layer_replication=[(0, 4), (2, 5)]',
    'layers_pattern="layers"',
    'exclude_modules=".*mlp.*"',
    'trainable_token_indices=5',
    'init_lora_weights="eva"',
    'init_lora_weights="mica"',
    'field_of_a_later_release=3',
  ])
    it(`${field} is not counted, and no verdict follows`, () => {
      const [key = ''] = field.split('=');
      const read = reading('LORA', `r=8, ${field}`);
      assert.deepEqual([read.unread?.map(({ text }) => text), withholds(read, key)], [[key], true]);
    });

  it('that choose other modules of IA3 than PEFT lists are read, none at all, too; a pattern withholds the verdict', () => {
    const of = (modules: string) => reading('IA3', `feedforward_modules=${modules}`);
    const named = (modules: string) => factOf(of(modules), 'lora.feedForward')?.value;
    assert.deepEqual(named('[]'), []);
    assert.deepEqual(named('["k_proj"]'), ['k_proj']);
    assert.equal(of('[]').unread, undefined);
    assert.equal(named('None'), undefined);
    for (const modules of ['".*k_proj"', 'asked()'])
      assert.ok(withholds(of(modules), 'feedforward_modules'), modules);
  });

  it('of a value that only the running script knows decide the run, but for the scale', () => {
    const fields =
      'r target_modules modules_to_save use_dora bias lora_bias layers_to_transform exclude_modules rank_pattern target_parameters trainable_token_indices lora_dropout init_lora_weights';
    for (const key of fields.split(' ')) assert.ok(withholds(reading('LORA', `${key}=asked()`), key), key);
    assert.ok(!withholds(reading('LORA', 'lora_alpha=asked()'), 'lora_alpha'));
  });

  for (const field of [
    'init_lora_weights="loftq", loftq_config={"loftq_bits": 4}',
    'init_lora_weights="OLoRA"',
  ])
    it(`${field} makes the same matrices`, () => {
      assert.equal(reading('LORA', field).unread, undefined);
    });
});
