import type { MapNode } from '../../config/node';
import { flagOf, textOf } from '../../config/scalar';
import { isFsdp } from '../../terms/data-parallel';
import { isAtLeast } from '../../terms/version';
import { readDeepspeedSettings } from '../deepspeed/deepspeed';
import { OF_PRECISION } from '../deepspeed/deepspeed-precision';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { Section } from '../section';
import { fsdpOptions } from './fsdp-argument';

/** Who shares the model among the GPUs of a run of the Hugging Face Trainer. */
export type TrainerSharding = 'ddp' | 'zero' | 'fsdp';

/** How a tool on top of the Trainer asks for FSDP, and who states that it replicates otherwise. */
export interface ShardingKeys {
  /** Reads the tool's FSDP settings; true where there are any. */
  readonly fsdp: (section: Section, draft: Draft, context: ReadContext) => boolean;
  readonly note: string;
  readonly source: string;
}

/** `deepspeed`, then FSDP, then what the launcher of the run was given, else replicas. */
export function readTrainerSharding(
  section: Section,
  draft: Draft,
  context: ReadContext,
  keys: ShardingKeys,
): TrainerSharding {
  const deepspeed = section.find('deepspeed');
  const named = deepspeed && flagOf(deepspeed.node) !== false && textOf(deepspeed.node) !== '';
  // What the arguments state wins over what follows from how the model is placed.
  const states = named === true || deepspeed?.node.kind === 'map' || fsdpOptions(section).found !== undefined;
  if (states && draft.valueOf('parallel.data') === 'none') draft.forget('parallel.data');
  if (deepspeed && (deepspeed.node.kind === 'map' || named)) {
    // The settings themselves may stand there: `TrainingArguments.deepspeed` is a path or a dictionary.
    if (deepspeed.node.kind === 'map') readOwnSettings(deepspeed.node, section, draft, context);
    // A word such as `zero2` is a name of the program that reads the file, and no path.
    else if (/^\w+$/.test(textOf(deepspeed.node) ?? '')) section.leave(deepspeed, ['zero.stage']);
    else section.link('deepspeed', 'deepspeed');
    section.state('parallel.data', 'zero', deepspeed);
    return 'zero';
  }
  readSyncEachBatch(section, context);
  if (keys.fsdp(section, draft, context)) return 'fsdp';
  const launched = context.known['parallel.data'];
  if (launched === 'zero') return 'zero';
  if (isFsdp(launched)) return 'fsdp';
  // A model that is spread over the GPUs is replicated on none.
  if (!draft.knows('parallel.data')) draft.assume('parallel.data', 'ddp', keys.note, keys.source);
  return 'ddp';
}

/**
 * DeepSpeed's settings within the Trainer's own. Where they leave the precision open its switch decides: Accelerate adds the block
 * that they lack (accelerate 1.15, `utils/dataclasses.py`, `DeepSpeedPlugin.set_mixed_precision`).
 */
function readOwnSettings(settings: MapNode, section: Section, draft: Draft, context: ReadContext): void {
  draft.filledAs('deepspeed', () => readDeepspeedSettings(settings, draft, context));
  if (section.flag('bf16') === true || section.flag('fp16') === true) draft.withdraw(OF_PRECISION);
}

/** `sync_each_batch` of the Trainer, which asks for it since transformers 5 (`trainer.py`, `_inner_training_loop`). */
function readSyncEachBatch(section: Section, context: ReadContext): void {
  const each = section.find('accelerator_config.gradient_accumulation_kwargs.sync_each_batch');
  if (!each || flagOf(each.node) !== true) return;
  if (isAtLeast(context.known['version.transformers'], '5') === true)
    section.state('fsdp.syncEachBatch', true, each);
}
