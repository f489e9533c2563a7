import type { RunValues } from '../../server/src/shared/fields';
import type { Opened, Turned } from '../../server/src/shared/protocol';
import type { OpenedMessage, PageMessage } from './messages';
import { t } from './strings';

/** A moment whose figures can be opened: the peak, or a sample of the timeline. */
export type OpenedMoment = 'peak' | number;

/** What the page keeps of opened figures while edits bring new content: which rows are open, and the last answers. */
export class OpenedFigures {
  /** Keys of open rows, over all trees. */
  readonly rows = new Set<string>();
  /** The sample that is opened beside the peak. */
  sample: number | undefined;
  readonly #send: (message: PageMessage) => void;
  readonly #answers = new Map<OpenedMoment, Opened>();
  readonly #failures = new Map<OpenedMoment, string>();
  readonly #asked = new Set<OpenedMoment>();
  #file: string | undefined;
  /** Knobs that are turned, and the fix below them: their figures are asked for. */
  #tried: { readonly turned: Turned; readonly values?: RunValues } | undefined;

  constructor(send: (message: PageMessage) => void) {
    this.#send = send;
  }

  /** New figures are shown: answers are outdated, and those of another file are none. */
  renew(file: string | undefined, tried?: { readonly turned: Turned; readonly values?: RunValues }): void {
    this.#tried = tried;
    this.#asked.clear();
    this.#failures.clear();
    if (file === this.#file) return;
    // The first file after a start takes what was kept over the reload.
    if (this.#file !== undefined) this.sample = undefined;
    this.#file = file;
    this.#answers.clear();
  }

  /** The last answer about a moment. */
  answer(moment: OpenedMoment): Opened | undefined {
    return this.#answers.get(moment);
  }

  failure(moment: OpenedMoment): string | undefined {
    return this.#failures.get(moment);
  }

  /** Asks the server once for each moment and content. */
  ask(moment: OpenedMoment): void {
    if (this.#asked.has(moment)) return;
    this.#asked.add(moment);
    this.#send({
      type: 'open-figures',
      ...(moment === 'peak' ? {} : { sample: moment }),
      ...this.#tried,
    });
  }

  /** Takes an answer; false where it is about another file. */
  take({ sample, opened, error }: OpenedMessage): boolean {
    const moment = sample ?? 'peak';
    if (opened && opened.file === this.#file) {
      this.#failures.delete(moment);
      this.#answers.set(moment, opened);
      return true;
    }
    if (opened) return false;
    this.#failures.set(moment, error ?? t('nothingToOpen'));
    return true;
  }
}
