/**
 * Language of messages in a terminal as POSIX has it: the first of LC_ALL, LC_MESSAGES and LANG that is not empty, such as
 * `ru_RU.UTF-8`. Undefined for `C` and `POSIX`, which automatic builds set.
 */
export function terminalLanguage(environment: NodeJS.ProcessEnv): string | undefined {
  const { LC_ALL, LC_MESSAGES, LANG } = environment;
  const locale = (LC_ALL || LC_MESSAGES || LANG || '').split(/[.@]/)[0] ?? '';
  return /^(C|POSIX|)$/.test(locale) ? undefined : locale;
}
