import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import { emptyLedger, type Ledger, post } from './ledger';
import { deviceStateBytes } from './optimizers';
import type { Splits } from './sharding-scheme';
import { SOURCES } from './sources';
import { bytesPer, type WeightSums } from './weights';

/** Steps between two draws of layers where nobody states it (Axolotl, ms-swift, LMFlow: 20). */
const INTERVAL = 20;

/**
 * Layers that LISA has trained by the end of the run, at most. It draws anew at steps 0 and 1 and then every interval
 * (`callbacks/lisa.py`, `on_step_begin`). ZeRO makes the states of all layers when it begins.
 */
function drawnLayers(run: TrainingRun, layers: number): number {
  const active = Math.min(layers, Math.abs(run['method.trainableLayers'] ?? 1));
  const steps = run['schedule.steps'];
  if (run['parallel.data'] === 'zero' || steps === undefined) return layers;
  const interval = run['method.switchSteps'] ?? INTERVAL;
  const draws = 2 + Math.floor(Math.max(0, steps - 1) / interval);
  return Math.min(layers, active * draws);
}

/**
 * Optimizer states of layers that LISA trained before and that are frozen again: freezing a weight drops its gradient, not
 * what the optimizer keeps of it (`torch/optim/optimizer.py`, `state`). Bytes per GPU.
 */
export function dormantStates(run: TrainingRun, sums: WeightSums, splits: Splits): Ledger {
  const ledger = emptyLedger();
  const { count, elements } = sums.layers;
  if (run['method.kind'] !== 'lisa' || count === 0 || run['offload.optimizer'] !== 'none') return ledger;
  const active = Math.min(count, Math.abs(run['method.trainableLayers'] ?? 1));
  const dormant = drawnLayers(run, count) - active;
  const { stepsMasters, keepsMastersBeside } = behaviours(run);
  const width = bytesPer(stepsMasters ? run['precision.masterWeights'] : run['precision.weights']);
  // An engine keeps masters beside its states.
  const masters = keepsMastersBeside ? width : 0;
  const bytes = masters + deviceStateBytes(run, width, sums.stepped);
  post(ledger, 'optimizer-states', (bytes * dormant * elements) / count / splits.states, {
    name: say('states of layers that were trained before'),
    formula: say(
      '{0} B × {1} elements of {2} layers',
      String(Math.round(100 * bytes) / 100),
      Math.round((dormant * elements) / count),
      dormant,
    ),
    source: SOURCES.adamw,
  });
  return ledger;
}
