import { entryOf } from '../../config/lookup';
import { rejectMisfits } from '../key-check';
import { isOtherProgram } from '../launch/launch';
import { flagsOf, startedBy } from '../launch/launch-flags';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { llamaFactory, readLlamaFactory } from './llama-factory';
import { LLAMA_FACTORY_KEYS, LLAMA_FACTORY_TABLE } from './llama-factory-keys';
import { checkLlamaFactory } from './llama-factory-rules';
import { llamaFactoryWords } from './llama-factory-words';

/** The package of its releases, under both of its names. */
const PACKAGES = /^(?:llamafactory|llmtuner)$/;

/** `llamafactory-cli train`, `src/train.py`, and `src/train_bash.py` of its first years. */
export const llamaFactoryProgram: Program = {
  name: 'LLaMA-Factory',
  refusesOthers: true,
  keys: LLAMA_FACTORY_KEYS,
  words: llamaFactoryWords,
  config: llamaFactory,
  match(launch) {
    const started = startedBy(launch);
    if (/^(llamafactory-cli|lmf) train$/.test(started)) return 1;
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
    readLlamaFactory(section, draft, context);
    if (!linked) {
      rejectMisfits(launch.arguments, LLAMA_FACTORY_TABLE, draft);
      checkLlamaFactory(launch.arguments, section, context, draft);
    }
  },
};
