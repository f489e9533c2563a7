import type { ConfigNode } from '../../config/node';
import { numberOf, plainOf, textOf } from '../../config/scalar';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { Section } from '../section';
import { OLMO_TABLE } from './olmo-keys';

/** Fields of OLMo's model that others of the run decide, or that shape nothing. */
const LEFT_OUT = new Set(['flash_attention', 'init_device', 'block_group_size', 'precision']);

/** Words that OLMo's classes have, of older releases, too (`olmo/config.py`; v0.1.0 and v0.2.5 for what is gone). */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  activation_type: ['swiglu', 'gelu', 'relu'],
  layer_norm_type: ['default', 'low_precision', 'rms', 'amd_compatible'],
  block_type: ['sequential', 'llama', 'parallel'],
};

/** The model as its config spells it out; what is left out is that of its class, which the model knows. */
export function readOlmoModel(section: Section, draft: Draft): void {
  const found = section.find('model');
  const model = section.section('model');
  if (found?.node.kind !== 'map') return;
  model.take('flash_attention');
  // A data set of one's own makes samples of its own length (`olmo/data/__init__.py`, `build_train_dataloader`).
  const own = section.find('data.custom_dataset');
  if (own?.node.kind !== 'map') model.take('max_sequence_length');
  else draft.leaveUncounted(own.node, own.key, ['batch.sequence']);
  const unknown = found.node.entries.filter(
    ({ key, value }) =>
      !OLMO_TABLE.find(`model.${key}`) || WORDS[key]?.includes(textOf(value) ?? '') === false,
  );
  for (const { key, keyRange } of unknown) {
    const message = say('`{0}` is of no model that {1} has: it is one of its own.', `model.${key}`, 'OLMo');
    draft.leave('value', { range: keyRange }, key, message, ['model.config']);
  }
  // No size, share or rate of a model is below zero; ids of tokens may stand for none.
  const below = found.node.entries.filter(
    ({ key, value }) => (numberOf(value) ?? 0) < 0 && !/_token_id$/.test(key),
  );
  for (const { key, value } of below) {
    const message = say('`{0}` takes `{1}`, which is not known.', `model.${key}`, String(numberOf(value)));
    draft.leave('value', value, key, message, ['model.config']);
  }
  // OmegaConf takes no key that the class has not: a trainer that has more of them builds another model.
  if (unknown.length + below.length > 0) return;
  const values: Record<string, unknown> = { model_type: 'hf_olmo' };
  for (const { key, value } of found.node.entries) {
    const plain = LEFT_OUT.has(key) ? undefined : plainValue(value);
    if (plain !== undefined) values[key] = plain;
  }
  section.state('model.config', values, found);
}

/** What a value is to a model: words and numbers; what is nested is none of its fields. */
function plainValue(node: ConfigNode): unknown {
  return node.kind === 'scalar' ? plainOf(node) : undefined;
}
