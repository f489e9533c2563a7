import { type Estimated, isEstimated } from '../../advice/changed-run';
import type { World } from '../../advice/world';
import { findAccelerator } from '../../hardware/catalog';
import type { OutOfMemoryLog } from '../../measured/out-of-memory';
import { type Fact, fact } from '../../run/origin';
import { parentUri, resolvePath } from '../../text/uri';
import { say } from '../../wording/say';
import type { Analysis } from '../../workspace/analysis';
import type { Workspace } from '../../workspace/analyze';

/** The config of a run that left a log, and how it was found. */
export interface Launched {
  readonly analysis: Estimated;
  /** By a command in the log, because somebody named it, or because no other lies beside the log. */
  readonly by: 'command' | 'name' | 'only';
  /** The command, where one was found. */
  readonly command?: string;
  /** What the analysis is of: the same files, with the card of the log where they name none. */
  readonly workspace: RunFinder;
}

/** The launched config, or the first that was found and has no estimate. */
export interface LaunchSearch {
  readonly launched?: Launched;
  readonly unestimated?: Pick<Launched, 'by' | 'command'> & { readonly analysis: Analysis };
}

/** What looks for the run of a log: a workspace. */
export type RunFinder = World &
  Pick<Workspace, 'analyze' | 'filesFrom'> & { given(facts: readonly Fact[]): RunFinder };

/** What a log states of the card that its run was on. Bytes. */
export interface CardOfLog {
  readonly gpu?: string;
  readonly capacityBytes?: number;
}

/** Configs beside a log that are looked at. */
const MOST_BESIDE = 24;

/** A config that was looked at, and the files with what was known of them then. */
interface Seen {
  readonly analysis: Analysis;
  readonly workspace: RunFinder;
}

/**
 * The config that was launched: the named one; else what a command of the log starts, read as a script in the log's folder;
 * else the only config in that folder. Where its files name no GPU it is held to the card of the log.
 */
export async function launchedConfig(
  log: Pick<OutOfMemoryLog, 'commands' | 'found'>,
  folder: string,
  named: string | undefined,
  workspace: RunFinder,
  stated: CardOfLog = {},
): Promise<LaunchSearch> {
  const card = cardFacts(log, stated);
  const look = (find: (of: RunFinder) => Promise<Analysis | undefined>) => seenOn(card, workspace, find);
  if (named !== undefined) return searched(await look((of) => of.analyze(named)), 'name');
  const script = `${folder.replace(/\/$/, '')}/launched.sh`;
  let unestimated: LaunchSearch['unestimated'];
  for (const { text: command } of log.commands) {
    const texts = new Map([[script, `${command}\n`]]);
    const found = searched(await look((of) => of.preview(script, texts)), 'command', command);
    if (found.launched) return found;
    unestimated ??= found.unestimated;
  }
  const beside = await onlyBeside(script, folder, workspace, look);
  const found = searched(beside, 'only');
  return found.launched || !unestimated ? found : { unestimated };
}

/** The only run beside a log; of several that cannot be estimated none. */
async function onlyBeside(
  script: string,
  folder: string,
  workspace: RunFinder,
  look: (find: (of: RunFinder) => Promise<Analysis | undefined>) => Promise<Seen | undefined>,
): Promise<Seen | undefined> {
  const found: Seen[] = [];
  for (const name of (await workspace.filesFrom(script, '')).slice(0, MOST_BESIDE)) {
    const uri = resolvePath(parentUri(script) ?? folder, name, undefined);
    const one = uri === undefined ? undefined : await look((of) => of.analyze(uri));
    if (one) found.push(one);
  }
  // A file that another names is part of that one's run.
  const isPart = ({ analysis: { uri } }: Seen) =>
    found.some(({ analysis }) => analysis.uri !== uri && analysis.files.includes(uri));
  const roots = found.filter((one) => !isPart(one));
  const runs = roots.filter(({ analysis }) => isEstimated(analysis));
  const candidates = runs.length > 0 ? runs : roots;
  return candidates.length === 1 ? candidates[0] : undefined;
}

/** Analyses a config, and once more on the card of the log where nothing names a GPU. */
async function seenOn(
  card: readonly Fact[],
  workspace: RunFinder,
  find: (of: RunFinder) => Promise<Analysis | undefined>,
): Promise<Seen | undefined> {
  const analysis = await find(workspace);
  if (!analysis) return undefined;
  const lacksCard = analysis.resolved.unknown.some(({ field }) => field === 'hardware.gpu');
  if (card.length === 0 || !lacksCard) return { analysis, workspace };
  const knowing = workspace.given(card);
  const again = await find(knowing);
  return { analysis: again ?? analysis, workspace: knowing };
}

function searched(seen: Seen | undefined, by: Launched['by'], command?: string): LaunchSearch {
  if (!seen) return {};
  const { analysis, workspace } = seen;
  const how = { by, ...(command === undefined ? {} : { command }) };
  return isEstimated(analysis)
    ? { launched: { analysis, workspace, ...how } }
    : { unestimated: { analysis, ...how } };
}

/** The card of an out-of-memory message, which tells its memory, or the one that the log names. */
function cardFacts({ found }: Pick<OutOfMemoryLog, 'found'>, { gpu, capacityBytes }: CardOfLog): Fact[] {
  const named = gpu === undefined ? undefined : findAccelerator(gpu);
  const message = found.find(({ torch }) => torch?.total && torch.device !== 'mps');
  const bytes = message?.torch?.total?.bytes ?? capacityBytes;
  const origin = (note: string) => ({ kind: 'detected' as const, note });
  return [
    ...(named ? [fact('hardware.gpu', named.name, origin(say('named in the log')))] : []),
    ...(bytes === undefined
      ? []
      : [
          fact(
            'hardware.gpuMemory',
            bytes,
            origin(message ? say('in the message, line {0}', String(message.line + 1)) : say('in the log')),
          ),
        ]),
  ];
}
