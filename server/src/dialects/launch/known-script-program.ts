import { entryOf } from '../../config/lookup';
import { say } from '../../wording/say';
import { KNOWN_SCRIPTS, type KnownScript, readKnownAdapter } from '../hf/known-scripts';
import { MODEL_ARGUMENTS_KEYS } from '../hf/model-arguments-keys';
import { SCRIPT_ARGUMENTS_KEYS } from '../hf/script-arguments-keys';
import { TRAINER_DEFAULTS } from '../hf/training-arguments';
import { TRAINING_ARGUMENTS_KEYS } from '../hf/training-arguments-keys';
import { readScriptArguments } from '../hf-training-arguments';
import { block } from '../key-rows';
import { Section, type Silence } from '../section';
import type { Launch } from './launch';
import type { Program } from './program';

const SOURCE = 'https://github.com/haotian-liu/LLaVA/blob/main/llava/train/train.py';

const OWN_KEYS = block('', SOURCE, [
  ['lora_enable', 'boolean', 'Train LoRA adapters.', { default: false, fields: ['method.kind'] }],
  ['use_lora', 'boolean', 'Train LoRA adapters.', { default: false, fields: ['method.kind'] }],
  ['q_lora', 'boolean', 'LoRA over a base in 4 bits.', { default: false, fields: ['quantization.kind'] }],
  [
    'use_llm_lora',
    'integer',
    'Rank of LoRA in the language model; 0 is none.',
    { default: 0, fields: ['lora.rank', 'method.kind'] },
  ],
  ['lora_r', 'integer', 'Rank of the LoRA matrices.', { default: 64, fields: ['lora.rank'] }],
  ['lora_rank', 'integer', 'Rank of the LoRA matrices.', { default: 64, fields: ['lora.rank'] }],
  [
    'lora_alpha',
    'number',
    'LoRA scaling numerator. Costs no memory.',
    { default: 16, fields: ['lora.alpha'] },
  ],
  ['lora_dropout', 'number', 'Dropout on the adapter input.', { fields: ['lora.dropout'] }],
  [
    'bits',
    'integer',
    'Bits of the frozen base weights.',
    { values: [4, 8, 16], fields: ['quantization.kind'] },
  ],
  [
    'double_quant',
    'boolean',
    'Quantize the block scales once more.',
    { default: true, fields: ['quantization.double'] },
  ],
  [
    'quant_type',
    'string',
    '4-bit type.',
    { values: ['fp4', 'nf4'], default: 'nf4', fields: ['quantization.kind'] },
  ],
  [
    'tune_mm_mlp_adapter',
    'boolean',
    'Train the projector only.',
    { default: false, fields: ['method.trainable'] },
  ],
  [
    'freeze_llm',
    'boolean',
    'The language model is not trained.',
    { default: false, fields: ['method.trainable'] },
  ],
  ['freeze_vision_tower', 'boolean', 'The vision tower is not trained.', { fields: ['method.trainable'] }],
  ['source_max_len', 'integer', 'Tokens of the source.', { default: 1024, fields: ['batch.sequence'] }],
  [
    'target_max_len',
    'integer',
    'Tokens of the target, behind the source.',
    { default: 256, fields: ['batch.sequence'] },
  ],
  [
    'grad_checkpoint',
    'boolean',
    'Activation checkpointing.',
    { default: true, fields: ['activations.checkpointing'] },
  ],
  ['model_id', 'string', 'Model on the Hub, or a folder.', { fields: ['model.id'] }],
  ['use_liger', 'boolean', 'Liger kernels.', { default: true, fields: ['kernels.liger'] }],
]);
const named = new Set(OWN_KEYS.map(({ path }) => path));

function scriptOf(launch: Launch): KnownScript | undefined {
  const { script } = launch;
  if (script === undefined) return undefined;
  const has = (flag: string) => entryOf(launch.arguments, flag) !== undefined;
  const trains =
    has('per_device_train_batch_size') || has('output_dir') || has('model_name_or_path') || has('do_train');
  return trains ? KNOWN_SCRIPTS.find((known) => known.matches(script, has)) : undefined;
}

/** Well-known scripts around the Trainer, whose own arguments have defaults of their own. */
export const knownScriptProgram: Program = {
  name: 'a script around the Trainer',
  keys: [
    ...OWN_KEYS,
    ...[...TRAINING_ARGUMENTS_KEYS, ...MODEL_ARGUMENTS_KEYS, ...SCRIPT_ARGUMENTS_KEYS].filter(
      ({ path }) => !named.has(path),
    ),
  ],
  match: (launch) => (scriptOf(launch) ? 0.8 : 0),
  read(launch, draft, context) {
    const script = scriptOf(launch);
    if (!script) return;
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`);
    const own = <V>(value: V): Silence<V> => ({
      value,
      note: say('default of {0}', script.name),
      source: script.source,
    });
    script.read?.(section, draft, context, own);
    if (script.adapter) readKnownAdapter(section, script.adapter, own);
    const { length } = script;
    readScriptArguments(section, section, draft, context, { ...TRAINER_DEFAULTS, ...script.trainer });
    if (!length) return;
    section.assume('batch.sequence', own(length.tokens), length.key);
    if (length.target !== undefined) section.assume('batch.targetSequence', own(length.target));
  },
};
