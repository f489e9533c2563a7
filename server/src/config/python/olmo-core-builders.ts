import { callFunction, placesOf } from './functions';
import type { Machine } from './machine';
import { childIn, type SyntaxNode } from './syntax-node';
import { argumentAt, type Passed, type PyArgument, type PyDict, type PyValue } from './value';

/** Scripts of OLMo-core hand functions that build a run's config to one of these, or call the second themselves. */
const STARTS = /^olmo_core\.(?:script_utils|internal\.experiment)\.main$/;
const BUILDS = /^olmo_core\.internal\.experiment\.(build_config|build_common_components)$/;

const NOTHING: Passed = { positional: [], named: [] };
const namedIn = ({ named }: Passed, key: string) => named.find((argument) => argument.key === key)?.value;

/**
 * What OLMo-core does with functions of the file that it is given: its `main` calls them with what the command states, and its
 * `build_config` with what all parts of a run share (`internal/experiment.py`, `script_utils.py`). Undefined of any other call.
 */
export function followBuilders(
  machine: Machine,
  name: string,
  passed: Passed,
  node: SyntaxNode,
): PyValue | undefined {
  const built = BUILDS.exec(name)?.[1];
  if (built === 'build_common_components') return commonOf(machine, passed, node);
  if (built) return experimentOf(machine, passed, node);
  if (name === 'olmo_core.internal.cookbook.configure_train_module')
    return cookedModule(machine, passed, node);
  if (!STARTS.test(name)) return undefined;
  const launched: PyValue = machine.unknown(node, { given: 'launch' });
  const builder = namedIn(passed, 'config_builder') ?? passed.positional[0];
  if (builder?.kind === 'function')
    return callFunction(
      machine,
      builder,
      { positional: [optionsOf(machine, node), launched], named: [] },
      node,
    );
  const partial = builder?.kind === 'object' ? machine.calls[builder.id] : undefined;
  const [of] = partial?.positional ?? [];
  if (partial && of?.kind === 'name' && BUILDS.test(of.name))
    return experimentOf(machine, { positional: [], named: partial.named }, node);
  return undefined;
}

/** Arguments of `configure_train_module`, in their order. */
const COOKED = [
  'max_sequence_length',
  'rank_microbatch_size',
  'learning_rate',
  'scheduler',
  'float8_enabled',
  'activation_memory_budget',
  'dp_shard_degree',
  'cp_degree',
];

/** The train module that OLMo-core's cookbook makes of a few figures (`internal/cookbook.py`). */
function cookedModule(machine: Machine, passed: Passed, node: SyntaxNode): PyValue {
  const given = (key: string) => namedIn(passed, key) ?? passed.positional[COOKED.indexOf(key)];
  const isFalse = (value: PyValue | undefined) => !value || (value.kind === 'scalar' && !value.value);
  const word = (value: string | boolean | number) => machine.scalar(value, node);
  const list = (...items: PyValue[]): PyValue => ({ kind: 'list', items, range: machine.rangeOf(node) });
  const make = (callee: string, parts: Readonly<Record<string, PyValue | undefined>>): PyValue =>
    machine.record({
      positional: [],
      named: Object.entries(parts).flatMap(([key, value]) => (value ? [argumentAt(key, value)] : [])),
      callee: `olmo_core.train.train_module.${callee}`,
      ...placesOf(machine, node, childIn(node, 'function') ?? node),
    });
  const [budget, degree] = [given('activation_memory_budget'), given('cp_degree')];
  const isWhole = !budget || (budget.kind === 'scalar' && budget.value === 1);
  const apart = make('OptimGroupOverride', { params: list(word('embeddings.weight')) });
  return make('TransformerTrainModuleConfig', {
    rank_microbatch_size: given('rank_microbatch_size'),
    max_sequence_length: given('max_sequence_length'),
    optim: make('SkipStepAdamWConfig', { group_overrides: list(apart), foreach: word(true) }),
    // Its weight is 1e-5.
    z_loss_multiplier: word(1e-5),
    compile_model: word(true),
    dp_config: make('TransformerDataParallelConfig', {
      name: word('hsdp'),
      param_dtype: word('bfloat16'),
      reduce_dtype: word('float32'),
      shard_degree: given('dp_shard_degree'),
    }),
    cp_config: isFalse(degree) ? undefined : make('TransformerContextParallelConfig', { degree }),
    ac_config: isWhole
      ? undefined
      : make('TransformerActivationCheckpointingConfig', {
          mode: word('budget'),
          activation_memory_budget: budget,
        }),
    float8_config: make('Float8Config', { enabled: given('float8_enabled') ?? word(false) }),
  });
}

