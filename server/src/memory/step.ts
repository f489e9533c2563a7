import { oncePer } from '../memo/remembered';
import type { Weight } from '../model/tape';
import type { Moment } from '../results/estimate';
import type { TrainingRun } from '../run/fields';
import { say, spoken } from '../wording/say';
import { bytesWords } from './formula-words';
import { keepsEntries, withKeptEntries } from './kept-entries';
import { type LayerPlace, layerPlaces, layerWords } from './layer-places';
import { combine, copyOf, emptyLedger, type Ledger, post, type Term, totalOf } from './ledger';
import { bytesOfAll, type Excursion, gradientsOf, rounded, savedStorages } from './play';
import type { SharedGradient, SharedGradients } from './play-backward';
import { rememberedSegment } from './remembered-segment';
import type { Segment } from './segment';
import { NONE, type Passage, type Plan, type Sharding } from './sharding-scheme';
import { SOURCES } from './sources';
import { isOfValueModel, type TracedStage } from './traced-run';
import { bytesPer, ownWeights } from './weights';

/** One point of the timeline: the highest bytes of a stretch, by category, per GPU. */
export interface Point {
  readonly moment: Moment;
  readonly label: string;
  readonly ledger: Ledger;
  readonly bytes: number;
  /** Alike layers between the point before and this one; the level changes by the same amount with each. */
  readonly skipped?: number;
  /** It takes this much only where there is room, and does with less elsewhere. */
  readonly yields?: boolean;
}

export interface StepWalk {
  readonly points: readonly Point[];
  readonly peak: Point;
  /** What was walked. */
  readonly stretches: readonly Stretch[];
  readonly plan: Plan;
  /** The level when backward is over. */
  readonly afterBackward: Ledger;
}

/** Segments of one kind that follow each other. */
export interface Stretch {
  readonly traced: TracedStage;
  readonly segment: Segment;
  /** Segments of this kind that follow each other. */
  readonly repeats: number;
  readonly place: LayerPlace;
}

/**
 * Walks one optimizer step in order: forward stage by stage, the loss, backward with recomputation and reduction, the
 * optimizer. Within a run of identical segments the level changes by the same amount each time, so its highest point
 * lies at one of its ends: only those two are evaluated, and depth costs nothing.
 *
 * With accumulation the last micro step is walked: gradients of the earlier ones are there from its beginning.
 */
export function walkStep(
  stages: readonly TracedStage[],
  run: TrainingRun,
  sharding: Sharding,
  constant: Ledger,
): StepWalk {
  const base = combine(sharding.atRest, constant);
  const plan = sharding.plan(stages);
  const stretches = stretchesOf(stages, run, sharding);
  const walk = new Walk(combine(base, sharding.throughout, sharding.gradientsBefore, plan.start));
  const late = sharding.gradientsThroughForward ?? emptyLedger();
  walk.change(late);
  const kept = keptResults(stages);
  const held = heldByGraph(stages);
  // Logits of the step before, and what hangs on their graph, until those of this one take their variable.
  const next = run['loss.keptLogits'] === 'next-step';
  if (next) walk.change(kept, held);
  const named = namedInputs(stages);
  const collected = collectedUntilLoss(stages);
  walk.change(batchInputs(stages), named, collected);
  walk.mark('forward', say('step begins'));
  walkForward(walk, stretches, plan, run);
  walk.change([late, -1], [collected, -1], plan.backward);
  // Logits that only the forward's result held are gone with it.
  if (/^backward/.test(run['loss.keptLogits'])) walk.change(kept);
  if (next) walk.change([held, -1]);
  walkBackward(walk, stretches, plan);
  walk.change([named, -1]);
  const afterBackward = walk.level;
  for (const moment of plan.end)
    walk.mark('gradient-reduction', say('gradients outside the layers'), combine(afterBackward, moment));
  const atStep = combine(base, sharding.gradientsAtStep);
  walk.mark('gradient-reduction', say('gradients ready'), atStep);
  walk.mark('optimizer-step', say('optimizer step'), combine(atStep, sharding.duringStep));
  // Gradients are gone; every GPU gets what the others stepped, in place: ZeRO into its flat weights
  // (`all_gather_into_tensor`), Megatron into its parameter buffer. FSDP gathers with the next forward.
  if (sharding.gathersStepped)
    walk.mark('parameter-gather', say('stepped weights are gathered in place'), base);
  return { points: walk.points, peak: walk.peak, stretches, plan, afterBackward };
}

