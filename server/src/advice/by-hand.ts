import { TRAINING_ARGUMENTS_TABLE } from '../dialects/hf/training-arguments-keys';
import { isInUse } from '../dialects/key-rows';
import { spellingIn, TRANSFORMERS_OPTIMIZERS } from '../dialects/optimizer-names';
import { versionIn } from '../environment/versions';
import { fieldLabel } from '../run/field-labels';
import type { FieldPath, RunValues, TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import { GROWING_SETTING, GROWING_VARIABLE } from './write/set-allocator';
import type { SourceFile } from './write/source-file';

/**
 * What a person changes where the training is started, for a value that no file of the run has a key for: the line for the
 * Trainer and for a script, as a sentence. Undefined for what is no change of the training, such as which GPU it is checked for.
 */
export function byHand(
  field: FieldPath,
  changes: RunValues,
  run: TrainingRun,
  files: readonly SourceFile[],
): string | undefined {
  if (/^(?:hardware|model|version|compute)\./.test(field)) return undefined;
  // Liger brings its fused loss with it.
  if (field === 'loss.implementation' && changes['kernels.liger']) return undefined;
  if (growsSegments(field, changes)) return variableLine();
  const line = hasTrainer(run, files) ? transformersLine(field, changes, run) : undefined;
  return (
    line ??
    say('No file of this run has a key for {0}: set it where the training is started.', fieldLabel(field))
  );
}

/** Whether a value can be given to the training by an argument that is known. */
export function hasLine(
  field: FieldPath,
  changes: RunValues,
  run: TrainingRun,
  files: readonly SourceFile[],
): boolean {
  if (growsSegments(field, changes)) return true;
  return hasTrainer(run, files) && transformersLine(field, changes, run) !== undefined;
}

/** What PyTorch takes from the environment, whatever trains. */
const growsSegments = (field: FieldPath, changes: RunValues): boolean =>
  field === 'allocator.expandableSegments' && changes[field] === true;

const variableLine = (): string =>
  say('Set {0} where the training is started.', `\`${GROWING_VARIABLE}=${GROWING_SETTING}\``);

/** Families that hold no arguments of a trainer: those are given beside them, and are transformers' for its models. */
const BESIDE_A_TRAINER: readonly string[] = ['deepspeed', 'accelerate', 'fsdp-config'];

/** A family with arguments of its own takes no others: what it has no key for, it cannot be given. */
function hasTrainer(run: TrainingRun, files: readonly SourceFile[]): boolean {
  return (
    run['model.code'] === 'transformers' &&
    files.every(({ dialect }) => BESIDE_A_TRAINER.includes(dialect.id))
  );
}

/** Whether the release of transformers that the run is made with has an argument of the Trainer; a newer one or older ones may. */
function isTaken(name: string, run: TrainingRun): boolean {
  const row = TRAINING_ARGUMENTS_TABLE.find(name);
  return row === undefined || isInUse(row, (source) => versionIn(run, source));
}

/** Arguments of transformers' Trainer (https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/training_args.py). */
function transformersLine(field: FieldPath, changes: RunValues, run: TrainingRun): string | undefined {
  const value = changes[field];
  const passOrSet = (name: string, written: string, literal = written) =>
    isTaken(name, run) ? passed(name, written, literal) : undefined;
  switch (field) {
    case 'activations.checkpointing':
      return value === 'full'
        ? say(
            'Pass {0}, or set {1}; without the Trainer, call {2} before training.',
            '`--gradient_checkpointing True`',
            '`TrainingArguments(gradient_checkpointing=True)`',
            '`model.gradient_checkpointing_enable()`',
          )
        : value === 'none'
          ? passOrSet('gradient_checkpointing', 'False')
          : undefined;
    case 'kernels.liger':
      return passOrSet('use_liger_kernel', value ? 'True' : 'False');
    case 'batch.micro':
      return passOrSet('per_device_train_batch_size', String(value));
    case 'evaluation.batch':
      return passOrSet('per_device_eval_batch_size', String(value));
    case 'batch.accumulation':
      return passOrSet('gradient_accumulation_steps', String(value));
    case 'optimizer.name': {
      const optimizer = changes['optimizer.name'];
      const name = optimizer && spellingIn(TRANSFORMERS_OPTIMIZERS, optimizer);
      return name === undefined ? undefined : passOrSet('optim', name, `"${name}"`);
    }
    case 'attention.implementation':
      return attentionLine(changes);
    case 'quantization.kind':
      return value === 'nf4'
        ? say(
            'Load the model with {0}.',
            '`quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")`',
          )
        : undefined;
    default:
      return undefined;
  }
}

function passed(name: string, value: string, literal: string): string {
  return say('Pass {0}, or set {1}.', `\`--${name} ${value}\``, `\`TrainingArguments(${name}=${literal})\``);
}

function attentionLine(changes: RunValues): string | undefined {
  const names: Readonly<Record<string, string>> = {
    flash2: 'flash_attention_2',
    flash3: 'flash_attention_3',
    sdpa: 'sdpa',
    eager: 'eager',
  };
  const name = names[changes['attention.implementation'] ?? ''];
  return name && say('Load the model with {0}.', `\`attn_implementation="${name}"\``);
}
