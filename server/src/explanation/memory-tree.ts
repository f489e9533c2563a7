import type { Explanation } from '../memory/explain';
import { type Items, itemsIn, type Label, type LabelWords } from '../memory/ledger';
import { rounded } from '../memory/play';
import type { Sharding, Splits } from '../memory/sharding-scheme';
import { asSource, autogradRule, SOURCES } from '../memory/sources';
import { ELEMENT_BYTES, type Operation, type Storage, type Tensor, type Weight } from '../model/tape';
import { type FigureDraft, sumOf } from '../results/detail-node';
import type { Category, Moment, Part } from '../results/estimate';
import { categoryLabel } from '../results/labels';
import type { Source } from '../results/source';
import type { TrainingRun } from '../run/fields';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import { cancelled } from './cancel';
import { type SampleSizes, tensorFormula, timesWords, weightFormula } from './formula';
import type { StorageFacts, TapeIndex, TapePlace } from './tape-index';
import { tensorBytes } from './tensor-bytes';
import { weightKind } from './weight-kind';

export interface TreeContext {
  readonly run: TrainingRun;
  readonly index: TapeIndex;
  readonly sizes: SampleSizes;
  readonly moment: Moment;
  readonly sharding: Pick<Sharding, 'splits' | 'explains'>;
  /** The formula of a whole part. */
  readonly explanation: (category: Category) => Explanation | undefined;
}

/** A leaf and where it belongs: the groups above it, outermost first. */
interface Leaf {
  readonly path: readonly string[];
  readonly draft: FigureDraft;
}

const IN_BACKWARD: ReadonlySet<Moment> = new Set(['backward', 'gradient-reduction', 'optimizer-step']);
/** With what of the weights a part is split, and the most bytes that one element of it can take unsplit. */
const SHARDED: Partial<Record<Category, { readonly as: keyof Splits; readonly widest: number }>> = {
  weights: { as: 'weights', widest: 4 },
  adapters: { as: 'weights', widest: 4 },
  'master-weights': { as: 'states', widest: 4 },
  'optimizer-states': { as: 'states', widest: 16 },
  'optimizer-transients': { as: 'states', widest: 8 },
  gradients: { as: 'gradients', widest: 4 },
};

/**
 * One part of the memory at one moment, down to its tensors, whose bytes add up to the part's. `astray`: bytes that a
 * stage gave back and that nothing of their size was there for, zero where the walk names what it frees.
 */
export function partTree(
  part: Part,
  items: Items,
  context: TreeContext,
): { readonly draft: FigureDraft; readonly astray: number } {
  const { category, bytes } = part;
  const own = itemsIn(items, category);
  const { left, astray } = cancelled(own, context.index, IN_BACKWARD.has(context.moment));
  takeUntold(left, bytes, context.index);
  const leaves = merged([...left].map(([label, held]) => leafOf(label, held, category, context)));
  const explained = leaves.reduce((sum, { draft }) => sum + draft.value, 0);
  const explanation = context.explanation(category);
  // Posts without a label: the formula of the part is theirs.
  const unexplained = bytes - explained;
  if (unexplained > 1 + 1e-6 * bytes) {
    const label = categoryLabel(category);
    const name = leaves.length > 0 ? say('other {0}', label) : label;
    leaves.push({ path: [], draft: { name, value: unexplained, unit: 'bytes', ...explanation } });
  }
  const only = leaves.length === 1 && leaves[0]?.path.length === 0 ? leaves[0].draft : undefined;
  const name = categoryLabel(category);
  const draft: FigureDraft = only
    ? { ...only, id: category, name, value: bytes }
    : { id: category, name, value: bytes, unit: 'bytes', ...explanation, children: gathered(leaves, 0) };
  return { draft, astray };
}

/** Posts of the same words under labels of their own are one. */
function merged(leaves: readonly Leaf[]): Leaf[] {
  const known = new Map<string, Leaf & { readonly times: number }>();
  for (const leaf of leaves) {
    const { path, draft } = leaf;
    const same = draft.tensor ? '' : (draft.formula ?? '');
    const key = [...path, draft.name, same, draft.tensor?.shape].join('\n');
    const other = known.get(key);
    const value = draft.value + (other?.draft.value ?? 0);
    const tensor = draft.tensor && {
      ...draft.tensor,
      count: draft.tensor.count + (other?.draft.tensor?.count ?? 0),
    };
    known.set(key, { path, draft: { ...draft, value, tensor }, times: (other?.times ?? 0) + 1 });
  }
  return [...known.values()].map(({ path, draft, times: often }) => ({
    path,
    draft: often > 1 && !draft.tensor ? { ...draft, formula: `${draft.formula}${timesWords(often)}` } : draft,
  }));
}

