/** Digits of a key: what is printed and stands in a string without an escape. */
const BASE = 85;
const LENGTH = 5;
const FIRST = '#'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);

/**
 * What a built bundle of translations has in place of an English text: its hash of 32 bits, in five characters. A text that nobody
 * translated meets the key of one of 5,000 others once in a million.
 */
export function textKey(text: string): string {
  let rest = hash(text);
  let key = '';
  for (let digit = 0; digit < LENGTH; digit += 1) {
    const code = FIRST + (rest % BASE);
    key += String.fromCharCode(code < BACKSLASH ? code : code + 1);
    rest = Math.floor(rest / BASE);
  }
  return key;
}

/** A key among English texts, none of which begins so. */
export const markedKey = (key: string) => `\0${key}`;

const LATIN = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const CYRILLIC = 'абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕЖЗИЙКЛМНОПРСТУ';
const partners = new Map(
  [...LATIN].flatMap((latin, at): [string, string][] => {
    const cyrillic = CYRILLIC.charAt(at);
    return [
      [latin, cyrillic],
      [cyrillic, latin],
    ];
  }),
);

/**
 * A text with Latin letters for Cyrillic ones and the other way round, which is how a built bundle has it: a letter of what is mostly
 * Russian takes one byte in place of two, packed an eighth less. Done twice it is the text again.
 */
export function exchanged(text: string): string {
  return text.replace(/[A-Za-zА-я]/g, (letter) => partners.get(letter) ?? letter);
}

/** Translations with exchanged letters by their keys, which stand one after another in `keys`. */
export function keyedBundle(keys: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text, at) => [markedKey(keys.slice(at * LENGTH, (at + 1) * LENGTH)), text]),
  );
}

/** MurmurHash3 of 32 bits, with code units for its words: https://github.com/aappleby/smhasher/blob/61a0530f28277f2e850bfc39600ce61d02b518de/src/MurmurHash3.cpp */
function hash(text: string): number {
  let h = 0;
  for (let at = 0; at < text.length; at += 1) {
    const k = rotated(Math.imul(text.charCodeAt(at), 0xcc9e2d51), 15);
    h = (Math.imul(rotated(h ^ Math.imul(k, 0x1b873593), 13), 5) + 0xe6546b64) | 0;
  }
  h ^= text.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

const rotated = (word: number, bits: number) => (word << bits) | (word >>> (32 - bits));
