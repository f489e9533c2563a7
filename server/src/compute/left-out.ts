import type { Accelerator } from '../hardware/accelerator';
import type { TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import { loopDependsOnRelease } from './launches';

/** Objectives that train on what the model itself generates. */
const GENERATES: ReadonlySet<TrainingRun['method.objective']> = new Set([
  'grpo',
  'rloo',
  'ppo',
  'online-dpo',
]);

/** What takes time and is not in an estimate of it, for people. */
export function leftOut(run: TrainingRun, accelerator: Accelerator, hasExperts: boolean): string[] {
  const notes: string[] = [];
  if (run['offload.optimizer'] === 'nvme' || run['offload.parameters'] === 'nvme')
    notes.push(say('reading and writing NVMe'));
  if (run['parallel.expert'] > 1) notes.push(say('exchange of tokens between experts'));
  if (run['parallel.context'] > 1 || run['parallel.ulysses'] > 1)
    notes.push(say('exchange of keys and values'));
  const generates = run['method.objective'] === 'distillation' && run['rollout.engine'] !== 'none';
  if (generates || GENERATES.has(run['method.objective']))
    notes.push(say('generation of completions and their rewards'));
  if (GENERATES.has(run['method.objective']) && run['method.scoringForwards'] === undefined)
    notes.push(say('forward passes that score completions before an update'));
  if (run['method.frozenParameters'] > 0) notes.push(say('frozen models of other sizes'));
  if (hasExperts && loopDependsOnRelease(run, accelerator))
    notes.push(say('the loop over experts of Unsloth before 2026.10.2, which only the upper end has'));
  if (accelerator.bandwidthBytesPerSecond === undefined)
    notes.push(say('work bound by memory, whose speed is not known'));
  return notes;
}
