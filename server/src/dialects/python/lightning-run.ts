import type { ConfigNode, MapEntry, MapNode } from '../../config/node';
import { isNone, knownNode, nodeOf } from '../../config/python/node-of-value';
import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { fileIn, LIGHTNING } from '../../sources/repositories';
import { say } from '../../wording/say';
import { strategyOf } from '../accelerate/fsdp-strategy';
import { readDeepspeedSettings } from '../deepspeed/deepspeed';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls, leaveArgument, openOf } from './call-block';
import { chainOf } from './model-chain';

const STRATEGIES = 'src/lightning/pytorch/strategies';
const CONNECTOR = fileIn(LIGHTNING, 'src/lightning/pytorch/trainer/connectors/accelerator_connector.py');

const TRAINER = /^(?:pytorch_lightning|lightning(?:\.pytorch)?)\.(?:trainer\.){0,2}Trainer$/;

/** A trainer of Lightning, what starts it, and the module that it trains. */
export interface LightningTraining {
  readonly trainer: PyCall;
  readonly fit: PyCall;
  readonly module?: PyValue;
}

/** The first `Trainer(...).fit(...)` of Lightning. */
export function lightningTraining({ calls }: PyProgram): LightningTraining | undefined {
  const fit = calls.find(
    ({ callee, of }) => callee === 'fit' && of !== undefined && TRAINER.test(calls[of.id]?.callee ?? ''),
  );
  const trainer = fit?.of && calls[fit.of.id];
  if (!fit || !trainer) return undefined;
  const module = argumentOf(fit, 'model', 0);
  return { trainer, fit, ...(module ? { module } : {}) };
}

/** What the module holds that was loaded; undefined where it is nothing, or several things. */
export function modelOfModule(program: PyProgram, module: PyValue | undefined): PyValue | undefined {
  if (module?.kind !== 'object') return undefined;
  const held = [...(program.attributes.get(module.id)?.values() ?? [])].filter((value) => {
    const { load } = chainOf(program, value);
    return load !== undefined && !/(Tokenizer\w*|Processor|Config)\.from_pretrained$/.test(load.callee);
  });
  return held.length === 1 ? held[0] : undefined;
}

/** States what `Trainer(...)` or `Fabric(...)` is passed for the layout: GPUs, strategy and precision. */
export function readLayout(calls: Calls, trainer: PyCall, context: ReadContext): void {
  readOpen(calls, trainer);
  readDevices(calls, trainer);
  const kind = readStrategy(calls, trainer, context);
  if (kind !== 'deepspeed') readPrecision(calls, trainer, kind === 'fsdp');
  // Plugins quantize, or compute in fp8 (`plugins/precision/bitsandbytes.py`, `transformer_engine.py`).
  const plugins = argumentOf(trainer, 'plugins');
  if (!plugins || isNone(plugins)) return;
  calls.draft.leaveUncounted(plugins, 'plugins', [
    'quantization.kind',
    'precision.compute',
    'precision.weights',
  ]);
}

/** What an argument decides, which a call may pass in words that are not known. */
const DECIDES: Readonly<Record<string, readonly FieldPath[]>> = {
  devices: ['hardware.gpus'],
  strategy: ['parallel.data'],
  precision: ['precision.compute', 'precision.scheme', 'precision.weights'],
  accumulate_grad_batches: ['batch.accumulation'],
};

/** `Trainer(**config.trainer)`: no default stands for what may be among them. */
function readOpen({ draft }: Calls, trainer: PyCall): void {
  if (!trainer.open) return;
  const fields = Object.entries(DECIDES).flatMap(([key, decided]) =>
    argumentOf(trainer, key) ? [] : decided,
  );
  const { shown, words } = openOf(trainer);
  draft.leave('words', { range: trainer.open }, shown, words, fields);
}

/** States what `Trainer(...)` is passed: GPUs, strategy, precision and accumulation. */
export function readLightning(calls: Calls, { trainer }: LightningTraining, context: ReadContext): void {
  readLayout(calls, trainer, context);
  const steps = argumentOf(trainer, 'accumulate_grad_batches');
  const count = integerOf(knownNode(steps));
  if (steps && count !== undefined)
    calls.draft.state('batch.accumulation', count, steps, 'accumulate_grad_batches');
  else if (steps && !isNone(steps))
    leaveArgument(calls.draft, 'accumulate_grad_batches', steps, ['batch.accumulation']);
}

/** `devices` of each of `num_nodes`; what the machine decides (`auto`, -1) is left to it. */
function readDevices({ draft }: Calls, trainer: PyCall): void {
  const devices = argumentOf(trainer, 'devices') ?? argumentOf(trainer, 'gpus');
  const nodes = argumentOf(trainer, 'num_nodes');
  const each = devices?.kind === 'list' ? devices.items.length : integerOf(knownNode(devices));
  const many = nodes ? integerOf(knownNode(nodes)) : 1;
  if (devices && each !== undefined && each > 0 && many !== undefined)
    draft.state('hardware.gpus', each * many, devices, 'devices');
}

