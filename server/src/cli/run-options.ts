import { type Command, Option } from 'commander';
import { say } from '../wording/say';
import { repeated } from './option-values';

const EXAMPLE = '  # oomlint: model=meta-llama/Llama-3.1-8B gpu=H100-SXM5-80GB gpus=8 sequence=4096';

/** What stands below the help of commands about runs. */
export const afterHelp = () => `
${say('Facts that no file sets come from a comment in the config (YAML, or JSON that allows comments):')}
${EXAMPLE}
${say('or from an oomlint.yaml beside the config or above it. Options given here override both, and the config itself.')}

${say('Exit codes: 0 nothing wrong, 1 errors were found (a run that does not fit is one), 2 could not run, 3 no config was found.')}`;

/** What is reported of the run beside its files. `several`: the option of the GPU may be repeated. */
export function withTargetOptions(command: Command, several: boolean): Command {
  const gpu = say('GPU or cloud machine: H100, "RTX 4090", p4d.24xlarge, 8xA100-80GB');
  const withGpu = several
    ? command.option('--gpu <name>', `${gpu} ${say('(repeatable)')}`, repeated)
    : command.option('--gpu <name>', gpu);
  return withGpu
    .allowExcessArguments(false)
    .option('--gpus <count>', say('GPUs over all nodes'))
    .option('--nodes <count>', say('nodes (machines)'))
    .option('--model <id>', say('model on the Hugging Face Hub, or path of a model folder or config.json'))
    .option('--set <field=value>', say('any field of the run, such as batch.micro=2 (repeatable)'), repeated)
    .option('--detect', say('ask nvidia-smi for the GPUs of this machine where no file names one'));
}

/** The end of a command's help. */
export function helpful(command: Command): Command {
  return command.helpOption('-h, --help', say('display help for command')).addHelpText('after', afterHelp());
}

/** Options of a command that is about one run. */
export function withRunOptions(command: Command): Command {
  const options = withTargetOptions(command, false).addOption(
    new Option('--format <format>', say('output for people or for programs'))
      .choices(['table', 'json'])
      .default('table'),
  );
  return helpful(options);
}

/** The command with the options of a report on what differs between runs. */
export function withReportOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--format <format>', say('output for people or for programs'))
        .choices(['text', 'json', 'markdown'])
        .default('text'),
    )
    .option('-o, --output <file>', say('write the report to a file'))
    .option('--tag <name>', say('tells comments of several diffs on one pull request apart'), 'default')
    .option('--fail-on-worse', say('a run that comes out worse makes the exit code 1'));
}
