import type { FieldPath, FieldValue, RunValues } from '../run/fields';

type OptimizerField = Extract<FieldPath, `optimizer.${string}`>;

/** What a spelling states of the run, by field. */
export type OptimizerValues = Pick<RunValues, OptimizerField>;

/** One statement that a spelling makes. */
type OptimizerStatement = {
  [P in OptimizerField]: { readonly field: P; readonly value: FieldValue<P> };
}[OptimizerField];

/** Options of an optimizer as a config writes them: numbers, flags, or their text. */
export type OptimizerOptions = Readonly<Record<string, unknown>>;

const named = (
  name: FieldValue<'optimizer.name'>,
  implementation?: FieldValue<'optimizer.implementation'>,
  more: OptimizerValues = {},
): OptimizerValues => ({
  'optimizer.name': name,
  ...(implementation ? { 'optimizer.implementation': implementation } : {}),
  ...more,
});

/** transformers registers a 32-bit override for every `nn.Embedding` (`Trainer.create_optimizer`). */
const WIDE: OptimizerValues = { 'optimizer.wideEmbeddings': true };
const IN_BACKWARD: OptimizerValues = { 'optimizer.inBackward': true };

/**
 * `OptimizerNames` of transformers 4.57 and 5: the classes of `get_optimizer_cls_and_kwargs` (`trainer_optimizer.py` since
 * 5.0), with names that older releases knew.
 */
export const TRANSFORMERS_OPTIMIZERS: Readonly<Record<string, OptimizerValues>> = {
  adamw_torch: named('adamw', 'foreach'),
  adamw_torch_fused: named('adamw', 'fused'),
  adamw_torch_xla: named('adamw', 'fused'),
  adamw_torch_npu_fused: named('adamw', 'fused'),
  adamw_apex_fused: named('adamw', 'fused'),
  adamw_hf: named('adamw', 'for-loop'),
  adafactor: named('adafactor'),
  adamw_anyprecision: named('anyprecision-adamw'),
  adamw_torch_4bit: named('ao-adamw-4bit', undefined, { 'optimizer.blockSize': 256 }),
  adamw_torch_8bit: named('ao-adamw-8bit'),
  ademamix: named('ademamix'),
  sgd: named('sgd', 'foreach'),
  adagrad: named('adagrad', 'foreach'),
  adamw_bnb_8bit: named('adamw-8bit', undefined, WIDE),
  adamw_8bit: named('adamw-8bit', undefined, WIDE),
  ademamix_8bit: named('ademamix-8bit', undefined, WIDE),
  lion_8bit: named('lion-8bit', undefined, WIDE),
  lion_32bit: named('lion-32bit'),
  paged_adamw_32bit: named('paged-adamw'),
  paged_adamw_8bit: named('paged-adamw-8bit', undefined, WIDE),
  paged_ademamix_32bit: named('paged-ademamix'),
  paged_ademamix_8bit: named('paged-ademamix-8bit', undefined, WIDE),
  paged_lion_32bit: named('paged-lion'),
  paged_lion_8bit: named('paged-lion-8bit', undefined, WIDE),
  rmsprop: named('rmsprop', 'foreach'),
  rmsprop_bnb: named('rmsprop-32bit'),
  rmsprop_bnb_8bit: named('rmsprop-8bit', undefined, WIDE),
  rmsprop_bnb_32bit: named('rmsprop-32bit'),
  galore_adamw: named('galore-adamw'),
  galore_adamw_8bit: named('galore-adamw-8bit'),
  galore_adafactor: named('galore-adafactor'),
  galore_adamw_layerwise: named('galore-adamw', undefined, IN_BACKWARD),
  galore_adamw_8bit_layerwise: named('galore-adamw-8bit', undefined, IN_BACKWARD),
  galore_adafactor_layerwise: named('galore-adafactor', undefined, IN_BACKWARD),
  lomo: named('lomo'),
  adalomo: named('adalomo'),
  grokadamw: named('grokadamw'),
  schedule_free_radam: named('schedule-free-radam'),
  schedule_free_adamw: named('schedule-free-adamw'),
  schedule_free_sgd: named('schedule-free-sgd'),
  apollo_adamw: named('apollo-adamw'),
  apollo_adamw_layerwise: named('apollo-adamw', undefined, IN_BACKWARD),
  stable_adamw: named('stable-adamw'),
};

/** `optimizer` of Axolotl beside transformers' names (`CustomSupportedOptimizers`). */
export const AXOLOTL_OPTIMIZERS: Readonly<Record<string, OptimizerValues>> = {
  optimi_adamw: named('adamw', 'fused', { 'optimizer.compensation': true }),
  ao_adamw_4bit: named('ao-adamw-4bit'),
  ao_adamw_8bit: named('ao-adamw-8bit'),
  ao_adamw_fp8: named('ao-adamw-fp8'),
  adopt_adamw: named('adamw', 'foreach'),
  came_pytorch: named('came'),
  muon: named('muon'),
  q_galore_adamw8bit: named('q-galore-adamw-8bit'),
};

