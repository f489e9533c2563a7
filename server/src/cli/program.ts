import { Command, CommanderError } from 'commander';
import { version } from '../../package.json';
import { say, speak } from '../wording/say';
import { UsageError } from '../workspace/usage-error';
import { addCheck } from './check-command';
import { addCompletion } from './completion/completion-command';
import type { CommonOptions } from './context';
import type { DiffReportOptions } from './diff-report';
import { EXIT } from './exit-codes';
import type { ExplainOptions } from './explain';
import type { FixOptions } from './fix';
import { addInit } from './init-command';
import { kindOf } from './kind-of-path';
import { addMcp } from './mcp-command';
import { addMeasured } from './measured-commands';
import { whole } from './option-values';
import { type Output, processOutput } from './output';
import { helpful, withReportOptions, withRunOptions, withTargetOptions } from './run-options';
import type { SearchOptions } from './search';
import { addUpgrade } from './upgrade-command';
import { usageError } from './usage-errors';

/** Titles of commander's help; it has no other place for translations of them. */
export const HELP_TITLES = ['Usage:', 'Arguments:', 'Options:', 'Commands:'] as const;

function titled(help: string): string {
  return HELP_TITLES.reduce<string>(
    (text, title) => text.replace(new RegExp(`^${title}`, 'm'), say(title)),
    help,
  );
}

/** `--json` beside `--format`. */
interface JsonOption {
  readonly json?: boolean;
}
const inFormat = <T extends CommonOptions & JsonOption>(options: T): T =>
  options.json ? { ...options, format: 'json' } : options;

function buildProgram(output: Output, finish: (code: number) => void): Command {
  const program = new Command('oomlint')
    .description(
      say('Tells whether a training run fits the GPU: where the memory and the FLOPs go, and why.'),
    )
    .version(version, '-V, --version', say('output the version number'))
    .helpOption('-h, --help', say('display help for command'))
    .helpCommand('help [command]', say('display help for command'))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => output.write(titled(text)),
      writeErr: (text) => output.writeError(titled(text)),
      // Reported in `runCli`.
      outputError: () => undefined,
    });
  addEstimate(program, output, finish);
  addChanges(program, output, finish);
  addReport(program, output, finish);
  addMeasured(program, output, finish);
  addCheck(program, output, finish);
  addDiff(program, output, finish);
  addUpgrade(program, output, finish);
  addRule(program, output, finish);
  addInit(program, output, finish);
  addMcp(program, output, finish);
  addCompletion(program, output, finish);
  return program;
}

/** What a run needs: as a table, and figure by figure. */
function addEstimate(program: Command, output: Output, finish: (code: number) => void): void {
  withRunOptions(program.command('estimate'))
    .description(say('estimate the memory of one GPU for each config, part by part'))
    .argument(
      '<file...>',
      say('training configs of any kind, such as DeepSpeed JSON, Axolotl YAML, launch scripts'),
    )
    .action(async (files: string[], options: CommonOptions) => {
      const [{ estimateFiles }, { contextOf }] = await Promise.all([
        import('./estimate-files'),
        import('./open-context'),
      ]);
      finish(await estimateFiles(files, await contextOf(options, output, files)));
    });
  withRunOptions(program.command('explain'))
    .description(
      say('open every figure of one config: formula with its numbers, source, down to single tensors'),
    )
    .argument('<file>', say('training config'))
    .option('--part <name>', say('only this figure, such as activations, weights, "FLOPs per step"'))
    .option('--depth <levels>', say('levels shown below each figure (all)'), whole('--depth'))
    .option('--json', say('the same as --format json'))
    .action(async (file: string, options: CommonOptions & ExplainOptions & JsonOption) => {
      const [{ explain }, { contextOf }] = await Promise.all([import('./explain'), import('./open-context')]);
      finish(await explain(file, options, await contextOf(inFormat(options), output, [file])));
    });
}

