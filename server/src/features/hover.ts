import type { Position, Range } from '../text/place';
import type { Analysis } from '../workspace/analysis';
import { directiveHover } from './hover-directive';
import { type HoverTexts, keyHover } from './hover-key';
import { modelHover } from './hover-model';
import type { HoverText } from './hover-text';
import { keyAt } from './key-at';
import { contains } from './ranges';

const MARKER_LENGTH = '// oomlint: '.length;

export function hover(analysis: Analysis, position: Position, texts?: HoverTexts): HoverText | undefined {
  const directive = analysis.document.directives.find((d) => contains(withMarker(d.range), position));
  if (directive) {
    return directiveHover(analysis, directive, position);
  }
  const place = keyAt(analysis, position);
  if (!place) {
    return undefined;
  }
  const namesModel = place.spec?.fields?.some((f) => f === 'model.id' || f === 'model.path');
  if (namesModel && place.onValue && place.node.kind === 'scalar') {
    const markdown = modelHover(analysis, String(place.node.value ?? ''));
    if (markdown) {
      return { markdown, range: place.node.range };
    }
  }
  return place.spec && keyHover(analysis, place, place.spec, texts);
}

/** Directives are ranged behind the colon; people point at the word in front of it as well. */
function withMarker({ start, end }: Range): Range {
  return { start: { line: start.line, character: Math.max(0, start.character - MARKER_LENGTH) }, end };
}