/** Classes of `torch.optim`, spelled as there. Sparse Adam needs sparse gradients, which language models have none of. */
export const TORCH_OPTIMIZERS: Readonly<Record<string, OptimizerValues | undefined>> = {
  Adadelta: named('adadelta'),
  Adafactor: named('torch-adafactor'),
  Adagrad: named('adagrad'),
  Adam: named('adam'),
  Adamax: named('adamax'),
  AdamW: named('adamw'),
  ASGD: named('asgd'),
  LBFGS: named('lbfgs'),
  Muon: named('muon'),
  NAdam: named('nadam'),
  RAdam: named('radam'),
  RMSprop: named('rmsprop'),
  Rprop: named('rprop'),
  SGD: named('sgd'),
  SparseAdam: undefined,
};

/**
 * DeepSpeed's own types, in lower case (`engine.py`, `_configure_basic_optimizer`). Its kernels are fused; Adagrad is
 * torch's; the communication-compressing ones step weight by weight.
 */
export const DEEPSPEED_OPTIMIZERS: Readonly<Record<string, OptimizerValues>> = {
  adam: named('adamw', 'fused'),
  adamw: named('adamw', 'fused'),
  adagrad: named('adagrad', 'foreach'),
  lamb: named('lamb', 'fused'),
  lion: named('lion', 'fused'),
  muon: named('muon', 'for-loop'),
  muadam: named('adam', 'foreach'),
  muadamw: named('adamw', 'foreach'),
  musgd: named('sgd-momentum', 'foreach'),
  onebitadam: named('onebit-adam', 'for-loop'),
  zerooneadam: named('zero-one-adam', 'for-loop'),
  onebitlamb: named('onebit-lamb', 'for-loop'),
};

/** `--optimizer` of Megatron (`core/optimizer`): Apex' or Transformer Engine's fused Adam, SGD with momentum 0.9. */
export const MEGATRON_OPTIMIZERS: Readonly<Record<string, OptimizerValues>> = {
  adam: named('adamw', 'fused'),
  adamw: named('adamw', 'fused'),
  sgd: named('sgd-momentum', 'fused'),
  lion: named('lion', 'fused'),
  muon: named('muon', 'for-loop'),
  dist_muon: named('muon', 'for-loop'),
  // NeMo's spellings.
  fused_adam: named('adamw', 'fused'),
  distributed_fused_adam: named('adamw', 'fused'),
  megatron_fused_adam: named('adamw', 'fused'),
  mcore_distributed_optim: named('adamw', 'fused'),
};

/** Composer's and llm-foundry's names (`build_optimizer`). */
export const COMPOSER_OPTIMIZERS: Readonly<Record<string, OptimizerValues>> = {
  decoupled_adamw: named('adamw', 'for-loop'),
  decoupled_sgdw: named('sgd-momentum', 'for-loop'),
  decoupled_lionw: named('lion', 'for-loop'),
  decoupled_lionw_8b: named('lion-8bit'),
  adalr_lion: named('lion', 'for-loop'),
  clip_lion: named('lion', 'for-loop'),
  no_op: named('sgd'),
};

