import { createHash } from 'node:crypto';
import type { Part, Peak, Verdict } from '../results/estimate';
import type { Unread } from '../run/unread';
import type { Problem } from '../text/problem';
import type { Analysis } from '../workspace/analysis';

/** A run of a config as it comes out on one GPU. Bytes are per GPU. */
export interface CheckedRun {
  /** The GPU that it was asked for by the command line; absent where the files say. */
  readonly asked?: string;
  readonly verdict: Verdict;
  /** Name of the GPU, where it is known. */
  readonly gpu?: string;
  readonly gpus?: number;
  readonly peak?: Peak;
  readonly capacityBytes?: number;
  readonly parts: readonly Pick<Part, 'category' | 'bytes'>[];
  /** Of the whole run, US dollars; where it is asked for, and its length and a price are known. */
  readonly costUsd?: number;
}

/** What was found in one file. */
export interface CheckedFile {
  readonly uri: string;
  /** For people and programs, from the folder of the command line. */
  readonly path: string;
  /** The lines of its text at which a problem begins, by their numbers: it tells a problem from others wherever it moves. */
  readonly lines: ReadonlyMap<number, string>;
  /** Where fixes are asked for: notebooks have megabytes. */
  readonly text?: string;
  /** None for a project file or a vocabulary. */
  readonly runs: readonly CheckedRun[];
  readonly problems: readonly Problem[];
  readonly unread: readonly Unread[];
  /** Files that took part, itself among them. */
  readonly files: readonly string[];
  /** Where fixes are asked for; absent for a project file or a vocabulary. */
  readonly analysis?: Analysis;
}

/** A problem of a file, with what tells it from others wherever it moves. */
export interface Finding {
  readonly file: CheckedFile;
  readonly problem: Problem;
  /** Of rule, path and the line's text, not of the line's number: it outlives edits elsewhere. Hexadecimal. */
  readonly fingerprint: string;
}

/** All problems, each with its fingerprint; equal ones of one file are distinguished by their order. */
export function findingsOf(files: readonly CheckedFile[]): Finding[] {
  return files.flatMap((file) => {
    const seen = new Map<string, number>();
    return file.problems.map((problem) => {
      const line = file.lines.get(problem.range.start.line)?.trim() ?? '';
      const content = [problem.code, file.path, line].join('\0');
      const count = seen.get(content) ?? 0;
      seen.set(content, count + 1);
      const fingerprint = createHash('sha256').update(`${content}\0${count}`).digest('hex').slice(0, 32);
      return { file, problem, fingerprint };
    });
  });
}

/** The worst of a file's runs. */
export function worstVerdict(runs: readonly CheckedRun[]): Verdict {
  const order: readonly Verdict[] = ['exceeds', 'tight', 'unknown', 'fits'];
  return order.find((verdict) => runs.some((run) => run.verdict === verdict)) ?? 'unknown';
}
