import type { Page } from 'playwright-core';

/**
 * What a person sees as broken, as sentences: a page wider than its column, words of a chart that lie over each other, over a line or what is
 * marked, or are cut off at its edge, text that its box cuts off, lines of text that lie over each other, figures, products and ranges that
 * are parted, figures that do not stand below each other, an outline that touches what it is around, a heading that is larger than the one
 * above it, a sentence that begins small.
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
          for (const fill of chart.querySelectorAll('.fill'))
            if (!text.matches('.haloed') && overlap(box, fill.getBoundingClientRect()))
              found.push(`"${words}" lies on a bar.`);
        // A line, and what is marked, end at some height: they have no width to speak of where they cross a word.
        for (const mark of chart.querySelectorAll('line.limit, .cursor')) {
          const line = mark.getBoundingClientRect();
          if (line.height < line.width && !mark.matches('.cursor')) continue;
          if (!isSeen(mark) || line.bottom - box.top < 3 || box.bottom - line.top < 3) continue;
          if ([line.left, line.right].some((at) => at > box.left - 1 && at < box.right + 1))
            found.push(`"${words}" lies on a line.`);
        }
      }
    }
    const lines: { words: string; box: DOMRect; top: Element }[] = [];
    const title = document.querySelector('h2');
    const titleSize = title ? Number.parseFloat(getComputedStyle(title).fontSize) : Number.POSITIVE_INFINITY;
    let legendGap: number | undefined;
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
          /\d[\d.,]*[ \u00a0\u202f](?:[GM]iB|[ГМ]иБ|%)|\d+ × \d+|\((?:от )?\$?\d[^() ]* (?:to|до) \$?\d[^() ]*\)/g,
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
      if (element.matches('tr:focus, tr.chosen'))
        for (const cell of element.children) {
          const range = document.createRange();
          range.selectNodeContents(cell);
          const { right, width } = range.getBoundingClientRect();
          if (width > 0 && right > element.getBoundingClientRect().right - 3)
            found.push(`"${cell.textContent}" touches the outline of its row.`);
        }
      if (element.matches('.chart-detail > span') && /\. \p{Ll}/u.test(element.textContent ?? ''))
        found.push(`"${element.textContent}" has a sentence that begins small.`);
      if (element.matches('h3') && Number.parseFloat(style.fontSize) > titleSize)
        found.push(`"${element.textContent}" is larger than the heading above it.`);
      if (element.matches('.sized-legend > li')) {
        const size = element.querySelector('.legend-size')?.getBoundingClientRect();
        const gap = element.getBoundingClientRect().right - (size?.right ?? 0);
        legendGap ??= gap;
        if (Math.abs(gap - legendGap) > 1) found.push(`"${element.textContent}" stands out of its column.`);
      }
      // What a box scrolls under something that stays in view fades there: a line that is cut through reads as broken.
      if (style.overflowY === 'auto' && element.scrollHeight > element.clientHeight + 1)
        for (const pinned of element.children)
          if (
            getComputedStyle(pinned).position === 'sticky' &&
            getComputedStyle(pinned, '::before').maskImage === 'none'
          )
            found.push(`What goes on below in "${element.textContent?.slice(0, 40)}" is cut through.`);
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
