import { type EstimateInput, tracedEstimate } from '../estimate';
import { itemsIn, journaled, type Label, type LabelWords } from '../memory/ledger';
import { OPTIMIZER_COSTS } from '../memory/optimizers';
import { CATEGORY } from '../memory/play';
import { packedBytes } from '../memory/quantization';
import { type Sharding, shardGroupSize } from '../memory/sharding-scheme';
import { operatorWords } from '../memory/step';
import { type TracedStage, traceSettings } from '../memory/traced-run';
import { bytesPer } from '../memory/weights';
import { grownModel } from '../model/grown-model';
import { ELEMENT_BYTES, type Operation, type Storage, type TensorDType, type Weight } from '../model/tape';
import { CATEGORIES, type Category, type Moment } from '../results/estimate';
import { categoryLabel } from '../results/labels';
import type { TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import { type SampleSizes, shapeWords } from './formula';
import { labelledShardingOf } from './labelled-sharding';
import { indexTapes, joined, type TapeIndex, type TapePlace } from './tape-index';

/** What a request is for. */
type RequestKind =
  | 'result'
  | 'kept'
  | 'temporary'
  | 'gradient'
  | 'weight'
  | 'weight-copy'
  | 'weight-gradient'
  | 'state'
  | 'buffer';

/** One thing that a run asks the allocator for, by name. Bytes of one GPU, before the allocator rounds them. */
export interface NamedRequest {
  /** For people: `copy of the logits`. */
  readonly name: string;
  /** Part of the model, for people: `layers 0-31`. Empty for what belongs to none. */
  readonly place: string;
  /** Name of the operator or weight as the reference code has it. */
  readonly code: string;
  readonly kind: RequestKind;
  readonly moment: Moment;
  readonly category: Category;
  readonly bytes: number;
  readonly shape?: readonly number[];
  readonly dtype?: TensorDType;
  /** `4 B x 1 sample x 4096 tokens x 128256`. */
  readonly formula?: string;
  /** How its bytes grow with the batch: not at all, with its tokens, or with tokens times the length. */
  readonly grows: 0 | 1 | 2;
  /** Whether its last dimension is the vocabulary, on one GPU. */
  readonly overVocabulary?: boolean;
}

/** The named requests of a run, and the sizes that they come from. */
export interface RequestsOfRun {
  readonly requests: readonly NamedRequest[];
  /** Samples of the model's batch and tokens of each, per GPU. */
  readonly batch: number;
  readonly sequence: number;
}

/**
 * Everything that one GPU asks the allocator for, moment by moment: results, what autograd keeps, temporaries and gradients
 * from the tapes; weights, states and buffers from what the scheme of sharding holds. Throws nothing where `estimate` does not.
 */
export function namedRequests(input: EstimateInput): RequestsOfRun {
  const { run } = input;
  const model = grownModel(input.model, run['method.newLayers']);
  const { result, itemsOf } = journaled(() => tracedEstimate(input, labelledShardingOf));
  const { stages, held, evaluated = [], walk, sharding } = result;
  const { batch, sequence } = traceSettings(run, model);
  const index = joined(indexTapes(held), indexTapes(evaluated));
  const requests = new Requests({ batch, sequence });
  for (const traced of stages) requests.addStage(traced, index, false);
  for (const traced of evaluated) requests.addStage(traced, index, true);
  for (const traced of held) requests.addWeights(traced, index, run, sharding);
  for (const point of walk.points) {
    const items = itemsOf(point.ledger);
    for (const category of CATEGORIES) {
      for (const [label, bytes] of itemsIn(items, category))
        requests.addHeld(label, bytes, category, point.moment, index, run, sharding);
    }
  }
  const { buffers = [], step = [], gathered = 0 } = walk.plan.requests;
  for (const bytes of buffers)
    requests.addBuffer(say('reduction buffer'), bytes, 'communication-buffers', 'gradient-reduction');
  for (const bytes of step)
    requests.addBuffer(
      say('flattened gradients of the step'),
      bytes,
      'optimizer-transients',
      'optimizer-step',
    );
  requests.addBuffer(say('gathered weights'), gathered, 'gathered-parameters', 'forward');
  for (const [traced, { reduced = 0, unsharded = 0 }] of walk.plan.stages) {
    const place = placeOf(traced, index);
    requests.addBuffer(
      say('gradients of a layer, joined for their reduction'),
      reduced,
      'communication-buffers',
      'gradient-reduction',
      place,
    );
    requests.addBuffer(
      say('gathered weights of a layer'),
      unsharded,
      'gathered-parameters',
      'forward',
      place,
    );
  }
  return { requests: [...requests.all.values()], batch, sequence };
}

/** Categories that a scheme may hold in one flat tensor. */
const FLAT: ReadonlySet<Category> = new Set(['weights', 'master-weights', 'gradients', 'optimizer-states']);

class Requests {
  readonly all = new Map<string, NamedRequest>();
  readonly #sizes: SampleSizes;
  readonly #sums = new Map<Category, number>();

  constructor(sizes: SampleSizes) {
    this.#sizes = sizes;
  }

  #add(request: NamedRequest): void {
    if (!(request.bytes >= 1)) return;
    const key = [request.name, request.place, request.kind, request.moment, request.bytes].join('\n');
    if (!this.all.has(key)) this.all.set(key, request);
  }

  addBuffer(name: string, bytes: number, category: Category, moment: Moment, place = ''): void {
    this.#add({ name, place, code: '', kind: 'buffer', moment, category, bytes, grows: 0 });
  }

  /** What the operators of a stage make, forward and backward. */
  addStage(traced: TracedStage, index: TapeIndex, evaluates: boolean): void {
    const { tape, stage } = traced;
    const place = placeOf(traced, index);
    const forward: Moment = evaluates ? 'evaluation' : stage.role === 'head' ? 'loss' : 'forward';
    const seen = new Set<Storage>(tape.entry.map((x) => x.storage));
    for (const operation of tape.operations) {
      const shared = { place, code: operation.name } as const;
      for (const x of operation.outputs) {
        if (seen.has(x.storage)) continue;
        seen.add(x.storage);
        this.#addStorage(x.storage, {
          ...shared,
          moment: forward,
          kind: 'result',
          operation,
          shape: x.shape,
          dtype: x.dtype,
        });
      }
      for (const storage of operation.saves) {
        if (seen.has(storage)) continue;
        seen.add(storage);
        this.#addStorage(storage, { ...shared, moment: forward, kind: 'kept', operation });
      }
      for (const storage of operation.weightCopies)
        this.#addStorage(storage, { ...shared, moment: forward, kind: 'weight-copy', operation });
      this.#addScratch(operation, operation.forwardScratch, forward, place);
      if (!evaluates) this.#addBackward(operation, place);
    }
  }

  #addStorage(
    storage: Storage,
    what: Pick<NamedRequest, 'place' | 'code' | 'moment' | 'kind' | 'shape' | 'dtype'> & {
      readonly operation: Operation;
    },
  ): void {
    const { operation, ...own } = what;
    const words = operatorWords(operation.name);
    const copy = storage.kind === 'weight-copy';
    this.#add({
      ...own,
      name: copy
        ? say('low-precision copy of the weight of {0}', words)
        : own.kind === 'kept'
          ? say('what {0} keeps for its backward', words)
          : // Words that name what is made, not what makes it.
            /loss\.(float|shift|log_softmax|log_probabilities)/.test(operation.name)
            ? words
            : say('result of {0}', words),
      category: CATEGORY[storage.kind],
      bytes: storage.bytes,
      grows: copy || storage.fixed ? 0 : storage.quadratic ? 2 : this.#growsWithTokens(own.shape),
      ...this.#formulaOf(own.shape, own.dtype),
      ...(storage.kind === 'logits' && isOverVocabulary(operation) ? { overVocabulary: true } : {}),
    });
  }

  #growsWithTokens(shape: readonly number[] | undefined): 0 | 1 {
    if (!shape) return 1;
    const { batch, sequence } = this.#sizes;
    return shape.some((size) => size === sequence || size === batch * sequence || size === batch) ? 1 : 0;
  }

  #formulaOf(shape: readonly number[] | undefined, dtype: TensorDType | undefined): { formula?: string } {
    if (!shape || !dtype) return {};
    return { formula: `${ELEMENT_BYTES[dtype]} ${say('B')} × ${shapeWords(shape, this.#sizes)}` };
  }

  #addScratch(operation: Operation, bytes: number, moment: Moment, place: string): void {
    const logits = operation.outputs[0]?.storage.kind === 'logits';
    this.#add({
      name: say('temporary of {0}', operatorWords(operation.name)),
      place,
      code: operation.name,
      kind: 'temporary',
      moment,
      category: CATEGORY[operation.outputs[0]?.storage.kind ?? 'activation'],
      bytes,
      grows: operation.outputs.some(({ storage }) => storage.quadratic) ? 2 : 1,
      ...(logits && isOverVocabulary(operation) ? { overVocabulary: true } : {}),
    });
  }

  #addBackward(operation: Operation, place: string): void {
    operation.inputs.forEach((x, position) => {
      if (!x.requiresGrad || operation.gradRules[position] !== 'new') return;
      this.#add({
        name: say('gradient of the input of {0}', operatorWords(operation.name)),
        place,
        code: operation.name,
        kind: 'gradient',
        moment: 'backward',
        category: CATEGORY[x.storage.kind],
        bytes: x.elements * ELEMENT_BYTES[x.dtype],
        shape: x.shape,
        dtype: x.dtype,
        grows: x.storage.quadratic ? 2 : this.#growsWithTokens(x.shape),
        ...this.#formulaOf(x.shape, x.dtype),
        ...(x.storage.kind === 'logits' ? { overVocabulary: true } : {}),
      });
    });
    for (const { weight, bytes, castFromBytes } of operation.weightGrads) {
      for (const size of new Set([bytes, castFromBytes])) this.#addWeightGradient(weight, size, place);
    }
    this.#addScratch(operation, operation.backwardScratch, 'backward', place);
  }

  #addWeightGradient(weight: Weight, bytes: number, place: string): void {
    this.#add({
      name: say('gradient of {0}', weight.name),
      place,
      code: weight.name,
      kind: 'weight-gradient',
      moment: 'backward',
      category: 'gradients',
      bytes,
      shape: weight.shape,
      grows: 0,
    });
  }

  /** Weights as loading makes them: in the type that they rest in, and in fp32 where something casts them up. */
  addWeights(traced: TracedStage, index: TapeIndex, run: TrainingRun, { explains }: Sharding): void {
    const place = placeOf(traced, index);
    let whole = 0;
    for (const weight of traced.tape.weights) {
      if (weight.tiedTo !== undefined) continue;
      whole += weight.localElements;
      const widths = new Set([bytesPer(weight.dtype), bytesPer(run['precision.weights']), 4]);
      for (const width of widths) {
        this.#add({
          name: say('weight {0}', weight.name),
          place,
          code: weight.name,
          kind: 'weight',
          moment: 'initialization',
          category: 'weights',
          bytes: weight.localElements * width,
          shape: weight.shape,
          dtype: width === 4 ? 'fp32' : weight.dtype,
          grows: 0,
        });
      }
      if (weight.quantization !== 'none')
        this.#addLoaded(say('quantized weight {0}', weight.name), place, weight, packedBytes(weight, run));
      for (const elements of matricesOfExpert(weight))
        for (const width of widths)
          this.#addLoaded(say('weight {0} of one expert', weight.name), place, weight, elements * width);
    }
    if (!explains.gathers) return;
    const { 'precision.compute': compute, 'precision.weights': stored } = run;
    for (const width of new Set([bytesPer(compute), bytesPer(stored), 4]))
      this.addBuffer(
        say('gathered weights of a layer'),
        whole * width,
        'gathered-parameters',
        'forward',
        place,
      );
    // FSDP 1 has one flat weight for each wrapped unit, and so one gradient and one of each state.
    if (explains.flat !== 'units') return;
    const shard = whole / Math.max(1, shardGroupSize(run));
    const name = say("this GPU's share of a layer's flat weight");
    for (const width of [2, 4])
      this.addBuffer(name, shard * width, 'optimizer-states', 'optimizer-step', place);
  }

  #addLoaded(name: string, place: string, { name: code }: Weight, bytes: number): void {
    this.#add({
      name,
      place,
      code,
      kind: 'weight',
      moment: 'initialization',
      category: 'weights',
      bytes,
      grows: 0,
    });
  }

  /** What a scheme holds at a moment: of one weight, or under words of its own. */
  addHeld(
    label: Label,
    held: number,
    category: Category,
    moment: Moment,
    index: TapeIndex,
    run: TrainingRun,
    { explains }: Sharding,
  ): void {
    const weight = index.weights.get(label);
    if (weight) {
      if (!STATES.has(category) || (category === 'weights' && moment !== 'initialization')) return;
      const each = held / Math.max(1, weight.place.copies);
      const tensors = category === 'optimizer-states' ? statesPerWeight(run) : 1;
      this.#add({
        name: say('{0} of {1}', categoryLabel(category), weight.weight.name),
        place: weight.place.name,
        code: weight.weight.name,
        kind: 'state',
        moment: moment === 'initialization' ? moment : 'optimizer-step',
        category,
        bytes: Math.round(each / tensors),
        grows: 0,
      });
      if (!FLAT.has(category) || explains.flat !== 'partitions') return;
      this.#sum(category, label, held / tensors, moment);
      return;
    }
    if (index.storages.has(label) || index.tensors.has(label) || index.operations.has(label)) return;
    const { name, formula }: Partial<LabelWords> = label;
    // What is gathered changes from module to module: it is no one tensor.
    if (name === undefined || category === 'gathered-parameters') return;
    this.#add({
      name,
      place: '',
      code: '',
      kind: 'buffer',
      moment,
      category,
      bytes: Math.round(held),
      grows: 0,
      ...(formula ? { formula } : {}),
    });
  }

  readonly #flat = new Map<string, Set<Label>>();

  /** DeepSpeed keeps a GPU's share of all weights in one flat tensor of each kind. */
  #sum(category: Category, label: Label, bytes: number, moment: Moment): void {
    const key = `${category} ${moment}`;
    const known = this.#flat.get(key) ?? new Set();
    if (known.has(label)) return;
    known.add(label);
    this.#flat.set(key, known);
    this.#sums.set(category, (known.size === 1 ? 0 : (this.#sums.get(category) ?? 0)) + bytes);
    const name = say('flat {0} of this GPU', categoryLabel(category));
    const sum = Math.round(this.#sums.get(category) ?? 0);
    for (const [old, request] of this.all) if (request.name === name) this.all.delete(old);
    this.#add({
      name,
      place: '',
      code: '',
      kind: 'buffer',
      moment: 'initialization',
      category,
      bytes: sum,
      grows: 0,
    });
  }
}

