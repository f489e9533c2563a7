import type { ConfigDocument, ConfigNode, MapEntry } from '../../config/node';
import { LOADS } from '../../config/python/made-of';
import { isNone, nodeOf } from '../../config/python/node-of-value';
import { onCard } from '../../config/python/on-card';
import { callNames, TRAINS } from '../../config/python/python';
import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { flagOf } from '../../config/scalar';
import { findAccelerator } from '../../hardware/catalog';
import type { RunValues } from '../../run/fields';
import type { OpenQuestion } from '../../run/open-question';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading, RunMember } from '../dialect';
import { Draft } from '../draft';
import { trainerWords } from '../hf/hf-words';
import { launchQuestions } from '../hf/launch-question';
import { MODEL_ARGUMENTS_KEYS } from '../hf/model-arguments-keys';
import { PEFT_TABLE_KEYS } from '../hf/peft-config-keys';
import { readTrainingArguments, TRAINER_DEFAULTS, type TrainerDefaults } from '../hf/training-arguments';
import { TRAINING_ARGUMENTS_KEYS, TRAINING_ARGUMENTS_TABLE } from '../hf/training-arguments-keys';
import { checkTrainingArguments } from '../hf/training-arguments-rules';
import { namesOlmoCore, OLMO_CORE_PARTS } from '../olmo-core/olmo-core';
import { Section } from '../section';
import { checkLiger } from '../trl/liger-refusals';
import { readTrl } from '../trl/trl';
import { TRL_KEYS, TRL_TABLE } from '../trl/trl-keys';
import type { TrlMethod } from '../trl/trl-method';
import { checkTrl, checkWholeGroups } from '../trl/trl-rules';
import { trlWords } from '../trl/trl-words';
import { checkArgumentReleases } from './argument-releases';
import { modelsBeside } from './beside-models';
import {
  argumentOf,
  blockOf,
  type Calls,
  standIn,
  withdrawUnknown,
  withhold,
  withholdDefaults,
} from './call-block';
import { calledRecipe } from './called-recipe';
import { leaveDecisive } from './decisive-arguments';
import { readDeclaredParallel } from './declared-parallel';
import { inferVersions, narrowestLimit, noteNeeds } from './dropped-arguments';
import { emulatingLibraries } from './emulated-bf16';
import { checkEvaluationData } from './evaluation-data';
import { inferFromFile } from './file-releases';
import { readGeneratedLength } from './generated-length';
import { checkImportedNames } from './imported-names';
import { readPreparation } from './kbit-preparation';
import { readKeptCache } from './kept-cache';
import { readKeptPredictions } from './kept-predictions';
import { readLeafModules } from './leaf-modules';
import { readLigerPatches } from './liger-patches';
import { readLoop } from './loop-run';
import { adaptedByPeft, callsOnModel, chainOf, type ModelChain } from './model-chain';
import { inferUnslothGpu, isUnslothAlone, leaveNotebookTrainer, reachesNoGpu } from './one-process';
import { noteChangers, noteOtherModels } from './other-models';
import { otherStarts } from './other-starts';
import { leftToRecipe, namesOther, otherTraining, TRAINER_CONFIG, TRAINS_BY_RECIPE } from './other-training';
import { readOwnReference } from './own-reference';
import { type AdapterPlan, readAdapters, readCallsOnModel } from './python-adapters';
import { type LoadedModel, readModel, spreadsModel } from './python-model';
import { readGivenOptimizer } from './python-optimizer';
import {
  readAskedGpu,
  readEnvironment,
  readInstalls,
  readLaunchedProcesses,
  unslothInstalled,
  upgradedPackages,
} from './python-surroundings';
import {
  hasKernels,
  readScoredParts,
  readUnsloth,
  readUnslothTrainer,
  settleEvaluation,
  settleGroups,
  settlePrecision,
  settleTogether,
  unslothDefaults,
  unslothLoad,
} from './python-unsloth';
import { readReentryBefore } from './reentry';
import { readRouterLogits } from './router-logits';
import { inferMask } from './row-masks';
import { checkScaledGradients } from './scaled-gradients';
import { readScaledImages } from './scaled-images';
import { readTextsAlone } from './texts-alone';
import { limitKept, readTokenizedLength } from './tokenized-length';
import { readTokenizedRows } from './tokenized-rows';
import { checkTrainerArguments } from './trainer-arguments';
import { namesTrainer, TRAINER_NAMES } from './trainer-classes';
import { startOf } from './trainer-start';
import { type Training, trainings } from './training-call';
import { namesLoop, trainingLoop } from './training-loop';
import { stateUnpacked } from './unpacked-type';
import type { Batches } from './unsloth-length';
import { type PaddedBatches, readUnslothPadding } from './unsloth-padding';
import { readScoredPairs } from './unsloth-preference';
import { checkWrappedTwice } from './wrapped-twice';

