import type { Announcer } from './announcer';
import type { CursorMessage, PageMessage, PanelAction, PresetMessage } from './messages';
import type { OpenedFigures } from './opened-figures';
import type { PanelState } from './panel-state';

export interface View {
  readonly nodes: readonly Node[];
  /** Opened figures have come. */
  update(): void;
  /** An answer about the run with the knobs turned, a comparison or an edit has come into the state. */
  refresh(): void;
  /** The cursor of the editor moved. */
  point(cursor: CursorMessage): void;
  /** Shows everything, each chart drawn, for paper. */
  layOut(width: number): void;
  /** Copies or saves what is in view, where there is something. */
  act?(action: PanelAction): void;
  /** Turns to a tab, where there are some. */
  showTab?(id: string): void;
  /** A run that a search found is to be tried. */
  preset?(message: PresetMessage): void;
  dispose(): void;
}

export interface Surroundings {
  readonly announcer: Announcer;
  readonly opened: OpenedFigures;
  readonly state: PanelState;
  send(message: PageMessage): void;
  /** The state that survives a reload changed. */
  keep(): void;
}
