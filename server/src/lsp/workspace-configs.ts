import { pauses } from '../advice/fixes';
import type { KnownConfig, KnownConfigs } from '../features/workspace-protocol';
import { fieldLabel } from '../run/field-labels';
import { canonicalUri, fileName, relativePath } from '../text/uri';
import { type Analysis, isPart } from '../workspace/analysis';
import type { Workspace } from '../workspace/analyze';
import type { Asked } from '../workspace/asked';
import { isConfigName } from '../workspace/config-names';
import { listedConfigs } from '../workspace/listed-configs';
import type { ListedFile } from '../workspace/listed-file';
import { verdictSeverity } from '../workspace/verdict-severity';
import { isVocabulary } from '../workspace/vocabularies';
import type { EditorHost } from './open-files';
import type { LocalMachine } from './runtime';

/** Configs that are listed; a repository of examples has hundreds. */
const MOST_LISTED = 200;

/** What was decided of a file below one of the folders. */
interface Decided {
  readonly uri: string;
  readonly folder: string;
  /** What the file was then; undefined where only who watches it knows. */
  readonly stamp: string | undefined;
  /** Whether it can be a config; undefined where that is to be decided anew. */
  readonly isWorth: boolean | undefined;
  row?: Row;
}

/** What came of a file that can be a config. */
interface Row {
  /** Undefined where it is none, or is listed with the run that starts it. */
  readonly config: KnownConfig | undefined;
  /** What the analysis hung on. */
  readonly asked: Asked | undefined;
}

/** Lets others have their turn; false where nobody waits for the answer any more. */
type Pause = () => Promise<boolean>;

/**
 * The training configs of the workspace's folders, each run once: what another config starts is listed with that. What was decided of a
 * file holds until its time or size is another, and a verdict until an answer that it hung on is: only the first look reads every file.
 * Others get their turn all the time, so that no key that is typed meanwhile waits for more than one analysis.
 */
export class WorkspaceConfigs {
  readonly #workspace: Workspace;
  readonly #host: EditorHost;
  readonly #machine: LocalMachine | undefined;
  /** By canonical address, in the order of folders and names. */
  #decided: ReadonlyMap<string, Decided> = new Map();
  /** Canonical addresses of files that changed since they were looked at. */
  #changed = new Set<string>();
  /** Every folder was looked through to its end, and all is decided. */
  #isWhole = false;
  /** One look at a time: the next one finds what this one decided. */
  #looking: Promise<unknown> = Promise.resolve();

  constructor(workspace: Workspace, host: EditorHost, machine: LocalMachine | undefined) {
    this.#workspace = workspace;
    this.#host = host;
    this.#machine = machine;
  }

  /** The text of a file, or its existence, changed. */
  changed(uri: string): void {
    this.#changed.add(canonicalUri(uri));
  }

  /** Settings, folders or families changed. */
  reset(): void {
    // Of what each file was, it still turns out whether it was written since.
    const forgotten = (one: Decided): Decided => ({ ...one, isWorth: undefined, row: undefined });
    this.#decided = new Map([...this.#decided].map(([key, one]) => [key, forgotten(one)]));
    this.#isWhole = false;
  }