/** Where a trainer's own limit stands in for a length that nobody states, data is mostly shorter. */
function lengthQuestions(members: readonly RunMember[]): OpenQuestion[] {
  const assumed = members.some(({ config }) =>
    config.reading.facts.some(({ field, origin }) => field === 'batch.sequence' && origin.kind === 'default'),
  );
  if (!assumed) return [];
  const reason = say('Nothing says how long samples are: the longest that the trainer keeps is taken.');
  return [{ field: 'batch.sequence', reason }];
}

/** One process is one GPU, unless the model is spread: a script that is started by hand takes what the machine has. */
function spreadQuestions(members: readonly RunMember[], values: RunValues): OpenQuestion[] {
  if (values['hardware.gpus'] !== 1) return [];
  const spreads = members.some(({ config: { document } }) =>
    document.program?.calls.some((call) => {
      const map = LOADS.test(call.callee) ? argumentOf(call, 'device_map') : undefined;
      return map?.kind === 'either' ? map.options.some(spreadsModel) : spreadsModel(map);
    }),
  );
  const reason = say('`device_map` spreads the model over all GPUs of the machine: one is assumed.');
  return spreads ? [{ field: 'hardware.gpus', reason }] : [];
}

/** A loop of one's own that puts its model on no GPU runs on the CPU as it stands: a figure of it is of the same loop on a GPU. */
function placeQuestions(members: readonly RunMember[], values: RunValues): OpenQuestion[] {
  // Quantized weights transformers places itself.
  if ((values['quantization.kind'] ?? 'none') !== 'none') return [];
  const stays = members.some(
    ({ config: { document, reading } }) =>
      document.program !== undefined &&
      reading.facts.some(({ field, origin }) => field === 'hardware.gpus' && origin.kind === 'inferred') &&
      reachesNoGpu(document.program),
  );
  const reason = say(
    'Nothing that is read puts the model on a GPU: as it stands the loop runs on the CPU. One GPU is assumed.',
  );
  return stays ? [{ field: 'hardware.gpus', reason, oneOfMany: true }] : [];
}

/** Scripts and notebooks that call a trainer. What they call counts, and what they pass; nothing of them is run. */
export const pythonRun: Dialect = {
  id: 'python',
  name: 'Python',
  ownScript: true,
  format: 'python',
  keys: [],
  markers: {
    test: (text) => namesTrainer(text) || namesLoop(text) || namesOther(text) || namesOlmoCore(text),
  },
  joins: {
    questions: (members, values) => [
      ...launchQuestions(members, values),
      ...lengthQuestions(members),
      ...spreadQuestions(members, values),
      ...placeQuestions(members, values),
    ],
  },
  detect(root: ConfigNode): number {
    if (root.kind !== 'map') return 0;
    const has = (name: (key: string) => boolean) =>
      root.entries.some(({ key }) => name(key.replace(/ \d+$/, '')));
    const names = (key: string) =>
      TRAINER_NAMES.has(key) ||
      [TRAINS, OLMO_CORE_PARTS, TRAINER_CONFIG, TRAINS_BY_RECIPE].some((one) => one.test(key));
    return has(names) ? 1 : 0;
  },
  releases: (document) => [...unslothInstalled(document), ...upgradedPackages(document)],
  read,
};

