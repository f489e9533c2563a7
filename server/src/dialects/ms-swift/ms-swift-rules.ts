import type { MapNode } from '../../config/node';
import { flagOf, integerOf, numberOf, textOf } from '../../config/scalar';
import type { RuleId } from '../../rules/rule-id';
import { fileIn, MS_SWIFT, TRANSFORMERS } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys } from '../key-check';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { MS_SWIFT_TABLE } from './ms-swift-keys';
import { packagedZero } from './packaged-configs';
import type { SwiftCommand } from './swift-command';

const SOURCE = fileIn(MS_SWIFT, 'swift/arguments/');
const MEGATRON = fileIn(MS_SWIFT, 'swift/megatron/arguments/megatron_args.py');
const policy = scriptPolicy('ms-swift');

/** What ms-swift refuses or ignores (`sft_args.py`, `rlhf_args.py`, `quant_args.py`, `megatron_args.py`). */
export function checkSwift(
  root: MapNode,
  section: Section,
  command: SwiftCommand,
  { known }: ReadContext,
  draft: Draft,
): void {
  // Plugins register tuners, losses and optimizers under names of their own.
  const plugins = section.has(['external_plugins', 'custom_register_path']);
  checkKeys(root, MS_SWIFT_TABLE, plugins ? { ...policy, wrongType: () => undefined } : policy, draft);
  const on = (key: string) => flagOf(section.find(key)?.node) === true;
  const at = (key: string) => section.find(key)?.node;
  const refuse: Refuse = (broken, key, code, message, source, from) =>
    forbid(broken, at(key), draft, { code, message, source, ...(from ? { releases: { from } } : {}) });
  if (command.megatron) checkMegatron(section, refuse);
  else {
    const kernel = textOf(at('attn_impl'));
    const flash = kernel === undefined ? false : /^flash_(attn|attention_[234])$/.test(kernel);
    for (const key of ['packing', 'padding_free'])
      refuse(
        on(key) && !flash && !isOld(section),
        key,
        'packing-without-flash',
        say('`{0}` needs flash attention: set `attn_impl` to `flash_attn`.', key),
        `${SOURCE}sft_args.py`,
        '3.5.0',
      );
    // ms-swift itself stops where a process has several cards, whatever the map: `sharding-without-processes`.
    const third = packagedZero(textOf(at('deepspeed')) ?? '')?.stage === 3 || known['zero.stage'] === 3;
    refuse(
      section.has('device_map') && section.has('deepspeed') && third,
      'device_map',
      'device-map-deepspeed',
      say('transformers loads no model by `device_map` under ZeRO-3.'),
      fileIn(TRANSFORMERS, 'src/transformers/integrations/accelerate.py'),
    );
  }
  refuse(
    on('packing') && on('lazy_tokenize'),
    'lazy_tokenize',
    'packing-lazy',
    say('`packing` and `lazy_tokenize` exclude each other.'),
    `${SOURCE}base_args/base_args.py`,
    '3.7.0',
  );
  refuse(
    on('streaming') && on('lazy_tokenize'),
    'lazy_tokenize',
    'streaming-lazy',
    say('`streaming` and `lazy_tokenize` exclude each other.'),
    `${SOURCE}base_args/base_args.py`,
    // Before, the one was switched off.
    '3.7.0',
  );
  checkQuantization(section, draft);
  checkRlhf(section, command, refuse);
}

/** `from` is the first release of ms-swift that refuses, where those before it take the same key. */
type Refuse = (
  broken: boolean,
  key: string,
  code: RuleId,
  message: string,
  source: string,
  from?: string,
) => void;

/** ms-swift 2 had other names and other rules. */
function isOld(section: Section): boolean {
  return section.has(['sft_type', 'model_id_or_path', 'use_flash_attn']);
}

