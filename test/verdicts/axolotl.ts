import { readFileSync } from 'node:fs';
import type { DocumentedRun } from './documented';

/*
 * Examples of Axolotl whose README states how much memory they took, with the settings and the packages that they had at the commit
 * that added the figure (where a package was taken from a commit, the release after it). The card is the one that the README
 * names, or the smallest common one that has as much.
 */
const SOURCE = 'https://github.com/axolotl-ai-cloud/axolotl/blob/';

export function axolotlRuns(): DocumentedRun[] {
  const [, ...rows] = readFileSync('test/verdicts/axolotl.tsv', 'utf8').trimEnd().split('\n');
  return rows.map((row) => {
    const [example = '', commit, gpus, card, , requirements = '', settings = '{}'] = row.split('\t');
    const lines = Object.entries(JSON.parse(settings) as Record<string, unknown>).map(
      ([key, value]) => `${key}: ${JSON.stringify(value)}`,
    );
    const config = [`# oomlint: gpu=${card} gpus=${gpus}`, 'datasets: [{path: data}]', ...lines];
    return {
      source: `${SOURCE}${commit}/examples/${example}`,
      outcome: 'ran',
      file: 'config.yaml',
      files: {
        'config.yaml': `${config.join('\n')}\n`,
        'requirements.txt': `${requirements.split(' ').join('\n')}\n`,
      },
    };
  });
}
