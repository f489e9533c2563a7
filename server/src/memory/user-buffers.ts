import type { TrainingRun } from '../run/fields';
import type { Band } from './band';

/**
 * Products of a Transformer Engine layer whose transfers overlap them, each with a buffer of its own
 * (`transformer_engine/pytorch/module/base.py`, `initialize_ub`): four of attention's and the MLP's first linear layers and
 * their gradients are gathered in rings, two gradients in bulk, and the inputs of two weights' gradients, which have
 * buffers since 2.7; two results and two gradients are reduced and scattered.
 */
const GATHERED = { least: 6, most: 8 } as const;
const REDUCED = 4;

/** Buffers are allocated by `cuMemCreate` (`userbuffers-host.cpp`, `register_user_buffer_collective`), in pages of 2 MiB. */
const PAGE = 2 * 2 ** 20;

/**
 * Bytes of Transformer Engine's user buffers, outside PyTorch's allocator. Each holds the tokens of a micro batch, those of a
 * context-parallel rank, whole in sequence and width (`megatron/training/initialize.py`, `_initialize_tp_communicators`), in 16 bits;
 * under fp8 those that are gathered are in 8, and a second set is in 16 where a first or last layer is (`first_last_layers_bf16`).
 */
export function userBufferBand(run: TrainingRun, hiddenSize: number): readonly Band[] {
  if (!run['parallel.userBuffers'] || run['parallel.tensor'] === 1 || hiddenSize === 0) return [];
  const tokens = Math.floor((run['batch.sequence'] * run['batch.micro']) / run['parallel.context']);
  const paged = (bytes: number) => Math.ceil((tokens * hiddenSize * bytes) / PAGE) * PAGE;
  const narrow = run['precision.fp8'] === 'none' ? 2 : 1;
  const set = (gathered: number, bytes: number) => gathered * paged(bytes) + REDUCED * paged(2);
  const likely = set(GATHERED.most, narrow);
  return [
    {
      lower: set(GATHERED.least, narrow),
      likely,
      upper: likely + (narrow === 1 ? set(GATHERED.most, 2) : 0),
    },
  ];
}
