import { createHash } from 'node:crypto';

/** How a finding turned out when somebody read it beside the file. */
export const CLASSES = ['true', 'defensible', 'false'] as const;
export type Class = (typeof CLASSES)[number];

const SEVERITIES = ['error', 'warning'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** An error or a warning: its message only as a hash, since messages quote the files of others. */
export interface Finding {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly code: string;
  readonly severity: Severity;
  /** First 12 hexadecimal digits of the SHA-256 of the message. */
  readonly hash: string;
}

export interface ClassedFinding extends Finding {
  readonly class: Class;
  readonly reason: string;
}

export interface Repository {
  /** `owner/name` on GitHub. */
  readonly name: string;
  readonly commit: string;
  /** Configs and launch scripts that were read. */
  readonly configs: number;
  readonly findings: readonly ClassedFinding[];
}

/** What `oomlint check . --format json` prints, as far as it is read here. */
export interface CheckReport {
  readonly files: readonly {
    readonly file: string;
    readonly diagnostics: readonly {
      readonly code: string;
      readonly severity: string;
      readonly message: string;
    }[];
  }[];
}

export const hashOf = (message: string) => createHash('sha256').update(message).digest('hex').slice(0, 12);

const isJudged = (severity: string): severity is Severity => SEVERITIES.some((judged) => judged === severity);

/** Errors and warnings of a report. */
export function findingsOf(report: CheckReport): Finding[] {
  return report.files.flatMap(({ file, diagnostics }) =>
    diagnostics.flatMap(({ code, severity, message }) =>
      isJudged(severity) ? [{ path: file.replaceAll('\\', '/'), code, severity, hash: hashOf(message) }] : [],
    ),
  );
}

const keyOf = ({ path, code, severity, hash }: Finding) => `${severity} ${path} ${code} ${hash}`;

/** Findings that are not classed yet, and classed ones that are gone; equal ones count as often as they occur. */
export function changesOf(
  classed: readonly ClassedFinding[],
  found: readonly Finding[],
): { readonly appeared: Finding[]; readonly vanished: ClassedFinding[] } {
  const left = new Map<string, ClassedFinding[]>();
  for (const each of classed) left.set(keyOf(each), [...(left.get(keyOf(each)) ?? []), each]);
  const appeared = found.filter((each) => left.get(keyOf(each))?.pop() === undefined);
  return { appeared, vanished: [...left.values()].flat() };
}

/** Numbers of findings of one severity, by class in the order of `CLASSES`. */
const counts = (findings: readonly ClassedFinding[], severity: Severity): number[] =>
  CLASSES.map(
    (wanted) => findings.filter((each) => each.severity === severity && each.class === wanted).length,
  );

/** Share of findings that are true or defensible, in percent with one digit; a dash where there is none. */
function precision([sound = 0, defensible = 0, wrong = 0]: readonly number[]): string {
  const all = sound + defensible + wrong;
  return all === 0 ? '-' : `${((100 * (sound + defensible)) / all).toFixed(1)} %`;
}

/** The table of `docs/precision.md`, in Markdown. */
export function tableOf(repositories: readonly Repository[]): string {
  const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  const numbers = (findings: readonly ClassedFinding[]) => [
    ...counts(findings, 'error'),
    ...counts(findings, 'warning'),
  ];
  const all = repositories.flatMap(({ findings }) => findings);
  return [
    row([
      'repository',
      'configs',
      'errors: true',
      'defensible',
      'false',
      'warnings: true',
      'defensible',
      'false',
    ]),
    row(Array.from({ length: 8 }, () => '---')),
    ...repositories.map(({ name, configs, findings }) => row([name, configs, ...numbers(findings)])),
    row(['all', repositories.reduce((sum, { configs }) => sum + configs, 0), ...numbers(all)]),
    '',
    `True or defensible: errors ${precision(counts(all, 'error'))}, warnings ${precision(counts(all, 'warning'))}.`,
  ].join('\n');
}
