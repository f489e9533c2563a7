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

/** What the schema of a team's flags states of their unit. */
const UNIT = 'Counts {0}.';

/**
 * A text of a schema in the language of the person: a schema has a key's sentences as one text, of which each may be known by
 * itself.
 */
export function schemaText(text: string): string {
  const whole = say(text);
  if (whole !== text) return whole;
  const sentences = text.split(/(?<=\.) (?=[A-Z])/).map((sentence) => {
    const unit = /^Counts (\w+)\.$/.exec(sentence)?.[1];
    return unit === undefined ? say(sentence) : say(UNIT, unit);
  });
  return sentences.join(' ');
}
