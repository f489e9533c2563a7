import { runCli } from './cli/program';
import { terminalLanguage } from './cli/terminal-language';
import { speakLanguage } from './wording/language';

const args = process.argv.slice(2);

/** Whether all that was written to a stream has arrived where it leads. */
const drained = (stream: NodeJS.WriteStream) =>
  new Promise<boolean>((resolve) => stream.write('', (error) => resolve(!error)));

speakLanguage(terminalLanguage(process.env))
  .then(() => runCli(args))
  .then(async (code) => {
    process.exitCode = code;
    // Left to itself, Node ends when V8 has collected its garbage and optimized what nothing runs any more: an eighth of a check.
    const written = await Promise.all([process.stdout, process.stderr].map(drained));
    if (written.every(Boolean)) process.exit();
  });
