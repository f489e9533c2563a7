import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { isEstimated } from '../advice/changed-run';
import type { Action } from '../features/action';
import { learnActions } from '../features/learn-actions';
import { learnedFacts } from '../features/learned-facts';
import { learnedFile } from '../features/learned-file';
import type { Learned, LearnParams, MeasuredAnswer, MeasuredBeside } from '../features/measured-protocol';
import { compareRun } from '../features/measured-run';
import { measuredTimeline } from '../features/measured-timeline';
import type { MemorySnapshot } from '../measured/memory-snapshot';
import { snapshotSeries } from '../measured/snapshot-series';
import { type RecordOptions, type RunRecord, readRunRecord, recordFiles } from '../records/run-folder';
import type { Range } from '../text/place';
import { fileName, parentUri, resolvePath } from '../text/uri';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import type { ProjectPlace } from '../workspace/project-place';

/** Keys that name the folder that a run writes into. */
const OUTPUT = /^(?:output_dir|logging_dir|save_path)$/;
/** Folders that nobody asked to read are read up to this size. Bytes. */
const LARGEST_UNASKED = 32 * 2 ** 20;
/** For so long a folder is taken to be as it was. */
const LOOKED_AT_MS = 3000;
const MOST_KEPT = 32;

interface Read {
  readonly record: RunRecord;
  /** Of the file that was written last. */
  readonly writtenMs: number;
}

interface Known {
  readonly print: string;
  readonly lookedAt: number;
  readonly read: Promise<Read | undefined>;
}

/** Runs that were measured, by the config that they are held to. */
export class MeasuredRuns {
  readonly #chosen = new Map<string, string>();
  readonly #known = new Map<string, Known>();

  choose(uri: string, place: string | undefined): void {
    if (place === undefined) this.#chosen.delete(uri);
    else this.#chosen.set(uri, place);
  }

  /** The run that is held to a config: the chosen one, else what lies in the folder that it writes into. */
  async beside(analysis: Analysis): Promise<MeasuredBeside | undefined> {
    if (!isEstimated(analysis)) return undefined;
    const found = await this.#found(analysis);
    if (!found) return undefined;
    const { record, writtenMs } = found.read;
    const series = [...record.series, ...record.snapshots.flatMap(snapshotSeries)];
    const { compared } = compareRun(series, analysis);
    if (compared.length === 0) return undefined;
    const saved = await writtenAt(analysis.uri);
    // A config is often written a moment before its run, never after its last line.
    const changedSince = saved !== undefined && saved > writtenMs;
    const snapshot = record.snapshots
      .filter(({ events }) => events > 0)
      .reduce<MemorySnapshot | undefined>(
        (highest, one) => (one.peakAllocatedBytes > (highest?.peakAllocatedBytes ?? 0) ? one : highest),
        undefined,
      );
    return {
      run: decodeURIComponent(fileName(found.place.replace(/\/$/, ''))),
      compared,
      changedSince,
      ...(snapshot ? { timeline: measuredTimeline(snapshot, analysis) } : {}),
    };
  }

  /** Reads a run that a person chose. Rejects when `signal` ends it. */
  async read(analysis: Analysis, place: string, options: RecordOptions): Promise<MeasuredAnswer> {
    if (!isEstimated(analysis)) return { problem: say('The config has no estimate to compare with.') };
    const path = fileURLToPath(place);
    const record = await readRunRecord(path, options);
    const files = await recordFiles(path);
    const print = await printOf(files);
    const read = Promise.resolve({ record, writtenMs: print.writtenMs });
    this.#keep(place, { print: print.text, lookedAt: Date.now(), read });
    this.choose(analysis.uri, place);
    const beside = await this.beside(analysis);
    return beside
      ? { beside }
      : { problem: say('Nothing in {0} has a counterpart in the estimate.', fileName(place)) };
  }

