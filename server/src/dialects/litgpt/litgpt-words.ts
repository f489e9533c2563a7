import { CLASS_PATHS } from '../optimizer-names';
import { type Words, word } from '../words';

/** litgpt. */
export const litgptWords: Words = {
  'optimizer.name': (value, { text }) => {
    const path = CLASS_PATHS[value];
    if (path === undefined || (!path.startsWith('torch.') && !path.startsWith('bitsandbytes.')))
      return undefined;
    return [word(text('optimizer.class_path') === undefined ? 'optimizer' : 'optimizer.class_path', path)];
  },
};
