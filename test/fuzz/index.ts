// Looks for texts that something is not ready for: npm run fuzz -- [--minutes N] [--seed N] [--family NAME]
// Every failure is shown with the shortest text that still fails; ends with exit code 1 where there are any.
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { examine } from './examine';
import { changes, mutated, NONSENSE } from './mutate';
import { abuse } from './protocol';
import { SEEDS } from './seeds';

/** Mutations of one config that are looked at in one go. */
const RUNS = 50;
const MOST_FAILURES = 20;

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' }, family: { type: 'string' } },
});
const until = Date.now() + Number(values.minutes ?? 1) * 60_000;
const first = Number(values.seed ?? Date.now() % 1_000_000);
const seeds = SEEDS.filter(([family]) => values.family === undefined || family === values.family);
const failures = new Map<string, string>();
const counts = { inputs: 0, analysed: 0, estimated: 0, edits: 0 };

async function look(file: string, text: string, at: number): Promise<void> {
  const { analysed, estimated, edits } = await examine(file, text, at);
  counts.inputs++;
  if (analysed) counts.analysed++;
  if (estimated) counts.estimated++;
  counts.edits += edits;
}

function note(family: string, text: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const kind = `${family}: ${message.split('\n')[0]?.replace(/\d+/g, 'N')}`;
  if (failures.has(kind)) return;
  failures.set(kind, text);
  console.log(`\n${family}: ${message.slice(0, 400)}\n--- text\n${text}\n---`);
}

const isOver = () => Date.now() > until || failures.size >= MOST_FAILURES;

/** Each value of a config in turn replaced by each piece of nonsense. */
async function directed(): Promise<void> {
  for (const [family, file, text] of seeds)
    for (let at = 0; at < text.split('\n').length && !isOver(); at++)
      for (const by of NONSENSE) {
        const made = mutated(text, [{ kind: 'value', at, by }]);
        await look(file, made, at).catch((error) => note(family, made, error));
      }
}

async function random(seed: number): Promise<void> {
  for (const [family, file, text] of seeds) {
    if (isOver()) return;
    let failed = '';
    const property = fc.asyncProperty(changes, fc.nat(), async (made, at) => {
      const input = mutated(text, made);
      failed = input;
      await look(file, input, at);
    });
    const { errorInstance } = await fc.check(property, {
      numRuns: RUNS,
      seed,
      interruptAfterTimeLimit: Math.max(1, until - Date.now()),
    });
    if (errorInstance) note(family, failed, errorInstance);
  }
}

async function main(): Promise<void> {
  console.log(`seed ${first}`);
  await abuse(first, 300).catch((error) => note('protocol', `seed ${first}`, error));
  await directed();
  for (let seed = first; !isOver(); seed++) await random(seed);
  const { inputs, analysed, estimated, edits } = counts;
  console.log(
    `${inputs} inputs, ${analysed} analysed, ${estimated} estimated, ${edits} edits, ${failures.size} failures`,
  );
  process.exitCode = failures.size > 0 ? 1 : 0;
}

void main();
