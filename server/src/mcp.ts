import { EXIT } from './cli/exit-codes';
import { serveMcp } from './cli/mcp-server';
import { processOutput } from './cli/output';
import { speak } from './wording/say';

// The server for agents that the editor starts: `oomlint mcp FOLDER` without the rest of the command line.
speak('en', undefined);
const output = processOutput();
serveMcp(process.argv[2] ?? '.', {}, output).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    output.writeError(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = EXIT.couldNotRun;
  },
);