/**
 * Elements of what a checkpoint holds of one expert, of a weight that stacks all of them: loading brings them to the device one
 * by one, gate and up of a joined weight each by itself (`transformers` 4, `MixtralBlockSparseTop2MLP`; 5 joins them there).
 */
function matricesOfExpert({ expert, shape, elements, name }: Weight): number[] {
  const [experts = 0] = shape;
  if (!expert || shape.length !== 3 || experts === 0) return [];
  const each = elements / experts;
  return /gate_?up/.test(name) ? [each, each / 2] : [each];
}

const STATES: ReadonlySet<Category> = new Set([
  'weights',
  'master-weights',
  'gradients',
  'optimizer-states',
  'optimizer-transients',
  'adapters',
]);

/** Tensors that an optimizer keeps of one weight. */
function statesPerWeight(run: TrainingRun): number {
  const { tensors, fixedBytes } = OPTIMIZER_COSTS[run['optimizer.name']];
  if (tensors > 0) return tensors;
  return fixedBytes === 8 || (fixedBytes > 2 && fixedBytes < 3) ? 2 : 1;
}

function isOverVocabulary(operation: Operation): boolean {
  return /head|logits|loss/.test(operation.name);
}

function placeOf(traced: TracedStage, index: TapeIndex): string {
  for (const operation of traced.tape.operations) {
    const known: TapePlace | undefined = index.operations.get(operation)?.place;
    if (known) return known.name;
  }
  return traced.stage.name;
}
