import type { Command } from 'commander';
import { say, speak } from '../wording/say';
import { repeated } from './option-values';
import type { Output } from './output';
import { helpful, withReportOptions, withTargetOptions } from './run-options';
import type { UpgradeOptions } from './upgrade';

/** `oomlint upgrade` and its options. */
export function addUpgrade(program: Command, output: Output, finish: (code: number) => void): void {
  helpful(
    withReportOptions(
      withTargetOptions(program.command('upgrade'), false)
        .description(say('runs that come out otherwise under other versions of the packages, and why'))
        .argument('[path...]', say('files and folders'), ['.'])
        .option(
          '--to <package=version>',
          say('a version to hold the runs to, such as transformers=5.23 (repeatable; the newest of all)'),
          repeated,
        ),
    ),
  ).action(async (paths: string[], options: UpgradeOptions) => {
    if (options.format === 'json') speak('en', undefined);
    const { upgrade } = await import('./upgrade');
    finish(await upgrade(paths, options, output));
  });
}
