import { FIELD_PATHS } from '../../../run/fields';
import { type Words, word } from '../words';
import {
  foundryWords,
  inHouseWords,
  litgptWords,
  megatronWords,
  nanotronWords,
  torchtitanWords,
  torchtuneWords,
} from './pretraining';
import { accelerateWords, deepspeedWords } from './sharding';
import { axolotlWords, llamaFactoryWords, openInstructWords, trainerWords } from './trainer';

/** Oomlint's own files say every field by its name. */
const ownWords: Words = Object.fromEntries(
  FIELD_PATHS.map((field) => [field, (value: never) => [word(`run.${field}`, value)]]),
);

/** Words of each family, by its id. A family without an entry is written by the rows of its key table alone. */
export const FAMILY_WORDS: Readonly<Record<string, Words>> = {
  deepspeed: deepspeedWords,
  accelerate: accelerateWords,
  axolotl: axolotlWords,
  'llama-factory': llamaFactoryWords,
  'ms-swift': trainerWords,
  torchtune: torchtuneWords,
  torchtitan: torchtitanWords,
  litgpt: litgptWords,
  nanotron: nanotronWords,
  'llm-foundry': foundryWords,
  megatron: megatronWords,
  'open-instruct': openInstructWords,
  trl: trainerWords,
  'hf-training-arguments': trainerWords,
  'in-house': inHouseWords,
  'oomlint-run': ownWords,
};
