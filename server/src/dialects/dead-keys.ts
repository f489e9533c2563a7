import { flagOf } from '../config/scalar';
import { compare } from '../text/place';
import type { Draft } from './draft';
import type { Section } from './section';

/** Keys that one switch leaves without effect. */
interface DeadKeys {
  readonly keys: readonly string[];
  /** The sentence, of one key and of several. */
  readonly one: (key: string) => string;
  readonly several: (keys: string) => string;
  /** The key that they need, where there is one. */
  readonly needs?: string;
  readonly source: string;
  /** A flag that is off asks for nothing. */
  readonly heedsOff?: boolean;
}

/** One problem for one fault: at the first of the keys, with the places of the others. */
export function reportDead(section: Section, draft: Draft, dead: DeadKeys): void {
  const found = dead.keys.flatMap((key) => {
    const place = section.find(key);
    return place && !(dead.heedsOff && flagOf(place.node) === false)
      ? [{ key, range: place.node.range }]
      : [];
  });
  const [first, ...others] = found.sort((a, b) => compare(a.range.start, b.range.start));
  if (!first) return;
  const names = found.map(({ key }) => `\`${key}\``).join(', ');
  draft.report(
    'dead-key',
    'warning',
    others.length > 0 ? dead.several(names) : dead.one(first.key),
    first.range,
    {
      source: dead.source,
      data: {
        key: first.key,
        ...(dead.needs === undefined ? {} : { needs: dead.needs }),
        ...(others.length > 0 ? { besides: others.map(({ key }) => key) } : {}),
      },
    },
  );
}
