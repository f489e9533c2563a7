import type { Family } from '../family';
import { fsdpFile } from './fsdp-file';
import { hfProgram } from './hf-program';
import { hfTrainingArguments } from './hf-training-arguments';
import { HUGGING_FACE_RULES } from './hugging-face-rule-table';

/** The Hugging Face Trainer: any script that takes its arguments. */
export const trainerFamily: Family = {
  dialects: [hfTrainingArguments, fsdpFile],
  programs: [hfProgram],
  launches: /--(?:model_name_or_path|per[-_]device[-_]train[-_]batch[-_]size)\b/,
  rules: { title: 'Transformers and TRL', table: HUGGING_FACE_RULES },
};
