import { readFile as readText } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { isEstimated } from '../advice/changed-run';
import { type Fix, fixesFor } from '../advice/fixes';
import { changedLines, textEdits } from '../advice/write/text-edits';
import type { WrittenFile } from '../advice/write/write';
import { mechanicallyFixed } from '../features/fix-all';
import { outcomeLabel } from '../results/labels';
import { fitsAsRead } from '../results/verdict-order';
import { pathOfUri } from '../text/uri';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { UsageError } from '../workspace/usage-error';
import { type CliContext, EXIT } from './context';
import { type OutsideFiles, outsideFiles } from './fix-outside';
import type { Output } from './output';
import { readFile, readRun } from './read-run';
import { displayPath, SCHEMA_VERSION } from './report';
import { writeFiles } from './write-files';

export interface FixOptions {
  /** Number of the fix to write, from 1. */
  readonly take?: number;
  /** Write what has one right answer, such as old spellings. */
  readonly mechanical?: boolean;
}

/** `oomlint fix`: changes that make a run fit, each estimated; with `--take` one of them is written. */
export async function fix(file: string, options: FixOptions, context: CliContext): Promise<number> {
  if (options.mechanical) return mechanical(file, context);
  const analysis = await readRun(file, context);
  if (!analysis) return EXIT.couldNotRun;
  const fixes = await fixesFor(analysis, context.workspace);
  const chosen = options.take === undefined ? undefined : fixes[options.take - 1];
  if (options.take !== undefined && !chosen)
    throw new UsageError(
      `--take: ${say('there {0|is|are} {0} {0|fix|fixes}, and no number {1}.', fixes.length, String(options.take))}`,
    );
  const files = (chosen ? [chosen] : fixes).flatMap((one) => one.files);
  const outside = await outsideFiles(analysis.uri, files, context.folder);
  if (chosen) {
    if (outside.uris.size > 0) throw new UsageError(`--take: ${refusal(outside)}`);
    await writeFiles(chosen.files);
  }
  if (context.options.format === 'json') json(analysis, fixes, context);
  else table(analysis, chosen ? [chosen] : fixes, { written: chosen !== undefined, outside }, context);
  const open = analysis.estimate.verdict === 'exceeds' && !chosen;
  return open ? EXIT.foundErrors : EXIT.fine;
}

/** Why a fix is not written. */
const refusal = ({ folder, uris }: OutsideFiles): string =>
  say(
    'this fix also changes {0}, outside of {1}, and is not written. Start from a folder that holds both.',
    [...uris].map(pathOfUri).join(', '),
    folder,
  );

async function mechanical(file: string, context: CliContext): Promise<number> {
  const analysis = await readFile(file, context);
  if (!analysis) return EXIT.couldNotRun;
  const before = await readText(fileURLToPath(analysis.uri), 'utf8');
  const after = mechanicallyFixed(analysis, before);
  const written = [{ uri: analysis.uri, before, after }];
  if (after !== before) await writeFiles(written);
  context.output.write(
    after === before
      ? `${say('{0}: nothing to put right', displayPath(analysis.uri, context.folder))}\n`
      : `${diff(written, context)}\n`,
  );
  return EXIT.fine;
}

function table(
  analysis: Analysis,
  fixes: readonly Fix[],
  { written, outside }: { readonly written: boolean; readonly outside: OutsideFiles },
  { output, folder }: CliContext,
): void {
  const { paint } = output;
  const verdict = isEstimated(analysis) ? outcomeLabel(analysis.estimate) : '';
  output.write(`${paint('bold', displayPath(analysis.uri, folder))}  ${verdict}\n`);
  if (fixes.length === 0)
    output.write(
      fitsAsRead(analysis.estimate)
        ? `${say('Nothing to fix.')}\n`
        : `${say('No change of this file was found that makes it fit.')}\n`,
    );
  for (const [index, { title, files, byHand }] of fixes.entries()) {
    output.write(`${written ? paint('green', '✓') : paint('bold', `${index + 1}.`)} ${title}\n`);
    for (const line of byHand) output.write(`   ${say('By hand: {0}', line.replaceAll('`', ''))}\n`);
    output.write(`${diff(files, { output, folder }, outside)}\n`);
  }
  if (fixes.length > 0 && !written) output.write(paint('dim', `${say('Write one with --take <number>.')}\n`));
}

/** Lines that go and come, under the names of their files. */
function diff(
  files: readonly WrittenFile[],
  { output, folder }: { readonly output: Output; readonly folder: string },
  outside?: OutsideFiles,
): string {
  return files
    .flatMap(({ uri, before, after, note }) => {
      const { removed, added } = changedLines(before, after);
      const path = displayPath(uri, folder);
      const name = outside?.uris.has(uri) ? say('{0}, outside of {1}', path, outside.folder) : path;
      return [
        `   ${note ? say('{0}, a note that Oomlint alone reads', name) : name}`,
        ...removed.map((line) => output.paint('red', `   - ${line}`)),
        ...added.map((line) => output.paint('green', `   + ${line}`)),
      ];
    })
    .join('\n');
}

function json(analysis: Analysis, fixes: readonly Fix[], { output, folder }: CliContext): void {
  const report = fixes.map(
    ({ title, changes, verdict, beforeBytes, afterBytes, relativeTime, price, files, byHand }) => ({
      title,
      changes,
      verdict,
      beforeBytes,
      afterBytes,
      relativeTime,
      price,
      ...(byHand.length > 0 && { byHand }),
      edits: files.flatMap(({ uri, before, after }) =>
        textEdits(before, after).map((edit) => ({ file: displayPath(uri, folder), ...edit })),
      ),
    }),
  );
  const file = displayPath(analysis.uri, folder);
  output.write(`${JSON.stringify({ schemaVersion: SCHEMA_VERSION, file, fixes: report }, null, 2)}\n`);
}
