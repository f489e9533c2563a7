import type { Family } from '../family';
import { trlRecipe } from './trl';
import { trlProgram } from './trl-program';

/** TRL. */
export const trlFamily: Family = {
  dialects: [trlRecipe],
  programs: [trlProgram],
  launches: /\btrl (?:sft|dpo|grpo|kto|orpo|cpo|rloo|reward|ppo)\b/,
};