/** Classes of other packages by their name; the same class has the same states wherever it comes from. */
const CLASSES: Readonly<Record<string, OptimizerValues>> = {
  'bitsandbytes.AdamW': named('adamw-32bit'),
  'bitsandbytes.Adam': named('adamw-32bit'),
  'bitsandbytes.AdamW8bit': named('adamw-8bit'),
  'bitsandbytes.Adam8bit': named('adam-8bit'),
  'bitsandbytes.AdamW32bit': named('adamw-32bit'),
  'bitsandbytes.Adam32bit': named('adamw-32bit'),
  'bitsandbytes.PagedAdamW': named('paged-adamw'),
  'bitsandbytes.PagedAdam': named('paged-adamw'),
  'bitsandbytes.PagedAdamW8bit': named('paged-adamw-8bit'),
  'bitsandbytes.PagedAdam8bit': named('paged-adamw-8bit'),
  'bitsandbytes.PagedAdamW32bit': named('paged-adamw'),
  'bitsandbytes.PagedAdam32bit': named('paged-adamw'),
  'bitsandbytes.Lion': named('lion-32bit'),
  'bitsandbytes.Lion8bit': named('lion-8bit'),
  'bitsandbytes.Lion32bit': named('lion-32bit'),
  'bitsandbytes.PagedLion': named('paged-lion'),
  'bitsandbytes.PagedLion8bit': named('paged-lion-8bit'),
  'bitsandbytes.PagedLion32bit': named('paged-lion'),
  'bitsandbytes.AdEMAMix': named('ademamix'),
  'bitsandbytes.AdEMAMix8bit': named('ademamix-8bit'),
  'bitsandbytes.AdEMAMix32bit': named('ademamix'),
  'bitsandbytes.PagedAdEMAMix': named('paged-ademamix'),
  'bitsandbytes.PagedAdEMAMix8bit': named('paged-ademamix-8bit'),
  'bitsandbytes.RMSprop': named('rmsprop-32bit'),
  'bitsandbytes.RMSprop8bit': named('rmsprop-8bit'),
  'bitsandbytes.RMSprop32bit': named('rmsprop-32bit'),
  'bitsandbytes.Adagrad': named('adagrad-32bit'),
  'bitsandbytes.Adagrad8bit': named('adagrad-8bit'),
  'bitsandbytes.Adagrad32bit': named('adagrad-32bit'),
  'bitsandbytes.SGD': named('sgd-32bit'),
  'bitsandbytes.SGD8bit': named('sgd-8bit'),
  'bitsandbytes.SGD32bit': named('sgd-32bit'),
  'bitsandbytes.LAMB': named('lamb-32bit'),
  'bitsandbytes.LAMB8bit': named('lamb-8bit'),
  'bitsandbytes.LAMB32bit': named('lamb-32bit'),
  'bitsandbytes.LARS': named('sgd-32bit'),
  'bitsandbytes.LARS8bit': named('sgd-8bit'),
  'torchao.AdamW8bit': named('ao-adamw-8bit'),
  'torchao.Adam8bit': named('ao-adamw-8bit'),
  'torchao.AdamW4bit': named('ao-adamw-4bit'),
  'torchao.Adam4bit': named('ao-adamw-4bit'),
  'torchao.AdamWFp8': named('ao-adamw-fp8'),
  'torchao.AdamFp8': named('ao-adamw-fp8'),
  FusedAdam: named('adamw', 'fused'),
  FusedLAMB: named('lamb', 'fused'),
  FusedLamb: named('lamb', 'fused'),
  FusedSGD: named('sgd-momentum', 'fused'),
  FusedNovoGrad: named('adagrad', 'fused'),
  FusedAdagrad: named('adagrad', 'fused'),
  FusedMixedPrecisionLamb: named('lamb', 'fused'),
  DeepSpeedCPUAdam: named('adamw', 'fused'),
  GaLoreAdamW: named('galore-adamw'),
  GaLoreAdamW8bit: named('galore-adamw-8bit'),
  GaLoreAdafactor: named('galore-adafactor'),
  QGaLoreAdamW8bit: named('q-galore-adamw-8bit'),
  APOLLOAdamW: named('apollo-adamw'),
  Lomo: named('lomo'),
  LOMO: named('lomo'),
  AdaLomo: named('adalomo'),
  GrokAdamW: named('grokadamw'),
  AdamWScheduleFree: named('schedule-free-adamw'),
  RAdamScheduleFree: named('schedule-free-radam'),
  SGDScheduleFree: named('schedule-free-sgd'),
  StableAdamW: named('stable-adamw'),
  CAME: named('came'),
  Lion: named('lion'),
  DecoupledAdamW: named('adamw', 'for-loop'),
  DecoupledSGDW: named('sgd-momentum', 'for-loop'),
  DecoupledLionW: named('lion', 'for-loop'),
  SophiaG: named('sophia'),
  SophiaH: named('sophia'),
  Adan: named('adan'),
  AdEMAMix: named('ademamix'),
  Adam_mini: named('adam-mini'),
  Prodigy: named('prodigy'),
  AdaBelief: named('adabelief'),
  Shampoo: named('shampoo'),
  SOAP: named('soap'),
  Lamb: named('lamb'),
  LAMB: named('lamb'),
  LARS: named('lars'),
  MuonWithAuxAdam: named('muon'),
  SingleDeviceMuonWithAuxAdam: named('muon'),
};

