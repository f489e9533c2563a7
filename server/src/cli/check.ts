import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import type { Problem } from '../config/node';
import type { Verdict } from '../estimate-types';
import { say } from '../wording/say';
import { type CliContext, EXIT } from './context';
import { problemLines } from './problem-lines';
import { diagnosticOf, displayPath, SCHEMA_VERSION } from './report';
import { findConfigs } from './walk';

interface Checked {
  readonly uri: string;
  readonly verdict?: Verdict;
  readonly problems: readonly Problem[];
}

/** `oomlint check`: problems of all configs below the given paths. */
export async function check(paths: readonly string[], context: CliContext): Promise<number> {
  const { output, folder, options } = context;
  const { files, failed } = await gather(paths, context);
  const checked: Checked[] = [];
  for (const file of files) {
    const found = await checkFile(pathToFileURL(file).href, context);
    if (found) {
      const problems = options.quiet
        ? found.problems.filter(({ severity }) => severity === 'error')
        : found.problems;
      checked.push({ ...found, problems });
    }
  }
  const all = checked.flatMap(({ problems }) => problems);
  const errors = all.filter(({ severity }) => severity === 'error').length;
  const warnings = all.filter(({ severity }) => severity === 'warning').length;
  if (options.format === 'json') {
    const report = checked.map(({ uri, verdict, problems }) => ({
      file: displayPath(uri, folder),
      verdict: verdict ?? 'unknown',
      diagnostics: problems.map((problem) => diagnosticOf(problem, folder)),
    }));
    output.write(
      `${JSON.stringify({ schemaVersion: SCHEMA_VERSION, files: report, errors, warnings }, null, 2)}\n`,
    );
  } else {
    for (const { uri, problems } of checked) {
      output.write(problemLines(displayPath(uri, folder), problems, output.paint));
    }
    const summary = say(
      '{0} {0|config|configs} checked: {1} {1|error|errors}, {2} {2|warning|warnings}',
      checked.length,
      errors,
      warnings,
    );
    output.write(`${output.paint(errors > 0 ? 'red' : warnings > 0 ? 'yellow' : 'green', summary)}\n`);
  }
  return failed ? EXIT.couldNotRun : errors > 0 ? EXIT.foundErrors : EXIT.fine;
}

/** Files named, and configs below folders named; each once. */
async function gather(paths: readonly string[], { output, folder }: CliContext) {
  const files = new Set<string>();
  let failed = false;
  const complain = (what: string) => {
    output.writeError(`oomlint: ${say('{0} cannot be read.', what)}\n`);
    failed = true;
  };
  for (const given of paths) {
    const full = path.resolve(folder, given);
    const entry = await stat(full).catch(() => undefined);
    if (!entry) {
      complain(given);
    } else if (entry.isDirectory()) {
      for (const file of await findConfigs(full, complain)) {
        files.add(file);
      }
    } else {
      files.add(full);
    }
  }
  return { files, failed };
}

async function checkFile(uri: string, { workspace }: CliContext): Promise<Checked | undefined> {
  const project = await workspace.checkProjectFile(uri);
  if (project) {
    return { uri, problems: project };
  }
  const analysis = await workspace.analyze(uri);
  return analysis && { uri, verdict: analysis.estimate?.verdict, problems: analysis.problems };
}
