import { fileName } from '../text/uri';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { changeCost } from './change-cost';
import type { ChangeCost } from './protocol';

/** A config that reads a project file, under two texts of it. */
export interface Reader {
  readonly before: Analysis;
  readonly after: Analysis;
}

/**
 * What changes of a project file cost the configs that read it: in words for each, in figures and behind the keys for the one whose peak
 * changes most. Null where no estimate changes. `isCut`: more configs read it than these.
 */
export function projectChangeCost(
  project: string,
  readers: readonly Reader[],
  isCut = false,
): ChangeCost | null {
  const costs = readers.flatMap(({ before, after }) => {
    const cost = changeCost(before, after, project);
    return cost ? [{ name: fileName(after.uri), cost }] : [];
  });
  const [most, ...others] = costs.sort((a, b) => Math.abs(b.cost.bytes) - Math.abs(a.cost.bytes));
  if (!most) return null;
  const { name, cost } = most;
  const each = costs.map((one) => `${one.name}: ${one.cost.words}`);
  const short = `${name} ${cost.short}`;
  const more = isCut
    ? say('{0} and at least {1} more {1|config|configs}', short, others.length)
    : say('{0} and {1} more {1|config|configs}', short, others.length);
  return {
    ...cost,
    short: others.length === 0 ? short : more,
    words: each.join('; '),
    at: cost.at.map((at) => ({
      ...at,
      label: `${at.label} (${name})`,
      lines: [...at.lines, ...(others.length === 0 ? [] : each)],
    })),
  };
}