const attributesOf = (machine: Machine, node: SyntaxNode, entries: readonly PyArgument[]): PyDict => ({
  kind: 'dict',
  entries,
  attributes: true,
  range: machine.rangeOf(node),
});

/** Options of `get_cli_parser`, or the context of the command: what neither states is not known. */
function optionsOf(machine: Machine, node: SyntaxNode): PyValue {
  const launched = machine.unknown(node, { given: 'launch' });
  const given = machine.command?.entries.find(({ key }) => key === 'sequence_length')?.value;
  const length: PyValue =
    given?.kind === 'scalar'
      ? { kind: 'scalar', value: given.value, range: given.range }
      : given
        ? launched
        : machine.scalar(null, node);
  const others = [
    'name',
    'data_root',
    'save_folder',
    'work_dir',
    'run_name',
    'cluster',
    'overrides',
    'cmd',
    'script',
  ];
  return attributesOf(machine, node, [
    argumentAt('sequence_length', length),
    ...others.map((key) => argumentAt(key, launched)),
  ]);
}

/** `CommonComponents`, which each builder is called with. */
function commonOf(machine: Machine, passed: Passed, node: SyntaxNode): PyValue {
  const launched = machine.unknown(node, { given: 'launch' });
  const tokenizer = (): PyValue =>
    machine.record({
      ...NOTHING,
      callee: DOLMA,
      ...placesOf(machine, node, childIn(node, 'function') ?? node),
    });
  return attributesOf(machine, node, [
    ...['run_name', 'root_dir', 'work_dir', 'save_folder', 'launch'].map((key) => argumentAt(key, launched)),
    argumentAt('tokenizer', namedIn(passed, 'tokenizer') ?? tokenizer()),
    argumentAt('max_sequence_length', namedIn(passed, 'max_sequence_length') ?? machine.scalar(LENGTH, node)),
    argumentAt('global_batch_size', namedIn(passed, 'global_batch_size') ?? launched),
  ]);
}
/** What `build_config` takes where it is passed none. */
const DOLMA = 'olmo_core.data.TokenizerConfig.dolma2';
const LENGTH = 4096;

/** The `ExperimentConfig` that `build_config` makes, as a call with its parts. */
function experimentOf(machine: Machine, passed: Passed, node: SyntaxNode): PyValue {
  const launched = machine.unknown(node, { given: 'launch' });
  const make = (key: string, given: readonly PyValue[]): PyValue | undefined => {
    const builder = namedIn(passed, key);
    if (builder?.kind === 'function')
      return callFunction(machine, builder, { positional: given, named: [] }, node);
    return builder && launched;
  };
  const common = make('common_config_builder', [launched]) ?? commonOf(machine, passed, node);
  const part = (name: string): PyArgument[] => {
    const value = make(`${name}_config_builder`, [common]);
    return value ? [argumentAt(name, value)] : [];
  };
  const stated = (key: string): PyArgument[] => {
    const value = namedIn(passed, key);
    return value ? [argumentAt(key, value)] : [];
  };
  const made = machine.record({
    positional: [],
    named: [
      ...['data', 'model', 'trainer', 'train_module'].flatMap(part),
      ...['global_batch_size', 'max_sequence_length', 'num_nodes'].flatMap(stated),
    ],
    callee: 'olmo_core.internal.experiment.ExperimentConfig',
    ...placesOf(machine, node, childIn(node, 'function') ?? node),
  });
  make('finalize_config', [made]);
  return made;
}