/** Strategies by their registered names (`strategies/*.py`, `register_strategies`). */
const DEEPSPEED = /^deepspeed(?:_stage_([123]))?(_offload(?:_nvme)?)?$/;

function readStrategy(
  calls: Calls,
  trainer: PyCall,
  context: ReadContext,
): 'ddp' | 'fsdp' | 'deepspeed' | undefined {
  const { program, draft } = calls;
  const given = argumentOf(trainer, 'strategy');
  const word = textOf(knownNode(given));
  const made = given?.kind === 'object' ? program.calls[given.id] : undefined;
  const kind = made?.callee.split('.').at(-1);
  if (!given && trainer.open) return undefined;
  if (!given || word === 'auto') {
    draft.assume('parallel.data', 'ddp', say('{0} default', 'Lightning'), CONNECTOR, 'strategy');
    return 'ddp';
  }
  if ((word !== undefined && /^ddp(_|$)/.test(word)) || kind === 'DDPStrategy') {
    draft.state('parallel.data', 'ddp', given, 'strategy');
    return 'ddp';
  }
  if ((word !== undefined && /^fsdp(_cpu_offload)?$/.test(word)) || kind === 'FSDPStrategy') {
    readFsdp(calls, given, made, word === 'fsdp_cpu_offload');
    return 'fsdp';
  }
  const stage = word === undefined ? undefined : DEEPSPEED.exec(word);
  if (stage || kind === 'DeepSpeedStrategy') {
    readDeepspeed(calls, trainer, given, made, stage, context);
    return 'deepspeed';
  }
  leaveArgument(calls.draft, 'strategy', given, ['parallel.data']);
  return undefined;
}

/** FSDP 1 (`strategies/fsdp.py`): without a policy the whole model is one unit. */
function readFsdp(calls: Calls, given: PyValue, made: PyCall | undefined, offloads: boolean): void {
  const { draft, program } = calls;
  const source = fileIn(LIGHTNING, `${STRATEGIES}/fsdp.py`);
  draft.state('parallel.data', 'fsdp1', given, 'strategy');
  const strategy = made && argumentOf(made, 'sharding_strategy');
  const name =
    strategy?.kind === 'name' ? strategy.name.split('.').at(-1) : textOf(knownNode(strategy))?.toUpperCase();
  const meaning =
    strategy && name !== undefined
      ? strategyOf(nodeOf({ ...strategy, kind: 'scalar', value: name }))
      : undefined;
  if (strategy && meaning) draft.state('fsdp.strategy', meaning, strategy, 'sharding_strategy');
  else if (strategy) leaveArgument(calls.draft, 'sharding_strategy', strategy, ['fsdp.strategy']);
  else draft.assume('fsdp.strategy', 'full', say('{0} default', 'Lightning'), source);
  const policy = made && argumentOf(made, 'auto_wrap_policy');
  if (policy && !isNone(policy))
    draft.infer('fsdp.wrap', 'layer', say('a policy wraps layers'), policy, 'auto_wrap_policy', true);
  else draft.assume('fsdp.wrap', 'none', say('without a policy the whole model is gathered at once'), source);
  const again =
    made &&
    (argumentOf(made, 'activation_checkpointing_policy') ?? argumentOf(made, 'activation_checkpointing'));
  if (again && !isNone(again)) {
    draft.state('activations.checkpointing', 'full', again, 'activation_checkpointing_policy');
    draft.assume('activations.reentrant', false, say('Lightning checkpoints without reentry'), source);
  }
  const offload = made && argumentOf(made, 'cpu_offload');
  const wrapped = offload?.kind === 'object' ? program.calls[offload.id] : undefined;
  const whole = wrapped ? argumentOf(wrapped, 'offload_params', 0) : offload;
  if (offloads || flagOf(knownNode(whole)) === true) {
    const place = offload ?? given;
    draft.state('offload.parameters', 'cpu', place, 'cpu_offload');
    draft.state(
      'offload.optimizer',
      'cpu',
      place,
      'cpu_offload',
      say('FSDP steps weights that are offloaded on the CPU'),
    );
  } else if (offload?.kind === 'unknown')
    leaveArgument(calls.draft, 'cpu_offload', offload, ['offload.parameters']);
  const mixed = made && argumentOf(made, 'mixed_precision');
  if (mixed && !isNone(mixed)) leaveArgument(calls.draft, 'mixed_precision', mixed, ['precision.compute']);
}

/** Names of the settings that the strategy writes into DeepSpeed's config, with its own defaults (`strategies/deepspeed.py`, `_create_default_config`). */
const BUFFERS = { allgather_bucket_size: 200_000_000, reduce_bucket_size: 200_000_000 } as const;
const SWITCHES = {
  contiguous_gradients: true,
  overlap_comm: true,
  allgather_partitions: true,
  reduce_scatter: true,
};

