import type { ConfigDocument } from '../config/node';
import type { Model } from '../model/model';
import type { Estimate } from '../results/estimate';
import type { FieldPath, TrainingRun } from '../run/fields';
import type { ResolvedRun } from '../run/resolved-run';
import { fileIn, VLLM } from '../sources/repositories';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import { type RefusedRun, refusedRun } from './refused-run';

/** `determine_available_memory` asks what of the share is left beside the weights; none or less stops the engine (`v1/core/kv_cache_utils.py`). */
const SOURCE = fileIn(VLLM, 'vllm/v1/worker/gpu_worker.py');
const SHARE = 'hardware.reservedFraction' satisfies FieldPath;
/** Bytes of a weight: checkpoints of fp32 are loaded in 16 bits or whole, so that these are the least. */
const LEAST = 2;
/** Shares that are offered are multiples of this, and leave as much for keys and values. */
const STEP = 0.05;

/**
 * An engine that shares the GPUs of training and may take less of one than its weights need: it does not start, so nothing is estimated.
 * Experts may be spread over more GPUs than a layer is, and checkpoints of fewer bits may stay so: neither is judged.
 */
export function refusedEngine(
  run: TrainingRun,
  { publishedDtype }: Pick<Model, 'publishedDtype'>,
  { model, capacityBytes }: Pick<Estimate, 'model' | 'capacityBytes'>,
  resolved: Pick<ResolvedRun, 'origins'>,
  document: ConfigDocument,
): RefusedRun | undefined {
  if (run['rollout.engine'] !== 'vllm-colocate' || run['rollout.sharesWeights']) return undefined;
  if (run['rollout.quantized'] || run['quantization.kind'] !== 'none') return undefined;
  if (publishedDtype === undefined || publishedDtype === 'fp8') return undefined;
  const fraction = run[SHARE];
  const adapters = run['method.kind'] === 'lora' ? model.trainableParameters : 0;
  if (fraction <= 0 || model.activeParameters < model.totalParameters) return undefined;
  const weights = (LEAST * (model.totalParameters - adapters)) / run['rollout.tensor'];
  const share = fraction * capacityBytes;
  if (weights <= share) return undefined;
  const isStated = (resolved.origins[SHARE]?.kind ?? 'default') !== 'default';
  const stops = say(
    'vLLM does not start: the weights take at least {0} of a GPU, and its share, {1} of it, is {2}.',
    formatBytes(weights),
    String(fraction),
    formatBytes(share),
  );
  const message = isStated ? stops : `${stops} ${say('The share is a default of the framework.')}`;
  const enough = (Math.ceil(weights / capacityBytes / STEP) + 1) * STEP;
  return refusedRun(resolved, document, {
    code: 'engine-share',
    field: SHARE,
    isCertain: isStated,
    message,
    source: SOURCE,
    ...(enough < 1 ? { data: { share: Number(enough.toFixed(2)) } } : {}),
  });
}
