import { CATEGORIES, type Category } from '../../server/src/shared/protocol';
import { svg } from './element';

/**
 * High contrast themes have few colours, so components also differ by texture there: lines of six directions in
 * four densities, drawn in the background colour over the component's own.
 */
const ANGLES = [45, -45, 0, 90, 20, -20] as const;
const SPACINGS = [10, 6, 4, 3] as const;

export function textureUrl(category: Category): string {
  return `url(#texture-${category})`;
}

/** Definitions that `textureUrl` refers to. Once per page. */
export function textureDefinitions(): SVGSVGElement {
  const patterns = CATEGORIES.map((category, index) => {
    const spacing = SPACINGS[Math.floor(index / ANGLES.length) % SPACINGS.length] ?? SPACINGS[0];
    const angle = ANGLES[index % ANGLES.length] ?? ANGLES[0];
    return svg(
      'pattern',
      {
        id: `texture-${category}`,
        width: spacing,
        height: spacing,
        patternUnits: 'userSpaceOnUse',
        patternTransform: `rotate(${angle})`,
      },
      svg('line', { class: 'texture-line', x1: 0, y1: 0, x2: 0, y2: spacing }),
    );
  });
  return svg(
    'svg',
    { width: 0, height: 0, class: 'definitions', 'aria-hidden': 'true' },
    svg('defs', {}, ...patterns),
  );
}
