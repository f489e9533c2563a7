import type { OptimizerName } from '../../run/fields';

/** A statement that an optimizer's name makes. */
export type OptimizerStatement =
  | { readonly field: 'optimizer.name'; readonly value: OptimizerName }
  | { readonly field: 'optimizer.implementation'; readonly value: 'fused' | 'foreach' | 'for-loop' };

type Row = readonly [name: OptimizerName, implementation?: 'fused' | 'foreach' | 'for-loop'];

/** `Trainer.get_optimizer_cls_and_kwargs` of transformers: which class each name stands for. */
const NAMES: Readonly<Record<string, Row>> = {
  adamw_torch: ['adamw', 'foreach'],
  adamw_hf: ['adamw', 'for-loop'],
  adamw_torch_fused: ['adamw', 'fused'],
  adamw_apex_fused: ['adamw', 'fused'],
  adafactor: ['adafactor', 'for-loop'],
  adamw_torch_8bit: ['ao-adamw-8bit'],
  adamw_torch_4bit: ['ao-adamw-4bit'],
  adamw_bnb_8bit: ['adamw-8bit'],
  adamw_8bit: ['adamw-8bit'],
  paged_adamw_32bit: ['paged-adamw'],
  paged_adamw_8bit: ['paged-adamw-8bit'],
  lion_32bit: ['lion'],
  lion_8bit: ['lion-8bit'],
  paged_lion_32bit: ['paged-lion'],
  paged_lion_8bit: ['paged-lion-8bit'],
  ademamix: ['ademamix'],
  sgd: ['sgd', 'foreach'],
  adagrad: ['adagrad', 'foreach'],
  rmsprop: ['rmsprop', 'foreach'],
  galore_adamw: ['galore-adamw'],
  apollo_adamw: ['apollo-adamw'],
  lomo: ['lomo'],
  adalomo: ['adalomo'],
};

/** What a value of `optim` says; undefined for names that transformers does not know. */
export function hfOptimizer(name: string, _args?: string): readonly OptimizerStatement[] | undefined {
  const row = NAMES[name];
  if (!row) return undefined;
  const [value, implementation] = row;
  return [
    { field: 'optimizer.name', value },
    ...(implementation ? [{ field: 'optimizer.implementation' as const, value: implementation }] : []),
  ];
}
