import type { Breakdown } from '../../../server/src/shared/protocol';
import { verdictText } from '../headline';
import type { SaveFormat } from '../messages';
import { pngOf, standalone } from './picture';
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
      return printedPage(root, title, panel.layOut);
    default: {
      const chart = chartInView(root);
      if (!chart) throw new Error('There is no chart to save.');
      const svg = standalone(chart, getComputedStyle(document.body).backgroundColor, title);
      return format === 'svg' ? svg : pngOf(svg);
    }
  }
}

/** Of the tab that is shown, the first chart. */
function chartInView(root: HTMLElement): SVGSVGElement | null {
  return root.querySelector('.tab-panel:not([hidden]) .canvas svg');
}