function walkForward(walk: Walk, stretches: readonly Stretch[], plan: Plan, run: TrainingRun): void {
  let cached = emptyLedger();
  let namedByModel = emptyLedger();
  let returned = NONE;
  for (const stretch of stretches) {
    const { segment, traced, repeats } = stretch;
    const own = returnedBeside(traced, run);
    // What the layer before returned has its name until this one returns.
    const around = {
      ...forwardAround(stretch, plan),
      before: traced.stage.role === 'layer' ? returned : NONE,
    };
    if (traced.stage.role === 'head') {
      // The body has returned, and its names are gone.
      walk.change([namedByModel, -1]);
      namedByModel = emptyLedger();
    }
    const moment: Moment = traced.stage.role === 'head' ? 'loss' : 'forward';
    walk.pass(
      moment,
      segment.forward,
      own === NONE ? around : { ...around, between: own, alike: false },
      repeats,
      (i) => describe(stretch, i, segment.forward.operator),
    );
    if (traced.stage.role === 'layer') returned = own;
    if (traced.drops) walk.change([bytesOfAll(traced.drops), -1]);
    cached = combine(cached, [segment.cachedCopies, repeats]);
    const named = heldByModel(traced);
    walk.change([named, traced.copies]);
    namedByModel = combine(namedByModel, [named, traced.copies]);
  }
  walk.change([namedByModel, -1]);
  // Autocast exits when forward is over and drops the copies that nobody else holds.
  walk.change([cached, -1]);
}

function walkBackward(walk: Walk, stretches: readonly Stretch[], plan: Plan): void {
  for (let s = stretches.length - 1; s >= 0; s--) {
    const stretch = stretches[s];
    if (!stretch) continue;
    const { segment, repeats, traced } = stretch;
    if (traced.begins) walk.change(gradientsOf(traced.begins));
    walk.pass('backward', segment.backward, backwardAround(stretch, plan), repeats, (i) =>
      describe(stretch, repeats - 1 - i, segment.backward.operator),
    );
    if (traced.releases) walk.change([bytesOfAll(traced.releases), -1]);
  }
}

/** The level of memory as a step goes on, and the points of it that are shown. Bytes per GPU. */
class Walk {
  readonly points: Point[] = [];
  level: Ledger;
  /** Gradients that segments keep, of which the newest are those in flight, which the walk counts as well. */
  private handedOn: Ledger = emptyLedger();

  constructor(level: Ledger) {
    this.level = level;
  }

  change(...by: readonly Term[]): void {
    this.level = combine(this.level, ...by);
  }

  mark(moment: Moment, label: string, ledger = this.level, skipped = 0): void {
    this.points.push({ moment, label, ledger, bytes: totalOf(ledger), ...(skipped > 0 && { skipped }) });
  }

  /** The highest point; the first of those that are as high. */
  get peak(): Point {
    let peak = this.points[0] ?? {
      moment: 'forward',
      label: '',
      ledger: this.level,
      bytes: totalOf(this.level),
    };
    for (const point of this.points) if (point.bytes > peak.bytes) peak = point;
    return peak;
  }

  /** Copies of a segment, one after the other. */
  pass(
    moment: Moment,
    excursion: Excursion,
    around: Around,
    repeats: number,
    label: (copy: number) => string,
  ): void {
    // With gathers and reductions the second copy and the last but one differ from the ends.
    const copies = around.alike ? [0, repeats - 1] : [0, 1, ...around.watch, repeats - 2, repeats - 1];
    let previous = 0;
    for (const copy of new Set(copies.filter((i) => i >= 0 && i < repeats))) {
      const { ledgers, words } = highestOf(excursion, around.passage(copy), moment === 'backward');
      const twice = copy > 0 && around.keptGradients ? around.keptGradients : this.handedOn;
      const named = (copy === 0 ? around.before : around.between) ?? NONE;
      const there = combine(this.level, [around.change, copy], ...ledgers, [twice, -1], named);
      this.mark(moment, `${label(copy)}${words}`, there, copy - previous - 1);
      previous = copy;
    }
    this.change([around.change, repeats]);
    if (around.keptGradients) this.handedOn = around.keptGradients;
  }
}

