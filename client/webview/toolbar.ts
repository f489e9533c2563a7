import { button, h } from './element';
import type { SaveFormat } from './messages';
import { t } from './strings';

interface ToolbarActions {
  readonly locked: boolean;
  lock(locked: boolean): void;
  copy(): void;
  save(format: SaveFormat): void;
}

/** What can be done with the panel as a whole. */
export function toolbar(actions: ToolbarActions): HTMLElement {
  const lock = button(
    t('lock'),
    {
      class: 'secondary',
      'data-key': 'lock',
      'aria-pressed': String(actions.locked),
      title: t('lockTitle'),
    },
    () => {
      const locked = lock.getAttribute('aria-pressed') !== 'true';
      lock.setAttribute('aria-pressed', String(locked));
      actions.lock(locked);
    },
  );
  const formats: readonly (readonly [SaveFormat, string])[] = [
    ['svg', t('saveSvg')],
    ['png', t('savePng')],
    ['json', t('saveJson')],
    ['html', t('saveHtml')],
  ];
  const list = h(
    'select',
    { 'aria-label': t('saveAs'), 'data-key': 'save' },
    h('option', { value: '' }, t('save')),
    ...formats.map(([format, name]) => h('option', { value: format }, name)),
  );
  list.addEventListener('change', () => {
    const chosen = formats.find(([format]) => format === list.value);
    list.value = '';
    if (chosen) actions.save(chosen[0]);
  });
  return h(
    'div',
    { class: 'toolbar', role: 'group', 'aria-label': t('actions') },
    lock,
    button(t('copyMarkdown'), { class: 'secondary', 'data-key': 'copy' }, actions.copy),
    list,
  );
}
