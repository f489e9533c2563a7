import { say } from '../wording/say';
import { UsageError } from '../workspace/usage-error';

/** A repeatable option: all its values. */
export const repeated = (value: string, previous: readonly string[] = []) => [...previous, value];

/** A whole number that is not below the least. */
export function whole(option: string, least = 0): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < 0)
      throw new UsageError(`${option}: ${say('"{0}" is no whole number.', text)}`);
    if (value < least) throw new UsageError(`${option}: ${say('{0} is below {1}', text, least)}.`);
    return value;
  };
}

/** `80%`, or a share of 1. */
export function shareOf(option: string): (text: string) => number {
  return (text) => {
    const [, number, percent] = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text) ?? [];
    const value = Number(number) / (percent ? 100 : 1);
    if (!(value > 0 && value <= 10))
      throw new UsageError(`${option}: ${say('"{0}" is no share such as 90%.', text)}`);
    return value;
  };
}

/** US dollars. */
export function amount(option: string): (text: string) => number {
  return (text) => {
    const value = Number(text.replace(/^\$/, ''));
    if (text.trim() === '' || !(value >= 0))
      throw new UsageError(`${option}: ${say('"{0}" is no amount of US dollars.', text)}`);
    return value;
  };
}
