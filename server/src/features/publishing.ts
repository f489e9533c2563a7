import type { Problem } from '../text/problem';
import type { Analysis } from '../workspace/analysis';

/** When problems of a text that is typed in are shown: with each pause, or as of the last save. */
type DiagnosticsRun = 'onType' | 'onSave' | 'off';

/** A run has one verdict, whatever its figures. */
const isVerdict = ({ code }: Problem) => code === 'does-not-fit' || code === 'tight';
/** What makes a problem the same one after an edit elsewhere. */
const identity = (problem: Problem) =>
  isVerdict(problem) ? 'verdict' : `${problem.code} ${problem.message.split('\n')[0]}`;

/** Whether what is missing among the problems is put right. In a text that is half typed it may only be out of sight. */
function mayShrink(
  problems: readonly Problem[],
  analysis: Analysis | undefined,
  due: readonly Problem[],
): boolean {
  return (
    !problems.some(({ code }) => code === 'syntax') &&
    (analysis?.estimate !== undefined || !due.some(isVerdict))
  );
}

/** Which problems of one open document an editor shows, and when it is sent others. */
export class Publishing {
  /** Some pass since the last publish was asked to publish. */
  #asked = true;
  /** What was sent last, with the version of the text; undefined where it is to be sent again. */
  #sent: string | undefined;
  /** Problems when they were to be shown last: of the text as saved, where typing is not followed. */
  #due: readonly Problem[] = [];
  /** Which of these the editor shows. */
  #shown = '';
  #hasDiagnostics = false;

  /** Whether the editor shows problems of the document. */
  get hasDiagnostics(): boolean {
    return this.#hasDiagnostics;
  }

  /** The next problems are to be shown whole. */
  ask(): void {
    this.#asked = true;
  }

  /** As `ask`, and they are sent even if they are those that were sent last. */
  renew(): void {
    this.#asked = true;
    this.#sent = undefined;
  }

  /** Problems that the editor is to show now; undefined where it shows what it should. */
  due(
    problems: readonly Problem[],
    analysis: Analysis | undefined,
    when: DiagnosticsRun | undefined,
  ): readonly Problem[] | undefined {
    const isDue = this.#asked || when === 'onType';
    if (isDue) this.#due = problems;
    else if (!mayShrink(problems, analysis, this.#due)) return undefined;
    const known = new Set(this.#due.map(identity));
    const left = isDue ? problems : problems.filter((problem) => known.has(identity(problem)));
    const names = left.map(identity).sort().join('\n');
    // An editor moves what it shows along with the text: before the next save only what is gone has to be sent.
    if (!isDue && names === this.#shown) return undefined;
    this.#asked = false;
    this.#hasDiagnostics = true;
    this.#shown = names;
    return left;
  }

  /** Notes what is about to be sent; false where it is what was sent last. */
  isNew(version: number, sent: unknown): boolean {
    const next = JSON.stringify([version, sent]);
    if (next === this.#sent) return false;
    this.#sent = next;
    return true;
  }

  /** There is nothing to show any more; true where the editor still shows something. */
  clear(): boolean {
    const had = this.#hasDiagnostics;
    this.#asked = false;
    this.#sent = undefined;
    this.#due = [];
    this.#shown = '';
    this.#hasDiagnostics = false;
    return had;
  }
}
