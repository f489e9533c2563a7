import { readdirSync } from 'node:fs';
import path from 'node:path';
import Mocha from 'mocha';

/** What was asked for: names of test files without their ending, a pattern of names of tests. */
interface Only {
  readonly files?: readonly string[];
  readonly grep?: string;
}

/** Entry of the suite in VS Code's extension host; mocha's report goes into the file that the caller names. */
export function run(): Promise<void> {
  const mocha = new Mocha({
    reporter: 'json',
    reporterOptions: { output: process.env.OOMLINT_RESULT },
    timeout: 60_000,
  });
  const only: Only = JSON.parse(process.env.OOMLINT_ONLY ?? '{}');
  if (only.grep) mocha.grep(new RegExp(only.grep));
  for (const name of readdirSync(__dirname).filter((file) => file.endsWith('.test.js'))) {
    if (!only.files?.length || only.files.includes(path.basename(name, '.js'))) {
      mocha.addFile(path.join(__dirname, name));
    }
  }
  return new Promise((resolve, reject) => {
    mocha.run((failures) => (failures > 0 ? reject(new Error(`${failures} failed`)) : resolve()));
  });
}
