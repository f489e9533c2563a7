import { commands, Disposable } from 'vscode';

/** What a person saw come of a step of the walkthrough. */
const STEPS = [
  'gpuKnown',
  'configSeen',
  'breakdownShown',
  'fixesShown',
  'changeTried',
  'fittingFound',
] as const;
type Step = (typeof STEPS)[number];

/** Ticked again no sooner than that: some are done with each key. Milliseconds. */
const AGAIN_MS = 10_000;

/** What opening a walkthrough takes on a busy machine. */
const OPENING_MS = 3_000;

const doneAt = new Map<Step, number>();
const commandOf = (step: Step): string => `oomlint.done.${step}`;

/**
 * Ticks a step. The manifest names a command for each, which does nothing: VS Code ticks a step when a command of its own side ran, while a
 * context key that is set before somebody opens a walkthrough never ticks anything.
 */
export function done(step: Step): void {
  const now = Date.now();
  if (now - (doneAt.get(step) ?? 0) < AGAIN_MS) return;
  doneAt.set(step, now);
  tick([step]);
}

/** What was done before the walkthrough was opened counts when it is. */
export async function openWalkthrough(extension: string): Promise<void> {
  await commands.executeCommand('workbench.action.openWalkthrough', `${extension}#start`, false);
  // VS Code reads the steps after it has opened the page, and hears of a command for a step that it has not read only once.
  setTimeout(() => tick([...doneAt.keys()]), OPENING_MS);
}

export function tickedSteps(): Disposable {
  return Disposable.from(...STEPS.map((step) => commands.registerCommand(commandOf(step), () => undefined)));
}

function tick(steps: readonly Step[]): void {
  if (steps.length === 0) return;
  // Run by the extension itself, a command would not be known to have run on VS Code's side.
  void commands
    .executeCommand('runCommands', { commands: steps.map(commandOf) })
    .then(undefined, () => undefined);
}
