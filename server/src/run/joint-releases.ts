import { satisfies, valid } from '@renovatebot/pep440';
import known from '../../data/releases.json';
import table from '../../data/trl-requirements.json';
import { remembered } from '../memo/remembered';
import type { Objective } from '../terms/objectives';
import { isAtLeast } from '../terms/version';
import { say } from '../wording/say';
import { FIELDS, type FieldPath } from './fields';
import type { Needs } from './oldest-releases';
import { type Fact, fact } from './origin';

/** What a release of TRL takes of other packages (`scripts/trl-requirements.py`). */
interface Requirements {
  readonly transformers?: string;
  readonly accelerate?: string;
  /** By trainer the first release of transformers that lacks what the trainer's code asks of it. */
  readonly until?: Readonly<Partial<Record<string, string>>>;
}

const OF_TRL: Readonly<Partial<Record<string, Requirements>>> = table.trl;
const ROWS: readonly string[] = Object.keys(OF_TRL);

/** The trainer of TRL that trains for an objective; of some there are several. */
const TRAINERS: Readonly<Partial<Record<Objective, string>>> = {
  lm: 'SFTTrainer',
  dpo: 'DPOTrainer',
  ipo: 'DPOTrainer',
  kto: 'KTOTrainer',
  bco: 'BCOTrainer',
  orpo: 'ORPOTrainer',
  cpo: 'CPOTrainer',
  simpo: 'CPOTrainer',
  reward: 'RewardTrainer',
  grpo: 'GRPOTrainer',
  rloo: 'RLOOTrainer',
  'online-dpo': 'OnlineDPOTrainer',
  ppo: 'PPOTrainer',
};

/** Which releases of a package a run may have: that one, or whatever is not newer, down to the oldest that is allowed. */
interface Span {
  readonly newest: string;
  readonly oldest?: string;
  readonly isFixed?: true;
}

interface Pair {
  readonly trl: string;
  readonly transformers: string;
}

const isIn = (release: string, specifier: string): boolean =>
  specifier === '' || satisfies(release, specifier, { prereleases: true });

const requirements = remembered<Requirements | undefined>(256);

/** What is known of a release of TRL: of `0.12` that of its last patch, of one between two that of the older. */
const requirementsOf = (release: string): Requirements | undefined =>
  requirements.of(release, () => {
    if (valid(release) === null) return undefined;
    const row =
      ROWS.findLast((one) => isIn(one, `==${release}.*`)) ??
      ROWS.findLast((one) => isIn(one, `<=${release}`));
    return row === undefined ? undefined : OF_TRL[row];
  });

/** The newest of a span first, then the last patch of each older minor version. */
function releasesIn({ newest, oldest, isFixed }: Span, releases: readonly string[]): string[] {
  if (isFixed) return [newest];
  const bounds = `<${newest}${oldest === undefined ? '' : `,>=${oldest}`}`;
  return [newest, ...releases.filter((release) => isIn(release, bounds)).toReversed()];
}

const pairs = remembered<Pair | undefined>(256);

/** The newest releases of TRL and transformers that go together; undefined where none of those that are allowed do, or nothing is known of them. */
function newestPair(trl: Span, transformers: Span, accelerate: string, trainer: string): Pair | undefined {
  if ([trl, transformers].some(({ newest }) => valid(newest) === null)) return undefined;
  const open = (span: Span) => `${span.newest} ${span.oldest} ${span.isFixed}`;
  return pairs.of([open(trl), open(transformers), accelerate, trainer].join('|'), () => {
    const others = releasesIn(transformers, known.releases.transformers);
    const last = others.at(-1) ?? transformers.newest;
    for (const release of releasesIn(trl, known.releases.trl)) {
      const needs = requirementsOf(release);
      if (!needs) return undefined;
      const stated = (needs.transformers ?? '').split(',').filter((part) => part !== '');
      const until = needs.until?.[trainer];
      const ends = [...stated.filter((part) => part.startsWith('<')), ...(until ? [`<${until}`] : [])];
      // What is too new for a release is so for older ones, whatever their metadata leaves open.
      if (!isIn(last, ends.join(','))) return undefined;
      if (!trl.isFixed && !isIn(accelerate, needs.accelerate ?? '')) continue;
      const found = others.find((other) => isIn(other, [...stated, ...ends].join(',')));
      if (found !== undefined) return { trl: release, transformers: found };
    }
    return undefined;
  });
}

