import { decisionsOf } from '../advice/decisions';
import { detailOf } from '../explanation/detail';
import { headedCount } from '../memory/headed-count';
import { notesOf } from '../model/model';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { assumptionsOf } from '../workspace/assumptions';
import { answerSentence, type OpenAnswer } from '../workspace/open-questions';
import type { Breakdown, Opened } from './protocol';
import { ranksOf } from './ranks';

/**
 * An analysis as plain data: what the panel draws and the command line prints. Bytes are per GPU, host bytes per node. `open` is
 * what decides the run and nobody states.
 */
export function breakdownOf(
  analysis: Analysis,
  version?: number,
  open: readonly OpenAnswer[] = decisionsOf(analysis),
): Breakdown {
  const { estimate, model, accelerator, resolved } = analysis;
  const { values } = resolved;
  const gpus = values['hardware.gpus'];
  const counted = model && headedCount(model, values);
  return {
    version,
    file: analysis.uri,
    files: analysis.files,
    dialect: { id: analysis.dialect.id, name: analysis.dialect.name },
    model: model &&
      counted && {
        id: model.id,
        modelType: model.modelType,
        totalParameters: estimate?.model.totalParameters ?? counted.total,
        trainableParameters: estimate?.model.trainableParameters,
        activeParameters: estimate?.model.activeParameters ?? counted.active,
      },
    hardware:
      accelerator && gpus !== undefined
        ? {
            gpu: accelerator.name,
            gpus,
            nodes: values['hardware.nodes'] ?? 1,
            capacityBytes: estimate?.capacityBytes ?? accelerator.usableBytes,
          }
        : undefined,
    verdict: estimate?.verdict ?? 'unknown',
    ...(estimate?.foundBatch ? { foundBatch: estimate.foundBatch } : {}),
    peak: estimate?.peak,
    parts: estimate?.parts ?? [],
    timeline: estimate?.timeline ?? [],
    ranks: ranksOf(analysis),
    host: estimate && {
      ...estimate.host,
      parts: estimate.host.parts.map((part) => ({ ...part, label: say(part.label) })),
    },
    compute: estimate?.compute,
    assumptions: assumptionsOf(analysis),
    unknown: resolved.unknown,
    notes: [
      ...(estimate?.notes ?? notesOf(model, values)),
      ...(accelerator?.usableIsDerived
        ? [say('The memory that PyTorch can use on {0} is derived, not read.', accelerator.name)]
        : []),
    ],
    ...(analysis.unread ? { notUnderstood: analysis.unread } : {}),
    ...(open.length > 0
      ? { open: open.map((answer) => ({ ...answer, sentence: answerSentence(answer) })) }
      : {}),
    diagnostics: analysis.problems,
  };
}

/** Opens the figures of an analysis, at the peak or at a sample of the timeline; null where there is no estimate. */
export function openedOf(analysis: Analysis, sample?: number, version?: number): Opened | null {
  const { model, accelerator, estimate, uri, resolved } = analysis;
  const { run } = resolved;
  if (!model || !accelerator || !run || !estimate) return null;
  // The text may have changed since the sample was drawn.
  const known = sample !== undefined && estimate.timeline[sample] ? sample : undefined;
  const { memory, figures } = detailOf({ run, model, accelerator }, known);
  return { version, file: uri, sample: known, memory, figures };
}
