import type { Opened, Turned } from '../../server/src/features/protocol';
import type { OpenedMessage, PageMessage } from './messages';
import { t } from './strings';

/** A moment whose figures can be opened: the peak, or a sample of the timeline. */
export type Moment = 'peak' | number;

/** What the page keeps of opened figures while edits bring new content: which rows are open, and the last answers. */
export class OpenedFigures {
  /** Keys of open rows, over all trees. */
  readonly rows = new Set<string>();
  /** The sample that is opened beside the peak. */
  sample: number | undefined;
  readonly #send: (message: PageMessage) => void;
  readonly #answers = new Map<Moment, Opened>();
  readonly #failures = new Map<Moment, string>();
  readonly #asked = new Set<Moment>();
  #file: string | undefined;
  /** Knobs that are turned: their figures are asked for. */
  #turned: Turned | undefined;

  constructor(send: (message: PageMessage) => void) {
    this.#send = send;
  }

  /** New figures are shown: answers are outdated, and those of another file are none. */
  renew(file: string | undefined, turned?: Turned): void {
    this.#turned = turned;
    this.#asked.clear();
    this.#failures.clear();
    if (file === this.#file) return;
    // The first file after a start takes what was kept over the reload.
    if (this.#file !== undefined) this.sample = undefined;
    this.#file = file;
    this.#answers.clear();
  }

  /** The last answer about a moment. */
  answer(moment: Moment): Opened | undefined {
    return this.#answers.get(moment);
  }

  failure(moment: Moment): string | undefined {
    return this.#failures.get(moment);
  }

  /** Asks the server once for each moment and content. */
  ask(moment: Moment): void {
    if (this.#asked.has(moment)) return;
    this.#asked.add(moment);
    this.#send({
      type: 'open-figures',
      ...(moment === 'peak' ? {} : { sample: moment }),
      ...(this.#turned ? { turned: this.#turned } : {}),
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
