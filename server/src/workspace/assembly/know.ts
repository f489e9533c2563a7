import { VERSION_FIELDS, VERSIONED_PACKAGES } from '../../environment/versions';
import { findAccelerator, usableOf } from '../../hardware/catalog';
import type { DetectedGpus } from '../../hardware/detect';
import type { RunValues } from '../../run/fields';
import { type Fact, fact } from '../../run/origin';
import type { Resolution } from '../../run/resolve';
import { type Versions, versionSourceOf } from '../../run/versions';
import { say } from '../../wording/say';
import type { TrackedFiles } from '../file-cache';
import { findModelOf, type ModelFinding } from '../model-source';
import type { AssemblyOptions, Collected } from './collect';

/** What is known of a run beside its configs. */
export interface Known {
  /** What the files settle by themselves. */
  readonly values: RunValues;
  /** Versions of packages, and how surely each is known. */
  readonly versions: Versions;
  /** The model that they name. */
  readonly finding: ModelFinding;
  /** GPUs of this machine, where nobody names any. */
  readonly detected: readonly Fact[];
}

/** GPUs of this machine count only where nobody names a GPU: the run may go elsewhere. */
function detectedFacts(gpus: DetectedGpus | undefined): Fact[] {
  if (!gpus) {
    return [];
  }
  const origin = { kind: 'detected' as const, note: say('found on this machine by nvidia-smi') };
  const memory = findAccelerator(gpus.gpu)
    ? []
    : [fact('hardware.gpuMemory', usableOf(gpus.totalBytes), origin)];
  return [fact('hardware.gpu', gpus.gpu, origin), fact('hardware.gpus', gpus.count, origin), ...memory];
}

/** Versions of the packages that the fields of a run hold. */
function versionsOf(values: RunValues, origins: Resolution['origins']): Versions {
  return Object.fromEntries(
    VERSIONED_PACKAGES.flatMap((name) => {
      const field = VERSION_FIELDS[name];
      const [version, origin] = [values[field], origins[field]];
      if (version === undefined || !origin) return [];
      return [[name, { version, source: versionSourceOf(origin), oldest: origin.orElse }]];
    }),
  );
}

/** Looks up what the settled values name: the model's architecture, and this machine's GPUs where they name none. */
export async function know(
  { values, origins }: Resolution,
  { config: { uri }, frameworks }: Collected,
  files: TrackedFiles,
  options: AssemblyOptions,
): Promise<Known> {
  const wanted = options.detect !== undefined && values['hardware.gpu'] === undefined;
  const detected = wanted ? detectedFacts(await options.detect?.(uri)) : [];
  const finding = await findModelOf(values, origins, uri, files);
  return { values, versions: { ...frameworks, ...versionsOf(values, origins) }, finding, detected };
}
