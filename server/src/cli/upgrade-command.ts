import { type Command, Option } from 'commander';
import { say, speak } from '../wording/say';
import { repeated } from './option-values';
import type { Output } from './output';
import { helpful, withTargetOptions } from './run-options';
import type { UpgradeOptions } from './upgrade';

/** `oomlint upgrade` and its options. */
export function addUpgrade(program: Command, output: Output, finish: (code: number) => void): void {
  helpful(
    withTargetOptions(program.command('upgrade'), false)
      .description(say('runs that come out otherwise under other versions of the packages, and why'))
      .argument('[path...]', say('files and folders'), ['.'])
      .option(
        '--to <package=version>',
        say('a version to hold the runs to, such as transformers=5.23 (repeatable; the newest of all)'),
        repeated,
      )
      .addOption(
        new Option('--format <format>', say('output for people or for programs'))
          .choices(['text', 'json', 'markdown'])
          .default('text'),
      )
      .option('-o, --output <file>', say('write the report to a file'))
      .option('--tag <name>', say('tells comments of several diffs on one pull request apart'), 'default')
      .option('--fail-on-worse', say('a run that comes out worse makes the exit code 1')),
  ).action(async (paths: string[], options: UpgradeOptions) => {
    if (options.format === 'json') speak('en', undefined);
    const { upgrade } = await import('./upgrade');
    finish(await upgrade(paths, options, output));
  });
}
