import { trainerWords } from '../hf/hf-words';
import { type Words, word } from '../words';

/** TRL: `ModelConfig` and the Trainer's words. Where completions are generated, prompts are not cut, so no key states the length. */
export const trlWords: Words = {
  ...trainerWords,
  'batch.sequence': (value, { run, text }) => {
    const generated = ['max_completion_length', 'response_length', 'max_new_tokens'].some(
      (key) => text(key) !== undefined,
    );
    if (generated || run['method.objective'] === 'grpo' || run['method.objective'] === 'ppo')
      return undefined;
    return [word(text('max_seq_length') === undefined ? 'max_length' : 'max_seq_length', value)];
  },
};
