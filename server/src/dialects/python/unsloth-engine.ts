import { knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { flagOf, integerOf, numberOf } from '../../config/scalar';
import { findAccelerator } from '../../hardware/catalog';
import { fileIn, UNSLOTH, UNSLOTH_ZOO } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { argumentOf, type Calls, leaveArgument, variableOf } from './call-block';
import { startOf } from './trainer-start';

const VLLM = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/vllm_utils.py');
const GIB = 2 ** 30;

/** Default of `gpu_memory_utilization` (`loader.py`). */
const SHARE = 0.5;

/** Shares that standby mode takes whatever is asked for, by a tenth of the card's memory in GiB (`load_vllm`, vLLM 0.11 and newer). */
const STANDBY: readonly (readonly [tenth: number, share: number])[] = [
  [4, 0.925],
  [2.5, 0.9],
  [2, 0.825],
  [1.4, 0.8],
  [1, 0.775],
  [0, 0.75],
];
/** Taken of them since vLLM 0.11. */
const HEADROOM = 0.95;
/** The first vLLM with that table; those before have another (`load_vllm`). */
const FIRST = '0.11';
/** The first release of Unsloth that is known to have this table. */
const RELEASE = '2026.4.4';

/**
 * `fast_inference`: vLLM in the same process generates with the very weights that are trained. States its share of the GPU and whether it
 * sleeps: a trainer that generates (GRPO) lets it sleep in between, and code may put it to sleep before another one trains.
 */
export function readFastInference(calls: Calls, load: PyCall, context: ReadContext, trainer: PyCall): void {
  const { draft, program } = calls;
  const asked = argumentOf(load, 'fast_inference');
  const on = flagOf(knownNode(asked));
  if (!asked || on === false) return;
  const release = context.versions?.unsloth?.version;
  const vllm = [...(calls.installs ?? [])].reverse().find(({ name }) => name === 'vllm')?.specifier;
  const old = isAtLeast(/^==(\d[\d.]*)$/.exec(vllm ?? '')?.[1], FIRST) === false;
  if (on === undefined || isAtLeast(release, RELEASE) === false || old) {
    if (on === undefined) leaveArgument(draft, 'fast_inference', asked, ['rollout.engine']);
    else
      draft.leave(
        'refused',
        asked,
        'fast_inference',
        say('How much this release gives to the vLLM that shares its weights is not known.'),
      );
    return;
  }
  draft.state('rollout.engine', 'vllm-colocate', asked, 'fast_inference');
  draft.assume('rollout.sharesWeights', true, say('vLLM inside of Unsloth shares the weights'), VLLM);
  const variable = variableOf(program, STANDS_BY);
  const standby = variable !== undefined && variable !== '0' && !hasTower(context);
  const grpo = /GRPOTrainer$/.test(trainer.callee);
  const slept = standby && !grpo ? sleepBefore(calls, trainer) : undefined;
  const set = program.environment.findLast(({ key }) => key === STANDS_BY);
  if (slept) draft.state('rollout.sleep', true, { range: slept.range }, SLEEPS);
  else if (standby && grpo && set) draft.state('rollout.sleep', true, { range: set.used }, STANDS_BY);
  else draft.assume('rollout.sleep', false, standbyNote(standby), VLLM, STANDS_BY);
  readShare(calls, load, context, standby);
}

/** Standby mode: vLLM gives its keys and values back while the model trains with GRPO. */
const STANDS_BY = 'UNSLOTH_VLLM_STANDBY';
const SLEEPS = 'vllm_engine.sleep';

/** The call that puts vLLM to sleep before the training, where nothing in between wakes it. */
function sleepBefore({ program }: Calls, trainer: PyCall): PyCall | undefined {
  const start = startOf(program, trainer) ?? trainer;
  const last = program.calls.findLast(
    ({ callee, id }) => /(?:^|\.)vllm_engine\.(?:sleep|wake_up)$/.test(callee) && id < start.id,
  );
  return last?.callee === SLEEPS && last.conditions.length === 0 ? last : undefined;
}

/** Models with a tower of their own do not sleep (`load_vllm`). */
const hasTower = ({ model }: ReadContext) => model?.config?.vision_config !== undefined;

function standbyNote(standby: boolean): string {
  return standby
    ? say('standby mode, but nothing is generated: vLLM keeps what it was started with')
    : say('{0} default', 'Unsloth');
}

function readShare({ draft }: Calls, load: PyCall, context: ReadContext, standby: boolean): void {
  const given = argumentOf(load, 'gpu_memory_utilization');
  const stated = given ? numberOf(knownNode(given)) : SHARE;
  const gpu = context.known['hardware.gpu'];
  const bytes = typeof gpu === 'string' ? findAccelerator(gpu)?.usableBytes : undefined;
  if (!standby && given && stated === undefined) {
    leaveArgument(draft, 'gpu_memory_utilization', given, ['hardware.reservedFraction']);
    return;
  }
  if (bytes === undefined) {
    // Nothing is estimated without a GPU.
    if (given && stated !== undefined)
      draft.state('hardware.reservedFraction', stated, given, 'gpu_memory_utilization');
    else draft.assume('hardware.reservedFraction', stated ?? SHARE, say('{0} default', 'Unsloth'), VLLM);
    return;
  }
  const tenth = bytes / GIB / 10;
  const share = standby
    ? (STANDBY.find(([least]) => tenth >= least)?.[1] ?? 0) * HEADROOM
    : (stated ?? SHARE);
  const most = 1 - spared(load, context) / bytes;
  if (most < share)
    draft.infer(
      'hardware.reservedFraction',
      Math.max(0, most),
      say('Unsloth spares what it estimates that activations of `{0}` tokens take', 'max_seq_length'),
      knownNode(given),
      'gpu_memory_utilization',
    );
  else if (standby)
    draft.infer(
      'hardware.reservedFraction',
      share,
      say('standby mode takes its own share on a card of {0} GiB', (bytes / GIB).toFixed(1)),
      knownNode(given),
      'gpu_memory_utilization',
    );
  else if (given) draft.state('hardware.reservedFraction', share, given, 'gpu_memory_utilization');
  else
    draft.assume(
      'hardware.reservedFraction',
      share,
      say('{0} default', 'Unsloth'),
      fileIn(UNSLOTH, 'unsloth/models/loader.py'),
      'gpu_memory_utilization',
    );
}

/** Bytes that vLLM's share leaves for activations of two sequences (`approximate_vllm_memory_usage`, `maximum_activation`). */
function spared(load: PyCall, { model }: ReadContext): number {
  const outer = model?.config;
  const nested = outer?.text_config;
  const config = (typeof nested === 'object' && nested !== null ? nested : outer) as
    | Readonly<Record<string, unknown>>
    | undefined;
  const size = (key: string) => (typeof config?.[key] === 'number' ? Number(config[key]) : undefined);
  const hidden = size('hidden_size');
  const heads = size('num_attention_heads');
  if (hidden === undefined || heads === undefined) return 0;
  const tokens = 2 * (integerOf(knownNode(argumentOf(load, 'max_seq_length', 1))) ?? 2048);
  const keys = Math.floor(hidden / heads) * (size('num_key_value_heads') ?? 1);
  const inner = size('intermediate_size') ?? size('moe_intermediate_size') ?? hidden;
  const elements = tokens * (hidden + 2 * keys) + 2 * tokens + 2 * tokens * inner + inner * hidden;
  // As there: 16-bit elements, and a quarter more.
  return elements * 1.25 * 2;
}
