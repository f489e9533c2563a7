import { parseConfig } from '../../../server/src/config/parse';
import { plainOf } from '../../../server/src/config/scalar';
import type { Dialect } from '../../../server/src/dialects/dialect';
import { DIALECTS } from '../../../server/src/dialects/registry';
import { SEEDS } from '../../fuzz/seeds';

export type Plain = Record<string, unknown>;
export const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface KeyedSeed {
  readonly family: string;
  readonly dialect: Dialect;
  readonly plain: Plain;
}

/** The seeds of families whose configs are a map of keys, but for those named. */
export function keyedSeeds(elsewhere: RegExp): KeyedSeed[] {
  return SEEDS.flatMap(([family, file, text]) => {
    const dialect = DIALECTS.find(({ id }) => id === family);
    const { root } = parseConfig(`file:///${file}`, text);
    const plain = root && plainOf(root);
    return dialect && !elsewhere.test(family) && isPlain(plain) ? [{ family, dialect, plain }] : [];
  });
}

/** The config with a value at a path, whose blocks are made where they are missing. */
export function withKey(root: Plain, path: string, value: unknown): Plain {
  const [first = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...root, [first]: value };
  const inner = root[first];
  return { ...root, [first]: withKey(isPlain(inner) ? inner : {}, rest.join('.'), value) };
}