/** Of a package that the project has a copy of, no release is known. */
function withoutCopies(around: ReadContext, program: PyProgram | undefined): ReadContext {
  const copies = new Set((program?.ownCopies() ?? []).map(({ name }) => name));
  if (copies.size === 0 || !around.versions) return around;
  const others = Object.entries(around.versions).filter(([name]) => !copies.has(name));
  return { ...around, versions: Object.fromEntries(others) };
}

function read(document: ConfigDocument, around: ReadContext): Reading {
  const context = withoutCopies(around, document.program);
  const draft = new Draft(document, context);
  const gpu = context.known['hardware.gpu'];
  const card = typeof gpu === 'string' ? findAccelerator(gpu) : undefined;
  const program = document.program && settledOn(card, document.program, context);
  const [first, ...others] = program ? trainings(program) : [];
  const loop = program && !first ? trainingLoop(program) : undefined;
  const recipe = program && !first && !loop ? calledRecipe(program) : undefined;
  const other = program && !first && !loop && !recipe ? otherTraining(program) : undefined;
  draft.wholeAt = ofFile(first?.call ?? loop?.backward ?? recipe?.call ?? other?.call);
  if (other && program) {
    if (leftToRecipe(other, document, draft, context)) return draft.reading();
    readInstalls(document, draft);
    inferFromFile({ program, draft, bf16: card?.supports.bf16, installs: document.installs }, document);
    draft.leave('refused', { range: other.call.calleeRange }, other.library, other.words);
    return draft.reading();
  }
  if (!program || !(first || loop || recipe)) {
    draft.joinsOnly = true;
    return draft.reading();
  }
  const calls: Calls = {
    program,
    draft,
    bf16: card?.supports.bf16,
    installs: document.installs,
  };
  if (!first) {
    readInstalls(document, draft);
    readEnvironment(calls, false);
    readLaunchedProcesses(calls);
    readAskedGpu(document, draft, context.known, false);
    if (loop) readLoop(calls, loop, context);
    recipe?.read(calls, context);
    inferFromFile(calls, document);
    draft.rules(() => checkImportedNames(program, draft, context.versions));
    leaveDecisive(calls);
    stateUnpacked(draft);
    withdrawUnknown(draft);
    const trains = loop?.backward ?? recipe?.call;
    if (trains) {
      noteDoubts(calls, trains);
      reportOthers(calls, trains, []);
    }
    nameModelKeys(calls);
    return draft.reading();
  }
  const config = configOf(calls, first);
  if (config === 'launch' || config === 'elsewhere') {
    draft.joinsOnly = true;
    return draft.reading();
  }
  const lastTrl = narrowestLimit('version.trl', first.call, config)?.release;
  readInstalls(document, draft, {
    ...(lastTrl === undefined ? {} : { lastTrl }),
    versions: context.versions ?? {},
  });
  const load = unslothLoad(chainOf(calls.program, modelOf(first)));
  const onOne = isUnslothAlone(document, calls, load);
  readEnvironment(calls, onOne);
  readLaunchedProcesses(calls);
  readAskedGpu(document, draft, context.known, onOne);
  if (onOne && load) inferUnslothGpu(calls, load);
  readTraining(calls, first, config, context);
  leaveNotebookTrainer(document, calls, first.call, context);
  inferFromFile(calls, document);
  leaveDecisive(calls);
  stateUnpacked(draft);
  withdrawUnknown(draft);
  noteDoubts(calls, first.call);
  reportOthers(calls, first.call, others);
  draft.rules(() => checkTrainerArguments(calls, first.call));
  draft.rules(() => checkEvaluationData(calls, first, config));
  draft.rules(() => checkImportedNames(program, draft, context.versions));
  nameKeys(calls, first, config);
  return draft.reading();
}

/** A program with what it asks of the GPU and of the published model answered. */
function settledOn(
  card: ReturnType<typeof findAccelerator>,
  program: PyProgram,
  { known, model }: ReadContext,
): PyProgram {
  return onCard(program, {
    bytes: card?.usableBytes,
    bf16: card?.supports.bf16,
    emulating: emulatingLibraries(program, known),
    published: { id: known['model.id'], type: model?.publishedDtype },
  });
}

