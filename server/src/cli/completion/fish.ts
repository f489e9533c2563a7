import type { CommandRow, Taken } from './command-table';

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** -x: no files; -r: a value is required; -F: files all the same. */
function offered(takes: Taken): string {
  if (takes === 'file') return ' -r -F';
  if (takes === 'folder') return " -x -a '(__fish_complete_directories)'";
  if (takes === 'any') return ' -x';
  return ` -x -a ${quoted(takes.map((word) => word.replace(/[\s()$\\"']/g, '\\$&')).join(' '))}`;
}

function ofCommand({ name, options, arguments: places }: CommandRow): string[] {
  const here = `complete -c oomlint -n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
  const takesFiles = places.some(({ takes }) => takes === 'file');
  return [
    ...options.map(({ long, short, description, takes }) => {
      const flags = `${short ? ` -s ${short.slice(1)}` : ''} -l ${long.slice(2)}`;
      return `${here}${flags} -d ${quoted(description)}${takes === undefined ? '' : offered(takes)}`;
    }),
    ...(takesFiles ? [`${here} -F`] : []),
    ...places.flatMap(({ takes }) =>
      takes === 'file' || takes === 'any' ? [] : [`${here}${offered(takes)}`],
    ),
  ];
}

/** Completion for fish: \`oomlint completion fish > ~/.config/fish/completions/oomlint.fish\`. */
export function fishCompletion(commands: readonly CommandRow[]): string {
  const lines = [
    '# fish completion of oomlint',
    'complete -c oomlint -f',
    ...commands.map(
      ({ name, description }) =>
        `complete -c oomlint -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`,
    ),
    ...commands.flatMap(ofCommand),
  ];
  return `${lines.join('\n')}\n`;
}
