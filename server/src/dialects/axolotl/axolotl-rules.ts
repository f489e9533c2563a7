import type { MapNode } from '../../config/node';
import { flagOf, integerOf, textOf, textsOf } from '../../config/scalar';
import type { RuleId } from '../../rules/rule-id';
import { AXOLOTL, fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import { reportDead } from '../dead-keys';
import type { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys } from '../key-check';
import { forbid } from '../refusal';
import type { Releases } from '../release';
import type { Section } from '../section';
import { AXOLOTL_TABLE } from './axolotl-keys';

const SOURCE = fileIn(AXOLOTL, 'src/axolotl/utils/schemas/');
const policy = scriptPolicy('Axolotl', true);

/** A file of the schemas, or one elsewhere in the package by its folder. */
const sourceOf = (file: string) =>
  file.includes('/') ? fileIn(AXOLOTL, `src/axolotl/${file}`) : `${SOURCE}${file}`;

/** A config as its rules look at it. */
interface Checked {
  readonly section: Section;
  readonly on: (key: string) => boolean;
  /** Stated, and not as false. */
  readonly given: (key: string) => boolean;
  /**
   * Reports a key whose combination Axolotl refuses; `file` of its schemas states it. `releases`: those from 0.5 to 0.21 that
   * do, by the wheels on PyPI; all of them where it is left out.
   */
  readonly refuse: (
    broken: boolean,
    key: string,
    code: RuleId,
    message: string,
    file?: string,
    releases?: Releases,
  ) => void;
  readonly adapter: string | undefined;
  /** The preference method, in small letters. */
  readonly rl: string | undefined;
  readonly optimizer: string;
  readonly fsdp: boolean;
  /** FSDP 2. */
  readonly second: boolean;
  /** The switch that quantizes the base, if one is on. */
  readonly quantized: string | undefined;
}

/** What Axolotl refuses (`validation.py`, `peft.py`) and ignores; `config` is the model's, once it is found. */
export function checkAxolotl(
  root: MapNode,
  section: Section,
  draft: Draft,
  config: Readonly<Record<string, unknown>> = {},
): void {
  checkKeys(root, AXOLOTL_TABLE, policy, draft);
  const checked = checkedOf(section, draft);
  checkAdapter(checked);
  checkBatch(checked);
  checkSharding(checked);
  checkSplits(checked, config);
  checkOptimizer(checked);
  checkSavers(checked);
  checkKernels(checked);
  checkData(checked);
  checkDead(section, checked.adapter, draft);
}

function checkedOf(section: Section, draft: Draft): Checked {
  const on = (key: string) => flagOf(section.find(key)?.node) === true;
  const word = (key: string) => textOf(section.find(key)?.node)?.toLowerCase();
  const fsdp = section.section('fsdp_config');
  return {
    section,
    on,
    given: (key) => section.has(key) && flagOf(section.find(key)?.node) !== false,
    refuse: (broken, key, code, message, file = 'validation.py', releases) =>
      forbid(broken, section.find(key)?.node, draft, { code, message, source: sourceOf(file), releases }),
    adapter: word('adapter'),
    rl: word('rl'),
    optimizer: word('optimizer') ?? '',
    fsdp: (textsOf(section.find('fsdp')?.node)?.length ?? 0) > 0 || section.has('fsdp_config'),
    second: (section.integer('fsdp_version') ?? fsdp.integer(['fsdp_version', 'version'])) === 2,
    quantized: ['load_in_4bit', 'load_in_8bit'].find(on),
  };
}

/** Adapters and quantized weights. */
function checkAdapter({ on, section, adapter, quantized, refuse }: Checked): void {
  for (const key of ['load_in_4bit', 'load_in_8bit'])
    refuse(
      on(key) && adapter === undefined && !on('inference'),
      key,
      'quantized-without-adapter',
      say('Quantized weights cannot be trained themselves: add `adapter: qlora` or `lora`.'),
      'peft.py',
    );
  refuse(
    adapter === 'qlora' &&
      !on('load_in_4bit') &&
      !on('gptq') &&
      !section.has('lora_model_dir') &&
      !section.has('model_quantization_config'),
    'adapter',
    'qlora-without-4bit',
    say('`adapter: qlora` needs `load_in_4bit: true`.'),
    'peft.py',
  );
  refuse(
    adapter === 'qlora' && on('load_in_8bit'),
    'load_in_8bit',
    'qlora-8bit',
    say('`adapter: qlora` excludes `load_in_8bit`.'),
    'peft.py',
  );
  refuse(
    on('quantize_moe_experts') && !(quantized !== undefined && (adapter === 'lora' || adapter === 'qlora')),
    'quantize_moe_experts',
    'quantized-experts',
    say('`quantize_moe_experts` needs an adapter over weights in 8 or 4 bits.'),
    'config.py',
    { from: '0.15' },
  );
  refuse(
    section.has('lora_target_parameters') && section.numberOrDefault('lora_dropout') > 0,
    'lora_dropout',
    'parameters-dropout',
    say('Adapters on parameters (`lora_target_parameters`) have no dropout: set `lora_dropout: 0`.'),
    'peft.py',
    { from: '0.15' },
  );
}

/** Sizes of batches, and how samples share them. */
function checkBatch({ on, section, refuse }: Checked): void {
  refuse(
    section.has('gradient_accumulation_steps') && section.has('batch_size'),
    'batch_size',
    'two-batch-sizes',
    say('Set only one of `gradient_accumulation_steps` and `batch_size`: each follows from the other.'),
  );
  refuse(
    !section.has('micro_batch_size') && !section.has('gradient_accumulation_steps'),
    'batch_size',
    'missing-batch-size',
    say('`batch_size` alone is not enough: set `micro_batch_size` too.'),
  );
  refuse(
    on('sample_packing') && section.has('rl'),
    'sample_packing',
    'packing-preference',
    say('`sample_packing` does not work with `rl`.'),
  );
  refuse(
    on('batch_flattening') && on('sample_packing'),
    'batch_flattening',
    'packing-twice',
    say('`batch_flattening` excludes `sample_packing`.'),
    'validation.py',
    { from: '0.8' },
  );
}

/** DeepSpeed and FSDP, with each other and with what is trained. */
function checkSharding({ on, given, section, second, rl, quantized, refuse }: Checked): void {
  const preference = /^(dpo|kto|orpo|ipo)$/.test(rl ?? '');
  refuse(
    // A block of settings alone is not looked at.
    given('deepspeed') && (textsOf(section.find('fsdp')?.node)?.length ?? 0) > 0,
    'deepspeed',
    'two-shardings',
    say('`deepspeed` and `fsdp` exclude each other.'),
  );
  refuse(
    section.integer('fsdp_version') === 2 && preference && quantized !== undefined,
    quantized ?? '',
    'quantized-preference-fsdp2',
    say(
      'FSDP 2 does not work with `{0}` in preference training: use DeepSpeed or FSDP 1.',
      String(quantized),
    ),
    'validation.py',
    { from: '0.12' },
  );
  refuse(
    second &&
      on('load_in_4bit') &&
      section.section('fsdp_config').flag(['cpu_ram_efficient_loading', 'fsdp_cpu_ram_efficient_loading']) ===
        true,
    'load_in_4bit',
    'efficient-loading-4bit',
    say('FSDP 2 cannot load 4-bit weights with `cpu_ram_efficient_loading`: set it to false.'),
    'validation.py',
    { from: '0.19' },
  );
  refuse(
    on('deepcompile') && !given('deepspeed'),
    'deepcompile',
    'deepcompile-without-deepspeed',
    say('`deepcompile` needs DeepSpeed.'),
    'validation.py',
    { from: '0.12' },
  );
}

/** Models and samples that are split over GPUs. */
function checkSplits(
  { on, section, optimizer, refuse }: Checked,
  config: Readonly<Record<string, unknown>>,
): void {
  const since = { from: '0.12' };
  const tensor = section.integerOrDefault('tensor_parallel_size') > 1;
  const plugins = (textsOf(section.find('plugins')?.node) ?? []).join(' ').toLowerCase();
  for (const key of ['liger_fused_linear_cross_entropy', 'liger_rms_norm'])
    refuse(
      tensor && plugins.includes('liger') && on(key),
      key,
      'tensor-parallel-liger',
      say('`{0}` does not work with tensor parallelism.', key),
      'integrations/liger/args.py',
      since,
    );
  refuse(
    tensor && /^(paged_adamw_8bit|adamw_8bit|adamw_bnb_8bit)$/.test(optimizer),
    'optimizer',
    'tensor-parallel-8bit',
    say('`{0}` does not work with tensor parallelism.', optimizer),
    'validation.py',
    since,
  );
  refuse(
    tensor && config.tie_word_embeddings === true,
    'tensor_parallel_size',
    'tensor-parallel-tied',
    say('Tensor parallelism does not work with a head that shares its weights with the embedding.'),
    'loaders/utils.py',
    since,
  );
  const samples = section.find(['context_parallel_size', 'sequence_parallel_degree']);
  const parts = integerOf(samples?.node);
  if (parts === undefined || parts <= 1 || on('use_glm_dsa_kernels')) return;
  const key = section.has('context_parallel_size') ? 'context_parallel_size' : 'sequence_parallel_degree';
  const kernel = textOf(section.find('attn_implementation')?.node)?.split(/[:@]/)[0]?.trim();
  const second = kernel === undefined ? on('flash_attention') : kernel === 'flash_attention_2';
  refuse(
    !second && !on('gemma4_hybrid_attn_impl'),
    key,
    'context-parallel-attention',
    say('Context parallelism needs FlashAttention 2: set `{0}`.', 'attn_implementation: flash_attention_2'),
    'validation.py',
    // Until 0.18 any kernel of FlashAttention would do.
    { from: kernel !== undefined && /flash/.test(kernel) ? '0.19' : '0.8' },
  );
  refuse(
    on('sample_packing') && section.integerOrDefault('micro_batch_size') > 1,
    'micro_batch_size',
    'context-parallel-packing',
    say('Context parallelism over packed samples needs `micro_batch_size: 1`.'),
    'validation.py',
    { from: '0.8' },
  );
  refuse(
    textOf(section.find('rl')?.node)?.toLowerCase() === 'grpo' &&
      section.section('trl').flag('use_liger_loss') === true,
    key,
    'context-parallel-liger',
    say("GRPO with Liger's loss does not work with context parallelism."),
    'validation.py',
    since,
  );
}

/** Optimizers that do not work everywhere. */
function checkOptimizer({ given, section, optimizer, fsdp, second, adapter, refuse }: Checked): void {
  const offloads = section.section('fsdp_config').flag(['offload_params', 'fsdp_offload_params']) === true;
  refuse(
    /^(adamw_8bit|adamw_bnb_8bit)$/.test(optimizer) && section.has('fsdp_config') && second,
    'optimizer',
    'optimizer-fsdp2',
    say('`{0}` does not work with FSDP 2: use `adamw_torch_8bit`.', optimizer),
    'validation.py',
    { from: '0.12' },
  );
  refuse(
    /8bit|8_bit/.test(optimizer) && fsdp && !second && offloads,
    'optimizer',
    'optimizer-fsdp-offload',
    say('8-bit optimizers do not work with parameters offloaded by FSDP 1.'),
    'validation.py',
    { until: '0.20' },
  );
  refuse(
    optimizer === 'muon' && given('deepspeed'),
    'optimizer',
    'muon-deepspeed',
    say('Muon does not work with DeepSpeed.'),
    'validation.py',
    { from: '0.8' },
  );
  refuse(
    optimizer === 'muon' && fsdp && !second,
    'optimizer',
    'muon-fsdp1',
    say('Muon needs FSDP 2: set `fsdp_version: 2`.'),
    'validation.py',
    { from: '0.8', until: '0.20' },
  );
  refuse(
    optimizer.startsWith('q_galore') && adapter !== undefined,
    'optimizer',
    'q-galore-adapter',
    say('Q-GaLore trains whole weights: remove `adapter`.'),
    'validation.py',
    { from: '0.17' },
  );
  refuse(
    optimizer.startsWith('q_galore') && given('deepspeed'),
    'optimizer',
    'q-galore-deepspeed',
    say('Q-GaLore does not work with DeepSpeed.'),
    'validation.py',
    { from: '0.17' },
  );
}

/** Checkpointing, offload of activations, limits of memory. */
function checkSavers({ given, section, refuse }: Checked): void {
  refuse(
    given('selective_checkpointing') && !given('gradient_checkpointing'),
    'selective_checkpointing',
    'selective-without-checkpointing',
    say('`selective_checkpointing` needs `gradient_checkpointing`.'),
    'validation.py',
    { from: '0.18' },
  );
  refuse(
    given('activation_offloading') && !given('gradient_checkpointing'),
    'activation_offloading',
    'offload-without-checkpointing',
    say('`activation_offloading` needs `gradient_checkpointing`.'),
    'validation.py',
    { from: '0.12' },
  );
  refuse(
    section.has('max_memory') && section.has('gpu_memory_limit'),
    'gpu_memory_limit',
    'two-memory-limits',
    say('`max_memory` and `gpu_memory_limit` exclude each other.'),
  );
}

/** Kernels and losses that exclude each other, or that are gone. */
function checkKernels({ on, adapter, refuse }: Checked): void {
  for (const key of ['lora_mlp_kernel', 'lora_qkv_kernel', 'lora_o_kernel']) {
    refuse(
      on(key) && adapter === 'lora' && on('load_in_8bit'),
      key,
      'lora-kernel-8bit',
      say('`{0}` does not work with 8-bit weights.', key),
      'validation.py',
      { from: '0.12' },
    );
    refuse(
      on(key) && on('trust_remote_code'),
      key,
      'lora-kernel-remote-code',
      say('`{0}` does not work with `trust_remote_code`.', key),
      'validation.py',
      { from: '0.15' },
    );
  }
  for (const key of ['unsloth_cross_entropy_loss', 'unsloth_lora_mlp', 'unsloth_lora_qkv', 'unsloth_lora_o'])
    refuse(
      on(key),
      key,
      'removed-key',
      say('`{0}` was removed: use the `lora_*_kernel` keys instead.', key),
      'validation.py',
      { from: '0.17' },
    );
  const losses = [
    'liger_fused_linear_cross_entropy',
    'cut_cross_entropy',
    'chunked_cross_entropy',
    'liger_cross_entropy',
  ].filter(on);
  refuse(
    losses.length > 1,
    losses[1] ?? '',
    'two-losses',
    say('Only one loss can be used: {0}.', losses.join(', ')),
    'validation.py',
    { from: '0.13' },
  );
}

/** What data sets need. */
function checkData({ on, section, rl, refuse }: Checked): void {
  const streamed = section.has('pretraining_dataset') ? undefined : { from: '0.13' };
  refuse(
    rl === 'kto' && section.flag('remove_unused_columns') !== false,
    'rl',
    'kto-columns',
    say('`rl: kto` needs `remove_unused_columns: false`.'),
    'validation.py',
    { from: '0.6' },
  );
  refuse(
    (section.has('pretraining_dataset') || on('streaming')) && section.integer('max_steps') === 0,
    'max_steps',
    'missing-steps',
    say('A streamed data set has no length: set `max_steps`.'),
    'validation.py',
    streamed,
  );
  refuse(
    (section.has('pretraining_dataset') || on('streaming')) && !section.has('max_steps'),
    section.has('pretraining_dataset') ? 'pretraining_dataset' : 'streaming',
    'missing-steps',
    say('A streamed data set has no length: set `max_steps`.'),
    'validation.py',
    streamed,
  );
}

const LORA_KEYS = [
  'lora_r',
  'lora_alpha',
  'lora_target_linear',
  'lora_target_modules',
  'lora_modules_to_save',
  'peft_use_dora',
];

function checkDead(section: Section, adapter: string | undefined, draft: Draft): void {
  const four = section.find('load_in_4bit');
  if (adapter === 'lora' && four && flagOf(four.node) === true)
    draft.report(
      'dead-key',
      'warning',
      say(
        '`load_in_4bit` has no effect with `adapter: lora`, which takes 8-bit weights: use `adapter: qlora`.',
      ),
      four.node.range,
      {
        source: fileIn(AXOLOTL, 'src/axolotl/loaders/model.py'),
        data: { key: 'load_in_4bit', needs: 'adapter' },
      },
    );
  if (adapter !== undefined) return;
  reportDead(section, draft, {
    keys: LORA_KEYS,
    one: (key) => say('`{0}` has no effect without `adapter`: all weights are trained.', key),
    several: (keys) => say('Without `adapter` all weights are trained, and these have no effect: {0}.', keys),
    needs: 'adapter',
    source: `${SOURCE}peft.py`,
    heedsOff: true,
  });
}
