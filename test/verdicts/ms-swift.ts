import { readFileSync } from 'node:fs';
import type { DocumentedRun } from './documented';

/*
 * Examples of ms-swift that say in their first line how much memory each GPU took. The card of a row is the smallest of those
 * below that has as much: the run would have run there, too.
 */
const SOURCE = 'https://github.com/modelscope/ms-swift/blob/3602360a562313afbf2ef6065fdf61f271a2c5b9/';

/** Cards that take bf16, smallest first, with the most GiB that a process was seen to take and still fits. */
const CARDS: readonly (readonly [most: number, name: string])[] = [
  [22.5, 'RTX-4090'],
  [38.5, 'A100-SXM4-40GB'],
  [46.5, 'RTX-A6000'],
  [80, 'A100-SXM4-80GB'],
  [95, 'H20'],
];

export function msSwiftRuns(): DocumentedRun[] {
  const [, ...rows] = readFileSync('test/verdicts/ms-swift.tsv', 'utf8').trimEnd().split('\n');
  return rows.map((row) => {
    const [example = '', gpus, gib, command = ''] = row.split('\t');
    const card = CARDS.find(([most]) => Number(gib) <= most)?.[1];
    if (card === undefined) throw new Error(`${example}: no card has ${gib} GiB`);
    return {
      source: `${SOURCE}${example}`,
      outcome: 'ran',
      file: 'train.sh',
      files: { 'train.sh': `# oomlint: gpu=${card} gpus=${gpus}\n${command}\n` },
    };
  });
}
