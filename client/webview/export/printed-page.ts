import { h } from '../element';

/** Controls, and what only invites to use them. */
const IDLE =
  '.locked, .tabs, .knobs, .buttons, button.link.reveal, [data-key=bounds], .zoom-hint, details[data-key=peak-map]:not([open]), .try:not(:has(table)), #panel-compare:not(:has(table))';

/** Width of the charts on paper, in pixels of the page: A4 and Letter less their margins. */
export const PAPER_WIDTH = 660;

/**
 * The page as a document of its own, to be printed or sent: every tab below the other, drawn for paper, with its style and
 * its colours inside, without controls and without scripts.
 */
export function printedPage(
  root: HTMLElement,
  title: string,
  made: string,
  layOut: (width: number) => void,
): string {
  layOut(PAPER_WIDTH);
  const copy = root.cloneNode(true) as HTMLElement;
  for (const element of copy.querySelectorAll(IDLE)) element.remove();
  for (const panel of copy.querySelectorAll('.tab-panel[hidden]')) panel.removeAttribute('hidden');
  // What is folded away nobody unfolds on paper.
  for (const details of copy.querySelectorAll('details[data-key=defaults]')) details.setAttribute('open', '');
  copy.append(h('p', { class: 'quiet made' }, made));
  const definitions = document.querySelector('.definitions')?.cloneNode(true);
  if (definitions) copy.prepend(definitions);
  const style = [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules].map(({ cssText }) => cssText))
    .join('\n');
  const variables = [...document.documentElement.style]
    .filter((name) => name.startsWith('--vscode-'))
    .map((name) => `${name}:${document.documentElement.style.getPropertyValue(name)}`)
    .join(';');
  const page = h(
    'html',
    { lang: document.documentElement.lang },
    h(
      'head',
      {},
      h('meta', { charset: 'utf-8' }),
      h('title', {}, title),
      h('style', {}, `:root{${variables}}\n${style}`),
    ),
    h('body', { class: document.body.className }, h('main', { id: 'panel' }, copy)),
  );
  return `<!DOCTYPE html>\n${page.outerHTML}`;
}