/** Where a call stands, if it stands in the file itself: what is reported of the whole run is reported there. */
function ofFile(call: PyCall | undefined): Range | undefined {
  return call?.calleeRange.uri === undefined ? call?.calleeRange : undefined;
}

/** The call that makes the arguments of a trainer; `launch` where whoever starts the script gives them, `elsewhere` where the text is a part of one. */
function configOf(
  { program, draft }: Calls,
  { call, kind }: Training,
): PyCall | 'launch' | 'elsewhere' | undefined {
  const given = argumentOf(call, 'args', kind.order.indexOf('args'));
  if (!given || isNone(given)) return undefined;
  const options: readonly PyValue[] = given.kind === 'either' ? given.options : [given];
  const object = options.find((option) => option.kind === 'object');
  const maker = object?.kind === 'object' ? program.calls[object.id]?.callee : undefined;
  // What anything else makes, such as a function of another module, may hold any arguments.
  const made =
    object?.kind === 'object' && object.item === undefined && /(Arguments|Config)$/.test(maker ?? '');
  if (made) {
    if (given.kind === 'either')
      draft.leave(
        'branch',
        { range: given.because },
        'args',
        say('Which arguments the trainer gets depends on a condition.'),
      );
    return program.calls[object.id];
  }
  if (options.some((option) => option.kind === 'unknown' && option.given === 'launch')) return 'launch';
  if (object && /^parse|(^|\.)parse_/.test(maker ?? '')) return 'launch';
  if (isBoundNowhere(program, given)) return 'elsewhere';
  const rows = kind.method === undefined ? TRAINING_ARGUMENTS_TABLE : TRL_TABLE;
  const fields = withholdDefaults(draft, { named: [] }, rows);
  const words = say('What the trainer is told is known only when the script runs.');
  draft.leave('words', { range: given.range }, 'args', words, fields);
  return undefined;
}

/** A name of a text that binds it nowhere, and takes all names of no module: as it stands it trains nothing. */
function isBoundNowhere({ imports }: PyProgram, value: PyValue): boolean {
  if (value.kind !== 'name' || value.name.includes('.')) return false;
  return !imports.some(
    ({ module, names }) => names.includes('*') || names.includes(value.name) || module === value.name,
  );
}

/** The model that a trainer is given. */
const modelOf = ({ call, kind }: Training): PyValue | undefined =>
  argumentOf(call, 'model', kind.order.indexOf('model'));

function readTraining(
  calls: Calls,
  { call, kind }: Training,
  config: PyCall | undefined,
  context: ReadContext,
): void {
  const { program } = calls;
  const chain = chainOf(program, modelOf({ call, kind }));
  const own = unslothLoad(chain);
  const loaded = own
    ? readUnsloth(calls, own, chain, call, context)
    : readModel(calls, chain, context, call, config);
  if (!own) readPreparation(calls, chain, call, context);
  if (!own) readDeclaredParallel(calls, chain, context);
  const adapted =
    own && !adaptedByPeft(chain) ? { byTrainer: false } : readAdapters(calls, call, chain, context);
  noteNeeds(calls, call, config);
  readKeptCache(calls, chain, call, config, context);
  if (!own) readTextsAlone(calls, call, context, false);
  readScaledImages(calls, startOf(program, call) ?? call, context);
  const optimizer = readGivenOptimizer(calls, call);
  noteOtherModels(calls, chain, call, context);
  noteChangers(calls, chain, call, optimizer);
  if (!own) readLigerPatches(calls, chain, call);
  if (!own) readCallsOnModel(calls, call, chain, adapted, context);
  if (kind.method === undefined) readTrainer(calls, call, config, context, chain);
  else readTrlTrainer(calls, { call, kind }, config, context, { chain, loaded, adapted });
  readRouterLogits(calls, chain, call, config, context);
  readLeafModules(calls, call, context);
  const scaled = { call, config, chain, ...(kind.method === undefined ? {} : { method: kind.method }) };
  if (own) return;
  readReentryBefore(calls, callsOnModel(program, chain, call.id), config, context);
  calls.draft.rules(() => checkScaledGradients(calls, scaled, context));
  calls.draft.rules(() => checkArgumentReleases(calls, config, context));
  calls.draft.rules(() => checkWrappedTwice(calls, call, chain, kind.method));
}

