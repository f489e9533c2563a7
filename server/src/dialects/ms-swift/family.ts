import type { Family } from '../family';
import { msSwift } from './ms-swift';
import { MS_SWIFT_RULES } from './ms-swift-rule-table';
import { swiftMegatronProgram, swiftProgram } from './swift-program';

/** ms-swift. */
export const msSwiftFamily: Family = {
  dialects: [msSwift],
  programs: [swiftProgram, swiftMegatronProgram],
  launches:
    /\bswift (?:sft|pt|rlhf)\b|\bmegatron (?:sft|pt|rlhf)\b|\bcli\/(?:sft|pt|rlhf)\.py\b|\bllm_sft\.py\b/,
  rules: { title: 'ms-swift', table: MS_SWIFT_RULES },
};
