import type { CommandRow, Taken } from './command-table';

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** What bash 3.2 (macOS) and later do with a value; nothing set means its own names of files. */
function offered(takes: Taken): string {
  if (takes === 'file') return ':';
  if (takes === 'folder') return 'COMPREPLY=($(compgen -d -- "$current"))';
  // One word that is no word keeps bash from offering files.
  if (takes === 'any') return 'COMPREPLY=("$current")';
  const words = takes.filter((word) => !/\s/.test(word));
  return `COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$current"))`;
}

function ofCommand({ name, options, arguments: places }: CommandRow): string {
  const flags = options.flatMap(({ long, short }) => (short ? [long, short] : [long]));
  const values = options.flatMap(({ long, short, takes }) =>
    takes === undefined
      ? []
      : [`        ${[long, short].filter(Boolean).join('|')}) ${offered(takes)}; return ;;`],
  );
  const asked = places.map(({ takes }, index) => {
    const pattern = index === places.length - 1 ? '*' : String(index);
    return `        ${pattern}) ${offered(takes)} ;;`;
  });
  return [
    `    ${name})`,
    ...(values.length > 0 ? ['      case "$previous" in', ...values, '      esac'] : []),
    `      if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W ${quoted(flags.join(' '))} -- "$current")); return; fi`,
    ...(asked.length > 0 ? ['      case "$place" in', ...asked, '      esac'] : []),
    '      ;;',
  ].join('\n');
}

/** Completion for bash: `source <(oomlint completion bash)`. */
export function bashCompletion(commands: readonly CommandRow[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const takers = [
    ...new Set(
      commands.flatMap(({ options }) =>
        options.flatMap(({ long, short, takes }) =>
          takes === undefined ? [] : short ? [long, short] : [long],
        ),
      ),
    ),
  ].join('|');
  return `# bash completion of oomlint
_oomlint() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command='' place=0 i word
  COMPREPLY=()
  # Bash takes \`--option=value\` apart at the sign.
  if [[ "$current" == '=' ]]; then current=''; elif [[ "$previous" == '=' ]]; then previous="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in
      ${takers}) [[ "\${COMP_WORDS[i+1]}" == '=' ]] && ((i++)); ((i++)) ;;
      -*) ;;
      *) if [[ -z "$command" ]]; then command="$word"; else ((place++)); fi ;;
    esac
  done
  case "$command" in
    '')
      COMPREPLY=($(compgen -W ${quoted(`${names} --help --version`)} -- "$current"))
      ;;
${commands.map(ofCommand).join('\n')}
  esac
}
complete -o bashdefault -o default -F _oomlint oomlint
`;
}
