import type { MapEntry } from '../node';
import { nodeOf } from './node-of-value';
import type { PyProgram, PyValue } from './value';

/** Packages whose configs are modules: `model = dict(type=...)` is built by whoever loads them. */
const BUILT = /^(?:mmengine|xtuner)(?:\.|$)/;
const STARTS = /(?:^|\.)(?:fit|train|backward)$/;

/**
 * What a module that is a config of mmengine sets, by its names: a runner that loads the module builds what its dictionaries name. Undefined
 * of any other module, and of one that trains itself.
 */
export function settingsOf({ bound, calls, modules }: PyProgram): MapEntry[] | undefined {
  const model = bound.get('model');
  const isBuilt = model?.kind === 'dict' && model.entries.some(({ key }) => key === 'type');
  if (!isBuilt || ![...modules].some((name) => BUILT.test(name))) return undefined;
  if (calls.some(({ callee }) => STARTS.test(callee))) return undefined;
  return [...bound].flatMap(([key, value]): MapEntry[] =>
    isSetting(value) ? [{ key, keyRange: value.range, value: nodeOf(value) }] : [],
  );
}

const isSetting = ({ kind }: PyValue): boolean => kind !== 'function' && kind !== 'class';
