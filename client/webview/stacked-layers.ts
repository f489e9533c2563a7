import { area } from 'd3-shape';
import type { Category } from '../../server/src/shared/protocol';
import { paint } from './components';
import { svg } from './element';
import { GIB } from './gib-axis';
import { textureUrl } from './textures';

/** What lies in one layer of a chart, and the colour of what it mostly is. */
interface StackedLayer {
  readonly colour: Category;
  /** Bytes of each place in turn; what is below zero counts as nothing. */
  readonly bytes: readonly number[];
}

/** Layers on top of each other, the first on the ground. Each place is a step: its two ends on the axis have the same height. */
export function stackedLayers(
  layers: readonly StackedLayer[],
  ends: (index: number) => readonly [from: number, to: number],
  y: (gib: number) => number,
): SVGElement[] {
  const floors: number[] = [];
  return layers.map(({ colour, bytes }) => {
    const edges = bytes.flatMap((held, index) => {
      const low = floors[index] ?? 0;
      const high = low + Math.max(0, held);
      floors[index] = high;
      return ends(index).map((at) => ({ at, low, high }));
    });
    const outline = area<(typeof edges)[number]>()
      .x(({ at }) => at)
      .y0(({ low }) => y(low / GIB))
      .y1(({ high }) => y(high / GIB))(edges);
    return paint(
      svg(
        'g',
        { class: 'layer' },
        svg('path', { class: 'fill', d: outline ?? '' }),
        svg('path', { class: 'texture', d: outline ?? '', fill: textureUrl(colour) }),
      ),
      colour,
    );
  });
}
