import { textOf } from '../../config/scalar';
import type { Section } from '../section';

/**
 * A model with new weights: that of a config which is named, or of a class with its defaults but for `config_overrides`, in PyTorch's own type
 * (`run_clm.py`, `CONFIG_MAPPING`, `update_from_string`).
 */
export function readNewModel(section: Section): void {
  const [name, config] = [section.find('model_name_or_path'), section.find('config_name')];
  if (name) {
    if (config && textOf(config.node) !== textOf(name.node)) section.leave(config, ['model.config']);
    return;
  }
  const made = config ?? section.find('model_type');
  const word = textOf(made?.node);
  if (!made || word === undefined) return;
  section.state('loading.newWeights', true, made);
  if (config) section.state('model.id', word, made);
  else section.state('model.config', { ...overridden(section), model_type: word, dtype: 'float32' }, made);
}

/** `n_embd=1024,scale_attn_weights=false`: what has the type of a number or of a flag is one. */
function overridden(section: Section): Record<string, string | number | boolean> {
  const pairs = (section.text('config_overrides') ?? '').split(',').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => {
      const [key = '', value = ''] = pair.split('=');
      const flag = /^(?:(true|y|yes)|false|n|no)$/i.exec(value);
      return [
        key.trim(),
        flag ? flag[1] !== undefined : value !== '' && !Number.isNaN(Number(value)) ? Number(value) : value,
      ];
    }),
  );
}
