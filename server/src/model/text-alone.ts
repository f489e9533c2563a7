import table from '../../data/auto-classes.json';
import { isObject } from './config';
import type { ModelConfig } from './model';

/** Types of which a class makes the text model alone, in every release that knows them (`scripts/auto-classes.py`). */
const ALONE: Readonly<Record<string, readonly string[]>> = table.textAlone;

/**
 * The config of the text model, where a class makes that alone of a model that also sees or hears (`models/auto/auto_factory.py`,
 * `config.get_text_config()`); weights of the other parts are left out when they are loaded. Undefined where it makes the model whole.
 */
export function textAlone(config: ModelConfig, loads: string | undefined): ModelConfig | undefined {
  const makes = loads !== undefined && Object.hasOwn(ALONE, loads) ? ALONE[loads] : undefined;
  const { text_config: inner, vision_config: _sees, audio_config: _hears, ...flat } = config;
  const { model_type: type } = config;
  if (!makes?.includes(type)) return undefined;
  // Rows of the catalog have the text's fields beside the other parts, as old files do.
  const text = isObject(inner) ? inner : flat;
  const own = text.model_type;
  return { ...text, model_type: typeof own === 'string' && own !== type ? own : `${type}_text` };
}
