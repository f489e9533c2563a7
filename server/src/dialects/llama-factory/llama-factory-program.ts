import { entryOf } from '../../config/lookup';
import type { MapEntry } from '../../config/node';
import { textOf } from '../../config/scalar';
import { isAtLeast } from '../../terms/version';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { rejectMisfits } from '../key-check';
import { NEW_VARIABLE, OLD_VARIABLES } from '../launch/allocator-environment';
import { isOtherProgram, type Launch } from '../launch/launch';
import { flagsOf, startedBy } from '../launch/launch-flags';
import { stateLeftAllocator } from '../launch/left-allocator';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { llamaFactory, readLlamaFactory, setsAllocator, setsSegments } from './llama-factory';
import { LLAMA_FACTORY_KEYS, LLAMA_FACTORY_TABLE } from './llama-factory-keys';
import { checkLlamaFactory } from './llama-factory-rules';
import { llamaFactoryWords } from './llama-factory-words';

/** The package of its releases, under both of its names. */
const PACKAGES = /^(?:llamafactory|llmtuner)$/;

const CLI = /^(llamafactory-cli|lmf) train$/;
/** What `is_env_enabled` takes for true (`extras/misc.py`). */
const ENABLED = /^(?:true|y|1)$/i;

const isOn = (entry: MapEntry | undefined) => ENABLED.test(textOf(entry?.value) ?? '');

/** Variables that decide how its own command starts what is trained. */
function variablesOf({ environment }: Launch) {
  const of = (name: string) => entryOf(environment, name);
  return {
    optimizes: of('OPTIM_TORCH'),
    forced: of('FORCE_TORCHRUN'),
    // Ray and ktransformers start what is trained themselves.
    apart: of('USE_RAY') ?? of('USE_KT'),
    first: of(NEW_VARIABLE),
  };
}

/** Where it starts several processes it sets the old variable anew, whatever that held (`launcher.py`). */
function outdoesAllocator(launch: Launch, context: ReadContext): readonly string[] {
  const { optimizes, forced, apart } = variablesOf(launch);
  const gpus = context.known['hardware.gpus'];
  const several = isOn(forced) || (typeof gpus === 'number' && gpus > 1);
  const keeps = (optimizes && !isOn(optimizes)) || isOn(apart);
  const sets = CLI.test(startedBy(launch)) && setsAllocator(context) && several && !keeps;
  return sets ? OLD_VARIABLES : [];
}

/**
 * Its own command starts the processes with segments that grow, unless variables have it otherwise; one GPU gets a launcher where one asks for
 * it.
 */
function readAllocator(launch: Launch, draft: Draft, context: ReadContext): void {
  if (draft.knows('allocator.expandableSegments') || !setsAllocator(context)) return;
  const { optimizes, forced, apart, first } = variablesOf(launch);
  const isOwn = CLI.test(startedBy(launch));
  const state = (grows: boolean, { key, value }: MapEntry, note?: string) =>
    draft.state('allocator.expandableSegments', grows, value, key, note);
  // It goes before the one that is set, with torch that has it.
  const counts = isAtLeast(context.known['version.torch'], '2.9') !== false;
  if (isOwn && optimizes && !isOn(optimizes)) state(false, optimizes);
  else if (isOwn && first && counts) state(false, first);
  else if (isOwn && forced && isOn(forced)) state(true, forced, setsSegments());
  else if (isOwn && apart && isOn(apart)) state(false, apart);
  else if (!isOwn) stateLeftAllocator(launch, draft, false);
}

/** `llamafactory-cli train`, `src/train.py`, and `src/train_bash.py` of its first years. */
export const llamaFactoryProgram: Program = {
  name: 'LLaMA-Factory',
  refusesOthers: true,
  vocabulary: LLAMA_FACTORY_TABLE.released,
  keys: LLAMA_FACTORY_KEYS,
  words: llamaFactoryWords,
  config: llamaFactory,
  outdoesAllocator,
  // What stands beside a file of YAML is no flag.
  parser: ({ words, program }) =>
    [...program, ...words.map(({ text }) => text)].some((word) => /\.(?:ya?ml|json)$/.test(word))
      ? undefined
      : { table: LLAMA_FACTORY_TABLE, dashes: true },
  match(launch) {
    const started = startedBy(launch);
    if (CLI.test(started)) return 1;
    // ChatGLM-Efficient-Tuning, from which it grew, has the names of its script and of many flags, and other defaults.
    if (isOtherProgram(launch, PACKAGES)) return 0;
    const has = (key: string) => entryOf(launch.arguments, key) !== undefined;
    const own = has('finetuning_type') || has('cutoff_len') || has('template');
    if (/(^|\/)train_bash\.py$/.test(started) || /llamafactory\.(launcher|train)/.test(started)) return 0.95;
    if (has('stage') && own) return 0.95;
    // The repository's own `src/train.py`, with a config.
    const config = launch.words.some(({ text }) => /\.(ya?ml|json)$/.test(text));
    return /(^|\/)src\/train\.py$/.test(started) && config ? 0.75 : 0;
  },
  read(launch, draft, context) {
    const section = flagsOf(launch, draft, LLAMA_FACTORY_TABLE);
    const linked = linkConfig(launch, section);
    if (linked) draft.assumesNothing();
    readAllocator(launch, draft, context);
    readLlamaFactory(section, draft, context);
    if (!linked) {
      rejectMisfits(launch.arguments, LLAMA_FACTORY_TABLE, draft);
      checkLlamaFactory(launch.arguments, section, context, draft);
    }
  },
};
