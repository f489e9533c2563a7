import { appendFileSync } from 'node:fs';

/** Prints a line of what a run had to leave out, below the counts of its suite. */
export function noted(line: string): void {
  if (process.env.OOMLINT_NOTES) appendFileSync(process.env.OOMLINT_NOTES, `${line}\n`);
  else console.log(`      ${line}`);
}
