import type { CommandRow, OptionRow, Taken } from './command-table';

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
/** Descriptions end at brackets, and parts of a specification at colons. */
const plain = (text: string) => text.replaceAll('\\', '\\\\').replace(/[[\]:]/g, '\\$&');

function offered(takes: Taken): string {
  if (takes === 'file') return '_files';
  if (takes === 'folder') return '_files -/';
  if (takes === 'any') return ' ';
  return `(${takes.map((word) => word.replace(/[\s:()\\'"]/g, '\\$&')).join(' ')})`;
}

function ofOption({ long, short, description, takes, valueName, repeatable }: OptionRow): string {
  const value = takes === undefined ? '' : `:${plain(valueName ?? '')}:${offered(takes)}`;
  const described = `[${plain(description)}]${value}`;
  const sign = takes === undefined ? '' : '=';
  const spec = (flag: string, others: string) =>
    quoted(`${repeatable ? '*' : `(${others})`}${flag}${flag.startsWith('--') ? sign : ''}${described}`);
  const flags = [long, ...(short ? [short] : [])];
  return flags.map((flag) => `        ${spec(flag, flags.join(' '))} \\`).join('\n');
}

function ofCommand({ name, options, arguments: places }: CommandRow): string {
  const asked = places.map(({ name: place, takes, variadic, required }, index) => {
    const where = variadic ? '*' : String(index + 1);
    return `        ${quoted(`${where}:${variadic || required ? '' : ':'}${plain(place)}:${offered(takes)}`)} \\`;
  });
  return [
    `      (${name})`,
    '        _arguments -s \\',
    ...options.map(ofOption),
    ...asked,
    '          && return 0',
    '        ;;',
  ].join('\n');
}

/** Completion for zsh: \`oomlint completion zsh > "\${fpath[1]}/_oomlint"\`. */
export function zshCompletion(commands: readonly CommandRow[]): string {
  const names = commands.map(({ name, description }) => `    ${quoted(`${name}:${plain(description)}`)}`);
  return `#compdef oomlint
# zsh completion of oomlint
_oomlint() {
  local -a commands
  local curcontext="$curcontext" state line
  commands=(
${names.join('\n')}
  )
  _arguments -C '(- *)'{-h,--help}'[help]' '(- *)'{-V,--version}'[version]' '1: :->command' '*:: :->rest' && return 0
  case $state in
    (command) _describe -t commands command commands ;;
    (rest)
      case $line[1] in
${commands.map(ofCommand).join('\n')}
      esac
      ;;
  esac
}
# Both as a file of fpath and sourced.
if [ "$funcstack[1]" = _oomlint ]; then _oomlint "$@"; else compdef _oomlint oomlint; fi
`;
}
