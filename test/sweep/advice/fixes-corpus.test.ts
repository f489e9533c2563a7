import assert from 'node:assert/strict';
import { planValues } from '../../../server/src/advice/apply-plan';
import { type Fix, fixesFor } from '../../../server/src/advice/fixes';
import { sourcesOf } from '../../../server/src/advice/run-sources';
import { textEdits, withEdits } from '../../../server/src/advice/write/text-edits';
import { writeChanges } from '../../../server/src/advice/write/write';
import { parseConfig } from '../../../server/src/config/parse';
import { corpusIsThere, sampled } from '../../corpus/corpus-files';
import { type CorpusRun, tooLargeRun } from '../../unit/advice/corpus-runs';
import { runs } from '../../unit/long';

/** All files with `OOMLINT_CORPUS=all`, else one of each family; a few in the long run. */
const PER_FAMILY = process.env.OOMLINT_CORPUS === 'all' ? 10_000 : runs(1, 4);

interface Count {
  files: number;
  tooLarge: number;
  fixed: number;
  fixes: number;
  kinds: Map<string, number>;
}

describe('fixes of real configs', function () {
  this.timeout(PER_FAMILY > 100 ? 3_600_000 : 120_000);

  it('each make the diagnostic go away, and change nothing else', async () => {
    if (!corpusIsThere) {
      console.log('      the corpus is not here: nothing to fix');
      return;
    }
    const counts = new Map<string, Count>();
    const wrong: string[] = [];
    for (const file of sampled(PER_FAMILY)) {
      const count = counts.get(file.family) ?? {
        files: 0,
        tooLarge: 0,
        fixed: 0,
        fixes: 0,
        kinds: new Map(),
      };
      counts.set(file.family, count);
      count.files++;
      const run = await tooLargeRun(file);
      if (!run) continue;
      count.tooLarge++;
      const fixes = await fixesFor(run.analysis, run.workspace);
      if (fixes.length > 0) count.fixed++;
      for (const fix of fixes) {
        await checkFix(run, fix).catch((error: Error) => wrong.push(error.message.slice(0, 600)));
        count.fixes++;
        for (const { kind } of fix.moves) count.kinds.set(kind, (count.kinds.get(kind) ?? 0) + 1);
      }
    }
    for (const [family, { files, tooLarge, fixed, fixes, kinds }] of counts) {
      const shown = [...kinds].map(([kind, number]) => `${kind} ${number}`).join(', ');
      console.log(
        `      ${family}: ${files} files, ${tooLarge} too large, ${fixed} with fixes, ${fixes} fixes (${shown})`,
      );
    }
    assert.deepEqual(wrong, []);
  });
});

/** Applies a fix as an editor would and reads everything anew, then puts the files back. */
async function checkFix({ file, workspace, host, analysis }: CorpusRun, fix: Fix): Promise<void> {
  const what = `${file.family}/${file.name}: ${fix.title}`;
  for (const { uri, before, after } of fix.files) {
    const edits = textEdits(before, after);
    assert.equal(withEdits(before, edits), after, what);
    checkText(uri, before, after, what);
    // Only what is new or was there in another value is touched.
    const touched = edits.reduce((sum, { newText }) => sum + newText.length, 0);
    assert.ok(touched < 900, `${what}: ${touched} characters written`);
    host.write(uri, after);
  }
  try {
    workspace.invalidateAll();
    const fixed = await workspace.analyze(file.uri);
    assert.ok(fixed, what);
    const codes = fixed.problems.map(({ code }) => code);
    assert.ok(
      !codes.includes('does-not-fit') && !codes.includes('tight'),
      `${what}: still ${codes.join(' ')}`,
    );
    assert.equal(fixed.estimate?.peak.processBytes, fix.afterBytes, what);
    // Written again, nothing changes.
    const run = fixed.resolved.run;
    assert.ok(run, what);
    if (fix.byHand.length > 0) {
      const again = await planValues(fixed, fix.changes, workspace);
      assert.deepEqual(
        [again.files, again.note],
        [[], undefined],
        `${what}: written again, something changes`,
      );
      return;
    }
    const fields = fix.moves.flatMap((move) => move.fields);
    const again = writeChanges({
      files: await sourcesOf(fixed, workspace),
      run,
      origins: fixed.resolved.origins,
      changes: fix.changes,
      fields,
    });
    assert.deepEqual(again, [], `${what}: written again, something changes`);
  } finally {
    for (const { uri, before } of fix.files) host.write(uri, before);
    workspace.invalidateAll();
  }
  assert.equal(analysis.uri, file.uri);
}

function checkText(uri: string, before: string, after: string, what: string): void {
  const errors = (text: string) =>
    parseConfig(uri, text).problems.filter(({ severity }) => severity === 'error').length;
  assert.ok(errors(after) <= errors(before), `${what}: does not parse any more`);
  const format = parseConfig(uri, before).format;
  const comment = format === 'json' ? /\/\/.*$/gm : /(?:^|\s)#.*$/gm;
  if (format === 'json' && !parseConfig(uri, before).relaxedJson) return;
  const kept = after.split(/\r\n|\n|\r/).join('\n');
  for (const [words] of before.matchAll(comment))
    assert.ok(kept.includes(words.trim()), `${what}: the comment "${words.trim()}" is gone`);
}
