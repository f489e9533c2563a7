import { accelerateFamily } from './accelerate/family';
import { axolotlFamily } from './axolotl/family';
import { deepspeedFamily } from './deepspeed/family';
import { deepspeedChatFamily } from './deepspeed-chat/family';
import type { Dialect } from './dialect';
import type { Family } from './family';
import { gptNeoxFamily } from './gpt-neox/family';
import { knownScriptsFamily } from './hf/known-scripts-family';
import { trainerFamily } from './hf/trainer-family';
import type { Program } from './launch/program';
import { recipeProgram } from './launch/recipe-program';
import { litgptFamily } from './litgpt/family';
import { llamaFactoryFamily } from './llama-factory/family';
import { llamaFactoryV1Family } from './llama-factory-v1/family';
import { llmFoundryFamily } from './llm-foundry/family';
import { ludwigFamily } from './ludwig/family';
import { megatronFamily } from './megatron/family';
import { msSwiftFamily } from './ms-swift/family';
import { nanotronFamily } from './nanotron/family';
import { nemoFamily } from './nemo/family';
import { notModelledFamily } from './not-modelled/family';
import { olmoFamily } from './olmo/family';
import { openInstructFamily } from './open-instruct/family';
import { openrlhfFamily } from './openrlhf/family';
import { torchtitanFamily } from './torchtitan/family';
import { torchtuneFamily } from './torchtune/family';
import { trlFamily } from './trl/family';
import { trlxFamily } from './trlx/family';
import { verlFamily } from './verl/family';
import { xtunerFamily } from './xtuner/family';

/**
 * Every framework that is read, one line each. Of two that are as sure of a file or of a launch, the first takes it: those that
 * others build on come last.
 */
export const FAMILIES: readonly Family[] = [
  deepspeedFamily,
  accelerateFamily,
  axolotlFamily,
  llamaFactoryFamily,
  llamaFactoryV1Family,
  torchtuneFamily,
  torchtitanFamily,
  litgptFamily,
  ludwigFamily,
  nanotronFamily,
  megatronFamily,
  gptNeoxFamily,
  nemoFamily,
  llmFoundryFamily,
  olmoFamily,
  msSwiftFamily,
  openrlhfFamily,
  deepspeedChatFamily,
  openInstructFamily,
  verlFamily,
  trlxFamily,
  xtunerFamily,
  knownScriptsFamily,
  trlFamily,
  trainerFamily,
  notModelledFamily,
];

/** Every training program whose flags are read, and last any script with a recipe. */
export const PROGRAMS: readonly Program[] = [
  ...FAMILIES.flatMap(({ programs }) => programs ?? []),
  recipeProgram,
];

/** The configs of all families, without the scripts that launch them. */
export const FAMILY_DIALECTS: readonly Dialect[] = FAMILIES.flatMap(({ dialects }) => dialects ?? []);
