import type { Operation, Storage, Tape } from '../model/tape';
import { behaviours } from '../run/behaviours';
import type { TrainingRun } from '../run/fields';

/** Module paths of a layer's feed-forward part, over the families' names. */
const FEED_FORWARD = /(^|\.)(mlp|ffn|feed_forward|block_sparse_moe|experts)(\.|$)/;

function between(tape: Tape, first: (o: Operation) => boolean, last: (o: Operation) => boolean): Operation[] {
  const { operations } = tape;
  const from = operations.findIndex(first);
  const to = operations.findLastIndex(last);
  return from < 0 || to < from ? [] : operations.slice(from, to + 1);
}

const named = (pattern: RegExp) => (o: Operation) => pattern.test(o.name);

/** Operators of one of Megatron's `recompute_modules` (`transformer_config.py`), as a layer's tape has them. */
function operationsOf(tape: Tape, module: string): readonly Operation[] {
  const routed = tape.weights.some((weight) => weight.expert);
  switch (module) {
    case 'core_attn':
      return tape.operations.filter(named(/\.attention(\.|$)/));
    case 'mlp':
      return routed ? [] : between(tape, named(FEED_FORWARD), named(FEED_FORWARD));
    case 'moe':
      return routed ? between(tape, named(FEED_FORWARD), named(FEED_FORWARD)) : [];
    case 'moe_act':
      return tape.operations.filter(named(/\.weighted_swiglu$/));
    case 'shared_experts':
      return between(tape, named(/shared_expert/), named(/shared_expert/));
    case 'layernorm':
      return tape.operations.filter(
        named(/(^|\.)((input|post_attention|pre_mlp)_layernorm|ln_\d|norm_\d|norm)$/),
      );
    case 'mla_up_proj':
      return between(
        tape,
        named(/\.(q|kv)_[ab]_layernorm|\.(q|kv)_b_proj/),
        named(/\.(query|key|kv_b_proj)$/),
      );
    default:
      return [];
  }
}

/** Whether selective checkpointing is by modules: always in Megatron, elsewhere where some are named. */
export function recomputesModules(run: TrainingRun): boolean {
  return behaviours(run).recomputesModules || run['activations.modules'].length > 0;
}

/** Operators that Megatron's selective recomputation runs again: attention's core unless modules are named. */
export function recomputedByModule(tape: Tape, run: TrainingRun): ReadonlySet<Operation> {
  const modules = run['activations.modules'].length > 0 ? run['activations.modules'] : ['core_attn'];
  return new Set(modules.flatMap((module) => operationsOf(tape, module)));
}

/**
 * What stays of a layer where modules are computed again: all that operators outside keep, and what the modules are given
 * (`tensor_parallel/random.py`, `CheckpointFunction` and `CheckpointWithoutOutput`).
 */
export function keptOutsideModules(tape: Tape, run: TrainingRun): Set<Storage> {
  const inside = recomputedByModule(tape, run);
  const made = new Set<Storage>();
  for (const operation of inside) {
    const given = new Set(operation.inputs.map((x) => x.storage));
    for (const x of operation.outputs) if (!given.has(x.storage)) made.add(x.storage);
  }
  // Norms give their result away and make it again before it is asked for; other modules' results stay with their readers.
  const norms = operationsOf(tape, 'layernorm').filter((operation) => inside.has(operation));
  const discarded = new Set(norms.flatMap((operation) => operation.outputs.map((x) => x.storage)));
  for (const operation of inside) {
    if (/weighted_swiglu$/.test(operation.name)) for (const x of operation.outputs) discarded.add(x.storage);
  }
  const kept = new Set<Storage>();
  for (const operation of tape.operations) {
    if (!inside.has(operation)) {
      for (const storage of operation.saves) if (!discarded.has(storage)) kept.add(storage);
      continue;
    }
    for (const x of operation.inputs) {
      if (x.storage.bytes > 0 && x.requiresGrad && !made.has(x.storage)) kept.add(x.storage);
    }
  }
  return kept;
}
