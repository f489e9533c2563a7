import type { KeySpec } from '../dialects/dialect';
import { say } from '../wording/say';
import { escapeMarkdown } from './markdown';

/**
 * What a key means, as Markdown in the language of the person. The tables and the schemas are in English. What a file of
 * the workspace states is shown as it stands: no picture is fetched for it, and no link leads anywhere.
 */
export function keyDocumentation({ doc, sentences, foreign }: KeySpec): string {
  const text = sentences ? sentences.map(([part, ...places]) => say(part, ...places)).join(' ') : say(doc);
  return foreign ? escapeMarkdown(text) : text;
}