function readDeepspeed(
  calls: Calls,
  trainer: PyCall,
  given: PyValue,
  made: PyCall | undefined,
  named: RegExpExecArray | null | undefined,
  context: ReadContext,
): void {
  const { draft } = calls;
  const config = made && argumentOf(made, 'config');
  const own = config && knownNode(config);
  if (config && own?.kind !== 'map' && !isNone(config)) {
    leaveArgument(calls.draft, 'config', config, ['parallel.data', 'zero.stage', 'precision.compute']);
    return;
  }
  const place = made?.calleeRange ?? given.range;
  const scalar = (value: string | number | boolean): ConfigNode => ({
    kind: 'scalar',
    value,
    text: String(value),
    quoted: false,
    range: place,
  });
  const entry = (key: string, value: ConfigNode): MapEntry => ({ key, keyRange: place, value });
  const map = (entries: readonly MapEntry[]): MapNode => ({
    kind: 'map',
    entries: [...entries],
    range: place,
  });
  const settingOf = (key: string, fallback: string | number | boolean): ConfigNode => {
    const value = made && argumentOf(made, key);
    return knownNode(value) ?? scalar(fallback);
  };
  const offload = named?.[2] ?? '';
  const moved = (key: string, by: boolean, device: string, to: string): MapEntry[] =>
    flagOf(settingOf(key, by)) === true
      ? [entry(to, map([entry('device', settingOf(device, offload.endsWith('nvme') ? 'nvme' : 'cpu'))]))]
      : [];
  const zero = map([
    entry('stage', settingOf('stage', Number(named?.[1] ?? 2))),
    ...Object.entries({ ...BUFFERS, ...SWITCHES }).map(([key, value]) => entry(key, settingOf(key, value))),
    entry('sub_group_size', settingOf('sub_group_size', 1_000_000_000_000)),
    ...moved('offload_optimizer', offload !== '', 'offload_optimizer_device', 'offload_optimizer'),
    ...moved(
      'offload_parameters',
      offload !== '' && named?.[1] === '3',
      'offload_params_device',
      'offload_param',
    ),
  ]);
  const precision = textOf(knownNode(argumentOf(trainer, 'precision'))) ?? '32-true';
  const low = /^(bf16|16)/.exec(precision)?.[1];
  const type =
    low === undefined ? [] : [entry(low === '16' ? 'fp16' : 'bf16', map([entry('enabled', scalar(true))]))];
  const settings = own?.kind === 'map' ? own.entries : [entry('zero_optimization', zero)];
  // Precision that a config of its own states is not written over.
  const types = settings.some(({ key }) => key === 'bf16' || key === 'fp16') ? [] : type;
  readDeepspeedSettings(map([...settings, ...types]), draft, context);
  if (argumentOf(trainer, 'precision')?.kind === 'unknown')
    leaveArgument(calls.draft, 'precision', argumentOf(trainer, 'precision') ?? given, ['precision.compute']);
}

/** Words for precision, the older ones too (`fabric/plugins/precision/utils.py`, `fabric/connector.py`). */
const PRECISIONS: Readonly<
  Record<string, { readonly type: 'fp32' | 'bf16' | 'fp16'; readonly mixed: boolean }>
> = {
  '32-true': { type: 'fp32', mixed: false },
  '32': { type: 'fp32', mixed: false },
  'bf16-mixed': { type: 'bf16', mixed: true },
  bf16: { type: 'bf16', mixed: true },
  '16-mixed': { type: 'fp16', mixed: true },
  '16': { type: 'fp16', mixed: true },
  'bf16-true': { type: 'bf16', mixed: false },
  '16-true': { type: 'fp16', mixed: false },
};

/** Mixed is autocast; "true" casts the module. FSDP gathers in the low type, too (`plugins/precision/fsdp.py`). */
function readPrecision(calls: Calls, trainer: PyCall, sharded: boolean): void {
  const { draft } = calls;
  const given = argumentOf(trainer, 'precision');
  if (!given && trainer.open) return;
  if (!given || isNone(given)) {
    draft.assume('precision.scheme', 'native', say('{0} default', 'Lightning'), CONNECTOR, 'precision');
    return;
  }
  const word = textOf(knownNode(given)) ?? '';
  const meaning = Object.hasOwn(PRECISIONS, word) ? PRECISIONS[word] : undefined;
  if (!meaning) {
    leaveArgument(calls.draft, 'precision', given, ['precision.compute', 'precision.scheme']);
    return;
  }
  const { type, mixed } = meaning;
  if (mixed) {
    draft.state('precision.compute', type, given, 'precision');
    draft.state('precision.scheme', sharded ? 'fsdp' : 'autocast', given, 'precision');
    return;
  }
  if (type !== 'fp32') {
    draft.forget('precision.weights');
    draft.state('precision.weights', type, given, 'precision');
  }
  draft.state('precision.scheme', 'native', given, 'precision');
}
