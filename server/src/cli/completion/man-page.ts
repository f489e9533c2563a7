import { say } from '../../wording/say';
import type { ArgumentRow, CommandRow, OptionRow } from './command-table';

/** A text of roff: backslashes and hyphens stay what they are, and no line is a request. */
const roff = (text: string) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1');
const bold = (text: string) => `\\fB${roff(text)}\\fR`;
const italic = (text: string) => `\\fI${roff(text)}\\fR`;

function argumentWords({ name, required, variadic }: ArgumentRow): string {
  const words = `${italic(name)}${variadic ? '...' : ''}`;
  return required ? words : `[${words}]`;
}

function optionWords({ long, short, takes, valueName = '' }: OptionRow): string {
  const flags = [short, long].flatMap((flag) => (flag ? [bold(flag)] : [])).join(', ');
  return takes === undefined ? flags : `${flags} ${italic(valueName)}`;
}

function described({ description, takes }: OptionRow): string {
  const choices = Array.isArray(takes) && takes.length <= 12 ? ` (${takes.join(', ')})` : '';
  return roff(`${description}${choices}`);
}

/** What the page shows beside the commands. */
interface PageText {
  readonly version: string;
  readonly description: string;
  /** Paragraphs below the commands, as help has them. */
  readonly end: string;
}

/** The manual page `oomlint(1)` as roff, from the same table as `--help`. */
export function manPage(commands: readonly CommandRow[], { version, description, end }: PageText): string {
  const lines = [
    `.TH OOMLINT 1 "" ${JSON.stringify(['oomlint', version].join(' '))}`,
    `.SH ${roff(say('NAME'))}`,
    `oomlint \\- ${roff(say('training configs and the memory of GPUs'))}`,
    `.SH ${roff(say('SYNOPSIS'))}`,
    ...commands.flatMap(({ name, arguments: places }, at) => [
      ...(at > 0 ? ['.br'] : []),
      [bold(['oomlint', name].join(' ')), `[${italic(say('options'))}]`, ...places.map(argumentWords)].join(
        ' ',
      ),
    ]),
    `.SH ${roff(say('DESCRIPTION'))}`,
    roff(description),
    `.SH ${roff(say('COMMANDS'))}`,
    ...commands.flatMap((command) => [
      `.SS ${[roff(command.name), ...command.arguments.map(argumentWords)].join(' ')}`,
      roff(command.description),
      ...command.arguments.flatMap((argument) =>
        argument.description === '' ? [] : ['.TP', italic(argument.name), roff(argument.description)],
      ),
      ...command.options.flatMap((option) => ['.TP', optionWords(option), described(option)]),
    ]),
    `.SH ${roff(say('NOTES'))}`,
    ...end
      .trim()
      .split('\n')
      .flatMap((line) => (line.trim() === '' ? ['.PP'] : [roff(line.trim())])),
    `.SH ${roff(say('ENVIRONMENT'))}`,
    '.TP',
    bold('NO_COLOR'),
    roff(say('no colours; FORCE_COLOR: colours without a terminal, too')),
    '.TP',
    bold('LC_ALL, LC_MESSAGES, LANG'),
    roff(say('language of what is said: English or Russian')),
    `.SH ${roff(say('FILES'))}`,
    '.TP',
    bold('oomlint.yaml'),
    roff(say('facts of a project: GPUs, models, vocabularies, severities of rules')),
    '',
  ];
  return lines.filter((line, at) => line !== '' || at === lines.length - 1).join('\n');
}
