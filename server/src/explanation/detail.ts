import { type EstimateInput, tracedEstimate } from '../estimate';
import { explanationOf } from '../memory/explain';
import { journaled } from '../memory/ledger';
import { SOURCES } from '../memory/sources';
import { traceSettings } from '../memory/traced-run';
import { grownModel } from '../model/grown-model';
import { type DetailNode, settleIntegers } from '../results/detail-node';
import { deviceFigures } from './device-figures';
import { flopFigures } from './flop-figures';
import { labelledShardingOf } from './labelled-sharding';
import { partTree, type TreeContext } from './memory-tree';
import { parameterFigures } from './parameter-figures';
import { indexTapes, joined } from './tape-index';
import { timeFigures } from './time-figures';

/** What stands behind the figures of an estimate. */
export interface Detail {
  /** Memory of one GPU at the chosen moment: parts, parts of the model, operators, tensors. */
  readonly memory: DetailNode;
  /** Every other figure: of the device, the parameters, the work. */
  readonly figures: readonly DetailNode[];
  /** Bytes freed that no allocation of their size was found for; zero unless the walk is wrong. */
  readonly astrayBytes: number;
}

/**
 * Opens the memory of an estimate: at its peak, or at one sample of its timeline. Plays the step again with a journal, so
 * it costs some tens of milliseconds; nothing of it runs for an estimate alone. Leaves add up to the bytes of their part,
 * parts to those of the process (at a sample: to what is allocated). Throws nothing where `estimate` does not.
 */
export function detailOf(input: EstimateInput, sample?: number): Detail {
  const { run, accelerator } = input;
  const model = grownModel(input.model, run['method.newLayers']);
  const { result, itemsOf } = journaled(() => tracedEstimate(input, labelledShardingOf));
  const { estimate, walk, held, evaluated, sums, sharding, atPeak } = result;
  const point = sample === undefined ? undefined : walk.points[sample];
  const chosen = sample === undefined ? undefined : estimate.timeline[sample];
  const { batch, sequence } = traceSettings(run, model);
  const context: TreeContext = {
    run,
    index: joined(indexTapes(held), indexTapes(evaluated ?? [])),
    sizes: { batch, sequence },
    moment: chosen?.moment ?? estimate.peak.moment,
    sharding,
    explanation: (category) =>
      explanationOf(category, { run, sums, accelerator, sharding, hiddenSize: model.hiddenSize }),
  };
  const items = itemsOf(point?.ledger ?? atPeak);
  const parts = (chosen?.parts ?? estimate.parts).map((part) => partTree(part, items, context));
  return {
    memory: settleIntegers({
      name: chosen?.label ?? estimate.peak.label,
      value: chosen?.bytes ?? estimate.peak.processBytes,
      unit: 'bytes',
      formula: parts.map(({ draft }) => draft.name).join(' + '),
      source: SOURCES.memoryStatistics,
      children: parts.map(({ draft }) => draft),
    }),
    figures: [
      ...deviceFigures(estimate, input),
      ...parameterFigures(result.model, run),
      ...flopFigures(result.model, run, estimate.compute, context.sizes),
      ...timeFigures(estimate.compute, run, model.parameters.total),
    ],
    astrayBytes: parts.reduce((sum, { astray }) => sum + astray, 0),
  };
}
