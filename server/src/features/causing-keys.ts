import { causation, leversOf } from '../memory/causes';
import { CATEGORIES, type Category } from '../results/estimate';
import { FIELD_PATHS, type FieldPath } from '../run/fields';
import { spelledKey } from '../run/spelled-key';
import type { Analysis } from '../workspace/analysis';
import type { CausingKey } from './protocol';

/** Keys of the run's files that shape its memory, those first that are turned first when a part is too large. */
export function causingKeys({ resolved, estimate }: Analysis): readonly CausingKey[] {
  if (!estimate) return [];
  const levers = CATEGORIES.flatMap((category) => leversOf(category));
  const place = new Map<FieldPath, number>(levers.map((field, i) => [field, i] as const).reverse());
  const found = FIELD_PATHS.flatMap((field): CausingKey[] => {
    const origin = resolved.origins[field];
    const shaped = causation([field], estimate)?.categories ?? new Set();
    const categories = CATEGORIES.filter(
      (category) => shaped.has(category) || leversOf(category).includes(field),
    );
    if (!origin?.location || categories.length === 0) return [];
    const { uri, range } = origin.location;
    const places = Object.fromEntries(
      categories.flatMap((category) => {
        const at = leversOf(category).indexOf(field);
        return at < 0 ? [] : [[category, at] as const];
      }),
    );
    return [{ field, key: spelledKey(origin.key ?? field), uri, range, categories, places }];
  }).sort((a, b) => (place.get(a.field) ?? levers.length) - (place.get(b.field) ?? levers.length));
  // One key may state several fields (`bf16.enabled`): it stands there once, for all that it shapes.
  const once = new Map<string, CausingKey>();
  for (const key of found) {
    const name = `${key.uri} ${key.key}`;
    const known = once.get(name);
    const both = known && CATEGORIES.filter((one) => [known, key].some((of) => of.categories.includes(one)));
    const places = { ...key.places };
    for (const [category, at] of Object.entries(known?.places ?? {}) as [Category, number][])
      places[category] = Math.min(at, places[category] ?? at);
    once.set(name, known && both ? { ...known, categories: both, places } : key);
  }
  return [...once.values()];
}
