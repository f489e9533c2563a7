import { entryOf, mapAt, nodeAt } from '../../config/lookup';
import type { ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, isBlank, textOf } from '../../config/scalar';
import type { RuleId } from '../../rules/rule-id';
import { ACCELERATE, fileIn } from '../../sources/repositories';
import type { Range } from '../../text/place';
import type { Severity } from '../../text/problem';
import { closest, suggested } from '../../wording/closest';
import { say } from '../../wording/say';
import type { KeySpec, ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { checkKeys, inRelease, type Judgement, type KeyPolicy } from '../key-check';
import { forbid } from '../refusal';
import type { Releases } from '../release';
import { fsdpKey, fsdpVersionOf } from './accelerate-fsdp';
import {
  ACCELERATE_TABLE,
  CLUSTER_KEYS,
  DISTRIBUTED_TYPES,
  LAUNCH_ARGUMENTS,
  SAGEMAKER_KEYS,
} from './accelerate-keys';
import type { RunKind } from './accelerate-kind';
import { strategyOf } from './fsdp-strategy';

const SOURCE = fileIn(ACCELERATE, 'src/accelerate/');
const CONFIG_ARGS = `${SOURCE}commands/config/config_args.py`;
const LAUNCH = `${SOURCE}commands/launch.py`;
const DATACLASSES = `${SOURCE}utils/dataclasses.py`;

/** Everything that `accelerate launch` refuses or ignores, as far as the file tells. */
export function checkAccelerate(root: MapNode, kind: RunKind, context: ReadContext, draft: Draft): void {
  const version = context.known['version.accelerate'];
  checkTopLevel(root, kind, version, draft);
  checkKeys(root, ACCELERATE_TABLE, policyOf(version), draft);
  checkKind(kind, draft);
  checkPrecision(root, kind, draft);
  checkProcesses(root, kind, context, draft);
  if (kind.type === 'DEEPSPEED') checkDeepspeedFile(root, draft);
  if (kind.type === 'FSDP') checkFsdp(root, draft);
  checkParallelism(root, kind, draft);
  checkOrphans(root, kind, draft);
}

const policyOf = (version: unknown): KeyPolicy => ({
  version,
  refusal: () => ({ source: DATACLASSES, releases: {} }),
  unknown(parent: string, key: string, near: readonly string[]): Judgement | undefined {
    // Top-level keys depend on the environment: judged by `checkTopLevel`.
    if (parent === '') return undefined;
    const hint = suggested(near, '`');
    const ignored: Judgement = {
      severity: near.length > 0 ? 'warning' : 'hint',
      message: say('Accelerate silently ignores the unknown key `{0}` in `{1}`.{2}', key, parent, hint),
    };
    return inRelease(ignored, '', key, { family: 'Accelerate', released: LAUNCH_ARGUMENTS }, version);
  },
  // `load_config_from_file` hands the value on: None is what an argument that was not given is.
  accepts: isBlank,
  wrongType(spec: KeySpec, path: string): Severity | undefined {
    if (path === 'mixed_precision' || path === 'distributed_type') return undefined;
    if (/auto_wrap_policy$/.test(path)) return 'error';
    return spec.type === 'string' && !spec.values ? undefined : 'warning';
  },
});

function checkTopLevel(root: MapNode, kind: RunKind, version: unknown, draft: Draft): void {
  const known = kind.sagemaker ? SAGEMAKER_KEYS : CLUSTER_KEYS;
  const accepted = [...known];
  for (const entry of root.entries) {
    if (known.has(entry.key)) continue;
    const near = draft.near(entry.key, accepted, 2);
    const hint = suggested(near, '`');
    const message = kind.sagemaker
      ? say('Accelerate refuses the unknown key `{0}` in a SageMaker config.{1}', entry.key, hint)
      : say('Accelerate refuses the unknown key `{0}`.{1}', entry.key, hint);
    const refused: Judgement = { severity: 'error', message };
    // The table of releases has the keys of a cluster's config.
    const judgement = kind.sagemaker ? refused : inRelease(refused, '', entry.key, ACCELERATE_TABLE, version);
    if (!judgement) continue;
    draft.refuse('unknown-key', judgement.message, entry.keyRange, {
      source: CONFIG_ARGS,
      releases: judgement.releases ?? {},
      data: near.length > 0 ? { replacement: near[0], suggestions: near } : { key: entry.key },
    });
  }
}

function checkKind(kind: RunKind, draft: Draft): void {
  const { node } = kind;
  const text = textOf(node);
  if (node && text !== undefined && flagOf(node) !== false) {
    const accepted: readonly string[] = kind.sagemaker
      ? ['NO', 'DATA_PARALLEL', 'MODEL_PARALLEL']
      : DISTRIBUTED_TYPES;
    if (!accepted.includes(text)) {
      const near = closest(text, accepted, 2);
      const hint = suggested(near);
      draft.refuse(
        'distributed-type',
        say('Accelerate knows no distributed_type "{0}".{1}', text, hint),
        node.range,
        {
          source: DATACLASSES,
          releases: {},
          data: { replacement: near[0] },
        },
      );
    }
  }
  if (kind.gpu) return;
  const at = kind.cpu ?? node;
  if (!at) return;
  const what = kind.cpu ? say('CPUs') : (kind.others ?? say('CPUs'));
  draft.report(
    'not-estimated',
    'information',
    say('Oomlint estimates GPU memory: runs on {0} are read but not estimated.', what),
    at.range,
  );
}

function checkPrecision(root: MapNode, kind: RunKind, draft: Draft): void {
  const node = nodeAt(root, 'mixed_precision');
  if (node?.kind !== 'scalar' || node.value === null) return;
  if (node.value === false && !kind.sagemaker) {
    draft.refuse(
      'yaml-boolean',
      say(
        "YAML reads the bare word {0} as false, and Accelerate fails on it: write 'no' in quotes.",
        node.text,
      ),
      node.range,
      { source: LAUNCH, data: { replacement: "'no'" } },
    );
    return;
  }
  if (/^(no|fp16|bf16|fp8)$/i.test(node.text)) return;
  const near = closest(node.text, ['no', 'fp16', 'bf16', 'fp8'], 1);
  draft.refuse(
    'mixed-precision',
    say('`mixed_precision` is one of no, fp16, bf16, fp8; Accelerate refuses "{0}".', node.text),
    node.range,
    {
      source: LAUNCH,
      releases: {},
      data: near.length > 0 ? { replacement: near[0] } : undefined,
    },
  );
}

function checkProcesses(root: MapNode, kind: RunKind, context: ReadContext, draft: Draft): void {
  if (kind.sagemaker || !kind.gpu) return;
  const node = nodeAt(root, 'num_processes');
  const count = integerOf(node);
  if (kind.type === 'NO') {
    if (node && count !== undefined && count > 1) {
      draft.report(
        'ignored-key',
        'warning',
        say('`distributed_type: NO` starts one process: `num_processes: {0}` has no effect.', String(count)),
        node.range,
        { source: LAUNCH },
      );
    }
    return;
  }
  if ((isBlank(node) || count === -1) && kind.node && context.known['hardware.gpus'] === undefined) {
    draft.report(
      'processes-missing',
      'information',
      say('Without `num_processes`, `accelerate launch` needs `--num_processes`.'),
      (node && !isBlank(node) ? node : kind.node).range,
      { source: LAUNCH },
    );
  }
  const machines = integerOf(nodeAt(root, 'num_machines'));
  const several = machines !== undefined && machines > 1;
  if (node && count !== undefined && count > 0 && several && count % machines !== 0) {
    const each = Math.floor(count / machines);
    draft.report(
      'processes-per-machine',
      'warning',
      say(
        '`num_processes` counts the GPUs of all {0} machines: {1} is not a multiple, and {2} run on each.',
        machines,
        String(count),
        String(each),
      ),
      node.range,
      { source: `${SOURCE}utils/launch.py` },
    );
  }
  const ids = nodeAt(root, 'gpu_ids');
  const text = textOf(ids);
  if (ids && text && kind.type === 'MULTI_GPU' && text !== 'all' && !text.includes(',') && !several) {
    draft.refuse(
      'one-gpu-id',
      say('MULTI_GPU with one GPU in `gpu_ids`: Accelerate refuses that.'),
      ids.range,
      {
        source: LAUNCH,
      },
    );
  }
}

/** Settings that a DeepSpeed config file takes over; stating them here as well stops the run. */
const TAKEN_OVER = [
  'gradient_accumulation_steps',
  'gradient_clipping',
  'zero_stage',
  'offload_optimizer_device',
  'offload_param_device',
  'offload_optimizer_nvme_path',
  'offload_param_nvme_path',
  'zero3_save_16bit_model',
];

function checkDeepspeedFile(root: MapNode, draft: Draft): void {
  const block = mapAt(root, 'deepspeed_config');
  const file = entryOf(block, 'deepspeed_config_file');
  if (!file || isBlank(file.value) || textOf(file.value) === 'none') return;
  const related = [{ range: file.value.range, message: say('The file that says it') }];
  const taken = [...TAKEN_OVER.map((key) => entryOf(block, key)), entryOf(root, 'mixed_precision')];
  for (const entry of taken) {
    // A blank `mixed_precision` counts as absent; in the block, the key alone is enough.
    if (!entry || (entry.key === 'mixed_precision' && isBlank(entry.value))) continue;
    draft.refuse(
      'deepspeed-file-conflict',
      say(
        '`{0}` must not be set beside `deepspeed_config_file`: Accelerate refuses both together. Set it in the DeepSpeed file.',
        entry.key,
      ),
      entry.keyRange,
      { related, source: DATACLASSES },
    );
  }
}

function checkFsdp(root: MapNode, draft: Draft): void {
  const version = fsdpVersionOf(root);
  const sharding = fsdpKey(root, 'sharding_strategy');
  const reshard = fsdpKey(root, 'reshard_after_forward');
  const refuse = (
    at: { node: ConfigNode } | undefined,
    code: RuleId,
    message: string,
    releases?: Releases,
  ) => {
    forbid(true, at?.node, draft, { code, message, source: DATACLASSES, ...(releases ? { releases } : {}) });
  };
  const ignored = (at: { node: ConfigNode; key: string } | undefined, why: string) => {
    if (at)
      draft.report('ignored-key', 'hint', say('`{0}` has no effect: {1}.', at.key, why), at.node.range, {
        source: DATACLASSES,
      });
  };
  if (version === 1) {
    if (sharding && !strategyOf(sharding.node)) {
      refuse(
        sharding,
        'sharding-strategy',
        say(
          'No sharding strategy of FSDP 1: FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, HYBRID_SHARD_ZERO2, or 1 to 5.',
        ),
      );
    }
    ignored(reshard, say('FSDP 1 goes by `fsdp_sharding_strategy`'));
  } else {
    if (reshard && flagOf(reshard.node) === undefined) {
      refuse(
        reshard,
        'reshard-flag',
        say('FSDP 2 takes true or false here; strategy names belong to FSDP 1.'),
      );
    }
    if (sharding) {
      draft.report(
        'deprecated-key',
        'hint',
        say('FSDP 2 ignores the sharding strategy: use `fsdp_reshard_after_forward`.'),
        sharding.node.range,
        {
          source: DATACLASSES,
          data: { replacement: 'fsdp_reshard_after_forward' },
        },
      );
    }
    ignored(fsdpKey(root, 'backward_prefetch'), say('FSDP 2 schedules prefetching itself'));
    ignored(fsdpKey(root, 'forward_prefetch'), say('FSDP 2 schedules prefetching itself'));
    ignored(fsdpKey(root, 'use_orig_params'), say('FSDP 2 always keeps the original parameters'));
    const form = fsdpKey(root, 'state_dict_type');
    if (form && /^LOCAL_STATE_DICT$/i.test(textOf(form.node) ?? '')) {
      refuse(form, 'state-dict-type', say('FSDP 2 has no LOCAL_STATE_DICT.'), { from: '1.7' });
    }
  }
  const sync = fsdpKey(root, 'sync_module_states');
  const efficient = fsdpKey(root, 'cpu_ram_efficient_loading');
  // The launcher tests the values as they are: only a real false counts, the text 'false' is true.
  if (isFalse(sync?.node) && !isFalse(efficient?.node)) {
    refuse(
      sync,
      'sync-module-states',
      say('`fsdp_cpu_ram_efficient_loading` (on by default) needs `fsdp_sync_module_states: true`.'),
      { from: '0.24' },
    );
  }
  checkMovedCheckpoints(root, version, draft);
}

function checkMovedCheckpoints(root: MapNode, version: number, draft: Draft): void {
  const moved = fsdpKey(root, 'activation_checkpointing_offload')?.node;
  if (flagOf(moved) !== true) return;
  const on = flagOf(fsdpKey(root, 'activation_checkpointing')?.node) === true;
  forbid(!on, moved, draft, {
    code: 'checkpointing-needed',
    message: say('Offloading checkpoints needs `fsdp_activation_checkpointing: true`.'),
    source: DATACLASSES,
  });
  forbid(on && version !== 2, moved, draft, {
    code: 'fsdp2-needed',
    message: say('Offloading checkpoints needs `fsdp_version: 2`.'),
    source: DATACLASSES,
  });
}

function isFalse(node: ConfigNode | undefined): boolean {
  return node?.kind === 'scalar' && node.value === false;
}

function checkParallelism(root: MapNode, kind: RunKind, draft: Draft): void {
  const block = mapAt(root, 'parallelism_config');
  if (!block || !kind.gpu) return;
  const entry = (name: string) => entryOf(block, `parallelism_config_${name}_size`);
  const size = (name: string) => integerOf(entry(name)?.value) ?? 1;
  const [replicate, shard, tensor, context, sequence] = ['dp_replicate', 'dp_shard', 'tp', 'cp', 'sp'].map(
    size,
  );
  const total = [replicate, shard, tensor, context, sequence].reduce(
    (product: number, n) => product * (n ?? 1),
    1,
  );
  const key = entryOf(root, 'parallelism_config')?.keyRange ?? block.range;
  const refuse = (message: string, range: Range, source = `${SOURCE}parallelism_config.py`) =>
    draft.refuse('parallelism', message, range, { source });
  if ((context ?? 1) > 1 && (sequence ?? 1) > 1) {
    refuse(say('Context and sequence parallelism exclude each other.'), entry('sp')?.value.range ?? key);
  }
  if (((tensor ?? 1) > 1 || (context ?? 1) > 1) && (replicate ?? 1) > 1 && (shard ?? 1) === 1) {
    refuse(
      say(
        'Tensor or context parallelism cannot be combined with replicas alone: shard over data-parallel GPUs as well.',
      ),
      entry('dp_replicate')?.value.range ?? key,
    );
  }
  if (total === 1) return;
  const supported =
    kind.type === 'DEEPSPEED' ||
    kind.type === 'MULTI_GPU' ||
    (kind.type === 'FSDP' && fsdpVersionOf(root) === 2);
  if (!supported)
    refuse(
      say(
        '`parallelism_config` works with FSDP 2, MULTI_GPU and DEEPSPEED, not with {0}.',
        kind.type === 'FSDP' ? 'FSDP 1' : kind.type,
      ),
      key,
    );
  const processes = nodeAt(root, 'num_processes');
  const count = integerOf(processes);
  if (processes && count !== undefined && count > 0 && (sequence ?? 1) === 1 && total !== count) {
    draft.refuse(
      'parallelism-product',
      say(
        'The sizes multiply to {0}, but `num_processes` is {1}: Accelerate refuses that.',
        String(total),
        String(count),
      ),
      processes.range,
      {
        source: `${SOURCE}parallelism_config.py`,
        related: [{ range: key, message: say('Sizes multiply to {0}', String(total)) }],
        data: { product: total, processes: count },
      },
    );
  }
}

const OWNERS: Readonly<Record<string, string>> = {
  deepspeed_config: 'DEEPSPEED',
  fsdp_config: 'FSDP',
  megatron_lm_config: 'MEGATRON_LM',
};

/** Blocks of another kind of run are read into the void. */
function checkOrphans(root: MapNode, kind: RunKind, draft: Draft): void {
  for (const [key, owner] of Object.entries(OWNERS)) {
    const entry = entryOf(root, key);
    if (!entry || kind.type === owner || entry.value.kind !== 'map' || entry.value.entries.length === 0)
      continue;
    draft.report(
      'ignored-key',
      'warning',
      say('`{0}` has no effect: `distributed_type` is {1}, not {2}.', key, kind.type, owner),
      entry.keyRange,
      { source: LAUNCH },
    );
  }
}
