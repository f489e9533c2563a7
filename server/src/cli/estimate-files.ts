import { breakdownOf } from '../features/breakdown';
import { type CliContext, EXIT } from './context';
import { readFile } from './read-run';
import { runReport, SCHEMA_VERSION } from './report';
import { breakdownTable } from './table';
import { usersReport, usersTable } from './users';

/** `oomlint estimate`: a breakdown of each file. */
export async function estimateFiles(files: readonly string[], context: CliContext): Promise<number> {
  const { output, folder, options } = context;
  const runs = [];
  let code: number = EXIT.fine;
  for (const file of files) {
    const analysis = await readFile(file, context);
    if (!analysis) {
      code = EXIT.couldNotRun;
      continue;
    }
    const breakdown = breakdownOf(analysis);
    if (code === EXIT.fine && breakdown.diagnostics.some(({ severity }) => severity === 'error')) {
      code = EXIT.foundErrors;
    }
    if (options.format === 'json') {
      runs.push({ ...runReport(breakdown, folder), ...usersReport(analysis, folder) });
    } else {
      output.write(`${breakdownTable(breakdown, folder, output)}\n${usersTable(analysis, folder, output)}`);
    }
  }
  if (options.format === 'json') {
    output.write(`${JSON.stringify({ schemaVersion: SCHEMA_VERSION, runs }, null, 2)}\n`);
  }
  return code;
}
