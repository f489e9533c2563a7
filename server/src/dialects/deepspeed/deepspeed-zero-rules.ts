import { entryOf, mapAt, nodeAt } from '../../config/lookup';
import type { MapEntry, MapNode } from '../../config/node';
import { flagOf, isAuto, isBlank, numberOf, textOf } from '../../config/scalar';
import { DEEPSPEED, fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { forbid } from '../refusal';

const SOURCE = fileIn(DEEPSPEED, 'deepspeed/');
const ENGINE = `${SOURCE}runtime/engine.py`;
const ZERO_CONFIG = `${SOURCE}runtime/zero/config.py`;

/** Rules of the `zero_optimization` block. */
export function checkZero(root: MapNode, stage: number, draft: Draft): void {
  checkForm(root, draft);
  checkLimits(root, draft);
  const written = nodeAt(mapAt(root, 'zero_optimization'), 'stage');
  // A template's word, which is no stage: nothing is known of what goes with it.
  if (written && numberOf(written) === undefined && !isAuto(written)) return;
  checkStage(root, stage, draft);
  checkOffload(root, stage, draft);
  checkDeadKeys(root, stage, draft);
}

/** The block is a mapping, or a flag in its old form; null and lists stop the run. */
function checkForm(root: MapNode, draft: Draft): void {
  const entry = entryOf(root, 'zero_optimization');
  const value = entry?.value;
  const typing = value?.kind === 'scalar' && value.text === '' && !value.quoted;
  const flag = value?.kind === 'scalar' && typeof value.value === 'boolean';
  forbid(value !== undefined && value.kind !== 'map' && !flag && !typing, value, draft, {
    code: 'wrong-type',
    message: say('`zero_optimization` takes a mapping.'),
    source: ZERO_CONFIG,
  });
  if (value?.kind !== 'map') return;
  for (const inner of value.entries) {
    const plain = inner.key.replace(/^stage3_/, '');
    if (plain === inner.key || !entryOf(value, plain)) continue;
    draft.refuse(
      'old-and-new-key',
      say('DeepSpeed refuses `{0}` beside `{1}`: they are one setting.', plain, inner.key),
      inner.keyRange,
      {
        source: ZERO_CONFIG,
      },
    );
  }
}

/** Smallest numbers that DeepSpeed accepts. */
const AT_LEAST: Readonly<Record<string, number>> = {
  reduce_bucket_size: 1,
  allgather_bucket_size: 0,
  sub_group_size: 0,
  stage3_prefetch_bucket_size: 0,
  stage3_param_persistence_threshold: 0,
  stage3_model_persistence_threshold: 0,
  stage3_max_live_parameters: 0,
  stage3_max_reuse_distance: 0,
  zero_hpz_partition_size: 0,
  'offload_param.buffer_count': 0,
  'offload_param.buffer_size': 0,
  'offload_param.max_in_cpu': 0,
  'offload_optimizer.buffer_count': 0,
  'offload_optimizer.ratio': 0,
};

function checkLimits(root: MapNode, draft: Draft): void {
  const zero = mapAt(root, 'zero_optimization');
  for (const [key, minimum] of Object.entries(AT_LEAST)) {
    const node = nodeAt(zero, key);
    forbid((numberOf(node) ?? minimum) < minimum, node, draft, {
      code: 'out-of-range',
      message: say('`{0}` must be at least {1}.', key, minimum),
      source: ZERO_CONFIG,
      releases: {},
    });
  }
  const ratio = nodeAt(zero, 'offload_optimizer.ratio');
  const share = numberOf(ratio);
  forbid(share !== undefined && share > 1, ratio, draft, {
    code: 'out-of-range',
    message: say('`ratio` is a share from 0 to 1.'),
    source: ZERO_CONFIG,
  });
}

function checkStage(root: MapNode, stage: number, draft: Draft): void {
  const block = entryOf(root, 'zero_optimization');
  if (block?.value.kind === 'scalar' && flagOf(block.value) !== undefined) {
    draft.report(
      'legacy-zero',
      'information',
      say('The boolean form of `zero_optimization` is old: `true` means stage 1. Write `{"stage": 1}`.'),
      block.value.range,
      { source: ZERO_CONFIG, data: { replacement: { stage: flagOf(block.value) ? 1 : 0 } } },
    );
  }
  const zero = mapAt(root, 'zero_optimization');
  forbid(flagOf(nodeAt(zero, 'legacy_stage1')) === true && stage > 0, nodeAt(zero, 'legacy_stage1'), draft, {
    code: 'legacy-stage1',
    message: say('DeepSpeed removed the old implementation of stage 1 and refuses `legacy_stage1`.'),
    source: ENGINE,
    releases: {},
  });
  forbid(
    flagOf(nodeAt(zero, 'compute_grad_norm')) === false && stage !== 1 && stage !== 2,
    nodeAt(zero, 'compute_grad_norm'),
    draft,
    {
      code: 'zero-stage-needed',
      message: say('`compute_grad_norm: false` works at ZeRO stage 1 and 2 only.'),
      source: ZERO_CONFIG,
    },
  );
}

const PAIRS = [
  ['cpu_offload', 'offload_optimizer'],
  ['cpu_offload_param', 'offload_param'],
  ['stage3_gather_fp16_weights_on_model_save', 'stage3_gather_16bit_weights_on_model_save'],
] as const;

function checkOffload(root: MapNode, stage: number, draft: Draft): void {
  const zero = mapAt(root, 'zero_optimization');
  for (const [old, current] of PAIRS) {
    const flag = entryOf(zero, old);
    const block = entryOf(zero, current);
    if (!flag || !block) continue;
    draft.refuse(
      'old-and-new-key',
      say('DeepSpeed refuses the old `{0}` beside `{1}`.', old, current),
      flag.keyRange,
      {
        source: `${SOURCE}runtime/config_utils.py`,
        related: [{ range: block.keyRange, message: say('Set here, too') }],
      },
    );
  }
  const ratio = nodeAt(zero, 'offload_optimizer.ratio');
  const share = numberOf(ratio);
  forbid(share !== undefined && share < 1 && stage !== 3, ratio, draft, {
    code: 'zero-stage-needed',
    message: say('Partial offload (`ratio` below 1) works at ZeRO stage 3 only; this is stage {0}.', stage),
    source: ZERO_CONFIG,
  });
  for (const key of ['offload_param', 'offload_optimizer'] as const) {
    const device = nodeAt(zero, `${key}.device`);
    const place = textOf(device)?.toLowerCase();
    if (!device || place === undefined || place === 'none' || isAuto(device)) continue;
    const path = nodeAt(zero, `${key}.nvme_path`);
    forbid(place === 'nvme' && stage === 3 && isBlank(path), device, draft, {
      code: 'nvme-path-missing',
      message: say('`{0}` to NVMe needs an `nvme_path`.', key),
      source: `${SOURCE}runtime/zero/partition_parameters.py`,
    });
    if (isAuto(nodeAt(zero, 'stage'))) continue;
    const needed = key === 'offload_param' ? 3 : 1;
    if (stage < needed) {
      draft.report(
        'ignored-key',
        'warning',
        key === 'offload_param'
          ? say('Weights are offloaded at ZeRO stage {0} only: without effect at stage {1}.', needed, stage)
          : say(
              'Optimizer states are offloaded at ZeRO stage {0} and above only: without effect at stage {1}.',
              needed,
              stage,
            ),
        device.range,
        { source: `${SOURCE}runtime/zero/offload_config.py` },
      );
    }
  }
}

/** Keys that the stage never reads. */
function checkDeadKeys(root: MapNode, stage: number, draft: Draft): void {
  const zero = mapAt(root, 'zero_optimization');
  if (!zero || isAuto(nodeAt(zero, 'stage'))) return;
  for (const entry of zero.entries) {
    const needs = stageOf(entry);
    if (needs === undefined || stage >= needs) continue;
    draft.report(
      'ignored-key',
      'hint',
      needs < 3
        ? say(
            '`{0}` is read at ZeRO stage {1} and above only: without effect at stage {2}.',
            entry.key,
            needs,
            stage,
          )
        : say('`{0}` is read at ZeRO stage {1} only: without effect at stage {2}.', entry.key, needs, stage),
      entry.keyRange,
      { source: ZERO_CONFIG },
    );
  }
}

function stageOf(entry: MapEntry): number | undefined {
  if (/^stage3_|^sub_group_size$|^zero_hpz_partition_size$|^mics_/.test(entry.key)) return 3;
  return /^(reduce_bucket_size|allgather_bucket_size|overlap_comm|contiguous_gradients)$/.test(entry.key)
    ? 1
    : undefined;
}
