import type { Command } from 'commander';
import { say, speak } from '../wording/say';
import type { McpOptions } from './mcp-server';
import { repeated } from './option-values';
import type { Output } from './output';

/** `oomlint mcp`: a server for agents on standard input and output. */
export function addMcp(program: Command, output: Output, finish: (code: number) => void): void {
  program
    .command('mcp')
    .description(say('serve agents over the Model Context Protocol on standard input and output'))
    .argument('[folder]', say('the folder that agents may look at and change'), '.')
    .option(
      '--also-read <folder>',
      say('a further folder that configs may name files in, such as one of models (repeatable)'),
      repeated,
    )
    .option('--read-only', say('leave out the tool that writes'))
    .helpOption('-h, --help', say('display help for command'))
    .allowExcessArguments(false)
    .action(async (folder: string, options: McpOptions) => {
      // Agents are programs: they read the same words everywhere.
      speak('en', undefined);
      const { serveMcp } = await import('./mcp-server');
      finish(await serveMcp(folder, options, output));
    });
}
