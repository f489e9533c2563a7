import type { TrlMethod } from '../trl/trl-method';

/** A class that trains, and where its arguments stand. */
export interface TrainerClass {
  /** Method of TRL; unset: the Trainer of transformers. */
  readonly method?: TrlMethod;
  /** Names of the first arguments, in order (`__init__` of the class). */
  readonly order: readonly string[];
  /** The class that makes `args`. */
  readonly config: string;
}

const HF = {
  order: ['model', 'args', 'data_collator', 'train_dataset'],
  config: 'TrainingArguments',
} as const;
const preference = (method: TrlMethod, config: string): TrainerClass => ({
  method,
  order: ['model', 'ref_model', 'args'],
  config,
});

/** Trainers by the last part of their names: transformers (`trainer.py`), TRL (`trainer/*_trainer.py`), Unsloth (`trainer.py`). */
const CLASSES: Readonly<Record<string, TrainerClass>> = {
  Trainer: HF,
  Seq2SeqTrainer: { ...HF, config: 'Seq2SeqTrainingArguments' },
  SFTTrainer: { method: 'sft', order: ['model', 'args'], config: 'SFTConfig' },
  UnslothTrainer: { method: 'sft', order: ['model', 'args'], config: 'UnslothTrainingArguments' },
  DPOTrainer: preference('dpo', 'DPOConfig'),
  KTOTrainer: preference('kto', 'KTOConfig'),
  ORPOTrainer: { method: 'orpo', order: ['model', 'args'], config: 'ORPOConfig' },
  CPOTrainer: { method: 'cpo', order: ['model', 'args'], config: 'CPOConfig' },
  GRPOTrainer: { method: 'grpo', order: ['model', 'reward_funcs', 'args'], config: 'GRPOConfig' },
  RLOOTrainer: { method: 'rloo', order: ['model', 'reward_funcs', 'args'], config: 'RLOOConfig' },
  RewardTrainer: { method: 'reward', order: ['model', 'args'], config: 'RewardConfig' },
  DistillationTrainer: {
    method: 'distillation',
    order: ['model', 'teacher_model', 'args'],
    config: 'DistillationConfig',
  },
  GKDTrainer: { method: 'gkd', order: ['model', 'teacher_model', 'args'], config: 'GKDConfig' },
};

/** Packages whose trainers these are. Parts of programs, such as a cell, may import nothing. */
const PACKAGE = /^(?:transformers|trl|unsloth)\./;

/** The trainer that a full name stands for; undefined where it is another package's class of the same name. */
export function trainerOf(callee: string): TrainerClass | undefined {
  const name = callee.split('.').at(-1) ?? '';
  if (!Object.hasOwn(CLASSES, name)) return undefined;
  if (PACKAGE.test(callee)) return CLASSES[name];
  return callee === name && name !== 'Trainer' ? CLASSES[name] : undefined;
}

/** Whether a full name is that of transformers' own trainer, whose arguments no other library adds to. */
export const isBase = (callee: string): boolean =>
  /^transformers\.(?:\w+\.)*(?:Seq2Seq)?Trainer$/.test(callee);

/** Texts that may hold such a trainer, in linear time: the class is called, and a package of it is named. */
export function namesTrainer(text: string): boolean {
  return /Trainer[ \t]*[(),]/.test(text) && /\b(?:transformers|trl|unsloth)\b/.test(text);
}

/** Names of those classes, as the blocks of a document are called. */
export const TRAINER_NAMES: ReadonlySet<string> = new Set(Object.keys(CLASSES));
