import { BreakdownView } from './breakdown-view';
import { button, h } from './element';
import type { PanelContent } from './messages';
import { t } from './strings';
import type { Surroundings, View } from './surroundings';

export function view(content: PanelContent, around: Surroundings): View {
  switch (content.kind) {
    case 'breakdown':
      return new BreakdownView(content.file, content.breakdown, around);
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
          h(
            'ul',
            { class: 'plain' },
            ...(content.configs ?? []).map(({ uri, name, text }) =>
              h(
                'li',
                {},
                button(name, { class: 'link' }, () => around.send({ type: 'show-config', uri })),
                ' ',
                h('span', { class: 'quiet' }, text),
              ),
            ),
          ),
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
