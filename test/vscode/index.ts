import { readdirSync } from 'node:fs';
import path from 'node:path';
import Mocha from 'mocha';

/** Entry of the suite in VS Code's extension host; mocha's report goes into the file that the caller names. */
export function run(): Promise<void> {
  const mocha = new Mocha({
    reporter: 'json',
    reporterOptions: { output: process.env.OOMLINT_RESULT },
    timeout: 60_000,
  });
  for (const name of readdirSync(__dirname).filter((file) => file.endsWith('.test.js'))) {
    mocha.addFile(path.join(__dirname, name));
  }
  return new Promise((resolve, reject) => {
    mocha.run((failures) => (failures > 0 ? reject(new Error(`${failures} failed`)) : resolve()));
  });
}
