import { readFileSync } from 'node:fs';
import type { DocumentedRun } from './documented';

/*
 * Scripts that verl publishes as the least that a model ran on (docs/perf/device_tuning.rst), so that they lie at the edge: four state in a
 * comment that one sample more for each GPU failed. Left out is one that names its model by a word that nothing sets.
 */
const SOURCE = 'https://github.com/volcengine/verl/blob/b178a3cd56f58b2d502255daba591e92833930a7/';

export function verlRuns(): DocumentedRun[] {
  const [, ...rows] = readFileSync('test/verdicts/verl.tsv', 'utf8').trimEnd().split('\n');
  return rows.map((row) => {
    const [script = '', card, command = ''] = row.split('\t');
    return {
      source: `${SOURCE}${script}`,
      outcome: 'ran',
      file: 'run.sh',
      files: { 'run.sh': `# oomlint: gpu=${card}\n${command}\n` },
    };
  });
}
