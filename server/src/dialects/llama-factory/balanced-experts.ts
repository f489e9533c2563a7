import { languageConfig } from '../../model/routed-experts';
import { fileIn, LLAMA_FACTORY } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Section } from '../section';

const SOURCE = fileIn(LLAMA_FACTORY, 'src/llamafactory/model/model_utils/moe.py');

/** Types whose routers it asked for their logits until 0.9.2, whatever the weight of the loss. */
const ASKED = new Set(['dbrx', 'jamba', 'jetmoe', 'mixtral', 'qwen2_moe']);
/** Those that it asks since where the loss has a weight, those of 0.9.4 among them. */
const WEIGHED = new Set([...ASKED, 'granitemoe', 'llama4', 'olmoe', 'phimoe', 'qwen3_moe', 'ernie4_5_moe']);
/** Language models beside towers that it asks since 0.9.4. */
const WEIGHED_TEXTS = new Set(['glm4v_moe_text', 'qwen3_moe']);

/** Whether the experts are balanced by the logits of their routers (`configure_moe`). */
export function readFactoryExperts(section: Section, { versions, model }: ReadContext): void {
  const config = model?.config;
  if (config === undefined) return;
  const type = String(config.model_type);
  if (isAtLeast(versions?.llamafactory?.version, '0.9.3') === false) {
    const note = say('{0} default', 'LLaMA-Factory');
    if (ASKED.has(type)) section.assume('loss.routerLogits', { value: true, note, source: SOURCE });
    return;
  }
  const text = languageConfig(config);
  if (WEIGHED.has(type) || (text !== config && WEIGHED_TEXTS.has(String(text.model_type))))
    section.take('moe_aux_loss_coef');
}
