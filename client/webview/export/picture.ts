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

/** A drawing of the page that stands by itself: with its colours, the textures that it uses and a background. */
export function standalone(drawing: SVGSVGElement, background: string, title: string): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  copyStyles(drawing, copy);
  const width = drawing.getAttribute('width') ?? '0';
  const height = drawing.getAttribute('height') ?? '0';
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
  copy.removeAttribute('aria-hidden');
  copy.removeAttribute('class');
  copy.setAttribute('role', 'img');
  const name = document.createElementNS(copy.namespaceURI, 'title');
  name.textContent = title;
  const back = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  back.setAttribute('width', width);
  back.setAttribute('height', height);
  back.setAttribute('fill', background);
  const definitions = document.querySelector<SVGDefsElement>('.definitions defs');
  const defs = definitions?.cloneNode(true) as SVGDefsElement | undefined;
  if (definitions && defs) copyStyles(definitions, defs);
  copy.prepend(name, ...(defs ? [defs] : []), back);
  return new XMLSerializer().serializeToString(copy);
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