/** What is taken away without a label is taken from all weights alike: they are not there yet, or in a smaller type. */
function takeUntold(left: Map<Label, number>, bytes: number, index: TapeIndex): void {
  const all = [...left.values()].reduce((sum, held) => sum + held, 0);
  const missing = all - bytes;
  if (missing <= 1 + 1e-6 * bytes) return;
  const weights = [...left].filter(([label]) => index.weights.has(label));
  const held = weights.reduce((sum, [, own]) => sum + own, 0);
  if (held < missing) return;
  for (const [label, own] of weights) left.set(label, own * (1 - missing / held));
}

/** Leaves under the groups of their paths; a group of one thing is that thing. */
function gathered(leaves: readonly Leaf[], depth: number): FigureDraft[] {
  const groups = new Map<string, Leaf[]>();
  const here: FigureDraft[] = [];
  for (const leaf of leaves) {
    const name = leaf.path[depth];
    if (name === undefined) here.push(leaf.draft);
    else groups.set(name, [...(groups.get(name) ?? []), leaf]);
  }
  for (const [name, members] of groups) {
    const children = gathered(members, depth + 1);
    const [only] = children;
    if (children.length === 1 && only && !only.children) {
      here.push({ ...only, name: only.name.startsWith(name) ? only.name : `${name}: ${only.name}` });
    } else here.push({ name, value: sumOf(children), unit: 'bytes', formula: sumWords(children), children });
  }
  return here;
}

function sumWords(children: readonly FigureDraft[]): string {
  const largest = [...children].sort((a, b) => b.value - a.value).slice(0, 3);
  const more = children.length - largest.length;
  const words = largest.map(({ name, value }) => `${name} ${formatBytes(value)}`).join(' + ');
  return more > 0 ? `${words} + ${say('{0} more', more)}` : words;
}

function leafOf(label: Label, bytes: number, category: Category, context: TreeContext): Leaf {
  const { index } = context;
  const storage = index.storages.get(label);
  if (storage) return storageLeaf(label as Storage, storage, bytes, category, context);
  const tensor = index.tensors.get(label);
  if (tensor) return gradientLeaf(tensor.tensor, tensor.place, bytes, context);
  const operation = index.operations.get(label);
  if (operation) return scratchLeaf(operation.operation, operation.place, bytes, context);
  const weight = index.weights.get(label);
  if (weight) return weightLeaf(label, bytes, category, context);
  const { name, formula, source }: Partial<LabelWords> = label;
  const whole = context.explanation(category);
  return {
    path: [],
    draft: {
      name: name ?? categoryLabel(category),
      value: bytes,
      unit: 'bytes',
      formula: formula ?? whole?.formula,
      source: asSource(source) ?? whole?.source,
    },
  };
}

function names(operations: readonly Operation[]): string {
  // Where a function returns, it only lets go of its names.
  const unique = [...new Set(operations.map(({ name }) => name))].filter((name) => name !== 'return');
  const shown = unique.slice(0, 3).join(', ');
  return unique.length > 3 ? say('{0} and {1} more', shown, unique.length - 3) : shown;
}

const keptFor = (savers: readonly Operation[]) => say('kept for backward of {0}', names(savers));

/** Why a storage is alive, and the rule that states it. */
function reason(
  storage: Storage,
  facts: StorageFacts,
  category: Category,
  { run, moment }: TreeContext,
): { readonly why: string; readonly source?: Source } {
  const { savers, readers, place } = facts;
  const checkpointed = place.role === 'layer' && run['activations.checkpointing'] !== 'none';
  if (category === 'checkpoints') {
    return {
      why: say('input of a checkpointed layer, kept until the layer is computed again'),
      source: SOURCES.checkpoint,
    };
  }
  const saver = savers[0];
  const rule = saver && autogradRule(saver.name, saver.weights);
  if (storage.kind === 'weight-copy') {
    const copy = say('{0} copy of the weight, cached until autocast exits', run['precision.compute']);
    return {
      why: savers.length > 0 ? `${copy}, ${keptFor(savers)}` : copy,
      source: SOURCES.autocast,
    };
  }
  const keptNow = saver && !(checkpointed && !IN_BACKWARD.has(moment));
  if (keptNow) {
    const again = checkpointed ? [say('computed again')] : [];
    const flying =
      run['parallel.pipeline'] > 1 && !storage.oncePerStep ? [say('for each micro batch in flight')] : [];
    return { why: [...again, keptFor(savers), ...flying].join(', '), source: rule };
  }
  if (facts.leaves) {
    const why = say('result that the next part of the model reads and may keep for its backward');
    return { why, source: SOURCES.autograd };
  }
  const reading = names(readers);
  const why = reading ? say('result in use, read by {0}', reading) : say('result in use');
  return { why, source: rule ?? SOURCES.modules };
}

