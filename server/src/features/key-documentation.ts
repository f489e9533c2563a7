import type { KeySpec } from '../dialects/dialect';
import { say } from '../wording/say';

/** What a key means, in the language of the person. The tables and the schemas are in English. */
export function keyDocumentation({ doc, sentences }: KeySpec): string {
  return sentences ? sentences.map(([text, ...places]) => say(text, ...places)).join(' ') : say(doc);
}