function checkQuantization(section: Section, draft: Draft): void {
  const source = `${SOURCE}base_args/quant_args.py`;
  const method = section.text('quant_method')?.toLowerCase();
  const bits = section.find('quant_bits');
  if (bits && method === undefined && !section.has('quant_method'))
    draft.report(
      'dead-key',
      'warning',
      say('`quant_bits` has no effect without `quant_method`: the weights are not quantized.'),
      bits.node.range,
      { source, data: { key: 'quant_bits', needs: 'quant_method' } },
    );
  const width = integerOf(bits?.node);
  forbid(
    method === 'bnb' && bits !== undefined && width !== undefined && width !== 4 && width !== 8,
    bits?.node,
    draft,
    { code: 'bad-quantization-bits', message: say('bitsandbytes quantizes to 4 or 8 bits.'), source },
  );
  forbid(
    method !== undefined &&
      ['bnb', 'hqq', 'eetq', 'quanto'].includes(method) &&
      !section.has(['quant_bits', 'quantization_bit']) &&
      !isOld(section),
    section.find('quant_method')?.node,
    draft,
    {
      code: 'missing-quantization-bits',
      message: say('`quant_method: {0}` needs `quant_bits`.', String(method)),
      source,
    },
  );
}

function checkRlhf(section: Section, { name }: SwiftCommand, refuse: Refuse): void {
  const source = `${SOURCE}rlhf_args.py`;
  const type = section.text('rlhf_type')?.toLowerCase() ?? (name === 'rlhf' ? 'dpo' : undefined);
  if (type === undefined) return;
  const tuner = section.text(['tuner_type', 'train_type', 'sft_type']);
  const full = tuner === 'full';
  const unweighted = type === 'grpo' && numberOf(section.find('beta')?.node) === 0;
  const compares = ['dpo', 'kto', 'ppo', 'grpo'].includes(type);
  refuse(
    !unweighted && !(compares && full) && tuner !== undefined,
    'ref_model',
    'needless-reference',
    say(
      'No reference model may be named here: CPO and ORPO have none, and adapters are switched off for it.',
    ),
    source,
    // PPO over adapters had one of its own in 3.0.
    type === 'ppo' ? '3.1.0' : undefined,
  );
  const vllm = section.flag('use_vllm') === true;
  const rollouts = type === 'grpo' || type === 'gkd';
  refuse(
    rollouts && section.has('vllm_mode') && !vllm,
    'vllm_mode',
    'vllm-mode-without-vllm',
    say('`vllm_mode` needs `use_vllm`.'),
    source,
    '3.11.1',
  );
  const grouped = section.has('colocate_groups') || section.has('rollout') || section.has('train');
  refuse(
    rollouts && vllm && !section.has('vllm_mode') && !grouped && section.has('tuner_type'),
    'use_vllm',
    'missing-vllm-mode',
    say('`use_vllm` needs `vllm_mode`: `colocate` or `server`.'),
    source,
    '3.11.1',
  );
  refuse(
    type === 'grpo' &&
      section.integer('num_generations') === 1 &&
      !section.has(['teacher_model', 'teacher_model_server']),
    'num_generations',
    'too-few-generations',
    say('GRPO compares completions of a prompt: it needs at least two.'),
    source,
    '4.4.0',
  );
}

function checkMegatron(section: Section, refuse: Refuse): void {
  refuse(
    section.text('recompute_granularity') === 'selective' && section.has('recompute_method'),
    'recompute_method',
    'selective-with-method',
    say('Selective recomputation takes no `recompute_method`.'),
    MEGATRON,
    '4.0.0',
  );
  const stages = section.integerOrDefault('pipeline_model_parallel_size');
  for (const key of ['decoder_first_pipeline_num_layers', 'decoder_last_pipeline_num_layers'])
    refuse(
      stages === 1 && section.has(key) && !section.has('pipeline_model_parallel_layout'),
      key,
      'uneven-without-pipeline',
      say('`{0}` needs more than one pipeline stage.', key),
      MEGATRON,
      '3.11.0',
    );
  refuse(
    section.flag('tp_comm_overlap') === true && section.flag('sequence_parallel') !== true,
    'tp_comm_overlap',
    'overlap-without-sequence-parallel',
    say('`tp_comm_overlap` needs `sequence_parallel`.'),
    MEGATRON,
    '4.0.0',
  );
  const free = section.flag('padding_free') !== false;
  refuse(
    section.flag('group_by_length') === true && free,
    'group_by_length',
    'grouped-padding-free',
    say('`group_by_length` excludes `padding_free`, which is on by default.'),
    MEGATRON,
    '4.0.1',
  );
  const kept = section.integer('save_total_limit');
  refuse(
    kept !== undefined && kept < 2,
    'save_total_limit',
    'too-few-checkpoints',
    say('Megatron in ms-swift keeps at least two checkpoints.'),
    MEGATRON,
    '4.0.0',
  );
}
