import type { TracedStage } from '../memory/traced-run';
import type { Operation, Storage, Tape, Tensor, Weight } from '../model/tape';
import { say } from '../wording/say';
import { type WeightKind, weightKind } from './weight-kind';

/** Layers (or another part of the model) that share one tape. */
export interface TapePlace {
  /** For people: `layers 0-31`, `layers 0, 2, 4, ..., 30`, `embed_tokens`. */
  readonly name: string;
  readonly role: TracedStage['stage']['role'];
  /** Position of the first of them in forward order. */
  readonly order: number;
  readonly copies: number;
}

/** What the tape states of a storage. */
export interface StorageFacts {
  readonly place: TapePlace;
  /** The operator that makes it; none for what enters the stage. */
  readonly producer?: Operation;
  /** The tensor that it was made as; none for what an operator keeps of its own. */
  readonly tensor?: Tensor;
  /** Operators whose backward needs it. */
  readonly savers: readonly Operation[];
  readonly readers: readonly Operation[];
  readonly enters: boolean;
  readonly leaves: boolean;
}

interface WeightFacts {
  readonly place: TapePlace;
  readonly kind: WeightKind;
}

/** Everything that a label can be, by what the tapes know of it. */
export interface TapeIndex {
  readonly storages: ReadonlyMap<object, StorageFacts>;
  /** Tensors of the tapes: as labels they stand for their gradients. */
  readonly tensors: ReadonlyMap<object, { readonly place: TapePlace; readonly tensor: Tensor }>;
  readonly operations: ReadonlyMap<object, { readonly place: TapePlace; readonly operation: Operation }>;
  readonly weights: ReadonlyMap<object, WeightFacts & { readonly weight: Weight }>;
}

/** `0-3`, `0, 2, 4, 6`, `0, 2, 4, ..., 30`. */
function numbers(list: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const n of list) {
    const last = ranges.at(-1);
    if (last && last[1] === n - 1) last[1] = n;
    else ranges.push([n, n]);
  }
  const words = ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
  return words.length > 5 ? `${words.slice(0, 3).join(', ')}, ..., ${words.at(-1)}` : words.join(', ');
}

/** Places of the model by the tape that they share. */
function placesOf(stages: readonly TracedStage[]): Map<Tape, TapePlace> {
  const used = new Map<Tape, { traced: TracedStage; order: number; layers: number[]; copies: number }>();
  const counted = new Map<string, number>();
  stages.forEach((traced, order) => {
    const { stage, tape, copies } = traced;
    const from = counted.get(stage.name) ?? 0;
    counted.set(stage.name, from + copies);
    const place = used.get(tape) ?? { traced, order, layers: [], copies: 0 };
    for (let i = 0; i < copies; i++) place.layers.push(from + i);
    place.copies += copies;
    used.set(tape, place);
  });
  return new Map(
    [...used].map(([tape, { traced, order, layers, copies }]) => {
      const { role, name } = traced.stage;
      const several = role === 'layer' || copies > 1;
      // Most are names of the reference code; `head` is a word.
      const words = several ? `${name} ${numbers(layers)}` : say(name);
      return [tape, { name: words, role, order, copies }];
    }),
  );
}

/** Indexes the tapes of the given stages. */
export function indexTapes(stages: readonly TracedStage[]): TapeIndex {
  const storages = new Map<Storage, StorageFacts>();
  const tensors = new Map<object, { place: TapePlace; tensor: Tensor }>();
  const operations = new Map<object, { place: TapePlace; operation: Operation }>();
  const weights = new Map<object, WeightFacts & { weight: Weight }>();
  for (const [tape, place] of placesOf(stages)) {
    const facts = new Map<
      Storage,
      {
        producer?: Operation;
        tensor?: Tensor;
        savers: Operation[];
        readers: Operation[];
        enters: boolean;
        leaves: boolean;
      }
    >();
    const of = (storage: Storage) => {
      let known = facts.get(storage);
      if (!known) {
        known = { savers: [], readers: [], enters: false, leaves: false };
        facts.set(storage, known);
      }
      return known;
    };
    for (const x of tape.entry) {
      of(x.storage).enters = true;
      of(x.storage).tensor ??= x;
    }
    for (const operation of tape.operations) {
      operations.set(operation, { place, operation });
      for (const x of operation.inputs) {
        of(x.storage).readers.push(operation);
        tensors.set(x, { place, tensor: x });
      }
      for (const x of operation.outputs) {
        tensors.set(x, { place, tensor: x });
        const made = of(x.storage);
        if (made.enters) continue;
        made.tensor ??= x;
        made.producer ??= operation;
      }
      for (const copy of operation.weightCopies) of(copy).producer ??= operation;
      for (const storage of new Set(operation.saves)) {
        of(storage).savers.push(operation);
        if (!of(storage).enters) of(storage).producer ??= operation;
      }
    }
    for (const x of tape.exit) {
      of(x.storage).leaves = true;
      tensors.set(x, { place, tensor: x });
    }
    for (const [storage, known] of facts) storages.set(storage, { place, ...known });
    for (const weight of tape.weights)
      weights.set(weight, { place, weight, kind: weightKind(weight, place.role) });
    // A gradient in another type than its weight names a copy of it.
    for (const { weightGrads } of tape.operations) {
      for (const { weight } of weightGrads) {
        const known =
          weights.get(weight) ?? weights.get(tape.weights.find(({ name }) => name === weight.name) ?? weight);
        weights.set(weight, known ?? { place, weight, kind: weightKind(weight, place.role) });
      }
    }
  }
  return { storages, tensors, operations, weights };
}

/** Both together. */
export function joined(a: TapeIndex, b: TapeIndex): TapeIndex {
  return {
    storages: new Map([...b.storages, ...a.storages]),
    tensors: new Map([...b.tensors, ...a.tensors]),
    operations: new Map([...b.operations, ...a.operations]),
    weights: new Map([...b.weights, ...a.weights]),
  };
}
