import { documentedRuns } from './all';
import { type Scored, scored } from './documented';
import { tableOf } from './table';

/* `npm run verdicts`: what Oomlint reports of documented runs, beside what became of them. `-- --all` prints every one. */

async function main(): Promise<void> {
  const all = process.argv.includes('--all');
  const found: Record<string, Scored[]> = {};
  for (const [name, runs] of Object.entries(documentedRuns())) {
    const list: Scored[] = [];
    for (const run of runs) list.push(await scored(run));
    found[name] = list;
  }
  console.log(tableOf(found).join('\n'));
  const shown = Object.values(found)
    .flat()
    .filter(({ score }) => all || score === 'wrong' || score === 'withheld');
  const lines = shown.map(({ score, verdict, outcome, source, peakBytes, reported }) => {
    const peak = peakBytes === undefined ? '' : `, ${(peakBytes / 2 ** 30).toFixed(1)} GiB`;
    return `${score}: ${outcome}, said ${verdict}${peak}. ${reported} ${source}`;
  });
  console.log(`\n${lines.join('\n')}`);
}

void main();