  /** What the run at hand of a config can teach, and the project file with what was chosen of it. */
  async learned(
    analysis: Analysis,
    { fields }: LearnParams,
    project: () => Promise<ProjectPlace | undefined>,
  ): Promise<Learned | null> {
    if (!isEstimated(analysis)) return null;
    const found = await this.#found(analysis);
    if (!found) return null;
    const all = learnedFacts(found.read.record, analysis);
    const facts = all.map(({ field, words }) => ({ field, words }));
    const chosen = all.filter(({ field }) => fields?.includes(field));
    if (chosen.length === 0) return { facts };
    const made = learnedFile(chosen, found.place, analysis, await project());
    if ('problem' in made) return { facts, problem: made.problem };
    return { facts, file: { uri: made.uri, text: made.after, isNew: made.before === undefined } };
  }

  /** Actions that write what the run at hand taught, for a place in its config. */
  async lessons(
    analysis: Analysis,
    range: Range,
    project: () => Promise<ProjectPlace | undefined>,
  ): Promise<Action[]> {
    if (!isEstimated(analysis)) return [];
    const found = await this.#found(analysis);
    const facts = found ? learnedFacts(found.read.record, analysis) : [];
    if (!found || facts.length === 0) return [];
    return learnActions(analysis, facts, { place: found.place, project: await project() }, range);
  }

  async #found(analysis: Analysis): Promise<{ place: string; read: Read } | undefined> {
    const chosen = this.#chosen.get(analysis.uri);
    for (const place of chosen === undefined ? outputsOf(analysis) : [chosen]) {
      const read = await this.#remembered(place, chosen !== undefined);
      if (read) return { place, read };
    }
    return undefined;
  }

  async #remembered(place: string, asked: boolean): Promise<Read | undefined> {
    const known = this.#known.get(place);
    const now = Date.now();
    if (known && now - known.lookedAt < LOOKED_AT_MS) return known.read;
    try {
      const path = fileURLToPath(place);
      const print = await printOf(await recordFiles(path, asked));
      if (known?.print === print.text) {
        this.#keep(place, { ...known, lookedAt: now });
        return known.read;
      }
      if (print.bytes === 0 || (!asked && print.bytes > LARGEST_UNASKED)) return undefined;
      const read = readRunRecord(path, { snapshots: asked }).then(
        (record) => ({ record, writtenMs: print.writtenMs }),
        () => undefined,
      );
      this.#keep(place, { print: print.text, lookedAt: now, read });
      return read;
    } catch {
      return undefined;
    }
  }

  #keep(place: string, known: Known): void {
    this.#known.delete(place);
    this.#known.set(place, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KEPT && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Folders that the config states its run writes into: from the workspace, where runs are started, and from the config. */
function outputsOf({ document, uri, files }: Analysis): string[] {
  const entries = document.root?.kind === 'map' ? document.root.entries : [];
  const names = entries.flatMap(({ key, value }) =>
    OUTPUT.test(key) &&
    value.kind === 'scalar' &&
    typeof value.value === 'string' &&
    value.value.trim() !== ''
      ? [value.value]
      : [],
  );
  const project = files.find((file) => /\/oomlint\.ya?ml$/.test(file));
  const bases = [parentUri(uri), project && parentUri(project)];
  return [
    ...new Set(
      names.flatMap((name) =>
        bases.flatMap((base) => (base === undefined ? [] : (resolvePath(base, name) ?? []))),
      ),
    ),
  ].filter((place) => place.startsWith('file:'));
}

async function printOf(
  files: readonly string[],
): Promise<{ readonly text: string; readonly bytes: number; readonly writtenMs: number }> {
  let [text, bytes, writtenMs] = ['', 0, 0];
  for (const file of files) {
    const { size, mtimeMs } = await stat(file);
    text += `${file} ${size} ${mtimeMs}\n`;
    bytes += size;
    writtenMs = Math.max(writtenMs, mtimeMs);
  }
  return { text, bytes, writtenMs };
}

async function writtenAt(uri: string): Promise<number | undefined> {
  try {
    return (await stat(fileURLToPath(uri))).mtimeMs;
  } catch {
    return undefined;
  }
}
