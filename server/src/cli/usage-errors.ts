import type { CommanderError } from 'commander';
import { say } from '../wording/say';

/**
 * What is wrong with the arguments, in the language of the terminal: commander writes it in English alone, and has the names in
 * its message only. As commander writes it, where it states something that it did not say so far.
 */
export function usageError({ message }: CommanderError): string {
  const [, suggestion] = /\(Did you mean (?:one of )?(.+)\?\)/.exec(message) ?? [];
  const hint = suggestion === undefined ? '' : ` ${say('Did you mean {0}?', suggestion)}`;
  const worded = (pattern: RegExp, tell: (first: string, second: string) => string) => {
    const found = pattern.exec(message);
    return found ? `${tell(found[1] ?? '', found[2] ?? '')}${hint}` : undefined;
  };
  return (
    worded(/unknown option '([^']*)'/, (option) => say('there is no option {0}.', option)) ??
    worded(/unknown command '([^']*)'/, (command) => say('there is no command {0}.', command)) ??
    worded(/missing required argument '([^']*)'/, (name) => say('{0} is missing.', name)) ??
    worded(/option '([^']*)' argument missing/, (option) => say('{0} is given nothing.', option)) ??
    worded(/option '([^']*)' argument '[^']*' is invalid\. Allowed choices are (.*)\./, (option, choices) =>
      say('{0} takes one of {1}.', option, choices),
    ) ??
    worded(/too many arguments/, () => say('there are too many arguments.')) ??
    message.replace(/^error: /, '')
  );
}
