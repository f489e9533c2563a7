import { entryOf } from '../../config/lookup';
import { textOf } from '../../config/scalar';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { rejectMisfits } from '../key-check';
import { isOtherProgram, type Launch } from '../launch/launch';
import { flagsOf, startedBy } from '../launch/launch-flags';
import { stateLeftAllocator } from '../launch/left-allocator';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { Section } from '../section';
import { llamaFactory, readLlamaFactory, setsAllocator, setsSegments } from './llama-factory';
import { LLAMA_FACTORY_KEYS, LLAMA_FACTORY_TABLE } from './llama-factory-keys';
import { checkLlamaFactory } from './llama-factory-rules';
import { llamaFactoryWords } from './llama-factory-words';

/** The package of its releases, under both of its names. */
const PACKAGES = /^(?:llamafactory|llmtuner)$/;

const CLI = /^(llamafactory-cli|lmf) train$/;
/** What `is_env_enabled` takes for true (`extras/misc.py`). */
const ENABLED = /^(?:true|y|1)$/i;

/** Its own command starts the processes with segments that grow, unless the environment has it otherwise; one GPU gets a launcher where that asks for one. */
function readAllocator(launch: Launch, draft: Draft, context: ReadContext): void {
  if (draft.knows('allocator.expandableSegments') || !setsAllocator(context)) return;
  const environment = new Section(launch.environment, draft, `${launch.path}.environment`);
  const [optimizes, forced] = [environment.find('OPTIM_TORCH'), environment.find('FORCE_TORCHRUN')];
  // Ray and ktransformers start what is trained themselves.
  const apart = environment.find(['USE_RAY', 'USE_KT']);
  const isOn = (found: typeof forced) => ENABLED.test(textOf(found?.node) ?? '');
  const isOwn = CLI.test(startedBy(launch));
  if (isOwn && optimizes && !isOn(optimizes))
    draft.state('allocator.expandableSegments', false, optimizes.node, optimizes.key);
  else if (isOwn && forced && isOn(forced))
    draft.state('allocator.expandableSegments', true, forced.node, forced.key, setsSegments());
  else if (isOwn && apart && isOn(apart))
    draft.state('allocator.expandableSegments', false, apart.node, apart.key);
  else if (!isOwn) stateLeftAllocator(launch, draft, false);
}

/** `llamafactory-cli train`, `src/train.py`, and `src/train_bash.py` of its first years. */
export const llamaFactoryProgram: Program = {
  name: 'LLaMA-Factory',
  refusesOthers: true,
  keys: LLAMA_FACTORY_KEYS,
  words: llamaFactoryWords,
  config: llamaFactory,
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
