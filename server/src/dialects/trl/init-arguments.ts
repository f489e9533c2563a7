import { flagOf, isBlank } from '../../config/scalar';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import { readOverrides } from '../config-overrides';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { readWeightsDtype } from '../hf/weights-dtype';
import type { Section } from '../section';
import { trlDefault } from './trl-default';

/** Since then TRL's scripts hand a recipe's `model_init_kwargs` on, over what its `ModelConfig` has (`scripts/sft.py`); before, they had their own. */
export const OWN_KWARGS = '1.14';

const KEY = 'model_init_kwargs';
const TYPE = ['dtype', 'torch_dtype'];
/** What is read elsewhere, and what is about files. */
const APART =
  /^(?:quantization_config|output_router_logits|low_cpu_mem_usage|use_safetensors|variant|subfolder|use_kernels)$/;

/** What a recipe gives `from_pretrained`: type, kernel, quantization, and fields of the config that it replaces. */
export function readInitArguments(section: Section, draft: Draft, context: ReadContext): void {
  const found = section.find(KEY);
  if (!found || isBlank(found.node)) return;
  if (found.node.kind !== 'map') {
    section.leave(found, ['precision.weights', 'model.config']);
    return;
  }
  // Sizes are asked for before the release is known.
  if (isAtLeast(context.known['version.trl'], OWN_KWARGS) === false) {
    const message = say(
      'Scripts of TRL heed `{0}` since 1.14: what another script does with it is not known.',
      KEY,
    );
    draft.leave('value', found.node, KEY, message, ['precision.weights', 'model.config']);
    return;
  }
  const own = section.section(KEY);
  if (own.has(TYPE)) readWeightsDtype(own, TYPE, context, draft);
  own.take('attn_implementation');
  readOverrides(section, draft, [KEY], APART);
  readQuantizationConfig(own, draft);
}

/** A block is made a `BitsAndBytesConfig` by what it asks for, whose own type of 4 bits is fp4 (`transformers/quantizers/auto.py`). */
function readQuantizationConfig(own: Section, draft: Draft): void {
  const found = own.find('quantization_config');
  if (!found) return;
  const config = own.section('quantization_config');
  const [four, eight] = [config.find('load_in_4bit'), config.find('load_in_8bit')];
  if (four && flagOf(four.node) === true) {
    const type = config.find('bnb_4bit_quant_type');
    const isNormal = config.text('bnb_4bit_quant_type')?.toLowerCase() === 'nf4';
    config.state('quantization.kind', isNormal ? 'nf4' : 'fp4', type ?? four);
    config.take('bnb_4bit_quant_storage');
    config.takeElse('bnb_4bit_use_double_quant', {
      ...trlDefault(false, 'model_config.py'),
      note: say('{0} default', 'BitsAndBytesConfig'),
      source: fileIn(TRANSFORMERS, 'src/transformers/utils/quantization_config.py'),
    });
  } else if (eight && flagOf(eight.node) === true) config.state('quantization.kind', 'int8', eight);
  else {
    const words = say(
      'How `{0}` stores the weights is not known: that code is not read.',
      'quantization_config',
    );
    draft.leave('value', found.node, found.key, words, ['quantization.kind']);
  }
}
