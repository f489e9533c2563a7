import { entryOf, mapAt, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, isAuto, numberOf, textOf } from '../../config/scalar';
import { ACCELERATE, DEEPSPEED, fileIn } from '../../sources/repositories';
import type { Severity } from '../../text/problem';
import { suggested } from '../../wording/closest';
import { say } from '../../wording/say';
import type { KeySpec, ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { checkKeys, isSlip, type Judgement, type KeyPolicy } from '../key-check';
import { forbid } from '../refusal';
import type { Releases } from '../release';
import { completeBatch } from './batch-triangle';
import { batchSizesOf, dataParallelOf } from './deepspeed-batch';
import { dtypeOf } from './deepspeed-dtype';
import { DEEPSPEED_TABLE, REMOVED_KEYS, STRICT_BLOCKS } from './deepspeed-keys';
import type { DeepspeedOptimizer } from './deepspeed-optimizer';
import { checkZero } from './deepspeed-zero-rules';

const SOURCE = fileIn(DEEPSPEED, 'deepspeed/');
const CONFIG = `${SOURCE}runtime/config.py`;
const ENGINE = `${SOURCE}runtime/engine.py`;
const PRECISION = `${SOURCE}runtime/precision_config.py`;

/** Numbers that DeepSpeed computes with before any type check: text in their place stops the run. */
const COMPUTED = new Set([
  'train_batch_size',
  'train_micro_batch_size_per_gpu',
  'gradient_accumulation_steps',
]);
const MAPPINGS = new Set(['optimizer', 'scheduler', 'fp16', 'bf16', 'bfloat16', 'data_types']);

/** First release with `runtime/precision_config.py`, which refuses unknown keys and values of the wrong type: plain dictionaries before. */
const STRICT_PRECISION = { source: PRECISION, releases: { from: '0.17.1' } };

/**
 * Blocks of which earlier releases ignored what they did not know, with the first that refuses it. The others were strict from the
 * release that brought them: `comms_logger` and `hybrid_engine` by 0.9.0; `zenflow` (0.17) and `leaf_module` (0.18) lie in
 * `zero_optimization`, where releases before refuse the block itself. Read in the packages 0.9.0 to 0.19.8.
 */
const STRICT_SINCE: Readonly<Record<string, { readonly source: string; readonly releases: Releases }>> = {
  fp16: STRICT_PRECISION,
  bf16: STRICT_PRECISION,
  bfloat16: STRICT_PRECISION,
  // DeepCompile's by then; 0.13 and 0.14.0 took `enabled`, `backend` and `kwargs` in it, 0.14.4 to 0.16.4 read nothing of it.
  compile: { source: `${SOURCE}compile/config.py`, releases: { from: '0.16.6' } },
  // 0.16.3 reads nothing of it.
  tensor_parallel: { source: `${SOURCE}runtime/tensor_parallel/config.py`, releases: { from: '0.16.4' } },
};

/** `bf16_master_weights_and_grads` and `bf16_optimizer_states` are read since then. */
const LOW_PRECISION_STATES = { from: '0.18.3' };

/** What no release takes: batch sizes that are text, and a stage that none has. */
const TIMELESS = new Set([...COMPUTED, ...MAPPINGS, 'zero_optimization.stage']);

/** Which releases refuse a wrong key or value of a strict block. */
function strictSince(path: string): { source: string; releases?: Releases } {
  if (TIMELESS.has(path)) return { source: CONFIG };
  const block = path.slice(0, Math.max(0, path.lastIndexOf('.')));
  return STRICT_SINCE[block] ?? { source: `${SOURCE}runtime/config_utils.py`, releases: {} };
}

const policyOf = (draft: Draft, version: unknown): KeyPolicy => ({
  version,
  unknown: (parent, key, near) => judgeUnknown(parent, key, near, draft),
  refusal: strictSince,
  exactCase: (path) => STRICT_BLOCKS.has(path.slice(0, path.lastIndexOf('.'))),
  wrongType(spec: KeySpec, path: string): Severity | undefined {
    if (COMPUTED.has(path) || MAPPINGS.has(path)) return 'error';
    const parent = path.slice(0, path.lastIndexOf('.'));
    if (STRICT_BLOCKS.has(parent)) return 'error';
    return spec.values || spec.type === 'object' ? 'warning' : undefined;
  },
});

/** While DeepSpeed searches for settings (`autotuning`), a list gives the values to try (`autotuning/autotuner.py`). */
export function tuned(keys: KeyPolicy, root: MapNode): KeyPolicy {
  const searches = flagOf(nodeAt(root, 'autotuning.enabled')) === true;
  return searches ? { ...keys, accepts: ({ kind }) => kind === 'list' } : keys;
}

function judgeUnknown(
  parent: string,
  key: string,
  near: readonly string[],
  draft: Draft,
): Judgement | undefined {
  const hint = suggested(near, '`');
  if (STRICT_BLOCKS.has(parent)) {
    const { source, releases = {} } = strictSince(`${parent}.${key}`);
    const standing = draft.standing(source, releases);
    if (standing && (standing.severity === 'error' || releases.from === undefined)) {
      return {
        severity: 'error',
        message: say('DeepSpeed refuses the unknown key `{0}` in `{1}`.{2}', key, parent, hint),
      };
    }
    return {
      severity: standing ? 'error' : 'hint',
      message: say(
        'DeepSpeed from {0} on refuses the unknown key `{1}` in `{2}`; earlier versions ignore it.{3}',
        releases.from ?? '',
        key,
        parent,
        hint,
      ),
    };
  }
  if (parent !== '') return undefined;
  // People write comments as keys.
  if (/^(_|\/\/|#|\$)/.test(key) || /^comment$/i.test(key)) return undefined;
  return near.some((name) => isSlip(name, key))
    ? { severity: 'warning', message: say('DeepSpeed silently ignores the unknown key `{0}`.{1}', key, hint) }
    : { severity: 'hint', message: say('DeepSpeed does not know `{0}` and ignores it.', key) };
}

/**
 * Everything that DeepSpeed refuses or ignores in its config, as far as the file and the known GPU count tell. What hangs on a `stage`
 * that nobody knows here is left.
 */
export function checkDeepspeed(
  document: ConfigDocument,
  root: MapNode,
  stage: number | undefined,
  optimizer: DeepspeedOptimizer | undefined,
  context: ReadContext,
  draft: Draft,
): void {
  checkKeys(root, DEEPSPEED_TABLE, tuned(policyOf(draft, context.known['version.deepspeed']), root), draft);
  checkRelaxed(document, root, draft);
  checkRemoved(root, draft);
  checkBlocks(root, draft);
  checkActivations(root, draft);
  checkBatch(root, context, draft);
  if (stage === undefined) return;
  checkZero(root, stage, draft);
  checkPrecision(root, stage, draft);
  if (optimizer) checkOptimizer(root, stage, optimizer, draft);
  checkCommunication(root, stage, draft);
}

/** Blocks that DeepSpeed opens without looking: null in their place stops the run (`bf16: null` is read as absent). */
function checkBlocks(root: MapNode, draft: Draft): void {
  for (const key of ['fp16', 'optimizer', 'scheduler', 'data_types']) {
    const node = nodeAt(root, [key]);
    forbid(node?.kind === 'scalar' && node.value === null && node.text !== '', node, draft, {
      code: 'wrong-type',
      message: say('`{0}` takes a mapping, not null: leave the key out instead.', key),
      source: CONFIG,
    });
  }
}

function checkRelaxed(document: ConfigDocument, root: MapNode, draft: Draft): void {
  if (!document.relaxedJson) return;
  const { start } = root.range;
  draft.report(
    'relaxed-json',
    'hint',
    say(
      'Comments and trailing commas: DeepSpeed reads them, but Accelerate and the Hugging Face Trainer read strict JSON and fail.',
    ),
    { start, end: { line: start.line, character: start.character + 1 } },
    { source: fileIn(ACCELERATE, 'src/accelerate/utils/deepspeed.py') },
  );
}

function checkRemoved(root: MapNode, draft: Draft): void {
  for (const [path, version] of Object.entries(REMOVED_KEYS)) {
    const keys = path.split('.');
    const parent = keys.length > 1 ? mapAt(root, keys.slice(0, -1)) : root;
    const entry = entryOf(parent, keys.at(-1) ?? '');
    if (!entry) continue;
    const instead = DEEPSPEED_TABLE.find(path)?.deprecated;
    const removed = say(
      '`{0}` was removed: DeepSpeed from {1} on refuses a file that has it.',
      path,
      version,
    );
    draft.refuse(
      'removed-key',
      instead === undefined ? removed : `${removed} ${say('`{0}` takes its place.', instead)}`,
      entry.keyRange,
      { source: CONFIG, releases: { from: version }, data: { removedIn: version } },
    );
  }
}

function checkPrecision(root: MapNode, stage: number, draft: Draft): void {
  const half = nodeAt(root, 'fp16.enabled');
  const block = nodeAt(root, ['bf16']) ?? nodeAt(root, ['bfloat16']);
  const brain = nodeAt(block, 'enabled');
  const halfOn = flagOf(half) === true;
  const brainOn = flagOf(brain) === true;
  forbid(halfOn && brainOn, brain, draft, {
    code: 'two-precisions',
    message: say('fp16 and bf16 are both enabled: DeepSpeed refuses that.'),
    source: CONFIG,
    related: half && [{ range: half.range, message: say('fp16 is enabled here') }],
  });
  const amp = nodeAt(root, 'amp.enabled');
  forbid(flagOf(amp) === true && (halfOn || brainOn || stage > 0), amp, draft, {
    code: 'amp-combination',
    message: say(
      'Apex AMP excludes {0}: DeepSpeed refuses both together.',
      stage > 0 ? 'ZeRO' : say('fp16 and bf16'),
    ),
    source: ENGINE,
  });
  const settled = !isAuto(half) && !isAuto(brain);
  const model = brainOn ? 'bf16' : halfOn ? 'fp16' : 'fp32';
  const accumulation = nodeAt(root, 'data_types.grad_accum_dtype');
  const accumulated = dtypeOf(accumulation);
  forbid(stage === 0 && settled && accumulated !== undefined && accumulated !== model, accumulation, draft, {
    code: 'gradient-type',
    message: say(
      'Without ZeRO, DeepSpeed accumulates gradients in the type of the weights ({0}) only.',
      model,
    ),
    source: ENGINE,
    // `BF16_Optimizer` took them in fp32 before.
    ...(model === 'bf16' && accumulated === 'fp32' ? { releases: { from: '0.18.5' } } : {}),
  });
  const parameters = nodeAt(root, 'data_types.param_dtype');
  const wanted = dtypeOf(parameters);
  forbid(settled && wanted !== undefined && wanted !== model, parameters, draft, {
    code: 'parameter-type',
    message: say('`param_dtype` contradicts the precision mode, which is {0}.', model),
    source: ENGINE,
    releases: { from: '0.19.2' },
  });
  checkMasters(root, stage, block, draft);
  const autocast = nodeAt(root, 'torch_autocast.enabled');
  const quantized = flagOf(nodeAt(root, 'zero_optimization.zero_quantized_weights')) === true;
  forbid(flagOf(autocast) === true && quantized, autocast, draft, {
    code: 'autocast-quantized',
    message: say('`torch_autocast` and `zero_quantized_weights` exclude each other.'),
    source: `${SOURCE}runtime/torch_autocast.py`,
    releases: { from: '0.17.2' },
  });
  checkLossScale(root, halfOn, draft);
}

function checkMasters(root: MapNode, stage: number, bf16: ConfigNode | undefined, draft: Draft): void {
  const masters = nodeAt(bf16, 'bf16_master_weights_and_grads');
  const states = nodeAt(bf16, 'bf16_optimizer_states');
  const halves = nodeAt(root, 'fp16.fp16_master_weights_and_grads');
  for (const node of [masters, states, halves]) {
    forbid(
      flagOf(node) === true && stage === 0 && !isAuto(nodeAt(root, 'zero_optimization.stage')),
      node,
      draft,
      {
        code: 'zero-stage-needed',
        message: say('Low-precision masters and states work at ZeRO stage 1 to 3 only.'),
        source: CONFIG,
        ...(node === halves ? {} : { releases: LOW_PRECISION_STATES }),
      },
    );
  }
  forbid(flagOf(states) === true && flagOf(masters) !== true && stage > 0, states, draft, {
    code: 'masters-needed',
    message: say('`bf16_optimizer_states` needs `bf16_master_weights_and_grads`.'),
    source: CONFIG,
    releases: LOW_PRECISION_STATES,
  });
}

function checkLossScale(root: MapNode, on: boolean, draft: Draft): void {
  const scale = nodeAt(root, 'fp16.loss_scale');
  const value = numberOf(scale);
  forbid((value ?? 0) < 0, scale, draft, {
    code: 'loss-scale',
    message: say('The loss scale is 0 (dynamic) or positive.'),
    source: PRECISION,
    releases: { from: '0.18.8' },
  });
  if (!on || (value ?? 0) !== 0) return;
  for (const key of ['loss_scale_window', 'min_loss_scale']) {
    const node = nodeAt(root, `fp16.${key}`);
    const stated = numberOf(node);
    forbid(stated !== undefined && stated <= 0, node, draft, {
      code: 'loss-scale',
      message: say('Dynamic loss scaling needs a positive `{0}`.', key),
      source: PRECISION,
      releases: { from: '0.19.3' },
    });
  }
}

function checkOptimizer(root: MapNode, stage: number, optimizer: DeepspeedOptimizer, draft: Draft): void {
  const { node, type } = optimizer;
  const norm = entryOf(mapAt(root, 'optimizer.params'), 'max_grad_norm');
  if (norm) {
    // A script that gives DeepSpeed an optimizer of its own, as Megatron does, never gets there.
    draft.report(
      'max-grad-norm',
      'warning',
      say(
        'DeepSpeed refuses `max_grad_norm` as an optimizer argument: use the top-level `gradient_clipping`.',
      ),
      norm.keyRange,
      { source: ENGINE, data: { value: numberOf(norm.value) } },
    );
  }
  forbid(optimizer.oneBit && stage > 0, node, draft, {
    code: 'onebit-zero',
    message: say('{0} cannot be combined with ZeRO (stage {1}).', type, stage),
    source: ENGINE,
  });
  if (optimizer.oneBit) {
    const message = say('DeepSpeed 0.19.7 removed the 1-bit optimizers: {0} is refused from there on.', type);
    const releases = { from: '0.19.7' };
    draft.refuse('removed-optimizer', message, node.range, { source: CONFIG, releases });
  }
  const scale = nodeAt(root, 'fp16.loss_scale');
  forbid(/^(onebit)?lamb$/i.test(type) && isOther(scale, 0), scale, draft, {
    code: 'lamb-loss-scale',
    message: say('{0} needs dynamic loss scaling: `loss_scale` 0.', type),
    source: ENGINE,
  });
  const allowed = flagOf(nodeAt(root, 'zero_allow_untested_optimizer')) === true;
  forbid(
    stage > 0 && optimizer.known && !optimizer.testedWithZero && !optimizer.oneBit && !allowed,
    node,
    draft,
    {
      code: 'untested-optimizer',
      message: say(
        'DeepSpeed has not tested {0} with ZeRO and refuses it without `"zero_allow_untested_optimizer": true`.',
        type,
      ),
      source: ENGINE,
      data: { key: 'zero_allow_untested_optimizer', value: true },
    },
  );
}

/** Whether a file states another number than the one that works. */
function isOther(node: ConfigNode | undefined, number: number): boolean {
  const stated = numberOf(node);
  return stated !== undefined && stated !== number;
}

function checkCommunication(root: MapNode, stage: number, draft: Draft): void {
  const op = nodeAt(root, 'gradient_allreduce_op');
  const sum = textOf(op)?.toLowerCase() === 'sum';
  const zero = mapAt(root, 'zero_optimization');
  const other =
    stage === 3
      ? say('ZeRO stage 3')
      : mapAt(zero, 'zenflow')
        ? 'ZenFlow'
        : flagOf(nodeAt(root, 'compile.deepcompile')) === true
          ? 'DeepCompile'
          : undefined;
  forbid(sum && other !== undefined, op, draft, {
    code: 'gradient-sum',
    message: say('`gradient_allreduce_op: sum` does not work with {0}.', String(other)),
    source: CONFIG,
    releases: { from: '0.19.6' },
  });
  const byDefault = DEEPSPEED_TABLE.find('zero_optimization.reduce_scatter')?.default === true;
  const scatter = flagOf(nodeAt(zero, 'reduce_scatter')) ?? byDefault;
  const factor = nodeAt(root, 'gradient_predivide_factor');
  forbid(stage === 3 && scatter && isOther(factor, 1), factor, draft, {
    code: 'predivide-stage3',
    message: say(
      '`gradient_predivide_factor` other than 1 does not work with ZeRO stage 3 and reduce-scatter.',
    ),
    source: `${SOURCE}runtime/zero/stage3.py`,
  });
  const prescale = nodeAt(root, 'prescale_gradients');
  forbid(stage === 3 && scatter && flagOf(prescale) === true, prescale, draft, {
    code: 'prescale-stage3',
    message: say('`prescale_gradients` does not work with ZeRO stage 3 and reduce-scatter.'),
    source: `${SOURCE}runtime/zero/stage3.py`,
  });
  const bucket = nodeAt(zero, 'allgather_bucket_size');
  const size = integerOf(bucket);
  forbid((stage === 1 || stage === 2) && size !== undefined && size % 2 !== 0, bucket, draft, {
    code: 'odd-bucket',
    message: say('`allgather_bucket_size` must be even at ZeRO stage 1 and 2.'),
    source: `${SOURCE}runtime/zero/stage_1_and_2.py`,
  });
}

function checkActivations(root: MapNode, draft: Draft): void {
  const entry = entryOf(root, 'activation_checkpointing');
  if (!entry) return;
  draft.report(
    'checkpointing-not-switched-on',
    'information',
    say(
      'This block tunes `deepspeed.checkpointing` for models that call it; it does not switch activation checkpointing on. Hugging Face models need `gradient_checkpointing`.',
    ),
    entry.keyRange,
    { source: 'https://www.deepspeed.ai/docs/config-json/#activation-checkpointing' },
  );
}

function checkBatch(root: MapNode, context: ReadContext, draft: Draft): void {
  const keys = ['train_batch_size', 'train_micro_batch_size_per_gpu', 'gradient_accumulation_steps'];
  for (const key of keys) {
    const node = nodeAt(root, [key]);
    const value = numberOf(node);
    forbid(value !== undefined && value <= 0, node, draft, {
      code: 'batch-positive',
      message: say('`{0}` must be above 0.', key),
      source: CONFIG,
    });
    const quoted = node?.kind === 'scalar' && typeof node.value === 'string' && /^\d+$/.test(node.value);
    forbid(quoted, node, draft, {
      code: 'wrong-type',
      message: say('`{0}` is text: DeepSpeed computes with it and stops. Remove the quotes.', key),
      source: CONFIG,
      data: { replacement: value },
    });
  }
  const entries = keys.map((key) => entryOf(root, key));
  const [global, micro] = entries;
  if (!global && !micro) {
    const { start } = root.range;
    draft.report(
      'batch-missing',
      'warning',
      say(
        'Neither `train_batch_size` nor `train_micro_batch_size_per_gpu`: DeepSpeed refuses the file unless the caller adds one.',
      ),
      { start, end: { line: start.line, character: start.character + 1 } },
      { source: CONFIG },
    );
    return;
  }
  if (entries.some((entry) => isAuto(entry?.value))) return;
  const sizes = batchSizesOf(root);
  if ([sizes.global, sizes.micro, sizes.accumulation].some((size) => size !== undefined && size <= 0)) return;
  const { contradiction } = completeBatch(sizes, dataParallelOf(root, context.known));
  const at = global ?? micro;
  if (!contradiction || !at) return;
  const related = entries.flatMap((entry) =>
    entry && entry !== at ? [{ range: entry.value.range, message: say('`{0}` is set here', entry.key) }] : [],
  );
  draft.refuse('batch-triangle', contradiction.message, at.value.range, {
    related,
    source: CONFIG,
    data: { ...sizes, product: contradiction.product },
  });
}
