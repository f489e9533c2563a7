export type ScalarValue = string | number | boolean | null;

/*
 * The implicit types of PyYAML (YAML 1.1), because that is who reads these files: `no` is a flag, `1e-5` is text
 * (a float needs a dot), `0o17` is text, `017` is octal, `1:30` is sexagesimal.
 * https://github.com/yaml/pyyaml/blob/6.0.3/lib/yaml/resolver.py
 */
const NULL = /^(?:~|null|Null|NULL|)$/;
const TRUE = /^(?:yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const FALSE = /^(?:no|No|NO|false|False|FALSE|off|Off|OFF)$/;
const INTEGER =
  /^(?:[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$/;
const FLOAT =
  /^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** Value of a plain (unquoted, untagged) scalar. */
export function resolvePlain(text: string): ScalarValue {
  if (NULL.test(text)) return null;
  if (TRUE.test(text)) return true;
  if (FALSE.test(text)) return false;
  if (INTEGER.test(text)) return integer(text);
  if (FLOAT.test(text)) return float(text);
  return text;
}

/** Value of a scalar with a standard tag (`!!int`, `!!float`, ...); undefined for other tags. */
export function resolveTagged(tag: string, text: string): ScalarValue | undefined {
  const name = /^(?:tag:yaml\.org,2002:|!!)(\w+)$/.exec(tag)?.[1];
  if (name === 'null') return null;
  if (name === 'bool') return TRUE.test(text);
  if (name === 'int') return integer(text);
  if (name === 'float') return /^[-+]?[\d_.]+(?:[eE][-+]?\d+)?$/.test(text) ? Number(text) : float(text);
  return undefined;
}

function integer(text: string): number {
  const negative = text.startsWith('-');
  const digits = text.replace(/^[-+]/, '').replaceAll('_', '');
  let value: number;
  if (/^0[bx]/.test(digits)) value = Number(digits);
  else if (digits.includes(':')) value = sexagesimal(digits);
  else if (/^0[0-7]+$/.test(digits)) value = Number.parseInt(digits, 8);
  else value = Number(digits);
  return negative ? -value : value;
}

function float(text: string): number {
  const negative = text.startsWith('-');
  const digits = text.replace(/^[-+]/, '').replaceAll('_', '').toLowerCase();
  let value: number;
  if (digits === '.inf') value = Number.POSITIVE_INFINITY;
  else if (digits === '.nan') value = Number.NaN;
  else if (digits.includes(':')) value = sexagesimal(digits);
  else value = Number(digits);
  return negative ? -value : value;
}

function sexagesimal(digits: string): number {
  return digits.split(':').reduce((total, part) => total * 60 + Number(part), 0);
}