function totalOfAll(ledgers: readonly Ledger[]): number {
  let bytes = 0;
  for (const ledger of ledgers) bytes += totalOf(ledger);
  return bytes;
}

/** The highest moment of a copy's passage, on top of the level there: which it is does not depend on that. */
function highestOf(
  { peak, exit, halves }: Excursion,
  { before, during, after, otherHalf }: Passage,
  isBackward: boolean,
): { readonly ledgers: readonly Ledger[]; readonly words: string } {
  let ledgers = [during, peak];
  if (halves && otherHalf) {
    const [own, other] = isBackward ? [halves.second, halves.first] : [halves.first, halves.second];
    const moments = [
      [during, own.peak],
      [otherHalf.during, other.peak],
      [otherHalf.enters, halves.between],
    ];
    ledgers = moments.reduce((most, there) => (totalOfAll(there) > totalOfAll(most) ? there : most));
  }
  let most = totalOfAll(ledgers);
  let words = '';
  if (totalOf(before) > most) {
    ledgers = [before];
    most = totalOf(before);
    words = `, ${say('weights gathered')}`;
  }
  const exitBytes = totalOf(exit);
  for (const reduction of after) {
    const bytes = exitBytes + totalOf(reduction);
    if (bytes <= most) continue;
    ledgers = [exit, reduction];
    most = bytes;
    words = `, ${say('gradients reduced')}`;
  }
  return { ledgers, words };
}

/** What a scheme adds around each copy of a stage. */
interface Around {
  /** By the copy's number in the order of the pass. */
  readonly passage: (copy: number) => Passage;
  /** What a copy leaves, the excursion included. */
  readonly change: Ledger;
  /** Every copy but the ends is like its neighbours. */
  readonly alike: boolean;
  /** Copies that are not, beside the ends. */
  readonly watch: readonly number[];
  /** What has a name from before the first copy, or from the copy before, until this one returns. */
  readonly before?: Ledger;
  readonly between?: Ledger;
  /** In what a copy leaves: gradients that it keeps, and hands on. */
  readonly keptGradients?: Ledger;
}

/** Nothing beside the stage itself. */
const ALONE: Passage = { before: NONE, during: NONE, after: [] };

function forwardAround({ traced, segment, repeats }: Stretch, plan: Plan): Around {
  const { exit } = segment.forward;
  const own = plan.stages.get(traced);
  if (!own) return { passage: () => ALONE, change: exit, alike: true, watch: [] };
  return {
    passage: (copy) => own.forward(copy, repeats),
    change: combine(exit, [own.forwardChange, segment.layers]),
    alike: false,
    watch: [],
  };
}

function backwardAround({ traced, segment, repeats }: Stretch, plan: Plan): Around {
  const own = plan.stages.get(traced);
  if (!own) return { passage: () => ALONE, change: segment.backward.exit, alike: true, watch: [] };
  const exit =
    own.reducesTo === undefined
      ? segment.backward.exit
      : sharded(segment.backward, traced, segment.layers, own.reducesTo).exit;
  return {
    passage: (copy) => own.backward(copy, repeats),
    change: combine(exit, [own.backwardChange, segment.layers]),
    alike: false,
    watch: own.watch ?? [],
    keptGradients: segment.keptGradients,
  };
}

/**
 * Token ids and the like that come with the batch and that backward needs, and what a stage passes on as it got it, such as a
 * waveform, which a later one keeps or gives back: the loop hands them in, no stage makes them.
 */
