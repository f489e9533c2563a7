/**
 * What is said, in the language of the person: the English text is the key, a bundle of translations answers it. An
 * editor talks to one person, so one language holds for the whole process; without a bundle all is English.
 */

import { exchanged, markedKey, textKey } from './text-keys';

/** Translations by English text, as in `l10n/messages.ru.json`, or as builds have them (`text-keys.ts`). */
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
  lookedUp.clear();
}

/** The language that is spoken now, as a key of what is remembered with texts in it. */
export function spoken(): Readonly<Language> {
  return language;
}

/** Tag of the language that is spoken: `en`, `ru`. */
export function spokenTag(): string {
  return language.name;
}

/**
 * A text with its places filled: `{0}` is the first argument, `{0|layer|layers}` the word that goes with that number
 * (Russian takes three: one, few, many). Numbers are written as the language does, grouped by thousands.
 */
export function say(text: string, ...args: readonly (string | number)[]): string {
  const translated = language === ENGLISH ? undefined : translationOf(text);
  if (args.length === 0) return translated ?? text;
  return fill(translated ?? text, args, translated === undefined ? 'en' : language.name);
}

/** Texts in `language`, each looked up once. */
const lookedUp = new Map<string, string>();

function translationOf(text: string): string | undefined {
  const known = lookedUp.get(text);
  if (known !== undefined) return known;
  const translated = Object.hasOwn(language.bundle, text) ? language.bundle[text] : builtTranslation(text);
  if (translated !== undefined) lookedUp.set(text, translated);
  return translated;
}

function builtTranslation(text: string): string | undefined {
  const key = markedKey(textKey(text));
  const packed = Object.hasOwn(language.bundle, key) ? language.bundle[key] : undefined;
  return packed === undefined ? undefined : exchanged(packed);
}

export function fill(template: string, args: readonly (string | number)[], tongue: string): string {
  let text = '';
  for (const { before, whole, place, forms } of placesOf(template)) {
    const arg = args[place];
    text += before;
    if (arg === undefined) text += whole;
    else if (forms) text += form(forms, Number(arg), tongue);
    else text += typeof arg === 'number' ? numeral(String(arg), tongue) : arg;
  }
  return text;
}

/** A place of a text, and what stands before it. What stands behind the last one is before a place that nothing fills. */
interface Place {
  readonly before: string;
  readonly whole: string;
  readonly place: number;
  readonly forms?: readonly string[];
}

/** Texts are few and are said often: each is taken apart once. */
const taken = new Map<string, readonly Place[]>();

function placesOf(template: string): readonly Place[] {
  const known = taken.get(template);
  if (known) return known;
  const places: Place[] = [];
  let end = 0;
  for (const { 0: whole, 1: place, 2: forms, index } of template.matchAll(/\{(\d+)(?:\|([^{}]*))?\}/g)) {
    places.push({
      before: template.slice(end, index),
      whole,
      place: Number(place),
      forms: forms?.split('|'),
    });
    end = index + whole.length;
  }
  places.push({ before: template.slice(end), whole: '', place: -1 });
  taken.set(template, places);
  return places;
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
  // English has one rule, and to ask V8 for it is a tenth of a short command.
  const english = Math.abs(count) === 1 ? 'one' : 'other';
  const category = tongue === 'en' ? english : rulesOf(tongue).select(count);
  const at = category === 'one' ? 0 : category === 'many' ? 2 : 1;
  return forms[Math.min(at, forms.length - 1)] ?? '';
}

/** How a language writes numbers, where it is not as in English: in Russian a comma and narrow spaces that do not break. */
const MARKS: Readonly<Record<string, { readonly decimal: string; readonly group: string }>> = {
  ru: { decimal: ',', group: '\u202f' },
};
const ENGLISH_MARKS = { decimal: '.', group: ',' };
const marksOf = (tongue: string) => MARKS[tongue.slice(0, 2)] ?? ENGLISH_MARKS;

/** A number as a language writes it, out of digits such as `-1234.5`: whole part in groups of three, decimal mark. */
export function numeral(digits: string, tongue = language.name): string {
  const point = digits.indexOf('.');
  if (point < 0 && digits.length < 4) return digits;
  const { decimal, group } = marksOf(tongue);
  const whole = point < 0 ? digits : digits.slice(0, point);
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group);
  return point < 0 ? grouped : `${grouped}${decimal}${digits.slice(point + 1)}`;
}

/** The same without groups, for factors of a formula. */
export function factor(digits: string): string {
  return digits.replace('.', marksOf(language.name).decimal);
}
