import type { Breakdown } from '../../server/src/shared/protocol';
import { button, h } from './element';
import { exportPanel } from './export/export-panel';
import { breakdownMarkdown, comparisonMarkdown } from './export/markdown';
import type { PanelAction, SaveFormat } from './messages';
import { settingsLine, triedLine } from './shown-run';
import { t } from './strings';
import type { Surroundings } from './surroundings';

interface ExportedPage {
  readonly root: HTMLElement;
  layOut(width: number): void;
}

export interface RunHeader {
  readonly element: HTMLElement;
  act(action: PanelAction): void;
}

/** The file that the page is about, and what the editor's title bar does with the page as a whole. */
export function runHeader(
  file: string,
  base: Breakdown,
  { announcer, state, send }: Surroundings,
  page: ExportedPage,
): RunHeader {
  const actions = {
    copy: () => {
      const shown = state.tried?.breakdown ?? base;
      // What is in view is what is meant.
      const compared =
        state.tab === 'compare' && state.compared ? comparisonMarkdown(state.compared) : undefined;
      send({
        type: 'copy',
        text: compared ?? breakdownMarkdown(file, shown, settingsLine(base, state), triedLine(base, state)),
      });
      announcer.say(t('copied'));
    },
    save: (format: SaveFormat) => {
      const shown = state.tried?.breakdown ?? base;
      void exportPanel(format, { ...page, file, breakdown: shown }).then(
        (data) => send({ type: 'save', format, data }),
        (error: unknown) => announcer.say(String(error)),
      );
    },
  };
  const link = button(file, { class: 'link', 'data-key': 'file' }, () => send({ type: 'open-file' }));
  return {
    element: h(
      'div',
      { class: 'top' },
      h('p', { class: 'origin quiet' }, link, ` ${base.dialect.name}`),
      ...(state.locked
        ? [h('p', { class: 'locked quiet', 'data-key': 'locked', title: t('lockTitle') }, t('locked'))]
        : []),
    ),
    act: (action) => (action.kind === 'copy' ? actions.copy() : actions.save(action.format)),
  };
}
