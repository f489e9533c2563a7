// What Oomlint reports about the configs in examples/, and how to see it in an editor.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const configs = readdirSync(path.join(root, 'examples'))
  .filter((name) => /\.(json|ya?ml)$/.test(name) && !/^oomlint\.ya?ml$/.test(name))
  .map((name) => path.posix.join('examples', name));

for (const config of configs) {
  const [answer = '', assumed] = estimate(config).split('\nNot set by the file itself\n');
  console.log(answer.trimEnd());
  if (assumed !== undefined) {
    const count = assumed.split('\n\n')[0].trimEnd().split('\n').length;
    console.log(
      `\n${count} values are not stated by the file itself; who states them: node server/dist/cli.js estimate ${config}`,
    );
  }
  console.log(`\n${'─'.repeat(72)}\n`);
}
console.log(`The same while you edit:

  npm run editor       VS Code on examples/ with this extension, in a browser where there is no desktop
  npm run package      out/oomlint.vsix, to install in your own VS Code

and in the terminal:

  node server/dist/cli.js estimate <config> --gpu H100 --gpus 8 --model meta-llama/Llama-3.1-8B`);

/** The command line's answer. A run that does not fit is an answer, too, though its exit code is 1. */
function estimate(config) {
  try {
    return execFileSync(process.execPath, ['server/dist/cli.js', 'estimate', config], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  } catch (error) {
    if (error.status === 1 && error.stdout) {
      return error.stdout;
    }
    throw error;
  }
}
