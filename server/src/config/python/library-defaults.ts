import type { PyScalar } from './value';

/** Fields that scripts ask of what a parser made, with what they hold where nobody gives them, the same in every release. */
const DEFAULTS: readonly (readonly [RegExp, Readonly<Record<string, PyScalar['value']>>])[] = [
  // https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/training_args.py
  [
    /^transformers\.(?:\w+\.)*(?:Seq2Seq)?TrainingArguments$/,
    {
      bf16: false,
      deepspeed: null,
      do_eval: false,
      do_predict: false,
      do_train: false,
      fp16: false,
      gradient_checkpointing: false,
      resume_from_checkpoint: null,
    },
  ],
  // https://github.com/huggingface/trl/blob/v1.0.0/trl/trainer/model_config.py
  [
    /^trl\.(?:\w+\.)*ModelConfig$/,
    {
      attn_implementation: null,
      load_in_4bit: false,
      load_in_8bit: false,
      lora_target_modules: null,
      lora_target_parameters: null,
      lora_modules_to_save: null,
      model_name_or_path: null,
      trust_remote_code: false,
      use_peft: false,
    },
  ],
];

/** What a class of a library holds where nobody gives it, as far as scripts ask for it. */
export const givenByNobody = (name: string): [string, PyScalar['value']][] =>
  DEFAULTS.filter(([pattern]) => pattern.test(name)).flatMap(([, fields]) => Object.entries(fields));
