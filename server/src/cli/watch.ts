import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { watch } from 'chokidar';
import { say } from '../wording/say';
import { isConfigName, SKIPPED_FOLDERS } from '../workspace/config-names';
import { type CheckOptions, checkedFiles, reportChecked } from './check';
import type { CliContext } from './context';
import { EXIT } from './exit-codes';
import { displayPath } from './report';

/** An editor saves in several steps, a checkout touches many files: they are looked at once, together. */
const SETTLE_MS = 100;

/** A file that is written all the time does not hold the report back for ever. */
const LONGEST_SETTLE_MS = 1000;

/** Paths that were touched, gathered until somebody asks for them. */
class Touched {
  readonly #paths = new Set<string>();
  #events = 0;
  #notify: (() => void) | undefined;

  add(file: string): void {
    this.#paths.add(file);
    this.#events++;
    this.#notify?.();
  }

  /** Those since the last time, when they have settled; waits until there are some. */
  async next(): Promise<readonly string[]> {
    if (this.#paths.size === 0)
      await new Promise<void>((resolve) => {
        this.#notify = resolve;
      });
    for (let waited = 0; waited < LONGEST_SETTLE_MS && this.#paths.size > 0; waited += SETTLE_MS) {
      const events = this.#events;
      await setTimeout(SETTLE_MS);
      if (events === this.#events) break;
    }
    const touched = [...this.#paths];
    this.#paths.clear();
    return touched;
  }
}

/**
 * `oomlint check --watch`: the report, and again after every change of a file that takes part in a run or could, until it is
 * interrupted. Analyses that nothing touched are kept. The exit code is that of the last report.
 */
export async function watchConfigs(
  paths: readonly string[],
  options: CheckOptions,
  context: CliContext,
): Promise<number> {
  const { folder, output, targets } = context;
  const touched = new Touched();
  const { signal, stopped } = interruption();
  const watcher = watch(
    paths.map((given) => path.resolve(folder, given)),
    {
      ignoreInitial: true,
      followSymlinks: false,
      ignored: (file) => SKIPPED_FOLDERS.has(path.basename(file)),
    },
  );
  let taking = new Set<string>();
  watcher.on('all', (event, file) => {
    const concerns = event === 'change' ? taking.has(file) : event !== 'addDir' && isLookedFor(file, context);
    if (concerns || isConfigName(file)) touched.add(file);
  });
  // A folder that cannot be watched is reported where it cannot be read either.
  watcher.on('error', (error) =>
    output.writeError(`oomlint: ${error instanceof Error ? error.message : String(error)}\n`),
  );
  await Promise.race([stopped, new Promise<void>((resolve) => watcher.once('ready', resolve))]);
  let code: number = EXIT.fine;
  try {
    while (!signal.aborted) {
      const collected = await checkedFiles(paths, options, context);
      code = await reportChecked(collected, options, context);
      taking = new Set(collected.checked.flatMap(({ files }) => files.flatMap(onDisk)));
      watcher.add([...taking]);
      output.writeError(`oomlint: ${say('waiting for changes; Ctrl+C ends it.')}\n`);
      const changed = await Promise.race([touched.next(), stopped]);
      if (!changed) break;
      for (const file of changed)
        for (const { workspace } of targets) workspace.invalidate(pathToFileURL(file).href);
      output.writeError(`\noomlint: ${changedAt(changed, folder)}\n`);
    }
  } finally {
    await watcher.close();
  }
  return code;
}

/** Ctrl+C and its kin, to be asked for and to be waited for. */
function interruption(): { readonly signal: AbortSignal; readonly stopped: Promise<void> } {
  const controller = new AbortController();
  const { signal } = controller;
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  const abort = () => controller.abort();
  process.once('SIGINT', abort).once('SIGTERM', abort);
  return { signal, stopped };
}

/** Whether an analysis looked for a file, or at the names in its folder: it matters that it came or went. */
function isLookedFor(file: string, { targets }: CliContext): boolean {
  const uri = pathToFileURL(file).href;
  return targets.some(({ workspace }) => workspace.dependents(uri).length > 0);
}

const onDisk = (uri: string) => (uri.startsWith('file:') ? [fileURLToPath(uri)] : []);

function changedAt(files: readonly string[], folder: string): string {
  const [first = ''] = files;
  const time = new Date().toLocaleTimeString();
  const name = displayPath(pathToFileURL(first).href, folder);
  return files.length === 1
    ? say('{0}: {1} changed.', time, name)
    : say('{0}: {1} and {2} {2|other file|other files} changed.', time, name, files.length - 1);
}
