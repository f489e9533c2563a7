import { Argument, type Command } from 'commander';
import { version } from '../../../package.json';
import { say } from '../../wording/say';
import { EXIT } from '../exit-codes';
import type { Output } from '../output';
import { afterHelp } from '../run-options';
import { commandTable, type KnownWords } from './command-table';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** `oomlint completion` and `oomlint man`: written from the table that help is written from. */
export function addCompletion(program: Command, output: Output, finish: (code: number) => void): void {
  program
    .command('completion')
    .description(say('write the completions of a shell, to be sourced or put where it looks for them'))
    .addArgument(new Argument('<shell>', say('the shell')).choices(SHELLS))
    .helpOption('-h, --help', say('display help for command'))
    .allowExcessArguments(false)
    .action(async (shell: (typeof SHELLS)[number]) => {
      const [table, { bashCompletion }, { zshCompletion }, { fishCompletion }] = await Promise.all([
        knownWords().then((known) => commandTable(program, known)),
        import('./bash'),
        import('./zsh'),
        import('./fish'),
      ]);
      output.write({ bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }[shell](table));
      finish(EXIT.fine);
    });
  program
    .command('man')
    .description(say('write the manual page, for man'))
    .helpOption('-h, --help', say('display help for command'))
    .allowExcessArguments(false)
    .action(async () => {
      const { manPage } = await import('./man-page');
      const text = { version, description: program.description(), end: afterHelp() };
      output.write(manPage(commandTable(program, {}), text));
      finish(EXIT.fine);
    });
}

/** What shells offer where nobody remembers the names. */
async function knownWords(): Promise<KnownWords> {
  const [{ acceleratorNames, cloudInstances }, { FIELD_PATHS }, { RULES }] = await Promise.all([
    import('../../hardware/catalog'),
    import('../../run/fields'),
    import('../../workspace/rules'),
  ]);
  return {
    gpu: [...acceleratorNames(), ...cloudInstances().map(({ instance }) => instance)],
    set: FIELD_PATHS.map((field) => `${field}=`),
    'rule.name': Object.keys(RULES),
  };
}
