/** How far the Python files of public repositories are read: what `scripts/python-runs.mjs` counts, and what of it is compared. */

import { type EstimateInput, estimate } from '../../server/src/estimate';
import type { Estimate } from '../../server/src/results/estimate';
import type { RunValues } from '../../server/src/run/fields';
import type { Unread } from '../../server/src/run/unread';
import type { Analysis } from '../../server/src/workspace/analysis';
import { standingOfUnknown } from '../../server/src/workspace/unknown-values';

/** What became of one file that names a trainer. */
export type Outcome = 'whole' | 'partly' | 'withheld' | 'stops' | 'elsewhere' | 'no run';

/** How many of the files of one kind came out how. */
export type Outcomes = Readonly<Partial<Record<Outcome, number>>>;

/** A repository at a commit. */
export interface ReadRepository {
  readonly name: string;
  readonly commit: string;
  readonly notebooks: Outcomes;
  readonly scripts: Outcomes;
}

/** Programs that train with something else than transformers on PyTorch, or a module of their own: they are refused with that as the reason. */
const ELSEWHERE =
  /^(?:Unknown, so there is no verdict: )?(?:(?:Keras|JAX|diffusers|torchtune|sentence-transformers|SetFit|adapters|SpanMarker|optimum|GLiNER|PyLate|PyTorch\/XLA) trains here|`(?:timm|torchvision|torch)\.[\w.]+` trains here|`\w+`, a model of the code's own, trains here|Runs of `(?:UNet|AutoencoderKL|DDPM|Stable|Flax|TF)\w*(?:\.\w+)?` are not estimated)/;

/** Problems by which a run is known to stop before it trains: an argument, adapters or a class that the release does not take. */
const STOPS = /^(?:trainer-argument|mamba-targets|no-lora-targets)$/;

/** Whether a problem states that the run stops before it trains. */
export const stopsBefore = ({
  code,
  message,
}: {
  readonly code: string;
  readonly message: string;
}): boolean => STOPS.test(code) || /: the call stops with a `\w+`\.$/.test(message);

const figuresOf = ({ peak }: Pick<Estimate, 'peak'>) =>
  [peak.processBytes, peak.lowerBytes, peak.upperBytes].join();

/** Whether a value that is not known decides the memory of a run: not where the peak is the same with each of those that are tried. */
function decidesMemory(
  { kind, fields }: Pick<Unread, 'kind' | 'fields'>,
  own: Pick<Estimate, 'peak'>,
  otherwise: (changes: RunValues) => EstimateInput | undefined,
): boolean {
  if (kind !== 'value' || fields === undefined || fields.length === 0) return true;
  return fields.some((field) => {
    const standing = standingOfUnknown(field);
    if (standing === 'free') return false;
    if (typeof standing === 'string') return true;
    return standing.tried.some((changes) => {
      const input = otherwise(changes);
      return input === undefined || figuresOf(estimate(input)) !== figuresOf(own);
    });
  });
}

/** What of a run was not understood and decides its memory. */
export function decisiveUnread({
  unread = [],
  estimate: own,
  alternative,
}: Pick<Analysis, 'unread' | 'estimate' | 'alternative'>): readonly Unread[] {
  if (!own || !alternative) return unread;
  return unread.filter((one) => decidesMemory(one, own, alternative));
}

/** Whether what a file is refused for is that another library trains. */
export const trainsElsewhere = (reason: string): boolean => ELSEWHERE.test(reason);

const count = (outcomes: Outcomes, kind: Outcome) => outcomes[kind] ?? 0;

/** Runs that train with PyTorch, and how many of them are whole. What stops before it trains, as a problem of it states, is none. */
export function shareOf(all: readonly Outcomes[]): { readonly runs: number; readonly whole: number } {
  const sum = (kind: Outcome) => all.reduce((total, outcomes) => total + count(outcomes, kind), 0);
  const whole = sum('whole');
  return { runs: whole + sum('partly') + sum('withheld'), whole };
}

const KINDS: readonly Outcome[] = ['whole', 'partly', 'withheld', 'stops', 'elsewhere', 'no run'];

/** A line for each repository, notebooks and scripts apart. */
export function tableOf(repositories: readonly ReadRepository[]): string {
  const lines = repositories.flatMap(({ name, commit, notebooks, scripts }) =>
    (
      [
        ['notebooks', notebooks],
        ['scripts', scripts],
      ] as const
    ).map(([kind, outcomes]) =>
      [name, commit.slice(0, 8), kind, ...KINDS.map((one) => String(count(outcomes, one)))].join(' | '),
    ),
  );
  const total = (kind: string, all: readonly Outcomes[]) => {
    const { runs, whole } = shareOf(all);
    return `${kind}: ${whole} of ${runs} whole, ${((100 * whole) / Math.max(1, runs)).toFixed(1)} %`;
  };
  return [
    ['repository', 'commit', 'files', ...KINDS].join(' | '),
    ...lines,
    total(
      'notebooks',
      repositories.map(({ notebooks }) => notebooks),
    ),
    total(
      'scripts',
      repositories.map(({ scripts }) => scripts),
    ),
  ].join('\n');
}

/** What differs between two readings of a repository, in words. */
export function changesOf(before: ReadRepository, now: ReadRepository): string[] {
  return (['notebooks', 'scripts'] as const).flatMap((files) =>
    KINDS.flatMap((kind) => {
      const [a, b] = [count(before[files], kind), count(now[files], kind)];
      return a === b ? [] : [`${now.name} ${files} ${kind}: ${a} -> ${b}`];
    }),
  );
}
