import { entryOf } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { fileIn, TRL } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import { fileName } from '../../text/uri';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { divergenceOf, stateFrozenModels, stateTeacher } from '../frozen-models';
import { assumeReadByAll } from '../hf/fsdp-argument';
import { launchQuestions } from '../hf/launch-question';
import { readModelArguments } from '../hf/model-arguments';
import { assumePadding } from '../hf/padding';
import { leaveAdapters } from '../hf/script-adapter';
import { NAMES_OF_THE_MODEL, SCRIPT_ARGUMENTS_TABLE } from '../hf/script-arguments-keys';
import { readTrainingArguments, type TrainerDefaults } from '../hf/training-arguments';
import { rejectMisfits } from '../key-check';
import { Section as Block, type Section } from '../section';
import { readRouterWeight } from './balanced-experts';
import {
  completionByDefault,
  cutsPromptByDefault,
  lengthByDefault,
  lengthWithout,
  onlineLength,
  PROMPT,
} from './default-length';
import { readInitArguments } from './init-arguments';
import { assumeNoCache } from './kept-cache';
import { checkLiger } from './liger-refusals';
import { readOldPreparation, readQuantizedBase } from './quantized-base';
import { readReferenceAdapter } from './reference-adapter';
import { isColocated, readRollouts, readUpdate } from './rollout-engine';
import { readRolloutScores } from './rollout-scores';
import { trlDefault } from './trl-default';
import { TRL_KEYS, TRL_TABLE } from './trl-keys';
import { methodOf, objectiveOf, type TrlMethod, WITH_REFERENCE } from './trl-method';
import { checkParsedTrl, checkTrl, checkWholeGroups } from './trl-rules';
import { trlWords } from './trl-words';

const SOURCE = fileIn(TRL, 'trl/trainer/');

const DEFAULTS: TrainerDefaults = {
  get note() {
    return say('{0} default', 'TRL');
  },
  source: `${SOURCE}base_config.py`,
  micro: 8,
  accumulation: 1,
  checkpointing: true,
  compute: 'bf16',
};

/** Until 0.19 `bf16` was off, until 0.22 so was checkpointing, where nothing else is stated. */
function defaultsOf({ known }: ReadContext): TrainerDefaults {
  const [sixteen, checkpoints] = ['0.19', '0.22'].map(
    (since) => isAtLeast(known['version.trl'], since) !== false,
  );
  if (sixteen && checkpoints) return DEFAULTS;
  const { note, source, micro, accumulation } = DEFAULTS;
  return {
    note,
    source,
    micro,
    accumulation,
    checkpointing: checkpoints === true,
    compute: sixteen ? 'bf16' : 'fp32',
  };
}

/** Keys that TRL and the recipes around it have. */
const OWN =
  /^(use_peft|lora_r|max_length|max_prompt_length|max_completion_length|packing|beta|loss_type|attn_implementation|load_in_4bit|load_in_8bit|use_vllm|num_generations|torch_dtype|dtype|dataset_mixture|dataset_mixer|max_seq_length|dataset_name|gamma_beta_ratio|chat_template|assistant_only_loss|dataset_text_field)$/;
/** Those of them that scripts with arguments of their own rarely have: `run_clm.py` of transformers has the others, too. */
const TELLING =
  /^(use_peft|lora_target_modules|max_prompt_length|max_completion_length|packing|beta|loss_type|use_vllm|num_generations|dataset_mixture|dataset_mixer|gamma_beta_ratio|chat_template|assistant_only_loss|dataset_text_field)$/;

/** Whether a recipe is for a script of its own: it states more that TRL has no key for than what only TRL has. */
function isOfOtherScript({ entries }: MapNode, name: string): boolean {
  const foreign = entries.filter(({ key }) => !TRL_TABLE.find(key)).length;
  // TRL's own parser reads YAML alone (`scripts/utils.py`, `TrlParser`).
  if (/\.json$/i.test(name) && foreign > 1) return true;
  return foreign > 1 + 2 * entries.filter(({ key }) => TELLING.test(key)).length;
}

