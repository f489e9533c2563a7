import type { ConfigDocument } from '../config/node';
import { FIELD_PATHS, FIELDS } from '../run/fields';
import type { Origin } from '../run/origin';
import type { Position } from '../text/place';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { formatFieldValue } from './hover-key';
import { modelHover } from './hover-model';
import type { HoverText } from './hover-text';
import { code } from './markdown';
import { contains, overlaps } from './ranges';

type Directive = ConfigDocument['directives'][number];

/** A directive comment: which facts it supplies, and which of them something stronger overrules. */
export function directiveHover(analysis: Analysis, directive: Directive, position: Position): HoverText {
  const isStated = (origin: Origin | undefined): boolean =>
    origin?.kind === 'directive' &&
    origin.location?.uri === analysis.uri &&
    overlaps(origin.location.range, directive.range);
  const { values, origins, overruled } = analysis.resolved;
  const model = origins['model.id'] ?? origins['model.path'];
  if (isStated(model) && model?.location && contains(model.location.range, position)) {
    const markdown = modelHover(analysis, values['model.id'] ?? values['model.path'] ?? '');
    if (markdown) {
      return { markdown, range: model.location.range };
    }
  }
  const lines: string[] = [];
  for (const field of FIELD_PATHS) {
    if (isStated(origins[field])) {
      lines.push(`- ${code(field)} ${formatFieldValue(field, values[field])} — ${say(FIELDS[field].doc)}`);
    }
  }
  for (const lost of overruled) {
    if (isStated(lost.origin)) {
      lines.push(
        `- ${code(lost.field)} ${formatFieldValue(lost.field, lost.value)} — ${say('overridden by a stronger statement')}`,
      );
    }
  }
  const body =
    lines.length > 0
      ? lines.join('\n')
      : say('Read as {0}. It says nothing about this run.', code(directive.text));
  return { markdown: [`**${say('Oomlint directive')}**`, body].join('\n\n'), range: directive.range };
}
