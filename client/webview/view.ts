import type { Announcer } from './announcer';
import { breakdownView } from './breakdown-view';
import { button, h } from './element';
import type { CursorMessage, PageMessage, PanelContent } from './messages';
import type { OpenedFigures } from './opened-figures';
import type { PanelState } from './panel-state';
import { t } from './strings';

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

export function view(content: PanelContent, around: Surroundings): View {
  switch (content.kind) {
    case 'breakdown':
      return breakdownView(content.file, content.breakdown, around);
    case 'loading':
      return still(
        h('div', { class: 'progress', role: 'progressbar', 'aria-label': t('estimating') }),
        h(
          'h1',
          { class: 'waiting quiet' },
          content.file ? t('estimatingFile', content.file) : t('estimating'),
        ),
      );
    case 'empty':
      return still(
        h(
          'div',
          { class: 'state' },
          h('h1', {}, content.file ? t('notAConfig', content.file) : t('noConfig')),
          h('p', {}, t('openConfig')),
        ),
      );
    case 'error':
      return still(
        h(
          'div',
          { class: 'state', role: 'alert' },
          h('h1', {}, content.file ? t('failed', content.file) : t('noEstimate')),
          h('p', {}, content.message),
          h(
            'p',
            { class: 'buttons' },
            button(t('tryAgain'), { 'data-key': 'retry' }, () => around.send({ type: 'retry' })),
            button(t('showOutput'), { class: 'secondary', 'data-key': 'output' }, () =>
              around.send({ type: 'show-output' }),
            ),
          ),
        ),
      );
  }
}

function still(...nodes: Node[]): View {
  const nothing = () => undefined;
  return { nodes, update: nothing, refresh: nothing, point: nothing, layOut: nothing, dispose: nothing };
}