/** Whether such a script may be one around the Trainer: it asks for a batch in its words, or states little that TRL does not know. */
const mayBeTrainer = (root: MapNode) =>
  ['per_device_train_batch_size', 'gradient_accumulation_steps'].some((key) => entryOf(root, key)) ||
  root.entries.filter(({ key }) => !TRL_TABLE.find(key)).length < 3;

/** Arguments that trainers of TRL which generate have, and no other Trainer. */
const GENERATES =
  /^(?:num_generations|max_completion_length|generation_batch_size|steps_per_generation|use_vllm|vllm_(?:mode|gpu_memory_utilization|server_host|server_port|tensor_parallel_size)|scale_rewards|num_completions_to_print)$/;
/** Names by which files of other tools give the model, whose own trainers have some of these words, too. */
const OF_OTHERS = ['base_model', 'model', 'model_id_or_path', 'rlhf_type'];

/** Whether a file is for `GRPOConfig` or one of its kin, though it names its model as the script likes: a script reads it. */
const generatesGroups = (root: MapNode): boolean =>
  root.entries.filter(({ key }) => GENERATES.test(key)).length >= 2 &&
  !OF_OTHERS.some((key) => entryOf(root, key));

/** Recipes of TRL, the alignment handbook, open-r1, SimPO: one flat YAML. */
export const trlRecipe: Dialect = {
  id: 'trl',
  name: 'TRL',
  released: TRL_TABLE.released,
  words: trlWords,
  keys: TRL_KEYS,
  rowAt: ([key = '', ...more]) =>
    more.length === 0 && NAMES_OF_THE_MODEL.includes(key) ? SCRIPT_ARGUMENTS_TABLE.find(key) : undefined,
  joins: { questions: launchQuestions },
  markers: /model_name_or_path|num_generations|max_completion_length/,
  detect(root: ConfigNode, name: string): number {
    if (root.kind !== 'map' || entryOf(root, 'stage')) return 0;
    const trains = ['per_device_train_batch_size', 'learning_rate', 'gradient_accumulation_steps'];
    if (!trains.some((key) => entryOf(root, key))) return 0;
    if (!entryOf(root, 'model_name_or_path')) return generatesGroups(root) && mayBeTrainer(root) ? 0.8 : 0;
    const own = root.entries.filter(({ key }) => OWN.test(key)).length;
    // Below what any script around the Trainer gets; who asks for no batch of the Trainer's is not known to start it.
    if (own > 0 && isOfOtherScript(root, name)) return mayBeTrainer(root) ? 0.6 : 0;
    return own >= 2 ? 0.85 : /\.ya?ml$/i.test(name) && own >= 1 ? 0.75 : 0;
  },
  read,
};

/** Such a file is no recipe of TRL's parser: what the script makes of its keys stands in its code. */
function noteScript({ entries }: MapNode, draft: Draft): void {
  const first = entries.find(({ key }) => !TRL_TABLE.find(key));
  if (!first) return;
  const message = say('`{0}` is an argument of a script of the project, whose code is not read.', first.key);
  draft.leave('script', { range: first.keyRange }, first.key, message);
}

function read(document: ConfigDocument, context: ReadContext): Reading {
  const draft = new Draft(document, context);
  const { root } = document;
  if (root?.kind !== 'map') return draft.reading();
  draft.assume('framework', 'trl', say('the file is a TRL recipe'));
  const section: Section = new Block(root, draft, '', TRL_TABLE);
  const isScripts = !section.has('model_name_or_path');
  if (isScripts) section.by(SCRIPT_ARGUMENTS_TABLE).take(...NAMES_OF_THE_MODEL);
  const method = readTrl(section, document.uri, draft, context);
  if (isScripts) noteScript(root, draft);
  rejectMisfits(root, TRL_TABLE, draft);
  if (isOfOtherScript(root, fileName(document.uri))) leaveAdapters(root, draft);
  draft.rules(() => {
    checkTrl(root, section, method, draft);
    checkParsedTrl(root, draft);
    checkWholeGroups(section, method, draft, context);
    checkLiger(section, method, draft, context);
  });
  return draft.reading();
}