/** What would make it fit. */
function addChanges(program: Command, output: Output, finish: (code: number) => void): void {
  withRunOptions(program.command('fix'))
    .description(say('changes that make a run fit, each estimated; writes one of them, or old spellings'))
    .argument('<file>', say('training config'))
    .option('--take <number>', say('write this fix of the list'), whole('--take'))
    .option('--mechanical', say('write what has one right answer, such as old spellings of keys'))
    .option('--json', say('the same as --format json'))
    .action(async (file: string, options: CommonOptions & FixOptions & JsonOption) => {
      const [{ fix }, { contextOf }] = await Promise.all([import('./fix'), import('./open-context')]);
      finish(await fix(file, options, await contextOf(inFormat(options), output, [file])));
    });
  withRunOptions(program.command('search'))
    .description(
      say('what fits: micro batch, checkpointing, sharding, offload and GPUs, by memory, time and cost'),
    )
    .argument('<file>', say('training config'))
    .option('--max-gpus <count>', say('try GPU counts up to this one'), whole('--max-gpus', 1))
    .option('--instances', say('try cloud machines with a known price'))
    .option('--json', say('the same as --format json'))
    .action(async (file: string, options: CommonOptions & SearchOptions & JsonOption) => {
      const [{ searchFile }, { contextOf }] = await Promise.all([
        import('./search'),
        import('./open-context'),
      ]);
      finish(await searchFile(file, options, await contextOf(inFormat(options), output, [file])));
    });
}

function addReport(program: Command, output: Output, finish: (code: number) => void): void {
  helpful(withTargetOptions(program.command('report'), false))
    .description(
      say('write the breakdown of one config as a page of its own, for any browser, without a network'),
    )
    .argument('<file>', say('training config'))
    .option('--html', say('as HTML, which is what it is without this, too'))
    .option('-o, --output <file>', say('write the report to a file'))
    .action(async (file: string, options: CommonOptions & { readonly output?: string }) => {
      const [{ htmlReport }, { contextOf }] = await Promise.all([
        import('./html-report/html-report'),
        import('./open-context'),
      ]);
      finish(await htmlReport(file, options.output, await contextOf(options, output, [file])));
    });
}

function addDiff(program: Command, output: Output, finish: (code: number) => void): void {
  helpful(
    withReportOptions(
      withTargetOptions(program.command('diff'), false)
        .description(
          say('runs that come out otherwise after a change: verdict, peak, time, cost, and what causes it'),
        )
        .argument(
          '[range]',
          say('BASE..HEAD, BASE...HEAD, or BASE alone: up to the files on the disk'),
          'HEAD',
        ),
    ),
  ).action(async (range: string, options: DiffReportOptions) => {
    if (options.format === 'json') speak('en', undefined);
    const { diff } = await import('./diff');
    finish(await diff(range, options, output));
  });
}

function addRule(program: Command, output: Output, finish: (code: number) => void): void {
  program
    .command('rule')
    .description(say('what a rule is about, why, and what to do; all rules without a name'))
    .argument('[name]', say('the name behind a problem'))
    .option('--json', say('the same as --format json'))
    .helpOption('-h, --help', say('display help for command'))
    .allowExcessArguments(false)
    .action(async (name: string | undefined, { json }: JsonOption) => {
      const { explainRule } = await import('./rule');
      finish(explainRule(name, json ? 'json' : 'table', output));
    });
}

/** Runs the command line and returns its exit code. Never throws. */
export async function runCli(args: readonly string[], output: Output = processOutput()): Promise<number> {
  let code: number = EXIT.fine;
  const program = buildProgram(output, (found) => {
    code = found;
  });
  try {
    if (args.length === 0) {
      program.outputHelp({ error: true });
      return EXIT.couldNotRun;
    }
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.fine;
      const [first = ''] = args;
      const kind = error.code === 'commander.unknownCommand' ? await kindOf(first) : undefined;
      const meant = kind && ['oomlint', kind === 'folder' ? 'check' : 'estimate', first].join(' ');
      output.writeError(
        `oomlint: ${meant ? say('{0} is no command. Did you mean {1}?', first, meant) : usageError(error)}\n`,
      );
      return EXIT.couldNotRun;
    }
    const reason = error instanceof Error ? error.message : String(error);
    output.writeError(
      error instanceof UsageError ? `oomlint: ${reason}\n` : `${say('oomlint failed: {0}', reason)}\n`,
    );
    return EXIT.couldNotRun;
  }
}