  /** All configs. With `again` the folders are not looked through where none can hold a file that nobody looked at. */
  look(isCancelled: () => boolean, again = false): Promise<KnownConfigs> {
    const turn = pauses();
    const pause = async () => {
      await turn();
      return !isCancelled();
    };
    const found = this.#looking.then(async () => {
      if (!isCancelled()) await this.#look(pause, again);
      return this.#found();
    });
    this.#looking = found.catch(() => undefined);
    return found;
  }

  async #look(pause: Pause, again: boolean): Promise<void> {
    const changed = this.#changed;
    this.#changed = new Set();
    if (await this.#teaches(changed)) this.reset();
    const before = this.#decided;
    const isKnown =
      again && this.#isWhole && [...changed].every((key) => before.has(key) || !isConfigName(fileName(key)));
    const decided = isKnown
      ? await this.#decidedAgain(changed, pause)
      : await this.#decidedAnew(changed, pause);
    // Who changed the settings meanwhile asks again.
    if (decided && this.#decided === before) {
      this.#decided = decided;
      this.#isWhole = true;
      if (await this.#judged(decided, changed, pause)) return;
    }
    // What was not looked at to its end is looked at the next time.
    for (const key of changed) this.#changed.add(key);
  }

  /** Whether other files may be configs now, or none any more. */
  async #teaches(changed: ReadonlySet<string>): Promise<boolean> {
    for (const key of changed) {
      if (isVocabulary(key)) return true;
      // A vocabulary may have any name that a project file gives.
      const text = /\.ya?ml$/i.test(key) ? await this.#host.readText(key) : undefined;
      if (text !== undefined && /\b(?:keys|vocabularies)\s*:/.test(text)) return true;
    }
    return false;
  }

  /** The files that are known, those that changed decided anew; undefined where nobody waits. */
  async #decidedAgain(
    changed: ReadonlySet<string>,
    pause: Pause,
  ): Promise<ReadonlyMap<string, Decided> | undefined> {
    const decided = new Map(this.#decided);
    for (const key of changed) {
      const known = decided.get(key);
      if (!known) continue;
      if (!(await pause())) return undefined;
      const file = await this.#machine?.look(known.uri);
      const isWorth = await this.#isWorth(known.uri, file);
      // A row that was made of another text is no row of this one.
      decided.set(key, { uri: known.uri, folder: known.folder, stamp: file?.stamp, isWorth });
    }
    return decided;
  }

  /** All files that there are; what turns out to have changed is noted. Undefined where nobody waits. */
  async #decidedAnew(changed: Set<string>, pause: Pause): Promise<ReadonlyMap<string, Decided> | undefined> {
    const before = this.#decided;
    const decided = new Map<string, Decided>();
    for (const folder of this.#host.opened) {
      const onDisk = folder.startsWith('file:') ? this.#machine : undefined;
      for (const uri of await (onDisk?.configsBelow(folder) ?? listedConfigs(folder, this.#host))) {
        if (!(await pause())) return undefined;
        const key = canonicalUri(uri);
        const known = before.get(key);
        const file = await onDisk?.look(uri);
        if (known && known.isWorth !== undefined && known.stamp === file?.stamp && !changed.has(key)) {
          decided.set(key, known);
          continue;
        }
        if (before.size > 0 && (!known || known.stamp !== file?.stamp)) this.#turnedOut(uri, changed);
        const isWorth = await this.#isWorth(uri, file);
        decided.set(key, { uri, folder, stamp: file?.stamp, isWorth });
      }
    }
    for (const [key, { uri }] of before) if (!decided.has(key)) this.#turnedOut(uri, changed);
    return decided;
  }

  /** A file came, went or was written, and nobody who watches it stated that. */
  #turnedOut(uri: string, changed: Set<string>): void {
    const key = canonicalUri(uri);
    if (changed.has(key)) return;
    changed.add(key);
    this.#workspace.invalidate(uri);
  }

  async #isWorth(uri: string, file: ListedFile | undefined): Promise<boolean> {
    const text = this.#host.find(uri)?.getText() ?? file?.text() ?? (await this.#host.readText(uri));
    return text !== undefined && this.#workspace.isWorthReading(uri, text);
  }

  /** Whether there is a row of each file that can be a config; false where nobody waits. */
  async #judged(
    decided: ReadonlyMap<string, Decided>,
    changed: ReadonlySet<string>,
    pause: Pause,
  ): Promise<boolean> {
    for (const [key, file] of decided) {
      if (!file.isWorth) continue;
      if (!(await pause())) return false;
      if (file.row && !changed.has(key) && (await holds(file.row, changed))) continue;
      const analysis = await this.#workspace.analyze(file.uri);
      file.row = {
        config: analysis && !isPart(analysis) ? knownConfig(analysis, file.folder) : undefined,
        asked: await this.#workspace.asked(file.uri, analysis),
      };
    }
    return true;
  }

  #found(): KnownConfigs {
    const all = [...this.#decided.values()].flatMap(({ row }) => row?.config ?? []);
    return { configs: all.slice(0, MOST_LISTED), more: Math.max(0, all.length - MOST_LISTED) };
  }
}

/** Whether what an analysis was made of is as it was. */
async function holds({ asked }: Row, changed: ReadonlySet<string>): Promise<boolean> {
  if (!asked) return false;
  const concerned = [...changed].filter((key) => asked.concerns(key));
  return concerned.length === 0 || asked.holds(concerned);
}

function knownConfig(analysis: Analysis, folder: string): KnownConfig {
  const { uri, dialect, estimate, resolved, model, accelerator, files } = analysis;
  return {
    uri,
    name: relativePath(folder, uri) ?? uri,
    family: dialect.name,
    model: model?.id ?? resolved.values['model.id'],
    gpu: accelerator?.name ?? resolved.values['hardware.gpu'],
    verdict: estimate?.verdict ?? 'unknown',
    severity: verdictSeverity(analysis),
    ...(estimate && { peakBytes: estimate.peak.processBytes, capacityBytes: estimate.capacityBytes }),
    missing: resolved.unknown.map(({ field }) => fieldLabel(field)),
    files: files.filter((other) => canonicalUri(other) !== canonicalUri(uri)),
  };
}
