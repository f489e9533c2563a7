import { flagOf, textOf } from '../../config/scalar';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { Section } from '../section';

/** Who shares the model among the GPUs of a run of the Hugging Face Trainer. */
export type TrainerSharding = 'ddp' | 'zero' | 'fsdp';

/** How a tool on top of the Trainer asks for FSDP, and who says that it replicates otherwise. */
export interface ShardingKeys {
  /** Reads the tool's FSDP settings; true where there are any. */
  readonly fsdp: (section: Section, draft: Draft, context: ReadContext) => boolean;
  readonly note: string;
  readonly source: string;
}

/** `deepspeed`, then FSDP, then what the launcher of the run was told, else replicas. */
export function readTrainerSharding(
  section: Section,
  draft: Draft,
  context: ReadContext,
  keys: ShardingKeys,
): TrainerSharding {
  const deepspeed = section.find('deepspeed');
  const named = deepspeed && flagOf(deepspeed.node) !== false && textOf(deepspeed.node) !== '';
  if (deepspeed && (deepspeed.node.kind === 'map' || named)) {
    section.link('deepspeed', 'deepspeed');
    section.state('parallel.data', 'zero', deepspeed);
    return 'zero';
  }
  if (keys.fsdp(section, draft, context)) return 'fsdp';
  const launched = context.known['parallel.data'];
  if (launched === 'zero') return 'zero';
  if (launched === 'fsdp1' || launched === 'fsdp2') return 'fsdp';
  draft.assume('parallel.data', 'ddp', keys.note, keys.source);
  return 'ddp';
}
