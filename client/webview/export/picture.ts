import { svg } from '../element';

/** Properties that a drawing takes from the page's style sheet. */
const STYLED = [
  'fill',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'paint-order',
  'opacity',
  'visibility',
  'font-size',
  'font-family',
  'font-variant-numeric',
  'text-anchor',
] as const;

/** What a picture tells beside its drawing: it is looked at where nothing else of the page is. */
export interface Caption {
  readonly title: string;
  /** Below the title. */
  readonly lines: readonly string[];
  /** Which colour is which, with its figure. */
  readonly legend: readonly { readonly swatch: SVGSVGElement; readonly text: string }[];
  /** Where and when it was made. */
  readonly foot: string;
}

/** Pixels of a line of text, and of the title's. */
const LINE = 19;
const TITLE = 26;
/** Of a column of the legend. */
const COLUMN = 270;
/** A letter of the text, on average; lines are broken by it. */
const LETTER = 6.6;

/** A drawing of the page that stands by itself: with its colours, the textures that it uses, a background and its caption. */
export function standalone(drawing: SVGSVGElement, caption: Caption): string {
  const width = Number(drawing.getAttribute('width') ?? 0);
  const height = Number(drawing.getAttribute('height') ?? 0);
  const { color, backgroundColor, fontFamily } = getComputedStyle(document.body);
  const words = (text: string, x: number, y: number, style: Record<string, string> = {}) =>
    svg('text', { x, y, fill: color, 'font-family': fontFamily, 'font-size': '12px', ...style }, text);
  const nodes: SVGElement[] = [];
  let y = TITLE;
  nodes.push(words(caption.title, 0, y - 8, { 'font-size': '16px', 'font-weight': '600' }));
  for (const line of caption.lines.flatMap((text) => broken(text, width / LETTER))) {
    nodes.push(words(line, 0, y + 12));
    y += LINE;
  }
  y += 8;
  const copy = alone(drawing);
  copy.setAttribute('y', String(y));
  copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
  nodes.push(copy);
  y += height + 10;
  const columns = Math.max(1, Math.floor(width / COLUMN));
  caption.legend.forEach(({ swatch, text }, index) => {
    const at = { x: (index % columns) * COLUMN, y: y + Math.floor(index / columns) * LINE };
    const mark = alone(swatch);
    mark.setAttribute('x', String(at.x));
    mark.setAttribute('y', String(at.y));
    nodes.push(mark, words(text, at.x + 18, at.y + 10));
  });
  y += Math.ceil(caption.legend.length / columns) * LINE + 8;
  nodes.push(words(caption.foot, 0, y + 10, { 'font-size': '11px', opacity: '0.75' }));
  y += LINE + 4;
  const definitions = document.querySelector<SVGDefsElement>('.definitions defs');
  const defs = definitions?.cloneNode(true) as SVGDefsElement | undefined;
  if (definitions && defs) copyStyles(definitions, defs);
  const whole = svg(
    'svg',
    {
      width: width + 2 * MARGIN,
      height: y + MARGIN,
      viewBox: `${-MARGIN} 0 ${width + 2 * MARGIN} ${y + MARGIN}`,
    },
    svg('title', {}, caption.title),
    ...(defs ? [defs] : []),
    svg('rect', { x: -MARGIN, width: width + 2 * MARGIN, height: y + MARGIN, fill: backgroundColor }),
    ...nodes,
  );
  whole.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  whole.setAttribute('role', 'img');
  return new XMLSerializer().serializeToString(whole);
}

/** Pixels of paper around the picture. */
const MARGIN = 12;

/** Lines of at most so many letters, broken at blanks. */
function broken(text: string, most: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > most) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function alone(drawing: SVGSVGElement): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  copyStyles(drawing, copy);
  copy.removeAttribute('aria-hidden');
  copy.removeAttribute('class');
  return copy;
}

function copyStyles(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  for (const property of STYLED) {
    const value = style.getPropertyValue(property);
    if (value !== '') to.setAttribute(property, value);
  }
  to.removeAttribute('style');
  const children = [...to.children];
  [...from.children].forEach((child, index) => {
    const other = children[index];
    if (other) copyStyles(child, other);
  });
}

/** Pixels per pixel of the page: sharp on dense screens and in print. */
const DENSITY = 2;

/** The same as PNG, in base64. Rejects where the browser cannot draw it. */
export async function pngOf(svg: string): Promise<string> {
  const image = new Image();
  image.src = `data:image/svg+xml;base64,${base64(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth * DENSITY;
  canvas.height = image.naturalHeight * DENSITY;
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser draws no pictures.');
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/png').replace(/^data:image\/png;base64,/, '');
}

function base64(text: string): string {
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return btoa(bytes);
}