/** What the caller knows of a run beside its keys. */
interface TrlCaller {
  readonly method: TrlMethod;
  /** Who states it, for people. */
  readonly because: string;
  /** The arguments are those of another class, which has other defaults. */
  readonly defaults?: TrainerDefaults;
  /** Where the trainer is given a reference model that the caller has loaded itself. */
  readonly reference?: { readonly range: Range };
  /** The model has its adapters when the trainer is given it. */
  readonly adapted?: { readonly range: Range };
  /** The trainer gets the name of its model. */
  readonly loads?: 'trainer';
}

/** States what a recipe states, from a file or from the same names on a command line. `place` names file or program. */
export function readTrl(
  section: Section,
  place: string,
  draft: Draft,
  context: ReadContext,
  caller?: TrlCaller,
): TrlMethod {
  const { method, because } = caller ?? methodOf(section, place);
  draft.infer('method.objective', objectiveOf(method), `${method.toUpperCase()}: ${because}`);
  readLaunch(section);
  readCheckpointing(section, context);
  readOldPreparation(section, method, draft, context);
  if (!caller) readInitArguments(section, draft, context);
  if (!caller || caller.loads) readDtype(section, draft, context);
  readLigerLoss(section, method, context);
  readTrainingArguments(section, draft, context, caller?.defaults ?? defaultsOf(context));
  assumeNoCache(section, method, context, caller ? caller.loads : 'script');
  readLoss(section, method, context);
  readRouterWeight(section, method, context);
  readModelArguments(section, draft, context);
  assumeReadByAll(section, draft);
  readQuantizedBase(section, method, draft, context);
  readLength(section, method, draft, context);
  readPacking(section, method);
  if (method !== 'grpo' && method !== 'rloo')
    assumePadding(section, draft, section.integerOrDefault('per_device_train_batch_size'));
  section.take('activation_offloading');
  readReference(section, method, draft, context, caller);
  if (method === 'grpo') readOwnGroups(section, draft, context);
  stateFrozenModels(section, OTHER_MODELS[method] ?? []);
  if (method === 'gkd' || method === 'distillation') readTeacher(section, method, context);
  if (method === 'ppo') readPpo(section, context);
  else readRollouts(section, method, context);
  return method;
}

/** Since 0.28 TRL asks for checkpointing without reentry where transformers 4 would take the other (`sft_trainer.py`). */
/** TRL's own configs of Accelerate (`trl/accelerate_configs`), which `trl` takes by their names. */
const LAUNCHES: Readonly<Record<string, { data: FieldValue<'parallel.data'>; stage?: number }>> = {
  single_gpu: { data: 'ddp' },
  multi_gpu: { data: 'ddp' },
  fsdp1: { data: 'fsdp1' },
  fsdp2: { data: 'fsdp2' },
  zero1: { data: 'zero', stage: 1 },
  zero2: { data: 'zero', stage: 2 },
  zero3: { data: 'zero', stage: 3 },
};

function readLaunch(section: Section): void {
  const found = section.find('accelerate_config');
  const name = textOf(found?.node);
  if (!found || name === undefined) return;
  const own = LAUNCHES[name];
  if (!own) {
    section.link('accelerate_config', 'accelerate');
    return;
  }
  section.state('parallel.data', own.data, found);
  if (own.stage !== undefined) section.state('zero.stage', own.stage, found);
}