function batchInputs(stages: readonly TracedStage[]): Ledger {
  const inputs = emptyLedger();
  for (const { tape, copies } of stages) {
    const saved = savedStorages(tape);
    const leaving = new Set(tape.exit.map((x) => x.storage));
    tape.entry.forEach(({ storage }, position) => {
      if (tape.origins[position] || !(saved.has(storage) || leaving.has(storage))) return;
      post(inputs, 'activations', copies * rounded(storage.bytes), storage);
    });
  }
  return inputs;
}

/** Parts of the batch that autograd keeps copies of alone: the training loop names them. */
function namedInputs(stages: readonly TracedStage[]): Ledger {
  const named = emptyLedger();
  for (const { tape } of stages) {
    const saved = savedStorages(tape);
    for (const storage of tape.heldByLoop)
      if (!saved.has(storage)) post(named, 'activations', rounded(storage.bytes), storage);
  }
  return named;
}

/** What the model collects for its loss and no graph keeps: as if it were there from the beginning, since the last layer is the highest. */
function collectedUntilLoss(stages: readonly TracedStage[]): Ledger {
  return bytesOfAll(stages.flatMap(({ tape }) => tape.heldUntilLoss ?? []));
}

/** What the training loop keeps in variables of its own. */
function keptResults(stages: readonly TracedStage[]): Ledger {
  const kept = emptyLedger();
  for (const { tape, copies } of stages) {
    if (tape.keptBytes === 0) continue;
    post(kept, 'logits-and-loss', tape.keptBytes * copies, {
      name: say('logits that the training loop keeps in a variable'),
      formula: `${bytesWords(tape.keptBytes)}${copies > 1 ? ` × ${copies}` : ''}`,
      source: SOURCES.loss,
    });
  }
  return kept;
}

/** What the model's forward still names of a stage that has no use for it any more. */
function heldByModel({ tape }: TracedStage): Ledger {
  const held = emptyLedger();
  const saved = savedStorages(tape);
  for (const storage of tape.heldByModel) {
    if (saved.has(storage) || tape.exit.some((x) => x.storage === storage)) continue;
    post(held, 'activations', rounded(storage.bytes), storage);
  }
  return held;
}

/** What a checkpointed layer returns beside its result, of which nothing is kept; what is not checkpointed is kept anyway. */
function returnedBeside({ tape, stage, whole }: TracedStage, run: TrainingRun): Ledger {
  const names = tape.heldUntilNext ?? [];
  const recomputed = run['activations.checkpointing'] === 'full' && whole !== true;
  return stage.role === 'layer' && recomputed && names.length > 0 ? bytesOfAll(names) : NONE;
}

/** What nodes of the graph of the step before hold as plain attributes. */
function heldByGraph(stages: readonly TracedStage[]): Ledger {
  const held = emptyLedger();
  for (const { tape, copies } of stages) {
    for (const storage of tape.graphHeld) post(held, 'activations', copies * rounded(storage.bytes), storage);
  }
  return held;
}

/** Operators as people say them, where the tape's name would not do. */
export const OPERATOR_WORDS: readonly (readonly [RegExp, string])[] = [
  [/ backward$/, ''],
  [/ cast$/, ' cast'],
  [/loss\.log_softmax/, 'log-softmax of the loss'],
  [/loss\.log_probabilities/, 'log-probabilities'],
  [/loss\.(nll|chunked|row_chunks|in_place|compiled|vocab_parallel|loss_parallel|native)/, 'cross-entropy'],
  [/loss\.(float|shift)/, 'copy of the logits'],
  [/^.*fused_loss/, 'head and loss'],
  [/gated_product|act_fn/, 'MLP activation'],
  [/\.attention(\.\w+)?/, ' attention'],
  [/_/g, ' '],
];

/** Operators are few, and each is named in every walk: what people say is put together once in each language. */
const wordsOfOperators = oncePer((_language: ReturnType<typeof spoken>) => new Map<string, string>());

/** An operator of the tape as people say it. */
export function operatorWords(operator: string): string {
  const known = wordsOfOperators(spoken());
  let words = known.get(operator);
  if (words === undefined) {
    words = operator;
    for (const [pattern, word] of OPERATOR_WORDS) words = words.replace(pattern, say(word));
    words = say(words);
    known.set(operator, words);
  }
  return words;
}