/** A release that somebody names stays; what only limits tell, or nobody names, may be any that is older. */
function spanOf(winner: Fact | undefined, otherwise: string, first: string | undefined): Span {
  // What is needed of a package bounds what is open below; what it does not lie in proves nothing.
  const open = (newest: string): Span =>
    first !== undefined && isAtLeast(newest, first) === true ? { newest, oldest: first } : { newest };
  if (!winner) return open(otherwise);
  const { kind, orElse, pinned } = winner.origin;
  const newest = String(winner.value);
  if (orElse !== undefined) return { newest, oldest: orElse };
  const isOpen = (kind === 'inferred' || kind === 'default') && pinned === undefined;
  return isOpen ? open(newest) : { newest, isFixed: true };
}

/** The same statement of an older release, with why. Where a range was stated, that place still states it. */
function narrowedFact(
  field: 'version.trl' | 'version.transformers',
  value: string,
  note: string,
  before: Fact | undefined,
): Fact {
  const { orElse, ...stated } = before?.origin ?? {};
  if (before === undefined || orElse === undefined) return fact(field, value, { kind: 'inferred', note });
  const least = orElse === value ? {} : { orElse };
  return fact(field, value, { kind: before.origin.kind, ...stated, note, ...least });
}

/**
 * Releases of TRL and transformers that stand together: each release of TRL takes a range of the other. What somebody names stays; what is inferred
 * of each by itself, ranges, and what is assumed where nobody names any become the newest that go together. Where none do, all stays as it is.
 */
export function joinReleases(winners: Map<FieldPath, Fact>, overruled: Fact[], needs: Needs): void {
  const own = winners.get('version.trl');
  const isOfTrl = winners.get('framework')?.value === 'trl';
  if (!own && !isOfTrl) return;
  const other = winners.get('version.transformers');
  const trl = spanOf(own, FIELDS['version.trl'].default, needs['version.trl']);
  const transformers = spanOf(other, FIELDS['version.transformers'].default, needs['version.transformers']);
  const accelerate = String(winners.get('version.accelerate')?.value ?? FIELDS['version.accelerate'].default);
  const objective = winners.get('method.objective')?.value as Objective | undefined;
  const trainer = (isOfTrl && TRAINERS[objective ?? 'lm']) || '';
  const pair =
    newestPair(trl, transformers, accelerate, trainer) ??
    newestPair(trl, transformers, FIELDS['version.accelerate'].default, trainer);
  if (!pair) return;
  const put = (before: Fact | undefined, after: Fact) => {
    winners.set(after.field, after);
    if (before) overruled.push(before);
  };
  if (pair.transformers !== transformers.newest) {
    const note = say('the newest that {0} takes', packageAt('trl', pair.trl));
    put(other, narrowedFact('version.transformers', pair.transformers, note, other));
  }
  if (pair.trl === trl.newest) return;
  const takes =
    pair.transformers === transformers.newest &&
    !isIn(pair.transformers, neededBy(trl.newest, 'transformers'))
      ? packageAt('transformers', pair.transformers)
      : packageAt('accelerate', accelerate);
  put(own, narrowedFact('version.trl', pair.trl, say('the newest that takes {0}', takes), own));
  restate(winners, pair.trl);
}

const packageAt = (name: string, release: string): string => `${name} ${release}`;

const neededBy = (trl: string, name: 'transformers' | 'accelerate'): string =>
  requirementsOf(trl)?.[name] ?? '';

/** What was required by the release that gave way is by another now. */
function restate(winners: Map<FieldPath, Fact>, trl: string): void {
  for (const name of ['transformers', 'accelerate'] as const) {
    const field = `version.${name}` as const;
    const found = winners.get(field);
    if (found?.origin.kind !== 'default' || found.origin.location || found.origin.pinned) continue;
    const needs = neededBy(trl, name);
    const note = say('{0} {1} requires {2}', 'trl', trl, packageAt(name, needs));
    if (needs !== '') winners.set(field, { ...found, origin: { ...found.origin, note } });
  }
}