function readCheckpointing(section: Section, context: ReadContext): void {
  const asked = ['gradient_checkpointing_kwargs.use_reentrant'];
  if (!section.has(asked) && isAtLeast(context.known['version.trl'], '0.28') === true)
    section.assume('activations.reentrant', {
      ...trlDefault(false, 'sft_trainer.py'),
      note: say('TRL default since 0.28'),
    });
}

/**
 * Since 0.27 models that TRL loads by their names are in fp32 unless set otherwise (`trl/trainer/utils.py`, `create_model_from_path`); before,
 * transformers decided, as it does of a model that the script loads itself.
 */
function readDtype(section: Section, draft: Draft, context: ReadContext): void {
  if (draft.knows('precision.weights')) return;
  const unstated = !section.has(['dtype', 'torch_dtype']);
  const sharded = section.has('deepspeed') || context.known['parallel.data'] === 'zero';
  if (!unstated || sharded || isAtLeast(context.known['version.trl'], '0.27') !== true) return;
  draft.assume(
    'precision.weights',
    'fp32',
    say('TRL default since 0.27'),
    `${SOURCE}model_config.py`,
    'dtype',
  );
}

/** Methods whose trainers score tokens tile by tile since 1.15 (`trainer/utils.py`, `add_fused_lm_head`). */
const FUSED: ReadonlySet<TrlMethod> = new Set(['sft', 'dpo', 'kto', 'grpo', 'rloo']);

/**
 * SFT scores tokens in checkpointed chunks where `chunked_nll` is asked for (1.4) or nothing else is (1.7), in fp32 until
 * 1.12; since 1.15 it scores them tile by tile by any name, and so do other methods: the logits are never whole.
 */
function readLoss(section: Section, method: TrlMethod, context: ReadContext): void {
  const version = context.known['version.trl'];
  const found = section.find('loss_type');
  const fused = isAtLeast(version, '1.15') === true;
  if (fused && FUSED.has(method)) {
    const note = say('TRL scores tokens tile by tile since 1.15');
    section.assume(
      'loss.implementation',
      { ...trlDefault('log-probabilities-chunked' as const, 'utils.py'), note },
      'loss_type',
    );
    return;
  }
  if (method !== 'sft' || section.flag('use_liger_kernel') === true) return;
  const old = isAtLeast(version, '1.13') === false ? 'checkpointed-chunks-fp32' : 'checkpointed-chunks';
  const chunked = version === undefined ? 'log-probabilities-chunked' : old;
  if (found && textOf(found.node) === 'chunked_nll') section.state('loss.implementation', chunked, found);
  else if (!found && isAtLeast(version, '1.7') === true)
    section.assume(
      'loss.implementation',
      { ...trlDefault(chunked, 'sft_config.py'), note: say('TRL default since 1.7') },
      'loss_type',
    );
}

/** Methods that had `use_liger_loss` before 0.28 (`dpo_config.py`, `grpo_config.py`, `kto_config.py`). */
const LIGER_LOSS: ReadonlySet<TrlMethod> = new Set(['dpo', 'grpo', 'kto']);

/**
 * Liger's loss, fused with the head. Until 0.24 the key switched on the loss alone (`dpo_trainer.py`, `use_liger_loss`); 0.25 took it
 * for `use_liger_kernel` (`dpo_config.py`, `__post_init__`), and 0.28 dropped it.
 */
function readLigerLoss(section: Section, method: TrlMethod, context: ReadContext): void {
  const found = section.find('use_liger_loss');
  if (!found || flagOf(found.node) !== true || !LIGER_LOSS.has(method)) return;
  const version = context.known['version.trl'];
  if (isAtLeast(version, '0.28') === true) return;
  if (isAtLeast(version, '0.25') === true) section.state('kernels.liger', true, found);
  else section.state('loss.implementation', 'liger', found);
}