function describe(stretch: Stretch, index: number, operator: string): string {
  const { stage } = stretch.traced;
  const layer =
    stage.role === 'layer' ? `${layerWords(stretch.place, index * stretch.segment.layers)}, ` : '';
  return `${layer}${operatorWords(operator === 'start' ? stage.name : operator)}`;
}

function stretchesOf(stages: readonly TracedStage[], run: TrainingRun, sharding: Sharding): Stretch[] {
  const shared = sharedGradients(stages);
  const keeps = keepsEntries(run);
  const places = layerPlaces(stages);
  return stages.map((traced, index) => {
    // Alternating layers share their tapes: each is played once.
    const played = rememberedSegment(traced, run, sharding.gradients, shared.get(traced));
    const segment = keeps ? withKeptEntries(played, traced) : played;
    const repeats = Math.ceil(traced.copies / segment.layers);
    return { traced, segment, repeats, place: places[index] ?? { first: 0, stack: '' } };
  });
}

/** A use of a weight that is used more than once. */
interface WeightUse {
  readonly traced: TracedStage;
  readonly name: string;
  /** What it gives is a new tensor that nobody else names. */
  readonly owned: boolean;
}

/** Trained weights that are used more than once, by one stage or by several (tied heads): their places by the stages that use them. */
function sharedGradients(stages: readonly TracedStage[]): Map<TracedStage, SharedGradients> {
  const shared = new Map<TracedStage, Map<string, SharedGradient[]>>();
  for (const list of usesOfWeights(stages).values()) {
    if (list.length < 2) continue;
    list.forEach(({ traced, name }, order) => {
      const own = shared.get(traced) ?? new Map<string, SharedGradient[]>();
      const place = {
        first: order === 0,
        last: order === list.length - 1,
        apart: order === 1 && list[0]?.owned === false,
      };
      own.set(name, [...(own.get(name) ?? []), place]);
      shared.set(traced, own);
    });
  }
  return shared;
}

/** Uses of each trained weight in the order of backward. Alike layers have the same names for weights of their own. */
function usesOfWeights(stages: readonly TracedStage[]): ReadonlyMap<string, readonly WeightUse[]> {
  const uses = new Map<string, WeightUse[]>();
  const owners = new Set(stages.flatMap(({ tape }) => tape.weights.flatMap(({ tiedTo }) => tiedTo ?? [])));
  [...stages].reverse().forEach((traced, place) => {
    for (const operation of [...traced.tape.operations].reverse()) {
      const owns = operation.keptGradients !== undefined || operation.ownsGradients === true;
      for (const { weight, castFromBytes } of operation.weightGrads) {
        const tied =
          weight.tiedTo !== undefined ||
          (traced.copies === 1 && (weight.role === 'embedding' || owners.has(weight.name)));
        const name = weight.tiedTo ?? weight.name;
        const key = `${tied ? '' : place}${isOfValueModel(traced) ? ' value' : ''} ${name}`;
        // Of products alone gradients are views (`mm(...).t()`), and of their matrices only.
        const view = operation.expensive && weight.role !== 'vector' && castFromBytes === 0 && !owns;
        uses.set(key, [...(uses.get(key) ?? []), { traced, name, owned: !view }]);
      }
    }
  });
  return uses;
}

/** Backward whose whole gradients give way to a shard of them at its end. */
function sharded(
  backward: Excursion,
  traced: TracedStage,
  layers: number,
  shardBytes: (weight: Weight) => number,
): Excursion {
  const exit = copyOf(backward.exit);
  const given = new Set(
    traced.tape.operations.flatMap(({ weightGrads }) => weightGrads.map(({ weight }) => weight.name)),
  );
  for (const weight of ownWeights(traced)) {
    if (!weight.trainable) continue;
    // Modules that are not played give no gradients that could go.
    const whole = given.has(weight.name) ? rounded(weight.localElements * bytesPer(weight.dtype)) : 0;
    post(exit, 'gradients', layers * (shardBytes(weight) - whole), weight);
  }
  return { ...backward, exit };
}
