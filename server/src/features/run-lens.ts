import type { Range } from '../run/origin';
import { formatBytes } from '../wording/figures';
import type { Analysis, RunOption } from '../workspace/analysis';
import { CHOOSE_RUN_COMMAND, type ChooseRunArguments } from './workspace-protocol';

const FIRST_LINE: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

export interface RunLens {
  readonly range: Range;
  readonly title: string;
  readonly command: typeof CHOOSE_RUN_COMMAND;
  readonly argument: ChooseRunArguments;
}

const VERDICTS = { fits: 'fits', tight: 'tight', exceeds: 'does not fit', unknown: 'not known yet' } as const;

/** A run in one line: `recipes/b.yaml: 61.3 GiB, does not fit`. */
export function runLabel({ name, peakBytes, verdict }: RunOption): string {
  const peak = peakBytes === undefined ? '' : `${formatBytes(peakBytes)}, `;
  return `${name}: ${peak}${VERDICTS[verdict]}`;
}

/** Above a file that others use: the run that its figures are of, and the way to the others. Nothing for other files. */
export function runLens({ uri, runs = [], run }: Analysis): RunLens | undefined {
  const shown = runs.find(({ root }) => root === run);
  if (!shown) return undefined;
  const worst = runs[0] === shown;
  const which =
    runs.length === 1 ? '' : worst ? ` (worst of ${runs.length} runs)` : ` (of ${runs.length} runs)`;
  return {
    range: FIRST_LINE,
    title: `in the run of ${shown.name}${which}`,
    command: CHOOSE_RUN_COMMAND,
    argument: { uri },
  };
}