function readLength(section: Section, method: TrlMethod, draft: Draft, context: ReadContext): void {
  const online = ['grpo', 'rloo', 'online_dpo', 'ppo', 'distillation'].includes(method);
  if (online) {
    readRolloutLength(section, method, draft, context);
    return;
  }
  const version = context.known['version.trl'];
  const spelling = ['max_length', 'max_seq_length'];
  const isNull = spelling.some((key) => entryOf(section.root, key)) && !section.has(spelling);
  const cut = isNull ? lengthWithout(method, version) : lengthByDefault(method, version);
  if (isNull && cut) section.assume('batch.sequence', cut, 'max_length');
  else if (cut) section.takeElse('max_length', cut);
  else if (section.has(spelling)) section.take('max_length');
  else if (method === 'dpo') statePartLengths(section);
}

/** Nothing cuts what DPO puts together of a prompt and an answer, each of which is cut where both have a limit; else rows are as long as the data. */
function statePartLengths(section: Section): void {
  const prompt = section.find('max_prompt_length');
  const answer = section.find(['max_completion_length', 'max_target_length']);
  const [question, answered] = [integerOf(prompt?.node), integerOf(answer?.node)];
  if (!prompt || question === undefined || answered === undefined) return;
  const note = say('prompt of {0} and completion of {1} tokens', String(question), String(answered));
  section.state('batch.sequence', question + answered, prompt, note);
}

/**
 * First releases whose trainer cuts no prompt: the argument that limited it gives a warning alone until it is gone (`grpo_config.py` and
 * `grpo_trainer.py` of v0.26.0, `rloo_config.py` and `rloo_trainer.py` of v0.27.0).
 */
const CUTS_NO_PROMPT: Readonly<Record<string, string>> = { grpo: '0.26', rloo: '0.27' };

const WINDOW_KEY = 'vllm_max_model_length';

/**
 * Tokens that vLLM beside the training takes of a prompt and its completion together (`vllm_generation.py`, `max_model_len`): it refuses
 * longer prompts. A server of its own has its own.
 */
function windowOfEngine(section: Section, draft: Draft, version: unknown): number | undefined {
  if (section.flag('use_vllm') !== true || draft.valueOf('kernels.unsloth') === true) return undefined;
  return isColocated(section, version) ? integerOf(section.find(WINDOW_KEY)?.node) : undefined;
}

/** What prompts and completions have together where no limit of prompts is stated, or that there is none. */
function inferUnstated(
  section: Section,
  draft: Draft,
  method: TrlMethod,
  context: ReadContext,
  answer: number,
  stated: { readonly node: ConfigNode; readonly key: string } | undefined,
): void {
  const version = context.known['version.trl'];
  const cuts = cutsPromptByDefault(method, version);
  const place = stated?.node;
  if (cuts && !entryOf(section.root, 'max_prompt_length')) {
    const note = say(
      'TRL {0} cuts prompts to {1} tokens; completions have {2}',
      String(version),
      PROMPT,
      answer,
    );
    draft.infer('batch.sequence', PROMPT + answer, note, place, stated?.key);
    return;
  }
  const window = windowOfEngine(section, draft, version);
  if (window !== undefined) {
    const note = say(
      'assumed prompts of {0} tokens, and completions of {1}; `{2}` lets both have {3} together',
      Math.max(0, Math.min(PROMPT, window - answer)),
      answer,
      WINDOW_KEY,
      window,
    );
    if (window > PROMPT + answer)
      draft.suppose('batch.sequence', PROMPT + answer, window, note, place, stated?.key);
    else draft.infer('batch.sequence', window, note, place, stated?.key, true);
    return;
  }
  const note = say(
    'assumed prompts of {0} tokens, and completions of {1}: no limit of prompts is set',
    PROMPT,
    answer,
  );
  draft.suppose('batch.sequence', PROMPT + answer, 2 * PROMPT + answer, note, place, stated?.key);
}