/** Arguments of `Trainer`. Lengths are those that the tokenizer is given. */
function readTrainer(
  calls: Calls,
  call: PyCall,
  config: PyCall | undefined,
  context: ReadContext,
  chain: ModelChain,
): void {
  const { draft } = calls;
  const unsloth = unslothLoad(chain);
  draft.assume('framework', 'transformers', say('the file calls {0}', '`Trainer`'));
  inferVersions(calls, call, config);
  const block = config ? blockOf(calls, config, TRAINING_ARGUMENTS_TABLE) : emptyBlock(call);
  const section = new Section(block, draft, config ? nameOf(calls, config) : '', TRAINING_ARGUMENTS_TABLE);
  readGeneratedLength(calls, call, config, context);
  readTrainingArguments(section, draft, context, TRAINER_DEFAULTS);
  readTokenizedLength(calls, call, context);
  if (unsloth && hasKernels(unsloth, context.model?.config))
    readUnslothTrainer(calls, unsloth, section, 'supervised', context);
  if (unsloth)
    readPadding(calls, call, unsloth, section, context, { batches: 'labelled', ...TRAINER_DEFAULTS });
  readKeptPredictions(calls, call, config, context);
  inferMask(calls, chain, context, section, section.integerOrDefault('per_device_train_batch_size'));
  checkTrainingArguments(block, section, TRAINING_ARGUMENTS_TABLE, 'Trainer', draft);
}

interface Before {
  readonly chain: ModelChain;
  readonly loaded: LoadedModel;
  readonly adapted: AdapterPlan;
}

