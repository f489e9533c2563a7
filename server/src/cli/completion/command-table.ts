import type { Argument, Command, Option } from 'commander';

/** What may stand at a place of the command line. */
export type Taken = 'file' | 'folder' | 'any' | readonly string[];

/** An option as help shows it. */
export interface OptionRow {
  readonly long: string;
  /** `-o`, where it has one. */
  readonly short?: string;
  readonly description: string;
  /** What its value may be; undefined for a switch. */
  readonly takes?: Taken;
  /** Name of the value, such as `file`. */
  readonly valueName?: string;
  readonly repeatable: boolean;
}

/** An argument as help shows it. */
export interface ArgumentRow {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly variadic: boolean;
  readonly takes: Taken;
}

/** A command as help shows it. */
export interface CommandRow {
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly ArgumentRow[];
  readonly options: readonly OptionRow[];
}

/** Words for values that the arguments and options name, by that name: `gpu`, `rule.name`. */
export type KnownWords = Readonly<Record<string, readonly string[]>>;

/** The commands of a program as `--help` has them; completions and the manual page are written from this table. */
export function commandTable(program: Command, known: KnownWords): readonly CommandRow[] {
  const help = program.createHelp();
  return help.visibleCommands(program).map((command) => ({
    name: command.name(),
    description: command.description(),
    arguments: command.registeredArguments.map((argument) => argumentRow(argument, command, known)),
    // Help about one command goes by its name, not by options.
    options:
      command.name() === 'help' ? [] : help.visibleOptions(command).map((option) => optionRow(option, known)),
  }));
}

function argumentRow(argument: Argument, command: Command, known: KnownWords): ArgumentRow {
  const name = argument.name();
  return {
    name,
    description: argument.description,
    required: argument.required,
    variadic: argument.variadic,
    takes: argument.argChoices ?? known[`${command.name()}.${name}`] ?? kindOfValue(name),
  };
}

function optionRow(option: Option, known: KnownWords): OptionRow {
  const [, valueName] = /[<[]([^>\]]+)/.exec(option.flags) ?? [];
  const long = option.long ?? option.short ?? option.flags;
  return {
    long,
    ...(option.short && option.short !== long ? { short: option.short } : {}),
    description: option.description,
    ...(valueName
      ? { takes: option.argChoices ?? known[option.attributeName()] ?? kindOfValue(valueName), valueName }
      : {}),
    // What collects its values is given the earlier ones.
    repeatable: option.parseArg !== undefined && option.parseArg.length > 1,
  };
}

/** Files and folders are known by the name of the value. */
function kindOfValue(name: string): Taken {
  if (/^(file|path|config|log|run)$/.test(name)) return 'file';
  return name === 'folder' ? 'folder' : 'any';
}
