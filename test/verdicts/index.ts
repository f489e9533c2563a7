import { documentedRuns } from './all';
import { type Score, scored } from './documented';

/* `npm run verdicts`: what Oomlint reports of documented runs, beside what became of them. `-- --all` prints every one. */

async function main(): Promise<void> {
  const all = process.argv.includes('--all');
  const row = (cells: readonly (string | number)[]) => console.log(`| ${cells.join(' | ')} |`);
  row(['runs', 'of', 'right', 'near', 'withheld', 'wrong']);
  row(Array.from({ length: 6 }, () => '---'));
  const lines: string[] = [];
  for (const [name, runs] of Object.entries(documentedRuns())) {
    const counts: Record<Score, number> = { right: 0, near: 0, withheld: 0, wrong: 0 };
    for (const run of runs) {
      const { score, verdict, outcome, source, peakBytes, reported } = await scored(run);
      counts[score]++;
      const peak = peakBytes === undefined ? '' : `, ${(peakBytes / 2 ** 30).toFixed(1)} GiB`;
      if (all || score === 'wrong' || score === 'withheld')
        lines.push(`${score}: ${outcome}, said ${verdict}${peak}. ${reported} ${source}`);
    }
    row([name, runs.length, counts.right, counts.near, counts.withheld, counts.wrong]);
  }
  console.log(`\n${lines.join('\n')}`);
}

void main();
