import type { Verdict } from '../estimate-types';
import type { Breakdown } from '../features/protocol';
import { isFieldPath } from '../run/fields';
import { formatBytes, formatBytesOf, formatCount, formatFlops, formatInteger } from '../wording/figures';
import {
  CATEGORY_LABELS,
  HOST_MOMENT_LABELS,
  MOMENT_LABELS,
  trainedLabel,
  VERDICT_LABELS,
} from '../wording/labels';
import { timeFacts } from '../wording/time';
import { supplyExamples } from '../workspace/verdict';
import type { Output, Style } from './output';
import { problemLines } from './problem-lines';
import { displayPath } from './report';

const VERDICT_STYLES: Readonly<Record<Verdict, Style>> = {
  fits: 'green',
  tight: 'yellow',
  exceeds: 'red',
  unknown: 'cyan',
};
const BAR = 32;
/** More assumptions than this are counted, not listed: `--format json` has all. */
const MOST_ASSUMPTIONS = 24;

function bar(bytes: number, largest: number): string {
  const eighths = largest > 0 ? Math.round((bytes / largest) * BAR * 8) : 0;
  const rest = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8] ?? '';
  return '█'.repeat(Math.floor(eighths / 8)) + rest;
}

/** Two columns, aligned: names and texts. */
function columns(rows: readonly (readonly [string, string])[], indent: string): string[] {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${indent}${name.padEnd(width)}  ${text}`);
}

function verdictLine({ verdict, peak, hardware }: Breakdown): string {
  if (!peak || !hardware) {
    return VERDICT_LABELS[verdict];
  }
  const missing = peak.processBytes - hardware.capacityBytes;
  const rest = missing > 0 ? `, ${formatBytes(missing)} missing` : `, ${formatBytes(-missing)} left`;
  return `${VERDICT_LABELS[verdict]}: ${formatBytesOf(peak.processBytes, hardware.capacityBytes)}${rest}`;
}

function headRows(breakdown: Breakdown): [string, string][] {
  const { model, hardware } = breakdown;
  const rows: [string, string][] = [];
  if (model) {
    const trained = trainedLabel(model);
    const active =
      model.activeParameters === model.totalParameters
        ? ''
        : `, ${formatCount(model.activeParameters)} active`;
    rows.push([
      'Model',
      `${model.id}, ${formatCount(model.totalParameters)} parameters${active}, ${trained}`,
    ]);
  }
  if (hardware) {
    const nodes = hardware.nodes === 1 ? '1 node' : `${hardware.nodes} nodes`;
    rows.push([
      'Hardware',
      `${hardware.gpus} x ${hardware.gpu} on ${nodes}, ${formatBytes(hardware.capacityBytes)} usable each`,
    ]);
  }
  return rows;
}

function memoryLines({ peak, parts }: Breakdown, { paint }: Output): string[] {
  if (!peak) {
    return [];
  }
  const sorted = [...parts].filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const largest = sorted[0]?.bytes ?? 0;
  const names = sorted.map(({ category }) => CATEGORY_LABELS[category]);
  const width = Math.max(5, ...names.map((name) => name.length));
  const row = (name: string, bytes: number, rest: string) =>
    `  ${name.padEnd(width)}  ${formatBytes(bytes).padStart(9)}  ${rest}`.trimEnd();
  const rank = peak.rank === 0 ? '' : `, rank ${peak.rank}`;
  return [
    '',
    `Memory of one GPU at its peak: ${MOMENT_LABELS[peak.moment]} (${peak.label}${rank})`,
    ...sorted.map(({ bytes }, i) => row(names[i] ?? '', bytes, paint('cyan', bar(bytes, largest)))),
    row(
      'total',
      peak.processBytes,
      `between ${formatBytes(peak.lowerBytes)} and ${formatBytes(peak.upperBytes)}`,
    ),
    paint(
      'dim',
      `  PyTorch: ${formatBytes(peak.allocatedBytes)} allocated, ${formatBytes(peak.reservedBytes)} reserved`,
    ),
  ];
}

function otherRows({ host, hostBytesPerNode, hostParts, compute }: Breakdown): [string, string][] {
  const rows: [string, string][] = [];
  if (hostBytesPerNode > 0) {
    const parts = hostParts.map(({ label, bytes }) => `${label} ${formatBytes(bytes)}`).join(', ');
    const when = host ? ` ${HOST_MOMENT_LABELS[host.moment]}` : '';
    rows.push([
      'Host memory',
      `${formatBytes(hostBytesPerNode)} per node${when}${parts ? ` (${parts})` : ''}`,
    ]);
  }
  if (compute) {
    const { flopsPerStep, tokensPerStep } = compute;
    rows.push([
      'Compute',
      `${formatFlops(flopsPerStep)} per step of ${formatInteger(tokensPerStep)} tokens, all GPUs`,
    ]);
    for (const { name, value, detail } of timeFacts(compute)) {
      rows.push([name, detail ? `${value}; ${detail}` : value]);
    }
  }
  return rows;
}

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

function assumptionLines({ assumptions }: Breakdown, { paint }: Output): string[] {
  if (assumptions.length === 0) {
    return [];
  }
  const listed = assumptions.slice(0, MOST_ASSUMPTIONS);
  const rows = listed.map(({ field, value, source }): [string, string, string] => [
    field,
    shown(value),
    source,
  ]);
  const names = Math.max(...rows.map(([field]) => field.length));
  const values = Math.min(32, Math.max(...rows.map(([, value]) => value.length)));
  const more = assumptions.length - listed.length;
  return [
    '',
    'Not stated by the file itself',
    ...rows.map(
      ([field, value, source]) =>
        `  ${field.padEnd(names)}  ${value.padEnd(values)}  ${paint('dim', source)}`,
    ),
    ...(more > 0 ? [paint('dim', `  and ${more} more, see --format json`)] : []),
  ];
}

function unknownLines({ unknown }: Breakdown): string[] {
  if (unknown.length === 0) {
    return [];
  }
  const examples = supplyExamples(
    unknown.flatMap(({ field, reason }) => (isFieldPath(field) ? { field, reason } : [])),
  );
  return [
    '',
    'Unknown, so there is no verdict',
    ...columns(
      unknown.map(({ field, reason }) => [field, reason]),
      '  ',
    ),
    `  Supply it with ${examples.map((example) => `--set ${example}`).join(' ')}, with a comment`,
    `  "# oomlint: ${examples.join(' ')}" in the file, or with an oomlint.yaml.`,
  ];
}

/** A breakdown for people: aligned, GiB, one bar per part. */
export function breakdownTable(breakdown: Breakdown, folder: string, output: Output): string {
  const { paint } = output;
  const others = breakdown.files.slice(1).map((uri) => displayPath(uri, folder));
  const file = displayPath(breakdown.file, folder);
  const rest = otherRows(breakdown);
  const problems = problemLines(file, breakdown.diagnostics, paint).split('\n').slice(1, -2);
  return [
    `${paint('bold', file)}  ${paint('dim', breakdown.dialect.name)}`,
    ...columns(
      [
        ...(others.length > 0 ? [['With', others.join(', ')] as [string, string]] : []),
        ...headRows(breakdown),
      ],
      '',
    ),
    paint(VERDICT_STYLES[breakdown.verdict], `Verdict: ${verdictLine(breakdown)}`),
    ...memoryLines(breakdown, output),
    ...(rest.length > 0 ? ['', ...columns(rest, '')] : []),
    ...assumptionLines(breakdown, output),
    ...unknownLines(breakdown),
    ...(breakdown.notes.length > 0 ? ['', 'Notes', ...breakdown.notes.map((note) => `  ${note}`)] : []),
    ...(problems.length > 0 ? ['', 'Problems', ...problems] : []),
    '',
  ].join('\n');
}
