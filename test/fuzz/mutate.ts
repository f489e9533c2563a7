import fc from 'fast-check';

/** Numbers, words and names that keys may be given and that something may not be ready for. */
export const NONSENSE = [
  '-1',
  '0',
  '-8',
  '1e30',
  '1e308',
  '2048.5',
  '999999999999999999999',
  '"-4"',
  'true',
  'null',
  'nan',
  '.inf',
  '""',
  '[]',
  '{}',
  'constructor',
  '__proto__',
  'hasOwnProperty',
  'toString',
  '"${__proto__:1}"',
  '"${constructor:1,2}"',
  '"\\udfff"',
  '"../../../../etc/passwd"',
  '/dev/zero',
  '"((((((((((a+)+)+)+)+)+)+)+)+)+$"',
  '"[1111111111111111111111111111x"',
  'auto',
  'x'.repeat(300),
  '7',
  '3',
] as const;

const WORD = /-?[\w.${}]+/g;

/** A place of a text, by a share of its length, and what is done there. */
const change = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('value' as const),
      at: fc.nat(),
      by: fc.constantFrom(...NONSENSE),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('number' as const),
      at: fc.nat(),
      by: fc.integer({ min: -3, max: 70_000 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('drop-line' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('double-line' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cut' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('indent' as const), at: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      at: fc.nat(),
      by: fc.constantFrom(
        '{',
        '}',
        '[',
        '"',
        "'",
        ':',
        ',',
        '#',
        '\n',
        '\t',
        '$(',
        '`',
        '<<',
        '&a',
        '*a',
        '\u0000',
        '\ufeff',
        '\ud83d',
        '\u001b[31m',
        '# oomlint: off\n',
        '# oomlint: gpus=-8\n',
        '\r',
      ),
    }),
  },
);
export type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** Up to four changes, one after the other. */
export const changes: fc.Arbitrary<Change[]> = fc.array(change, { minLength: 1, maxLength: 4 });

function changed(text: string, { kind, at, ...more }: Change): string {
  const by = String('by' in more ? more.by : '');
  const lines = text.split('\n');
  const line = at % lines.length;
  const place = at % (text.length + 1);
  switch (kind) {
    case 'drop-line':
      return lines.toSpliced(line, 1).join('\n');
    case 'double-line':
      return lines.toSpliced(line, 0, lines[line] ?? '').join('\n');
    case 'cut':
      return text.slice(0, place);
    case 'indent':
      return lines.with(line, `  ${lines[line]}`).join('\n');
    case 'insert':
      return text.slice(0, place) + by + text.slice(place);
    case 'value': {
      const found = [...lines.entries()].filter(([, written]) => /[:=]\s*\S/.test(written));
      const [index, written] = found[at % Math.max(1, found.length)] ?? [0, lines[0] ?? ''];
      return lines
        .with(
          index,
          written.replace(/([:=]\s*)(?:"[^"]*"|[^\s,}]+)/, (_, head) => head + by),
        )
        .join('\n');
    }
    case 'number': {
      const numbers = [...text.matchAll(WORD)].filter(([word]) => /^-?\d/.test(word));
      const found = numbers[at % Math.max(1, numbers.length)];
      if (!found) return text;
      return text.slice(0, found.index) + by + text.slice(found.index + found[0].length);
    }
  }
}

/** The text after some changes. */
export function mutated(text: string, made: readonly Change[]): string {
  return made.reduce(changed, text);
}
