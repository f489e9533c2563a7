import { flagOf, textOf, textsOf } from '../../config/scalar';
import { fileIn, TRL } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { DefaultValue, Section } from '../section';
import { KNOWN_SCRIPT_TABLE } from './known-script-keys';
import { MODEL_ARGUMENTS_TABLE } from './model-arguments-keys';
import { readWeightsDtype } from './weights-dtype';

const MODEL_CONFIG = fileIn(TRL, 'trl/trainer/model_config.py');

const TRL_WHOLE: DefaultValue<'full'> = {
  value: 'full',
  get note() {
    return say('{0} default', 'TRL');
  },
  source: MODEL_CONFIG,
};

/** `ModelConfig` of TRL: model, type, attention kernel, quantization, adapters. `whole`: why all weights are trained without them. */
export function readModelArguments(
  config: Section,
  draft: Draft,
  context: ReadContext,
  whole: DefaultValue<'full'> = TRL_WHOLE,
): void {
  const section = config.by(MODEL_ARGUMENTS_TABLE);
  section.take('model_name_or_path');
  // DeepSpeed casts whatever was loaded, and some scripts load as they compute.
  if (!draft.knows('precision.weights')) readWeightsDtype(section, ['dtype', 'torch_dtype'], context, draft);
  section.take('attn_implementation');
  readQuantization(section);
  readAdapter(section, whole);
}

/** The quantization that it asks for, nf4 unless it states another. */
export function readQuantization(section: Section): void {
  const four = section.find('load_in_4bit');
  const eight = section.find('load_in_8bit');
  if (four && flagOf(four.node) === true) {
    const type = section.find('bnb_4bit_quant_type');
    const fp4 = textOf(type?.node)?.toLowerCase() === 'fp4';
    section.state('quantization.kind', fp4 ? 'fp4' : 'nf4', fp4 && type ? type : four);
    section.take('use_bnb_nested_quant', 'bnb_4bit_quant_storage');
  } else if (eight && flagOf(eight.node) === true) section.state('quantization.kind', 'int8', eight);
}

/** The adapters that it asks for. `whole`: why all weights are trained without them. */
export function readAdapter(section: Section, whole: DefaultValue<'full'> = TRL_WHOLE): void {
  const peft = section.find('use_peft');
  if (!peft || flagOf(peft.node) !== true) {
    if (peft && flagOf(peft.node) === false) section.state('method.kind', 'full', peft);
    else section.assume('method.kind', whole, 'use_peft');
    return;
  }
  section.state('method.kind', 'lora', peft);
  // Scripts of people's own call them so; `all` is every linear layer.
  section.by(KNOWN_SCRIPT_TABLE).take('lora_rank');
  section.stateMeaning('lora.targets', 'target_modules', ({ node }) => {
    const names = textsOf(node);
    return names?.length === 1 && names[0] === 'all' ? ['all-linear'] : names;
  });
  section.take('lora_r', 'lora_alpha', 'lora_dropout');
  section.take(
    'lora_target_modules',
    'lora_target_parameters',
    'lora_modules_to_save',
    'use_dora',
    'lora_task_type',
  );
}
