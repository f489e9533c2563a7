import type { Model } from '../model/model';
import { FIELDS, type FieldPath, type RunValues, type TrainingRun } from '../run/fields';
import { fieldError } from '../run/parse-field';
import { say } from '../wording/say';
import { bytesWords } from './formula-words';
import { emptyLedger, type Ledger, partsOf, post } from './ledger';
import { pipelineStages } from './pipeline';
import { rememberedTrace } from './remembered-trace';
import { takeAway } from './rollout';
import { dataParallelSize, type ShardingOf } from './sharding-scheme';
import { SOURCES } from './sources';
import { sumWeights, takesTurns } from './weights';

/** The step of one of two models that are trained in turns, and the run of the one that waits meanwhile. */
export interface Turn {
  readonly run: TrainingRun;
  readonly waiting: TrainingRun;
}

/** Fields of the run in which the value model's step differs, as far as they are such. */
function differences(step: TrainingRun['method.valueStep']): RunValues {
  const known = Object.entries(step ?? {}).filter(
    ([field, value]) => field in FIELDS && fieldError(field as FieldPath, value) === undefined,
  );
  return Object.fromEntries(known);
}

/**
 * Both turns of a run whose policy and value model are trained one after the other (verl, `trainer/ppo/ray_trainer.py`, `fit`:
 * `update_critic`, then `update_actor`); undefined where they are not, or where one is looked at already.
 */
export function turnsOf(run: TrainingRun): readonly [policy: Turn, value: Turn] | undefined {
  if (!takesTurns(run) || run['method.valueTurn']) return undefined;
  const other: TrainingRun = {
    ...run,
    ...differences(run['method.valueStep']),
    'method.valueTurn': true,
    'rollout.offload': run['method.valueOffload'],
    'method.valueOffload': run['rollout.offload'],
  };
  const value: TrainingRun = { ...other, 'batch.accumulation': accumulationOf(other) };
  return [
    { run, waiting: value },
    { run: value, waiting: run },
  ];
}

/** Micro batches of an optimizer step, where the other model has micro batches of another size. */
function accumulationOf(run: TrainingRun): number {
  const samples = run['batch.micro'] * dataParallelSize(run);
  const all = run['batch.global'];
  return all === undefined ? run['batch.accumulation'] : Math.max(1, Math.ceil(all / samples));
}

/**
 * What lies on a GPU of the model that waits: what it has between its steps, but for what waits in host memory. Its gradients are gone
 * (`zero_grad` behind its last step). Bytes per GPU of one pipeline stage.
 */
export function waitingBeside(
  model: Model,
  { run, waiting }: Turn,
  index: number,
  shard: ShardingOf,
): Ledger {
  const stages = pipelineStages(rememberedTrace(model, waiting), waiting, true);
  const own = stages.find((stage) => stage.index === index) ?? stages[0];
  const ledger = emptyLedger();
  if (!own) return ledger;
  const sums = sumWeights(own.stages, waiting);
  const rest = shard(waiting, sums, own.stages).atRest.slice();
  takeAway(rest, run['method.valueOffload']);
  for (const { category, bytes } of partsOf(rest))
    post(ledger, category, bytes, {
      name: run['method.valueTurn']
        ? say('the policy, which waits for its turn')
        : say('the value model, which waits for its turn'),
      formula: bytesWords(bytes),
      source: SOURCES.verlTurns,
    });
  return ledger;
}
