/** The text of a Python string from what stands between its quotes; `raw` ones keep their backslashes. */
export function unescaped(text: string, raw: boolean): string {
  if (raw || !text.includes('\\')) return text;
  return text.replace(
    /\\(?:(\r\n|\n)|x([\da-fA-F]{2})|u([\da-fA-F]{4})|([\s\S]))/g,
    (_, broken: string | undefined, byte: string | undefined, unit: string | undefined, one: string) => {
      if (broken !== undefined) return '';
      const code = byte ?? unit;
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      return SIGNS[one] ?? (/['"\\]/.test(one) ? one : `\\${one}`);
    },
  );
}

const SIGNS: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0' };

/** A number as Python writes it; undefined for complex ones and for what is too large to be exact. */
export function numberFrom(text: string): number | undefined {
  const plain = text.replaceAll('_', '').replace(/[lL]$/, '');
  if (!/^(?:0[xX][\da-fA-F]+|0[oO][0-7]+|0[bB][01]+|\d*\.?\d*(?:[eE][-+]?\d+)?)$/.test(plain))
    return undefined;
  const value = Number(plain);
  return Number.isFinite(value) ? value : undefined;
}

/** Python's own arithmetic: `//` and `%` round down. Undefined where it would raise, or where the result is no number. */
export function arithmetic(operator: string, a: number, b: number): number | undefined {
  const result = compute(operator, a, b);
  return result !== undefined && Number.isFinite(result) ? result : undefined;
}

function compute(operator: string, a: number, b: number): number | undefined {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return b === 0 ? undefined : a / b;
    case '//':
      return b === 0 ? undefined : Math.floor(a / b);
    case '%':
      return b === 0 ? undefined : a - b * Math.floor(a / b);
    case '**':
      return a ** b;
    default:
      return undefined;
  }
}

/** A comparison of two plain values; undefined where Python would raise. */
export function compared(
  operator: string,
  a: string | number | boolean | null,
  b: string | number | boolean | null,
): boolean | undefined {
  const [x, y] = [typeof a === 'boolean' ? Number(a) : a, typeof b === 'boolean' ? Number(b) : b];
  if (operator === '==' || operator === 'is') return x === y;
  if (/^(!=|<>|is not)$/.test(operator)) return x !== y;
  if (/^(not )?in$/.test(operator)) {
    if (typeof x !== 'string' || typeof y !== 'string') return undefined;
    return y.includes(x) === (operator === 'in');
  }
  if (x === null || y === null || typeof x !== typeof y) return undefined;
  if (operator === '<') return x < y;
  if (operator === '<=') return x <= y;
  if (operator === '>') return x > y;
  return operator === '>=' ? x >= y : undefined;
}
