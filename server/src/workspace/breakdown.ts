import type { Breakdown } from '../features/protocol';
import type { Analysis } from './analysis';
import { assumptionsOf } from './assumptions';

/** An analysis as plain data: what the panel draws and the command line prints. Bytes are per GPU, host bytes per node. */
export function breakdownOf(analysis: Analysis, version?: number): Breakdown {
  const { estimate, model, accelerator, resolved } = analysis;
  const { values } = resolved;
  const gpus = values['hardware.gpus'];
  return {
    version,
    file: analysis.uri,
    files: analysis.files,
    dialect: { id: analysis.dialect.id, name: analysis.dialect.name },
    model: model && {
      id: model.id,
      modelType: model.modelType,
      totalParameters: model.parameters.total,
      // Without a complete run nobody knows what is trained; all of it is the common case.
      trainableParameters: estimate?.model.trainableParameters ?? model.parameters.total,
      activeParameters: model.parameters.active,
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
    peak: estimate?.peak,
    parts: estimate?.parts ?? [],
    timeline: estimate?.timeline ?? [],
    hostBytesPerNode: estimate?.hostBytesPerNode ?? 0,
    hostParts: estimate?.hostParts ?? [],
    compute: estimate?.compute,
    assumptions: assumptionsOf(analysis),
    unknown: resolved.unknown,
    notes: [
      ...(estimate?.notes ?? model?.notes ?? []),
      ...(accelerator?.usableIsDerived
        ? [`The memory that PyTorch can use on ${accelerator.name} is derived, not read.`]
        : []),
    ],
    diagnostics: analysis.problems,
  };
}