/** Arguments of a trainer of TRL: those of its config, and those that older versions took themselves. */
function readTrlTrainer(
  calls: Calls,
  { call, kind }: Training,
  config: PyCall | undefined,
  context: ReadContext,
  { chain, loaded, adapted }: Before,
): void {
  const { draft } = calls;
  const method = kind.method ?? 'sft';
  const given = argumentOf(call, 'ref_model', kind.order.indexOf('ref_model'));
  const reference = readOwnReference(calls, chain, given, context);
  const stands: MapEntry[] = [];
  if (loaded.quantized) stands.push(standIn(`load_in_${loaded.quantized}bit`, true, call.calleeRange));
  const unsloth = unslothLoad(chain);
  const adapts =
    adapted.config ??
    (unsloth &&
      draft.facts.find(({ field, value }) => field === 'method.kind' && value === 'lora') &&
      unsloth);
  if (adapts) stands.push(standIn('use_peft', true, adapts.calleeRange));
  stands.push(...modelsBeside(calls, call, kind).map((entry) => inCall(calls, call, entry)));
  const own = blockOf(calls, call, TRL_TABLE)
    .entries.filter(({ key }) => TAKEN_BY_TRAINER.has(key))
    .map((entry) => inCall(calls, call, { ...entry, path: entry.key }));
  const settled = config && unsloth && method === 'grpo' ? settleTogether(calls, config) : config;
  const base = settled ? blockOf(calls, settled, TRL_TABLE) : emptyBlock(call);
  const inherited = base.entries.filter(({ key }) => !own.some((entry) => entry.key === key));
  const block = { ...base, entries: [...inherited, ...own, ...stands] };
  const section = new Section(block, draft, config ? nameOf(calls, config) : '', TRL_TABLE);
  draft.assume('framework', 'trl', say('the file calls {0}', `\`${call.callee.split('.').at(-1)}\``));
  if (!unsloth) inferVersions(calls, call, config);
  const plain = /(^|\.)(Seq2Seq)?TrainingArguments$/.test(config?.callee ?? '');
  const unslothOwn = unsloth ? unslothDefaults(calls, unsloth, context) : undefined;
  const defaults = plain ? withComputeOf(unslothOwn) : unslothOwn;
  if (unsloth) {
    readUnslothTrainer(calls, unsloth, section, batchesOf(method), context);
    if (method !== 'grpo' && method !== 'rloo')
      readPadding(calls, call, unsloth, section, context, {
        batches: paddedBatchesOf(method),
        ...(defaults ?? TRAINER_DEFAULTS),
      });
  }
  readTrl(section, '', draft, context, {
    method,
    because: say('the file calls {0}', `\`${call.callee.split('.').at(-1)}\``),
    ...(defaults ? { defaults } : {}),
    ...(reference ? { reference } : {}),
    ...(adapts && !adapted.byTrainer ? { adapted: { range: adapts.calleeRange } } : {}),
    ...(chain.name ? { loads: 'trainer' } : {}),
  });
  // That nothing asks for adapters states nothing where it is not known whether the model has them already.
  if (draft.unread.some(({ fields }) => fields?.includes('method.kind'))) draft.withdraw(['method.kind']);
  if (unsloth) settlePrecision(calls, unsloth, context);
  if (unsloth && method === 'grpo') {
    settleGroups(calls, section, context.known['hardware.gpus'], context.versions?.unsloth?.version);
    readScoredParts(calls, unsloth, context.versions?.unsloth?.version);
  }
  if (unsloth) readScoredPairs(calls, method, section, context);
  if (unsloth)
    settleEvaluation(calls, section, plain || config === undefined, context.versions?.unsloth?.version);
  if (method === 'sft') readKeptPredictions(calls, call, config, context);
  if (!unsloth && method === 'sft') readTokenizedRows(calls, call, context);
  if (method === 'sft') limitKept(calls, call, context);
  if (!unsloth && preparesItself(calls, call, config)) withhold(draft, ['batch.sequence']);
  checkTrl(block, section, method, draft);
  if (!unsloth) {
    checkWholeGroups(section, method, draft, context);
    checkLiger(section, method, draft, context);
  }
  // Cutting may take tokens of an image away: TRL's own examples set no limit there (`sft_vlm.py`).
  if (
    /(ForImageTextToText|ForVision2Seq|ForConditionalGeneration)\.from_pretrained$/.test(
      chain.load?.callee ?? '',
    )
  ) {
    const others = draft.problems.filter(({ code }) => code !== 'missing-length-cap');
    draft.problems.splice(0, draft.problems.length, ...others);
  }
}

function batchesOf(method: TrlMethod): Batches {
  if (method === 'sft') return 'supervised';
  if (method === 'reward' || method === 'gkd') return 'scored';
  return /^(dpo|kto|orpo|cpo|simpo)$/.test(method) ? 'preference' : 'generated';
}

/** The same, of batches that are padded: losses of preferences are taken of rows that are filled up on the right. */
function paddedBatchesOf(method: TrlMethod): PaddedBatches['batches'] {
  const batches = batchesOf(method);
  return batches === 'supervised' || batches === 'preference' ? batches : 'scored';
}

/** What Unsloth makes of the padding of a trainer's batches. */
function readPadding(
  calls: Calls,
  trainer: PyCall,
  unsloth: PyCall,
  section: Section,
  context: ReadContext,
  {
    batches,
    micro,
    accumulation,
  }: Pick<TrainerDefaults, 'micro' | 'accumulation'> & Pick<PaddedBatches, 'batches'>,
): void {
  const asked: PaddedBatches = {
    calls,
    trainer,
    section,
    context,
    kernels: hasKernels(unsloth, context.model?.config),
    accumulation: section.integer('gradient_accumulation_steps') ?? accumulation,
    batches,
  };
  readUnslothPadding(asked, unsloth, section.integer('per_device_train_batch_size') ?? micro);
}

/** Defaults of `TrainingArguments`, with the precision that Unsloth's trainer sets where they leave it open. */
function withComputeOf(unsloth: TrainerDefaults | undefined): TrainerDefaults {
  if (!unsloth) return TRAINER_DEFAULTS;
  const { compute, note, source } = unsloth;
  return { ...TRAINER_DEFAULTS, compute, computeBy: { note, source } };
}

