import type { ConfigDocument } from '../config/node';
import { shortAlias } from '../run/parse-field';
import type { Resolution } from '../run/resolve';
import type { Problem } from '../text/problem';
import { fileName } from '../text/uri';
import { say } from '../wording/say';
import type { Collected } from './assembly/collect';
import type { MovedMeasurement } from './measured-facts';
import { firstKey, keyRange } from './verdict';

/** Reports which measurements do not count any more, at what the file at hand states otherwise. */
export function movedMeasurements(
  moved: readonly MovedMeasurement[],
  { origins }: Resolution,
  document: ConfigDocument,
  project: Collected['project'],
): Problem[] {
  const { uri } = document;
  return moved.map(({ entry, field, key, was, is }): Problem => {
    const origin = field && origins[field];
    const own = origin?.location?.uri === uri ? keyRange(origin, document) : undefined;
    const atKey =
      key !== undefined && document.root?.kind === 'map'
        ? document.root.entries.find((stated) => stated.key === key)?.keyRange
        : undefined;
    const name = field === undefined ? (key ?? '') : shortAlias(field);
    const facts = entry.facts.map((stated) => shortAlias(stated.field)).join(', ');
    return {
      code: 'measured-elsewhere',
      severity: 'information',
      message: say(
        'What {0} measured ({1}) does not count here: {2} was {3} and is {4}.',
        fileName(entry.source),
        facts,
        name,
        shown(was),
        shown(is),
      ),
      range: own ?? atKey ?? firstKey(document),
      ...(project
        ? {
            related: [
              { uri: project.uri, range: entry.range, message: say('measured in {0}', entry.source) },
            ],
          }
        : {}),
    };
  });
}

function shown(value: unknown): string {
  if (value === undefined) return say('not set');
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