function storageLeaf(
  storage: Storage,
  facts: StorageFacts,
  bytes: number,
  category: Category,
  context: TreeContext,
): Leaf {
  const { place, producer, tensor } = facts;
  const each = rounded(storage.bytes);
  const count = bytes / each;
  const { why, source } = reason(storage, facts, category, context);
  const made = facts.enters ? say('input ({0})', storage.name) : storage.name;
  const path = [place.name, producer?.name ?? made];
  const formula = tensor
    ? tensorFormula(tensor.shape, tensor.dtype, each, count, context.sizes)
    : `${say('{0} of its own (mask, statistics or packed results)', formatBytes(each))}${timesWords(count)}`;
  const ofWeight = storage.kind === 'weight-copy' || storage.kind === 'kept-weight';
  const own = tensor || ofWeight ? made : say('{0}, own data', made);
  return {
    path,
    draft: {
      name: own,
      value: bytes,
      unit: 'bytes',
      why,
      formula: ofWeight ? `${formatBytes(each)}${timesWords(count)}` : formula,
      source,
      tensor: { shape: tensor?.shape, dtype: tensor?.dtype, bytesEach: each, count },
    },
  };
}

function gradientLeaf(x: Tensor, place: TapePlace, bytes: number, { sizes }: TreeContext): Leaf {
  const each = tensorBytes(x);
  const count = bytes / each;
  return {
    path: [place.name, say('activation gradients')],
    draft: {
      name: say('gradient of {0}', x.storage.name),
      value: bytes,
      unit: 'bytes',
      why: say('gradient of a result, until the operator before has used it'),
      formula: tensorFormula(x.shape, x.dtype, each, count, sizes),
      source: SOURCES.accumulation,
      tensor: { shape: x.shape, dtype: x.dtype, bytesEach: each, count },
    },
  };
}

function scratchLeaf(operation: Operation, place: TapePlace, bytes: number, { moment }: TreeContext): Leaf {
  return {
    path: [place.name, operation.name],
    draft: {
      name: say('temporaries of {0}', operation.name),
      value: bytes,
      unit: 'bytes',
      why: IN_BACKWARD.has(moment)
        ? say('needed while {0} runs backward, free after it', operation.name)
        : say('needed while {0} runs forward, free after it', operation.name),
      formula: say('{0} beside its inputs and results', formatBytes(bytes)),
      source: autogradRule(operation.name, operation.weights),
    },
  };
}

/** What a part holds of a weight. */
export const OF_WEIGHTS: Partial<Record<Category, string>> = {
  weights: 'the weight itself',
  'quantized-weights': 'the packed weight and its scales',
  adapters: 'the weight of an adapter',
  'reference-model': 'the same weight of the frozen reference model',
  'master-weights': 'the copy that the optimizer steps',
  gradients: 'gradient of the weight, until the optimizer has stepped',
  'optimizer-states': 'what the optimizer remembers of the weight',
  'optimizer-transients': 'temporary of the optimizer while it steps',
  'gathered-parameters': 'the whole weight, gathered from its shards while its part of the model runs',
  'communication-buffers': 'the gradient in a buffer that is reduced over GPUs',
};

/** Layers whose whole gradient of a weight is there: backward has come so far. */
function gradientsThere(weight: Weight, bytes: number, { copies }: TapePlace): number {
  const count = bytes / rounded(weight.localElements * ELEMENT_BYTES[weight.dtype]);
  const whole = Math.round(count);
  return whole >= 1 && whole <= copies && Math.abs(count - whole) < 1e-6 ? whole : copies;
}

function weightLeaf(label: Label, bytes: number, category: Category, context: TreeContext): Leaf {
  const facts = context.index.weights.get(label);
  if (!facts) throw new Error('a weight that no tape has');
  const { weight, place } = facts;
  const why = OF_WEIGHTS[category];
  const kind = category === 'adapters' ? weightKind({ ...weight, role: 'matrix' }, place.role) : facts.kind;
  const level = SHARDED[category];
  const group = level ? context.sharding.splits[level.as] : 1;
  const copies =
    category === 'gradients' && group === 1 ? gradientsThere(weight, bytes, place) : place.copies;
  const perElement = bytes / (weight.localElements * copies);
  const persistent = category === 'weights' && context.sharding.explains.flat === 'partitions' && group > 1;
  const whole = persistent ? ELEMENT_BYTES[context.run['precision.compute']] : 0;
  const kept = whole > 0 && Math.abs(perElement - whole / group - whole) < 1e-9;
  const over = level && (kept || perElement * group <= level.widest + 1e-9) ? group : 1;
  return {
    path: [say(kind)],
    draft: {
      name: place.copies > 1 ? `${place.name} ${weight.name}` : weight.name,
      value: bytes,
      unit: 'bytes',
      why: why && say(why),
      formula: weightFormula(weight, copies, bytes, over, whole),
      source: context.explanation(category)?.source,
      tensor: {
        shape: weight.shape,
        bytesEach: bytes / copies,
        count: copies,
      },
    },
  };
}