/** Samples come to the collator as they are (`dataset_kwargs={"skip_prepare_dataset": True}`): no limit of the trainer cuts them. */
function preparesItself({ bf16 }: Calls, call: PyCall, config: PyCall | undefined): boolean {
  const words = [config, call].flatMap((one) => (one && argumentOf(one, 'dataset_kwargs')) ?? []);
  return words.some(
    (value) =>
      value.kind === 'dict' &&
      value.entries.some(
        (entry) => entry.key === 'skip_prepare_dataset' && flagOf(nodeOf(entry.value, { bf16 })) === true,
      ),
  );
}

/** Arguments that trainers of TRL took themselves before they had configs of their own (0.9 and older; deprecated until 0.13). */
const TAKEN_BY_TRAINER = new Set([
  'max_seq_length',
  'packing',
  'max_length',
  'max_prompt_length',
  'max_target_length',
  'beta',
  'loss_type',
  'neftune_noise_alpha',
  'precompute_ref_log_probs',
]);

/** An argument of the trainer itself that is read among those of its config. `path` of it: its name there. */
const inCall = (calls: Calls, call: PyCall, { path, ...entry }: MapEntry): MapEntry => ({
  ...entry,
  path: `${nameOf(calls, call)}.${path ?? entry.key}`,
});

/** Rows of the arguments that trainers took themselves. */
const TRAINER_ROWS = TRL_KEYS.filter(({ path }) => TAKEN_BY_TRAINER.has(path));

const emptyBlock = ({ argumentsRange }: PyCall) => ({
  kind: 'map' as const,
  entries: [] as MapEntry[],
  range: argumentsRange,
});

const nameOf = ({ program }: Calls, call: PyCall) => callNames(program).get(call.id) ?? '';

/**
 * Devices that are no GPU of PyTorch's own, by the calls that choose them. Moreh's accelerator is several GPUs that it shards the model over by
 * itself (https://github.com/moreh-dev/quickstart), wherever it is asked for: no other build of PyTorch has `torch.moreh`.
 */
const OTHER_DEVICES: readonly (readonly [name: string, call: (call: PyCall) => boolean, product: string])[] =
  [
    [
      'torch_xla',
      ({ callee, conditions }) => /^torch_xla\./.test(callee) && conditions.length === 0,
      'PyTorch/XLA',
    ],
    ['moreh', ({ callee }) => /^(?:torch\.)?moreh\./.test(callee), 'MoAI'],
  ];

/** What the trainer does beyond its arguments, and what a run of the file may do otherwise. */
function noteDoubts({ program, draft }: Calls, call: PyCall): void {
  for (const [name, called, product] of OTHER_DEVICES) {
    const found = program.calls.find(called);
    if (found)
      draft.leave(
        'refused',
        { range: found.calleeRange },
        name,
        say('{0} trains here: that is not estimated.', product),
      );
  }
  for (const { name, range } of program.ownCopies())
    draft.leave(
      'script',
      { range },
      name,
      say('`{0}` is imported from a copy that the project has of its own, which is not read.', name),
    );
  const { subclass, calleeRange, conditions, outside } = call;
  const loss = argumentOf(call, 'compute_loss_func');
  if (loss && !isNone(loss))
    draft.leave(
      'script',
      { range: loss.range },
      'compute_loss_func',
      say('The loss is computed by the code, which is not read.'),
      ['loss.implementation'],
    );
  if (subclass !== undefined)
    draft.leave(
      'script',
      { range: calleeRange },
      subclass,
      say("`{0}` is a class of the code's own: what it does otherwise is not read.", subclass),
    );
  // A condition of a loop's round decides about that round: the loop goes on.
  const [condition] = call.callee === 'backward' ? conditions.slice(0, outside) : conditions;
  if (condition)
    draft.leave(
      'branch',
      { range: condition },
      'train',
      say('Whether this run is started depends on a condition.'),
    );
  const flags = program.isLaunched
    ? undefined
    : program.calls.find((one) => takesCommandLine(one) && mayDecide(program, one));
  if (flags) {
    draft.leave(
      'words',
      { range: flags.calleeRange },
      flags.callee,
      say('The command line may say otherwise: its defaults are taken.'),
    );
    const milder = draft.problems.map((problem) =>
      problem.severity === 'error' ? { ...problem, severity: 'warning' as const } : problem,
    );
    draft.problems.splice(0, draft.problems.length, ...milder);
  }
  if (program.truncated)
    draft.leave('words', { range: calleeRange }, '...', say('The file does more than can be followed.'));
}