/** Prompt and completion together. Newer versions do not cut the prompt. */
function readRolloutLength(section: Section, method: TrlMethod, draft: Draft, context: ReadContext): void {
  const version = context.known['version.trl'];
  const completion = section.find(['max_completion_length', 'response_length', 'max_new_tokens']);
  const prompt = section.find('max_prompt_length');
  const byDefault = completionByDefault(method, version);
  const answer = integerOf(completion?.node) ?? byDefault;
  const question = integerOf(prompt?.node);
  const note = say('prompt of {0} and completion of {1} tokens', String(question ?? PROMPT), String(answer));
  const stated = prompt ?? completion;
  // Online DPO cuts what a prompt and its completion are together.
  const whole = method === 'online_dpo' ? onlineLength(version) : undefined;
  if (whole && !draft.knows('batch.sequence')) section.takeElse('max_length', whole);
  const isKnown = draft.knows('batch.sequence');
  const uncut = CUTS_NO_PROMPT[method];
  const isWarned =
    uncut !== undefined && isAtLeast(version, uncut) === true && draft.valueOf('kernels.unsloth') !== true;
  if (!isKnown && prompt && question !== undefined && isWarned)
    draft.infer(
      'batch.sequence',
      question + answer,
      say(
        '{0}: `{1}` cuts nothing since TRL {2}, so that longer prompts need more',
        note,
        'max_prompt_length',
        uncut,
      ),
      prompt.node,
      prompt.key,
      true,
    );
  else if (!isKnown && stated && question !== undefined)
    section.state('batch.sequence', question + answer, stated, note);
  else if (!isKnown) inferUnstated(section, draft, method, context, answer, stated);
  const stands = ['max_completion_length', 'response_length', 'max_new_tokens'].find((key) =>
    section.has(key),
  );
  section.takeElse(
    stands ?? 'max_completion_length',
    trlDefault(byDefault, `${method === 'distillation' ? 'grpo' : method}_config.py`),
  );
}

function readPacking(section: Section, method: TrlMethod): void {
  const packed = section.find('packing');
  const free = section.find('padding_free');
  if (method === 'sft' && packed && flagOf(packed.node) === true) section.state('batch.packed', true, packed);
  else if (free && flagOf(free.node) === true) {
    section.state('batch.packed', true, free);
    section.state('batch.paddingFree', true, free);
  } else section.assume('batch.packed', trlDefault(false, 'sft_config.py'), 'packing');
}

/** Keys that name models which stand frozen beside the trained one. */
const OTHER_MODELS: Partial<Record<TrlMethod, readonly string[]>> = {
  grpo: ['reward_model_name_or_path'],
  rloo: ['reward_model_name_or_path'],
  online_dpo: ['reward_model_path', 'reward_model_name_or_path'],
  ppo: ['reward_model_path'],
};

/** DPO and its kin compare with a frozen copy; with adapters the base model itself serves, adapters off. */
function readReference(
  section: Section,
  method: TrlMethod,
  draft: Draft,
  context: ReadContext,
  caller?: TrlCaller,
): void {
  const own = caller?.reference;
  const adapters = section.flag('use_peft') === true;
  if (section.flag('precompute_ref_log_probs') === true) section.take('precompute_ref_log_probs');
  const free = section.find('reference_free');
  if (free && flagOf(free.node) === true) {
    section.state('method.referenceModel', false, free);
    return;
  }
  if (method === 'grpo' || method === 'rloo') {
    const { compares } = readRolloutScores(section, method, draft, context);
    if (compares) readReferenceAdapter(draft, method, context, caller?.adapted);
    return;
  }
  if (!own) readReferenceAdapter(draft, method, context, caller?.adapted);
  if (own && WITH_REFERENCE.has(method)) {
    // It stands beside adapters, too (`dpo_trainer.py`, `if ref_model: self.ref_model = ref_model`).
    const note = say('the file passes its own reference model');
    draft.state('method.referenceModel', true, own, 'ref_model', note);
    return;
  }
  const needed = WITH_REFERENCE.has(method) && !adapters && section.flag('precompute_ref_log_probs') !== true;
  section.assume('method.referenceModel', {
    value: needed,
    note: needed
      ? say('the trainer keeps a frozen copy of the model')
      : say('no separate reference model is needed'),
    source: `${SOURCE}${method === 'kto' ? 'kto' : 'dpo'}_trainer.py`,
  });
}

