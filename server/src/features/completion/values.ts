import type { Dialect, KeySpec } from '../../dialects/dialect';
import { TRANSFORMERS_OPTIMIZERS } from '../../dialects/optimizer-names';
import { acceleratorNames } from '../../hardware/catalog';
import { modelNames } from '../../model/catalog';
import { FIELDS, type FieldPath, type FieldSpec } from '../../run/fields';

/** A value that a key may have. */
export interface OfferedValue {
  readonly text: string;
  /** `own`: a schema cannot know it, because it is in our catalogs. */
  readonly kind: 'model' | 'gpu' | 'optimizer' | 'size' | 'choice' | 'default';
  readonly isText: boolean;
}

/** Optimizers as the tool that reads the key spells them; rows that list theirs are not asked. */
function optimizerNames({ optimizers }: Dialect, spec: KeySpec): readonly string[] {
  if (!/optim/.test(spec.path) || spec.type === 'object' || spec.type === 'boolean') return [];
  return optimizers ?? (/(^|\.)optim$/.test(spec.path) ? Object.keys(TRANSFORMERS_OPTIMIZERS) : []);
}

/** Sizes that people choose from, where a key takes any whole number. */
const SIZES: Partial<Record<FieldPath, readonly number[]>> = {
  'batch.micro': [1, 2, 4, 8, 16, 32],
  'batch.accumulation': [1, 2, 4, 8, 16, 32],
  'batch.sequence': [512, 1024, 2048, 4096, 8192, 16384, 32768],
  'lora.rank': [8, 16, 32, 64, 128],
};

/** Optimizers that public configs name most often; a framework's own list begins with what it added last, or with its letter. */
const USUAL_OPTIMIZERS = [
  'adamw_torch',
  'adamw_torch_fused',
  'adamw',
  'adam',
  'adamw_bnb_8bit',
  'adamw_8bit',
  'paged_adamw_8bit',
  'paged_adamw_32bit',
  'adamw_torch_8bit',
  'adafactor',
  'muon',
  'sgd',
];

/** The usual ones first, the others as their list has them. */
function usualFirst(values: readonly OfferedValue[]): readonly OfferedValue[] {
  const rank = ({ text }: OfferedValue) => {
    const found = USUAL_OPTIMIZERS.indexOf(text.toLowerCase());
    return found < 0 ? USUAL_OPTIMIZERS.length : found;
  };
  return values.toSorted((a, b) => rank(a) - rank(b));
}

/** Everything that is known to fit a key. */
export function offeredValues(spec: KeySpec, dialect: Dialect): readonly OfferedValue[] {
  const fields = spec.fields ?? [];
  const values: OfferedValue[] = [];
  const add = (kind: OfferedValue['kind'], text: string, isText = true) => {
    if (!values.some((known) => known.text === text)) values.push({ kind, text, isText });
  };
  for (const value of spec.values ?? []) add('choice', String(value), typeof value === 'string');
  if (spec.type === 'boolean') for (const flag of ['true', 'false']) add('choice', flag, false);
  if (spec.auto) add('choice', 'auto');
  if (spec.values === undefined) {
    if (fields.includes('model.id')) for (const name of modelNames()) add('model', name);
    if (fields.includes('hardware.gpu')) for (const name of acceleratorNames()) add('gpu', name);
    if (fields.includes('optimizer.name')) {
      for (const name of optimizerNames(dialect, spec)) add('optimizer', name);
    }
  }
  const [first] = fields;
  if (spec.values === undefined && spec.type === 'integer' && first !== undefined) {
    for (const size of SIZES[first] ?? []) add('size', String(size), false);
  }
  // Keys of our own run files say by their field what they take.
  if (values.length === 0 && fields.length === 1 && fields[0] && dialect.takesFieldValues) {
    const field: FieldSpec = FIELDS[fields[0]];
    if (field.type === 'choice') for (const value of field.values) add('choice', value);
  }
  const { default: standard } = spec;
  if (standard !== undefined && standard !== null && String(standard) !== '')
    add('default', String(standard), typeof standard === 'string');
  if (fields.includes('optimizer.name')) return usualFirst(values);
  return values;
}
