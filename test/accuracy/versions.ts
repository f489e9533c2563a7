import { lower, type MeasuredRow } from './row';

/** Dates of PyTorch releases (https://github.com/pytorch/pytorch/releases). */
const TORCH: readonly (readonly [string, string])[] = [
  ['2021-10', '1.10'],
  ['2022-03', '1.11'],
  ['2022-06', '1.12'],
  ['2022-10', '1.13'],
  ['2023-03', '2.0'],
  ['2023-10', '2.1'],
  ['2024-01', '2.2'],
  ['2024-04', '2.3'],
  ['2024-07', '2.4'],
  ['2024-10', '2.5'],
  ['2025-01', '2.6'],
  ['2025-04', '2.7'],
  ['2025-08', '2.8'],
  ['2025-10', '2.9'],
];

/** Dates of transformers releases in which the loss or the default attention changed. */
const TRANSFORMERS: readonly (readonly [string, string])[] = [
  ['2022-04', '4.18'],
  ['2023-12', '4.36'],
  ['2024-10', '4.46'],
  ['2025-03', '4.50'],
  ['2025-09', '4.57'],
];

/** Dates of bitsandbytes releases. */
const BITSANDBYTES: readonly (readonly [string, string])[] = [
  ['2022-01', '0.37'],
  ['2023-07', '0.41'],
  ['2024-03', '0.43.0'],
  ['2024-07', '0.43.2'],
  ['2024-12', '0.45'],
];

/**
 * Guides that print when they were measured: transformers' on a single GPU has nvidia-smi of 11 January 2022
 * (`docs/source/performance.mdx`, later `perf_train_gpu_one.md`).
 */
const GUIDES: readonly (readonly [RegExp, string])[] = [[/perf_train_gpu_one/, '2022-01']];

/** The row's date as `YYYY-MM`, where its version text has one; a range counts from its first date. */
export function dateOf(row: MeasuredRow): string | undefined {
  const guide = GUIDES.find(([pattern]) => pattern.test(row.source ?? ''));
  if (guide) return guide[1];
  const text = lower(row.framework_version);
  const month = /\b(20\d\d)-(\d\d)\b/.exec(text);
  if (month) return `${month[1]}-${month[2]}`;
  const nightly = /dev(20\d\d)(\d\d)\d\d/.exec(text);
  if (nightly) return `${nightly[1]}-${nightly[2]}`;
  // An alpha of torch ends with the branch cut of its release, a month before.
  const alpha = /\btorch (\d+\.\d+)\.0a0/.exec(text)?.[1];
  const release = TORCH.find(([, version]) => version === alpha)?.[0];
  if (release) return monthBefore(release);
  const year = /(?<![\d.])(20\d\d)(?![\d.])/.exec(text);
  return year ? `${year[1]}-06` : undefined;
}

function monthBefore(date: string): string {
  const [year = 0, month = 1] = date.split('-').map(Number);
  return month > 1 ? `${year}-${String(month - 1).padStart(2, '0')}` : `${year - 1}-12`;
}

function latest(releases: readonly (readonly [string, string])[], date: string): string | undefined {
  let found: string | undefined;
  for (const [when, version] of releases) if (when <= date) found = version;
  return found ?? releases[0]?.[1];
}

function versionOf(
  row: MeasuredRow,
  stated: RegExp,
  releases: readonly (readonly [string, string])[],
): string | undefined {
  const match = stated.exec(lower(row.framework_version));
  if (match?.[1]) return match[1];
  const date = dateOf(row);
  return date === undefined ? undefined : latest(releases, date);
}

export function torchVersion(row: MeasuredRow): string | undefined {
  return versionOf(row, /\btorch ~?(\d+\.\d+)/, TORCH);
}

export function transformersVersion(row: MeasuredRow): string | undefined {
  return versionOf(row, /\btransformers ~?(\d+\.\d+)/, TRANSFORMERS);
}

export function bitsandbytesVersion(row: MeasuredRow): string | undefined {
  const stated = versionOf(row, /\b(?:bnb|bitsandbytes) ~?(\d+\.\d+(?:\.\d+)?)/, []);
  if (stated) return stated;
  // litgpt asked for 0.42.0 until 2025 (`finetune/lora.py`: "LitGPT only supports bitsandbytes v0.42.0").
  const date = dateOf(row);
  if (/litgpt/.test(lower(row.framework)) && date !== undefined && date < '2025-01') return '0.42';
  return versionOf(row, /$^/, BITSANDBYTES);
}

/** Whether a version `a.b` comes before another. */
export function before(version: string, other: string): boolean {
  const [a = 0, b = 0] = version.split('.').map(Number);
  const [c = 0, d = 0] = other.split('.').map(Number);
  return a < c || (a === c && b < d);
}