/** A micro batch of GRPO counts prompts in TRL 0.14, of each of which a GPU takes all completions at once (`grpo_trainer.py`, `compute_loss`). */
function readOwnGroups(section: Section, draft: Draft, context: ReadContext): void {
  if (isAtLeast(context.known['version.trl'], '0.15') !== false) return;
  const generations = section.integerOrDefault('num_generations');
  const micro = section.integerOrDefault('per_device_train_batch_size');
  const stated = section.find('per_device_train_batch_size') ?? section.find('num_generations');
  draft.forget('batch.micro');
  const note = say('{0} prompts of {1} completions each', String(micro), String(generations));
  draft.infer('batch.micro', micro * generations, note, stated?.node, stated?.key);
}

/**
 * PPO (`ppo_trainer.py`): a value model is trained in one graph with the policy, a reward model stands beside both, and the
 * model itself generates what an update takes, in parts, keeping the scores of every token.
 */
function readPpo(section: Section, context: ReadContext): void {
  const file = 'ppo_trainer.py';
  section.assume('method.valueModel', {
    ...trlDefault(true, file),
    note: say('a value model of the size of the policy'),
  });
  section.assume('method.valueTogether', trlDefault(true, file));
  if (!section.has('reward_model_path'))
    section.assume('method.frozenModels', {
      ...trlDefault(1, file),
      note: say('a reward model of the size of the policy'),
    });
  section.assume('rollout.engine', trlDefault('transformers' as const, file));
  const micro = section.integerOrDefault('per_device_train_batch_size');
  // Until 0.16 it accumulated within each of them.
  const within = isAtLeast(context.known['version.trl'], '0.17') === false;
  const sequences = readUpdate(section, within ? section.integerOrDefault('num_mini_batches') : 1);
  // What a micro batch returned is named until the next of its mini batch has its own.
  const several = sequences / Math.max(1, section.integerOrDefault('num_mini_batches')) > micro;
  section.assume(
    'loss.keptLogits',
    trlDefault(several ? ('next-step' as const) : ('backward' as const), file),
  );
}

/**
 * Distillation: GKD compares all logits of teacher and student, with Liger until 1.12 hidden states by its fused function;
 * DistillationTrainer goes tile by tile. GKD generates with a part of the batches (`gkd_config.py`, `distillation_config.py`).
 */
function readTeacher(section: Section, method: TrlMethod, context: ReadContext): void {
  stateTeacher(section, 'teacher_model_name_or_path');
  const gkd = method === 'gkd';
  const file = gkd ? 'gkd_config.py' : 'distillation_config.py';
  section.stateMeaning(
    'loss.divergence',
    'beta',
    divergenceOf,
    trlDefault(gkd ? ('mixture' as const) : ('reverse' as const), file),
  );
  const liger = section.find('use_liger_kernel');
  const fused = gkd && isAtLeast(context.known['version.trl'], '1.13') !== true;
  if (!gkd)
    section.assume(
      'loss.implementation',
      trlDefault('log-probabilities-chunked' as const, 'distillation_trainer.py'),
    );
  else if (liger && flagOf(liger.node) === true && fused)
    section.state('loss.implementation', 'liger', liger);
  if (!gkd) return;
  const share = section.find('lmbda');
  const generates = section.numberOrDefault('lmbda') > 0 || section.flag('seq_kd') === true;
  const engine = generates ? ('transformers' as const) : ('none' as const);
  if (share) section.state('rollout.engine', engine, share);
  else section.assume('rollout.engine', trlDefault(engine, file), 'lmbda');
  section.takeElse('max_new_tokens', trlDefault(128, file));
}
