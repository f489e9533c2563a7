import type { Page } from 'playwright-core';

/**
 * What a person sees as broken, as sentences: a page wider than its column, words of a chart that lie over each other or are cut off at
 * its edge, text that its box cuts off, lines of text that lie over each other.
 */
export function layoutFaults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) found.push(`The page is ${scrollWidth - clientWidth} pixels too wide.`);
    const isSeen = (element: Element) =>
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
      element.closest('.spoken') === null;
    /** What of the two is common to both, in pixels to each side; a pixel is no overlap. */
    const overlap = (a: DOMRect, b: DOMRect) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
    for (const chart of document.querySelectorAll('svg')) {
      const edge = chart.getBoundingClientRect();
      const texts = [...chart.querySelectorAll('text')]
        .filter((text) => isSeen(text) && (text.textContent ?? '').trim() !== '')
        .map((text) => ({ text, words: text.textContent ?? '', box: text.getBoundingClientRect() }));
      for (const [index, { text, words, box }] of texts.entries()) {
        if (box.left < edge.left - 1 || box.right > edge.right + 1)
          found.push(`"${words}" is cut off by its chart.`);
        for (const other of texts.slice(index + 1))
          if (overlap(box, other.box)) found.push(`"${words}" lies over "${other.words}".`);
        // What has a halo is meant to be over what is drawn.
        if (chart.matches('.component-bar, .rows'))
          for (const fill of chart.querySelectorAll('.fill, .limit'))
            if (!text.matches('.haloed') && overlap(box, fill.getBoundingClientRect()))
              found.push(`"${words}" lies on a bar or a line.`);
      }
    }
    const lines: { words: string; box: DOMRect; top: Element }[] = [];
    for (const element of document.querySelectorAll('body *:not(svg *)')) {
      if (!(element instanceof HTMLElement) || !isSeen(element)) continue;
      const style = getComputedStyle(element);
      if (style.overflowX === 'hidden' && element.scrollWidth > element.clientWidth + 1)
        found.push(`"${element.textContent?.slice(0, 60)}" is cut off.`);
      if (element.matches('button, .number, .figure-unit') && element.scrollWidth > element.clientWidth + 1)
        if (element.clientWidth > 0) found.push(`"${element.textContent}" leaves its box.`);
      // A figure and its unit stand on one line.
      for (const node of element.childNodes) {
        if (node.nodeType !== Node.TEXT_NODE) continue;
        for (const { 0: figure, index } of (node.textContent ?? '').matchAll(
          /\d[\d.,]*[ \u00a0\u202f](?:[GM]iB|[ГМ]иБ|%)/g,
        )) {
          const range = document.createRange();
          range.setStart(node, index);
          range.setEnd(node, index + figure.length);
          const tops = [...range.getClientRects()].map(({ top }) => Math.round(top));
          if (new Set(tops).size > 1) found.push(`"${figure}" is parted.`);
        }
      }
      // A name is parted where its parts meet, not inside of one.
      if (element.matches('.figure-name span, h1'))
        for (const node of element.childNodes)
          for (const { 0: word, index } of (node.nodeType === Node.TEXT_NODE
            ? (node.textContent ?? '')
            : ''
          ).matchAll(/[\p{L}\d]+/gu)) {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + word.length);
            const boxes = [...range.getClientRects()];
            if (new Set(boxes.map(({ top }) => Math.round(top))).size > 1) found.push(`"${word}" is parted.`);
            const { paddingRight } = getComputedStyle(document.getElementById('panel') ?? document.body);
            if (boxes.some(({ right }) => right > clientWidth - Number.parseFloat(paddingRight) + 1))
              found.push(`"${word}" reaches into the margin.`);
          }
      // What stays in view lies over what is scrolled.
      if (element.closest('.trying, .notice')) continue;
      for (const node of element.childNodes) {
        if (node.nodeType !== Node.TEXT_NODE || (node.textContent ?? '').trim() === '') continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects())
          if (box.width > 2)
            lines.push({ words: (node.textContent ?? '').trim().slice(0, 40), box, top: element });
      }
    }
    for (const [index, { words, box }] of lines.entries())
      for (const other of lines.slice(index + 1))
        if (overlap(box, other.box)) found.push(`"${words}" lies over "${other.words}".`);
    return found;
  });
}
