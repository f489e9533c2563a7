import type { Tried, Turned } from '../../server/src/features/protocol';
import type { ComparedMessage, ComparedWith } from './messages';

/** What the page keeps while edits bring new content: where the person is, and what was asked for. */
export class PanelState {
  tab = 'overview';
  locked = false;
  turned: Turned = {};
  /** The run with the knobs turned; undefined while none is, or while the answer is on its way. */
  tried: Tried | undefined;
  problem: string | undefined;
  /** What became of the last `apply`. */
  outcome: string | undefined;
  compared: ComparedMessage | undefined;
  /** What is compared with; asked for again once there is other content. */
  comparedWith: ComparedWith | undefined;
  isComparisonOld = false;
  /** Which GPUs' components are shown, by chart. */
  readonly openRanks = new Map<string, number>();
  #file: string | undefined;

  get isTurned(): boolean {
    return Object.keys(this.turned).length > 0;
  }

  /** New content is shown: nothing of another file holds any more, and of the same file only what a person chose. */
  renew(file: string): void {
    this.tried = undefined;
    this.isComparisonOld = true;
    if (file === this.#file) return;
    // The first file after a start takes what was kept over the reload.
    if (this.#file !== undefined) this.forget();
    this.#file = file;
  }

  forget(): void {
    this.turned = {};
    this.problem = undefined;
    this.outcome = undefined;
    this.compared = undefined;
    this.comparedWith = undefined;
    this.openRanks.clear();
  }
}
