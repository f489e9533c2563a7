import { deepspeedChatProgram } from './deepspeed-chat-program';
import {
  axolotlProgram,
  litgptProgram,
  llamaFactoryProgram,
  nanotronProgram,
  torchtitanProgram,
  torchtuneProgram,
} from './family-programs';
import { hfProgram, trlProgram } from './hf-program';
import { knownScriptProgram } from './known-script-program';
import { megatronProgram } from './megatron-program';
import { neoxProgram } from './neox-program';
import { openInstructGrpoProgram, openInstructProgram } from './open-instruct-program';
import { openrlhfProgram } from './openrlhf-program';
import {
  automodelProgram,
  foundryProgram,
  nemoProgram,
  nemoRlProgram,
  verlProgram,
} from './overriding-programs';
import type { Program } from './program';
import { swiftProgram } from './swift-program';

/** Every training program whose flags are read. */
export const PROGRAMS: readonly Program[] = [
  megatronProgram,
  neoxProgram,
  swiftProgram,
  openrlhfProgram,
  llamaFactoryProgram,
  axolotlProgram,
  torchtuneProgram,
  litgptProgram,
  torchtitanProgram,
  nanotronProgram,
  nemoRlProgram,
  automodelProgram,
  foundryProgram,
  verlProgram,
  nemoProgram,
  deepspeedChatProgram,
  openInstructProgram,
  openInstructGrpoProgram,
  knownScriptProgram,
  trlProgram,
  hfProgram,
];
