/** How far the Python files of public repositories are read: what `scripts/python-runs.mjs` counts, and what of it is compared. */

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
