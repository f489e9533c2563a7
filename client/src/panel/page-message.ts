import type { PageMessage } from '../../webview/messages';

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
/** Positions in lists. */
const isPosition: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isObject: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isTurned: Check = (value) =>
  isObject(value) && Object.values(value as object).every((turn) => isText(turn) || Number.isFinite(turn));
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    isText(value) && words.includes(String(value));
const orNone =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

/** What each message of the page has beside its type. */
const FIELDS_OF: { readonly [Type in PageMessage['type']]: Readonly<Record<string, Check>> } = {
  ready: {},
  retry: {},
  'open-file': {},
  'show-config': { uri: isText },
  'open-figures': { sample: orNone(isPosition), turned: orNone(isTurned), values: orNone(isObject) },
  'show-output': {},
  supply: { fields: isTexts },
  try: { turned: isTurned, values: orNone(isObject) },
  preset: { which: oneOf('fastest', 'cheapest') },
  plan: { values: isObject },
  apply: { values: isObject, fix: orNone(isText) },
  compare: { with: oneOf('git', 'commit', 'file', 'releases'), ref: orNone(isText), uri: orNone(isText) },
  reveal: { key: isPosition },
  copy: { text: isText },
  save: { format: oneOf('svg', 'png', 'json', 'html'), data: isText },
};

/** A message as the page sends it; undefined for anything else, whoever it is from. */
export function pageMessage(value: unknown): PageMessage | undefined {
  if (!isObject(value)) return undefined;
  const message = value as Readonly<Record<string, unknown>>;
  const { type } = message;
  if (typeof type !== 'string' || !Object.hasOwn(FIELDS_OF, type)) return undefined;
  const checks = Object.entries(FIELDS_OF[type as PageMessage['type']]);
  return checks.every(([name, check]) => check(message[name])) ? (value as PageMessage) : undefined;
}
