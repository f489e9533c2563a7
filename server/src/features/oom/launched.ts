import { type Estimated, isEstimated } from '../../advice/changed-run';
import type { OutOfMemoryLog } from '../../measured/out-of-memory';
import { parentUri, resolvePath } from '../../text/uri';
import type { Workspace } from '../../workspace/analyze';

/** The config of a run that left a log, and how it was found. */
export interface Launched {
  readonly analysis: Estimated;
  /** By a command in the log, because somebody named it, or because no other lies beside the log. */
  readonly by: 'command' | 'name' | 'only';
  /** The command, where one was found. */
  readonly command?: string;
}

/** Configs beside a log that are looked at. */
const MOST_BESIDE = 24;

/**
 * The config that was launched: the named one; else what a command of the log starts, read as a script in the log's folder;
 * else the only config in that folder. Undefined where none of them can be estimated.
 */
export async function launchedConfig(
  log: Pick<OutOfMemoryLog, 'commands'>,
  folder: string,
  named: string | undefined,
  workspace: Pick<Workspace, 'analyze' | 'preview' | 'filesFrom'>,
): Promise<Launched | undefined> {
  if (named !== undefined) {
    const analysis = await workspace.analyze(named);
    return analysis && isEstimated(analysis) ? { analysis, by: 'name' } : undefined;
  }
  const script = `${folder.replace(/\/$/, '')}/launched.sh`;
  for (const { text } of log.commands) {
    const analysis = await workspace.preview(script, new Map([[script, `${text}\n`]]));
    if (analysis && isEstimated(analysis)) return { analysis, by: 'command', command: text };
  }
  const beside = (await workspace.filesFrom(script, '')).slice(0, MOST_BESIDE);
  const found: Estimated[] = [];
  for (const name of beside) {
    const uri = resolvePath(parentUri(script) ?? folder, name, undefined);
    const analysis = uri === undefined ? undefined : await workspace.analyze(uri);
    if (analysis && isEstimated(analysis)) found.push(analysis);
  }
  // A file that another names is part of that one's run.
  const roots = found.filter((one) => !found.some((other) => other !== one && other.files.includes(one.uri)));
  const [only] = roots;
  return only && roots.length === 1 ? { analysis: only, by: 'only' } : undefined;
}
