import type { Command } from 'commander';
import { say } from '../wording/say';
import type { CommonOptions } from './context';
import type { Output } from './output';
import { withRunOptions } from './run-options';

interface JsonFlag {
  readonly json?: boolean;
}

const asked = <T extends CommonOptions & JsonFlag>(options: T): T =>
  options.json ? { ...options, format: 'json' } : options;

/** Commands about what a run left behind: `oom`, `compare-run`, `measured`. */
export function addMeasured(program: Command, output: Output, finish: (code: number) => void): void {
  const config = () => say('training config of the run, where the log does not tell it');
  const record = () => say('log, memory snapshot or folder of the run');
  withRunOptions(program.command('oom'))
    .description(
      say('explain an out-of-memory message: which tensor it was, when, why, and what would make room'),
    )
    .argument('[log]', say('log or text with the message; - for standard input'), '-')
    .argument('[config]', config())
    .option('--json', say('the same as --format json'))
    .action(async (log: string, named: string | undefined, options: CommonOptions & JsonFlag) => {
      const [{ explainOutOfMemory }, { contextOf }] = await Promise.all([
        import('./oom'),
        import('./open-context'),
      ]);
      finish(await explainOutOfMemory(log, named, await contextOf(asked(options), output, [named ?? log])));
    });
  withRunOptions(program.command('compare-run'))
    .description(say('hold what a run measured to its estimate, like with like'))
    .argument('<run>', record())
    .argument('[config]', config())
    .option('--json', say('the same as --format json'))
    .action(async (run: string, named: string | undefined, options: CommonOptions & JsonFlag) => {
      const [{ compareMeasured }, { contextOf }] = await Promise.all([
        import('./compare-run'),
        import('./open-context'),
      ]);
      finish(await compareMeasured(run, named, await contextOf(asked(options), output, [named ?? run])));
    });
  withRunOptions(program.command('measured'))
    .description(say('list what a run measured, or give it as one line without paths, names or data'))
    .argument('<run>', record())
    .argument('[config]', config())
    .option('--export', say('settings and figures as one line of JSON, to be shared'))
    .option(
      '--learn [fields]',
      say('write facts that the run measured to oomlint.yaml: all of them, or fields by name, with commas'),
    )
    .action(
      async (
        run: string,
        named: string | undefined,
        options: CommonOptions & { readonly export?: boolean; readonly learn?: string | true },
      ) => {
        const [{ exportMeasured }, { contextOf }] = await Promise.all([
          import('./compare-run'),
          import('./open-context'),
        ]);
        const context = await contextOf(options, output, [named ?? run]);
        finish(await exportMeasured(run, named, options.export === true, options.learn, context));
      },
    );
}
