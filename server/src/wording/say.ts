/**
 * What is said, in the language of the person: the English text is the key, a bundle of translations answers it. An
 * editor talks to one person, so one language holds for the whole process; without a bundle all is English.
 */

/** Translations by English text, as in `l10n/bundle.l10n.ru.json`. */
export type Bundle = Readonly<Record<string, string>>;

interface Language {
  readonly name: string;
  readonly bundle: Bundle;
}

const ENGLISH: Language = { name: 'en', bundle: {} };
let language = ENGLISH;

/** Speaks that language from now on; without a bundle, English. `name` is a tag such as `ru` or `ru-RU`. */
export function speak(name: string, bundle: Bundle | undefined): void {
  language = bundle ? { name, bundle } : ENGLISH;
}

/**
 * A text with its places filled: `{0}` is the first argument, `{0|layer|layers}` the word that goes with that number
 * (Russian takes three: one, few, many). Whole numbers are grouped by thousands.
 */
export function say(text: string, ...args: readonly (string | number)[]): string {
  const said = language.bundle[text];
  if (args.length === 0) return said ?? text;
  return fill(said ?? text, args, said === undefined ? 'en' : language.name);
}

export function fill(template: string, args: readonly (string | number)[], tongue: string): string {
  return template.replace(/\{(\d+)(?:\|([^{}]*))?\}/g, (whole, place: string, forms: string | undefined) => {
    const arg = args[Number(place)];
    if (arg === undefined) return whole;
    if (forms !== undefined) return form(forms.split('|'), Number(arg), tongue);
    return typeof arg === 'number' ? grouped(arg) : arg;
  });
}

/** Rules by language: to build them takes longer than an estimate says in all its words. */
const rules = new Map<string, Intl.PluralRules>();

function rulesOf(tongue: string): Intl.PluralRules {
  const known = rules.get(tongue) ?? new Intl.PluralRules(tongue);
  rules.set(tongue, known);
  return known;
}

/** Forms stand in the order one, few, many; a language with two has one and the rest. */
function form(forms: readonly string[], count: number, tongue: string): string {
  const category = rulesOf(tongue).select(count);
  const at = category === 'one' ? 0 : category === 'many' ? 2 : 1;
  return forms[Math.min(at, forms.length - 1)] ?? '';
}

function grouped(value: number): string {
  return Number.isInteger(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, ',') : String(value);
}
