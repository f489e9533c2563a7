import type { Breakdown } from '../../../server/src/shared/protocol';
import { shortModelName } from '../../../server/src/shared/words';
import { peakText, verdictText } from '../headline';
import type { SaveFormat } from '../messages';
import { madeBy } from './made-by';
import { type Caption, pngOf, standalone } from './picture';
import { printedPage } from './printed-page';

interface Exported {
  readonly root: HTMLElement;
  readonly file: string;
  readonly breakdown: Breakdown;
  layOut(width: number): void;
}

/** The panel as a file: the chart in view, its figures, or the whole page. PNG in base64, the others as text. */
export async function exportPanel(format: SaveFormat, panel: Exported): Promise<string> {
  const { file, breakdown, root } = panel;
  const title = `${file}: ${verdictText(breakdown)}`;
  switch (format) {
    case 'json':
      return `${JSON.stringify(breakdown, undefined, 2)}\n`;
    case 'html':
      return onPaper(() => printedPage(root, title, madeBy(), panel.layOut));
    default: {
      const chart = chartInView(root);
      if (!chart) throw new Error('There is no chart to save.');
      const picture = onPaper(() =>
        standalone(chart, { title, lines: linesOf(breakdown), legend: legendInView(root), foot: madeBy() }),
      );
      return format === 'svg' ? picture : pngOf(picture);
    }
  }
}

/** What is sent to others has light colours, whatever theme the editor has. */
function onPaper<T>(draw: () => T): T {
  const { body } = document;
  const { className } = body;
  body.className = 'vscode-light paper';
  try {
    return draw();
  } finally {
    body.className = className;
  }
}

/** The run, when its peak is, and what the figures hang on. */
function linesOf(breakdown: Breakdown): string[] {
  const { model, hardware, open = [] } = breakdown;
  const run = [
    model?.id && shortModelName(model.id),
    hardware && `${hardware.gpus} × ${hardware.gpu}`,
    breakdown.dialect.name,
  ].filter((word) => word);
  const peak = peakText(breakdown);
  return [run.join(' · '), ...(peak ? [peak] : []), ...open.map(({ sentence }) => sentence)];
}

/** The legend of the chart in view, with figures where it has them. */
function legendInView(root: HTMLElement): Caption['legend'] {
  const panel = root.querySelector('.tab-panel:not([hidden])');
  const rows = panel?.querySelectorAll('.sized-legend li') ?? [];
  const items = rows.length > 0 ? rows : (panel?.querySelectorAll('.legend > span') ?? []);
  return [...items].flatMap((item) => {
    const swatch = item.querySelector<SVGSVGElement>('svg.swatch');
    const words = [...item.children]
      .filter((child) => child !== swatch)
      .map(({ textContent }) => textContent);
    return swatch ? [{ swatch, text: (words.length > 0 ? words : [item.textContent]).join('  ') }] : [];
  });
}

/** Of the tab that is shown, the first chart. */
function chartInView(root: HTMLElement): SVGSVGElement | null {
  return root.querySelector('.tab-panel:not([hidden]) .canvas svg');
}
