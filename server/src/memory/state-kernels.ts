import { joinWords } from '../results/labels';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';
import { type StatePackage, UNKNOWN_PACKAGES } from '../terms/state-packages';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { TracedStage } from './traced-run';

/** Packages without which layers do what is not played, of those that are not known to be there. */
export function unplayedPackages(run: TrainingRun, stages: readonly TracedStage[]): readonly StatePackage[] {
  if (!behaviours(run).runsStatesWithoutKernels) return [];
  const named = run['kernels.states'];
  return stages.flatMap(({ tape }) => tape.unplayedPackages ?? []).filter((name) => !named.includes(name));
}

/** The same run without the packages of `wanted` that are not known to be there; undefined where all are known, or the model's code cannot do without. */
export function withoutKernels(run: TrainingRun, wanted: readonly StatePackage[]): TrainingRun | undefined {
  const named = run['kernels.states'];
  if (!named.includes(UNKNOWN_PACKAGES) || wanted.every((name) => named.includes(name))) return undefined;
  if (!behaviours(run).runsStatesWithoutKernels) return undefined;
  return { ...run, 'kernels.states': named.filter((name) => name !== UNKNOWN_PACKAGES) };
}

/** What a run may take whose packages of kernels are not known, for people. `most`: bytes without those that are not named. */
export function kernelNotes(run: TrainingRun, wanted: readonly StatePackage[], most: number): string[] {
  const open = wanted.filter((name) => !run['kernels.states'].includes(name));
  if (open.length === 0) return [];
  const names = joinWords(open.map((name) => `\`${name}\``));
  return [
    say(
      '{0} {1|is|are} taken as installed: nothing here says so. Without {1|it|them} up to {2} is needed.',
      names,
      open.length,
      formatBytes(most),
    ),
  ];
}