/** Arguments that name where something is, or what becomes of its records: nothing that is trained hangs on them. */
const ELSEWHERE =
  /(?:^|_)(?:url|uri|host|port|endpoint|seed|api_key|output_dir|cache_dir|log\w*|wandb\w*|report_to|run_name|hub_\w+|push_to_hub|num_workers)$/;

/** Whether what a parser takes may decide something of the run: not where all its arguments are seen, and each is about something else. */
function mayDecide({ calls }: PyProgram, { of, callee }: PyCall): boolean {
  if (!of || !/^parse/.test(callee)) return true;
  const added = calls.filter(({ callee: method }) => method === 'add_argument');
  return (
    added.length === 0 ||
    !added.every(({ positional }) =>
      positional.some(
        (name) =>
          name.kind === 'scalar' &&
          ELSEWHERE.test(String(name.value).replace(/^-+/, '').replaceAll('-', '_')),
      ),
    )
  );
}

/** Whether a call takes what the command line gives: parsers of arguments, and what makes flags of a function's parameters. */
function takesCommandLine({ callee, of }: PyCall): boolean {
  if (of !== undefined) return /^parse(_known)?_args$/.test(callee);
  return /(^|\.)(Fire|tyro\.cli|typer\.run|OmegaConf\.from_cli)$|^(hydra\.)?main$|^(draccus|pyrallis|simple_parsing)\.(parse|wrap)$|^click\.(option|argument)$/.test(
    callee,
  );
}

/** Several trainings in a file: one counts, the first trainer where there is one, and each other one states it. */
function reportOthers({ program, draft }: Calls, counted: PyCall, trainers: readonly Training[]): void {
  const others = [...trainers.map(({ call }) => call), ...otherStarts(program, counted)];
  const isFirst = others.every(({ id }) => id > counted.id);
  for (const { calleeRange } of others)
    draft.report(
      'another-launch',
      'information',
      isFirst
        ? say('The first training of this file is read; this one is not estimated.')
        : say('Another training of this file is read; this one is not estimated.'),
      calleeRange,
      { related: [{ range: counted.calleeRange, message: say('the training that counts') }] },
    );
}

/** Which rows hold for the arguments of which call. */
function nameKeys({ program, draft }: Calls, { call, kind }: Training, config: PyCall | undefined): void {
  const names = callNames(program);
  if (kind.method !== undefined)
    draft.keys.push({ below: [names.get(call.id) ?? ''], rows: TRAINER_ROWS, words: trlWords });
  const rows = kind.method === undefined ? TRAINING_ARGUMENTS_KEYS : TRL_KEYS;
  const words = kind.method === undefined ? trainerWords : trlWords;
  if (config) draft.keys.push({ below: [names.get(config.id) ?? ''], rows, words });
  nameModelKeys({ program, draft });
}

/** Which rows hold for the arguments of what loads and adapts a model. */
function nameModelKeys({ program, draft }: Pick<Calls, 'program' | 'draft'>): void {
  const names = callNames(program);
  for (const { id, callee } of program.calls) {
    const name = names.get(id) ?? '';
    if (/(Lora|Vera|IA3|LoHa|LoKr|OFT|Bone|Miss|Tuning|FourierFT|LoRA)\w*Config$/.test(callee))
      draft.keys.push({ below: [name], rows: PEFT_TABLE_KEYS });
    else if (/\.from_pretrained$|BitsAndBytesConfig$/.test(callee))
      draft.keys.push({ below: [name], rows: MODEL_ARGUMENTS_KEYS });
  }
}
