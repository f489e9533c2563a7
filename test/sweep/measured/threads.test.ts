import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type Estimated, isEstimated } from '../../../server/src/advice/changed-run';
import { type Diagnosis, diagnose } from '../../../server/src/features/oom/diagnose';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { readOutOfMemory } from '../../unit/measured/read-out-of-memory';

/** A public thread: the figures of its message, and the run as its author describes it. */
interface Thread {
  readonly url: string;
  readonly message: string;
  readonly frames?: readonly (readonly [file: string, name: string, code: string])[];
  /** Run fields; absent where the thread does not tell enough. */
  readonly run?: Readonly<Record<string, unknown>>;
  /** What the request was for, as a pattern of its name; null where nothing of the run has that size. */
  readonly tensor?: string | null;
  /** Field and values that give the size. */
  readonly solution?: readonly [field: string, from: number, to: number];
  /** First of the causes, as a pattern. */
  readonly cause?: string;
}

const THREADS = readFileSync('test/fixtures/oom-threads/threads.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Thread);

function runFile(run: Readonly<Record<string, unknown>>): string {
  const nested: Record<string, Record<string, unknown>> = {};
  for (const [field, value] of Object.entries(run)) {
    const [section = '', name = ''] = field.split('.');
    nested[section] = { ...nested[section], [name]: value };
  }
  return JSON.stringify({ run: nested });
}

async function analysed(run: Readonly<Record<string, unknown>>): Promise<Estimated> {
  const uri = 'file:///w/run.oomlint.yaml';
  const analysis = await new Workspace(new MemoryHost({ [uri]: runFile(run) })).analyze(uri);
  assert.ok(
    analysis && isEstimated(analysis),
    JSON.stringify(analysis?.problems.map(({ message }) => message)),
  );
  return analysis;
}

async function explained({ message, frames = [], run }: Thread): Promise<Diagnosis> {
  const traceback = frames.flatMap(([file, name, code]) => [
    `  File "/s/${file}", line 1, in ${name}`,
    `    ${code}`,
  ]);
  const { found } = readOutOfMemory(['Traceback (most recent call last):', ...traceback, message].join('\n'));
  assert.ok(found[0], message);
  return diagnose(found[0], run ? { analysis: await analysed(run) } : {});
}

describe('out-of-memory messages of public threads', () => {
  it('are reported with their run in forty and more, and the page lists each with what came of it', () => {
    const page = readFileSync('docs/out-of-memory-threads.md', 'utf8');
    const [withRun = ''] = page.split('## By the message alone');
    const rows = [...withRun.matchAll(/^\| \[.*\]\((\S+)\) \|.*\| ([^|]+) \|$/gm)].map(
      ([, url = '', outcome = '']) => ({
        url,
        outcome: outcome.trim(),
      }),
    );
    const reported = THREADS.filter(({ run }) => run !== undefined);
    const issues = new Set(reported.map(({ url }) => url.replace(/ .*/, '')));
    assert.ok(issues.size >= 40, String(issues.size));
    assert.equal(rows.length, reported.length);
    assert.deepEqual(new Set(rows.map(({ url }) => url)), issues);
    const count = (pattern: RegExp) => rows.filter(({ outcome }) => pattern.test(outcome)).length;
    assert.match(
      withRun.replace(/\s+/g, ' '),
      new RegExp(`Of ${rows.length} requests ${count(/^right$/)} name the right tensor`),
    );
    // A request that names its tensor does so below, by the pattern of the thread.
    const named = reported.filter(({ tensor }) => typeof tensor === 'string').length;
    assert.equal(count(/^(?:right|one of two)$/), named);
  });

  for (const thread of THREADS) {
    it(thread.url, async () => {
      const found = await explained(thread);
      const names =
        found.matched?.matches
          .filter(({ support }) => support >= 0)
          .map(({ request }) => `${request.name} [${request.place}]`) ?? [];
      if (process.env.OOMLINT_THREADS)
        process.stdout.write(
          `${JSON.stringify({ url: thread.url, causes: found.causes.map(({ kind, sure }) => kind + (sure ? '' : '?')), names: names.slice(0, 4), solutions: found.solutions.map(({ field, from, to, stated, request }) => [request.name, field, from, to, stated]), nearest: found.matched?.nearest.map(({ name, bytes }) => [name, bytes / 2 ** 20]), est: found.expected && [found.expected.estimate.verdict, (found.expected.estimate.peak.allocatedBytes / 2 ** 30).toFixed(1), found.expected.otherCard] })}\n`,
        );
      if (thread.cause !== undefined)
        assert.match(found.causes[0]?.kind ?? '', new RegExp(`^(?:${thread.cause})$`));
      if (typeof thread.tensor === 'string') assert.match(names.join('\n'), new RegExp(thread.tensor));
      if (thread.tensor === null) assert.deepEqual(names, []);
      const [field, from = 0, to = 0] = thread.solution ?? [];
      if (field)
        assert.ok(
          found.solutions.some((one) => one.field === field && one.from >= from && one.to <= to),
          JSON.stringify(found.solutions.map((one) => [one.field, one.from, one.to])),
        );
    });
  }
});
