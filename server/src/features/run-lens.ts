import type { Range } from '../text/place';
import { say } from '../wording/say';
import type { Analysis, RunOption } from '../workspace/analysis';
import { CHOOSE_RUN_COMMAND, type ChooseRunArguments } from './workspace-protocol';

const FIRST_LINE: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

export interface RunLens {
  readonly range: Range;
  readonly title: string;
  readonly command: typeof CHOOSE_RUN_COMMAND;
  readonly argument: ChooseRunArguments;
}

/** Above a file that others use: the run that its figures are of, and the way to the others. Nothing for other files. */
export function runLens({ uri, runs = [], run }: Analysis): RunLens | undefined {
  const title = runPhrase(runs, run);
  return title === undefined
    ? undefined
    : { range: FIRST_LINE, title, command: CHOOSE_RUN_COMMAND, argument: { uri } };
}

/** Which of its runs a file is shown in: `in the run of recipes/b.yaml (worst of 3 runs)`. */
export function runPhrase(runs: readonly RunOption[], run: string | undefined): string | undefined {
  const shown = runs.find(({ root }) => root === run);
  if (!shown) return undefined;
  const { name } = shown;
  if (runs.length === 1) return say('in the run of {0}', name);
  const count = String(runs.length);
  return runs[0] === shown
    ? say('in the run of {0} (worst of {1} runs)', name, count)
    : say('in the run of {0} (of {1} runs)', name, count);
}
