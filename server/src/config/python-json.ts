/** Strings, which are left as they are, and the three numbers that Python's `json` has and JSON has not. */
const CONSTANTS = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\bInfinity\b|\bNaN\b/g;

/** Stands for NaN while the text is JSON; no string that is written in a file can hold it unescaped. */
const NOT_A_NUMBER = '\u{10FFFF}NaN';

/**
 * Reads JSON as Python's `json.loads` does: with `Infinity`, `-Infinity` and `NaN`, which transformers writes into a
 * `config.json` (`time_step_limit` of Mamba 2). Throws a `SyntaxError` where the text is anything else.
 */
export function readPythonJson(text: string): unknown {
  if (!/Infinity|NaN/.test(text)) return JSON.parse(text);
  const plain = text.replace(CONSTANTS, (match) => {
    if (match.startsWith('"')) return match;
    // Too large for a double, so it is read as the infinity that was written.
    if (match.endsWith('Infinity')) return match.replace('Infinity', '1e999');
    return JSON.stringify(NOT_A_NUMBER);
  });
  return JSON.parse(plain, (_, value: unknown) => (value === NOT_A_NUMBER ? Number.NaN : value));
}
