import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command, CommanderError, Option } from 'commander';

import { version } from '../../package.json';
import { detectGpus } from '../hardware/detect';
import { say, speak } from '../wording/say';
import { Workspace } from '../workspace/analyze';
import { DiskHost } from '../workspace/disk-host';
import { check } from './check';
import { type CliContext, type CommonOptions, EXIT } from './context';
import { estimateFiles } from './estimate-files';
import { type ExplainOptions, explain } from './explain';
import { commandLineFacts, UsageError } from './facts';
import { type FixOptions, fix } from './fix';
import { kindOf } from './kind-of-path';
import { type Output, processOutput } from './output';
import { type SearchOptions, searchFile } from './search';
import { usageError } from './usage-errors';

const EXAMPLE = '  # oomlint: model=meta-llama/Llama-3.1-8B gpu=H100-SXM5-80GB gpus=8 sequence=4096';

const afterHelp = () => `
${say('Facts that no file states come from a comment in the config (YAML, or JSON that allows comments):')}
${EXAMPLE}
${say('or from an oomlint.yaml beside the config or above it. Options given here override both, and the config itself.')}

${say('Exit codes: 0 nothing wrong, 1 errors were found (a run that does not fit is one), 2 could not run.')}`;

/** Titles of commander's help; it has no other place for translations of them. */
export const HELP_TITLES = ['Usage:', 'Arguments:', 'Options:', 'Commands:'] as const;

function titled(help: string): string {
  return HELP_TITLES.reduce<string>(
    (text, title) => text.replace(new RegExp(`^${title}`, 'm'), say(title)),
    help,
  );
}

function withRunOptions(command: Command): Command {
  const collect = (value: string, previous: readonly string[] = []) => [...previous, value];
  return command
    .allowExcessArguments(false)
    .option('--gpu <name>', say('GPU or cloud machine: H100, "RTX 4090", p4d.24xlarge, 8xA100-80GB'))
    .option('--gpus <count>', say('GPUs over all nodes'))
    .option('--nodes <count>', say('nodes (machines)'))
    .option('--model <id>', say('model on the Hugging Face Hub, or path of a model folder or config.json'))
    .option('--set <field=value>', say('any field of the run, such as batch.micro=2 (repeatable)'), collect)
    .option('--detect', say('ask nvidia-smi for the GPUs of this machine where no file names one'))
    .addOption(
      new Option('--format <format>', say('output for people or for programs'))
        .choices(['table', 'json'])
        .default('table'),
    )
    .helpOption('-h, --help', say('display help for command'))
    .addHelpText('after', afterHelp());
}

/** `--json` beside `--format`. */
interface JsonOption {
  readonly json?: boolean;
}
const inFormat = <T extends CommonOptions & JsonOption>(options: T): T =>
  options.json ? { ...options, format: 'json' } : options;

function whole(option: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < 0)
      throw new UsageError(`${option}: ${say('"{0}" is no whole number.', text)}`);
    return value;
  };
}

function contextOf(options: CommonOptions, output: Output): CliContext {
  // Programs read the same words in every terminal.
  if (options.format === 'json') speak('en', undefined);
  const folder = process.cwd();
  const workspace = new Workspace(new DiskHost([pathToFileURL(folder + path.sep).href]), {
    commandLine: commandLineFacts(options),
    detect: options.detect ? () => detectGpus() : undefined,
  });
  return { workspace, output, folder, options };
}

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
      // Said in `runCli`.
      outputError: () => undefined,
    });
  withRunOptions(program.command('estimate'))
    .description(say('estimate the memory of one GPU for each config, part by part'))
    .argument(
      '<file...>',
      say('training configs of any kind, such as DeepSpeed JSON, Axolotl YAML, launch scripts'),
    )
    .action(async (files: string[], options: CommonOptions) =>
      finish(await estimateFiles(files, contextOf(options, output))),
    );
  withRunOptions(program.command('explain'))
    .description(
      say('open every figure of one config: formula with its numbers, source, down to single tensors'),
    )
    .argument('<file>', say('training config'))
    .option('--part <name>', say('only this figure, such as activations, weights, "FLOPs per step"'))
    .option('--depth <levels>', say('levels shown below each figure (all)'), whole('--depth'))
    .option('--json', say('the same as --format json'))
    .action(async (file: string, options: CommonOptions & ExplainOptions & JsonOption) =>
      finish(await explain(file, options, contextOf(inFormat(options), output))),
    );
  withRunOptions(program.command('fix'))
    .description(say('changes that make a run fit, each estimated; writes one of them, or old spellings'))
    .argument('<file>', say('training config'))
    .option('--take <number>', say('write this fix of the list'), whole('--take'))
    .option('--mechanical', say('write what has one right answer, such as old spellings of keys'))
    .option('--json', say('the same as --format json'))
    .action(async (file: string, options: CommonOptions & FixOptions & JsonOption) =>
      finish(await fix(file, options, contextOf(inFormat(options), output))),
    );
  withRunOptions(program.command('search'))
    .description(
      say('what fits: micro batch, checkpointing, sharding, offload and GPUs, by memory, time and cost'),
    )
    .argument('<file>', say('training config'))
    .option('--max-gpus <count>', say('try GPU counts up to this one'), whole('--max-gpus'))
    .option('--instances', say('try cloud machines with a known price'))
    .option('--json', say('the same as --format json'))
    .action(async (file: string, options: CommonOptions & SearchOptions & JsonOption) =>
      finish(await searchFile(file, options, contextOf(inFormat(options), output))),
    );
  withRunOptions(program.command('check'))
    .description(say('report problems of configs: files, or folders without what git ignores'))
    .argument('[path...]', say('files and folders'), ['.'])
    .option('-q, --quiet', say('report errors only'))
    .action(async (paths: string[], options: CommonOptions) =>
      finish(await check(paths, contextOf(options, output))),
    );
  return program;
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
