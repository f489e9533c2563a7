import { type Command, Option } from 'commander';
import { say } from '../wording/say';
import { UsageError } from '../workspace/usage-error';
import type { CheckOptions } from './check';
import type { CommonOptions } from './context';
import { FAIL_ON } from './fail-on';
import { FOR_PEOPLE, FORMAT_NAMES, type FormatName } from './formats/format-names';
import { amount, repeated, shareOf } from './option-values';
import type { Output } from './output';
import { helpful, withTargetOptions } from './run-options';

interface CheckArguments extends Omit<CommonOptions, 'format' | 'gpu'>, Omit<CheckOptions, 'as' | 'since'> {
  readonly format: FormatName | 'table';
  readonly gpu?: readonly string[];
  readonly since?: string;
  readonly changed?: boolean;
  readonly watch?: boolean;
}

/** `oomlint check` and its options. */
export function addCheck(program: Command, output: Output, finish: (code: number) => void): void {
  const formats = [...FORMAT_NAMES, 'table'];
  const command = withTargetOptions(program.command('check'), true)
    .description(say('report problems of configs: files, or folders without what git ignores'))
    .argument('[path...]', say('files and folders'), ['.'])
    .addOption(
      new Option('--format <format>', say('output for people or for programs'))
        .choices(formats)
        .default('text'),
    )
    .option('-o, --output <file>', say('write the report to a file'))
    .option('-q, --quiet', say('report errors only'))
    .addOption(
      new Option('--fail-on <level>', say('what makes the exit code 1')).choices(FAIL_ON).default('error'),
    )
    .option('--require-verdict', say('a config without a verdict makes the exit code 1'))
    .option(
      '--max-peak <share>',
      say('a higher peak makes the exit code 1, such as 90%'),
      shareOf('--max-peak'),
    )
    .option('--max-cost <usd>', say('a costlier run makes the exit code 1'), amount('--max-cost'))
    .option('--since <commit>', say('only runs with a file that differs from where this commit branched off'))
    .option('--changed', say('only runs with a file that differs from the last commit'))
    .option(
      '--include <pattern>',
      say('only files of folders that match, as in .gitignore (repeatable)'),
      repeated,
    )
    .option('--exclude <pattern>', say('no files that match (repeatable)'), repeated)
    .option('--baseline <file>', say('leave out problems that this file lists'))
    .option('--update-baseline', say('write the problems that there are to the baseline'))
    .option('--allow-none', say('finding no config is fine'))
    .option('-w, --watch', say('check again whenever a file changes'))
    .option('--stdin', say('read one file from standard input'))
    .option('--stdin-filename <file>', say('where that file lies'));
  helpful(command).action(
    async (paths: string[], { format, changed, since, gpu, watch, ...rest }: CheckArguments) => {
      if (watch && (rest.stdin || rest.updateBaseline))
        throw new UsageError(
          say('{0} and {1} do not go together.', '--watch', rest.stdin ? '--stdin' : '--update-baseline'),
        );
      if (rest.updateBaseline && rest.baseline === undefined)
        throw new UsageError(`--update-baseline: ${say('{0} is missing.', '--baseline')}`);
      const as = format === 'table' ? 'text' : format;
      const common = { ...rest, watch, format: FOR_PEOPLE.has(as) ? 'table' : 'json' } as const;
      const [{ check }, { contextOf }] = await Promise.all([import('./check'), import('./open-context')]);
      const given = rest.stdin && rest.stdinFilename !== undefined ? [rest.stdinFilename] : paths;
      const context = await contextOf(common, output, given, gpu);
      const checking: CheckOptions = { ...rest, as, since: changed ? true : since };
      if (!watch) return finish(await check(given, checking, context));
      const { watchConfigs } = await import('./watch');
      finish(await watchConfigs(given, checking, context));
    },
  );
}
