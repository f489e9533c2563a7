import tables from '../../../data/peft-targets.json';
import type { AdapterKind } from '../../terms/adapters';

type Table = Readonly<Record<string, readonly string[]>>;

const KINDS: Readonly<Partial<Record<string, Table>>> = tables.kinds;

const listed = (table: Table, modelType: string): readonly string[] | undefined =>
  Object.hasOwn(table, modelType) ? table[modelType] : undefined;

/**
 * Modules that PEFT adapts when a config names none, by kind and model type (`server/data/peft-targets.json`, made by
 * `scripts/peft-targets.py`; of a kind that it leaves out those of LoRA). Empty where PEFT knows none and asks for `target_modules`.
 */
export function defaultTargets(kind: AdapterKind, modelType: string): readonly string[] {
  return listed(KINDS[kind] ?? tables.kinds.lora, modelType) ?? [];
}

/** Modules of IA3 whose input is scaled, and not their output; undefined where PEFT lists none for the type. */
export function feedForwardModules(modelType: string): readonly string[] | undefined {
  return listed(tables.kinds['ia3-feedforward'], modelType);
}