function numberIn(options: OptimizerOptions, key: string): number | undefined {
  const value = options[key];
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function isOn(options: OptimizerOptions, key: string): boolean {
  const value = options[key];
  return value === true || value === 1 || (typeof value === 'string' && /^(true|1|yes)$/i.test(value));
}

function isOff(options: OptimizerOptions, key: string): boolean {
  const value = options[key];
  return value === false || value === 0 || (typeof value === 'string' && /^(false|0|no)$/i.test(value));
}

/** Options that change what an optimizer keeps or how it steps, on top of what its name states. */
function withOptions(values: OptimizerValues, options: OptimizerOptions): OptimizerValues {
  const changed: { -readonly [P in keyof OptimizerValues]: OptimizerValues[P] } = { ...values };
  const name = values['optimizer.name'];
  const momentum = (numberIn(options, 'momentum') ?? 0) > 0;
  let extra = isOn(options, 'amsgrad') ? 1 : 0;
  if (name === 'sgd' && momentum) changed['optimizer.name'] = 'sgd-momentum';
  if (name === 'rmsprop') extra += (momentum ? 1 : 0) + (isOn(options, 'centered') ? 1 : 0);
  if (name === 'adafactor' && numberIn(options, 'beta1') !== undefined) extra += 1;
  if (extra > 0) changed['optimizer.extraStates'] = extra;
  const rank = numberIn(options, 'rank');
  if (rank !== undefined && rank >= 1) changed['optimizer.rank'] = rank;
  const block = numberIn(options, 'block_size') ?? numberIn(options, 'block_wise_size');
  if (block !== undefined && block >= 1) changed['optimizer.blockSize'] = block;
  if (isOn(options, 'use_kahan_summation') || isOn(options, 'kahan_sum'))
    changed['optimizer.compensation'] = true;
  if (isOn(options, 'fused')) changed['optimizer.implementation'] = 'fused';
  else if (isOn(options, 'foreach')) changed['optimizer.implementation'] = 'foreach';
  else if (isOff(options, 'foreach')) changed['optimizer.implementation'] = 'for-loop';
  return changed;
}

/** Values as a list of statements, in the order of the vocabulary's fields. */
export function optimizerStatements(values: OptimizerValues): readonly OptimizerStatement[] {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => ({ field, value }) as OptimizerStatement);
}

/** `key=value,key=value`, as transformers' `optim_args` are written. */
function parseOptimizerArguments(text: string): OptimizerOptions {
  const options: Record<string, string> = {};
  for (const pair of text.replace(/ /g, '').split(',')) {
    const at = pair.indexOf('=');
    if (at > 0) options[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return options;
}

/** What a value of transformers' `optim` (and of Axolotl's `optimizer`) states with its `optim_args`. */
export function transformersOptimizer(name: string, args?: string): OptimizerValues | undefined {
  const values = TRANSFORMERS_OPTIMIZERS[name] ?? AXOLOTL_OPTIMIZERS[name];
  return values && withOptions(values, args ? parseOptimizerArguments(args) : {});
}

/** What a class of `torch.optim` states; undefined where it is none or cannot train a model. */
export function torchOptimizer(name: string, options: OptimizerOptions = {}): OptimizerValues | undefined {
  const values = Object.hasOwn(TORCH_OPTIMIZERS, name) ? TORCH_OPTIMIZERS[name] : undefined;
  return values && withOptions({ 'optimizer.implementation': 'foreach', ...values }, options);
}

/** What a name of another framework's table states with its options. */
export function optimizerIn(
  table: Readonly<Record<string, OptimizerValues | undefined>>,
  name: string,
  options: OptimizerOptions = {},
): OptimizerValues | undefined {
  const values = Object.hasOwn(table, name) ? table[name] : undefined;
  return values && withOptions(values, options);
}

/**
 * What a class path states (`torch.optim.AdamW`, `bitsandbytes.optim.PagedAdamW8bit`, `torchao.prototype.low_bit_optim...`),
 * as torchtune, Lightning and Automodel write them. Bare names are taken for classes of torch.
 */
export function classOptimizer(path: string, options: OptimizerOptions = {}): OptimizerValues | undefined {
  const parts = path.split('.');
  const name = parts.at(-1) ?? '';
  const family = parts[0] === 'bnb' ? 'bitsandbytes' : (parts[0] ?? '');
  if (parts.length === 1 || family === 'torch') {
    const values = torchOptimizer(name, options);
    if (values) return values;
  }
  if (family === 'transformers' && name === 'Adafactor') return withOptions(named('adafactor'), options);
  return optimizerIn(CLASSES, `${family}.${name}`, options) ?? optimizerIn(CLASSES, name, options);
}

/** The first name of a framework's table that means an optimizer. */
export function spellingIn(
  table: Readonly<Record<string, OptimizerValues | undefined>>,
  name: FieldValue<'optimizer.name'>,
): string | undefined {
  return Object.entries(table).find(([, values]) => values?.['optimizer.name'] === name)?.[0];
}

/** Class paths as torchtune and Lightning name them. */
export const CLASS_PATHS: Readonly<Record<string, string>> = {
  adamw: 'torch.optim.AdamW',
  'adamw-8bit': 'bitsandbytes.optim.AdamW8bit',
  'paged-adamw-8bit': 'bitsandbytes.optim.PagedAdamW8bit',
  'paged-adamw': 'bitsandbytes.optim.PagedAdamW',
  'ao-adamw-8bit': 'torchao.optim.AdamW8bit',
  adafactor: 'transformers.optimization.Adafactor',
  sgd: 'torch.optim.SGD',
};
