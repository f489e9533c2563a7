import type { Written } from '../../dialects/words';

export function isBlock(value: Written): value is { readonly [key: string]: Written } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One line of JSON, as flow YAML, TOML arrays and quoted flags take it too. */
export function inline(value: Written): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (isBlock(value)) {
    return `{${Object.entries(value)
      .map(([key, inner]) => `${JSON.stringify(key)}: ${inline(inner)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value ?? null);
}
