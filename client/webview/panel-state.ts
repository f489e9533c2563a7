import type { RunValues } from '../../server/src/shared/fields';
import type { FixCard, Planned, Tried, Turned } from '../../server/src/shared/protocol';
import type { ComparedMessage, ComparedWith } from './messages';
import { type TriedChange, TriedHistory } from './tried-history';
import type { ApplyOutcome } from './trying-strip';
import type { AxisRange } from './zoom';

/** What the page keeps while edits bring new content: where the person is, and what was asked for. */
export class PanelState {
  tab = 'overview';
  locked = false;
  turned: Turned = {};
  /** The run with the knobs turned; undefined while none is, or while the answer is on its way. */
  tried: Tried | undefined;
  problem: string | undefined;
  /** The fix that is tried, below the knobs. */
  fix: TriedChange | undefined;
  readonly history = new TriedHistory();
  /** Knobs that change the samples of a step turn others along, so that it stays as large. */
  keepsGlobalBatch = true;
  /** What a search for a preset is at, or why it found nothing. */
  searching: string | undefined;
  /** What would be written of what is tried. */
  plan: Planned | undefined;
  /** What became of the last `apply`. */
  outcome: ApplyOutcome | undefined;
  /** What makes the run fit; undefined while it is looked for the first time. */
  fixes: readonly FixCard[] | undefined;
  /** The fixes are those of an earlier text. */
  fixesAreOld = false;
  compared: ComparedMessage | undefined;
  /** What is compared with; asked for again once there is other content. */
  comparedWith: ComparedWith | undefined;
  isComparisonOld = false;
  /** What is in view of the timeline; undefined: all. */
  zoom: AxisRange | undefined;
  /** Which GPUs' components are shown, by chart. */
  readonly openRanks = new Map<string, number>();
  #file: string | undefined;

  get isTurned(): boolean {
    return this.fix !== undefined || Object.keys(this.turned).length > 0;
  }

  /** What is tried, as it is asked for. */
  get asked(): { readonly turned: Turned; readonly values?: RunValues } {
    return { turned: this.turned, ...(this.fix && { values: this.fix.values }) };
  }

  /** New content is shown: nothing of another file holds any more, and of the same file only what a person chose. */
  renew(file: string): void {
    this.tried = undefined;
    this.plan = undefined;
    this.isComparisonOld = true;
    this.fixesAreOld = true;
    if (file === this.#file) return;
    // The first file after a start takes what was kept over the reload.
    if (this.#file !== undefined) this.forget();
    this.#file = file;
  }

  forget(): void {
    this.turned = {};
    this.fix = undefined;
    this.fixes = undefined;
    this.history.clear();
    this.searching = undefined;
    this.problem = undefined;
    this.outcome = undefined;
    this.compared = undefined;
    this.comparedWith = undefined;
    this.openRanks.clear();
    this.zoom = undefined;
  }
}
