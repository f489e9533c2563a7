import type { Score, Scored } from './documented';

/** The rows of the table of docs/verdicts.md: runs by who published them, and how many of their verdicts came out how. */
export function tableOf(scored: Readonly<Record<string, readonly Pick<Scored, 'score'>[]>>): string[] {
  const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  const rows = Object.entries(scored).map(([name, runs]) => {
    const count = (score: Score) => runs.filter((run) => run.score === score).length;
    return row([name, runs.length, count('right'), count('near'), count('withheld'), count('wrong')]);
  });
  return [
    row(['runs', 'of', 'right', 'near', 'withheld', 'wrong']),
    row(Array.from({ length: 6 }, () => '---')),
    ...rows,
  ];
}
