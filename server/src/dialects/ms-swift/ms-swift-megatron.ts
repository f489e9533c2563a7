import { flagOf, integerOf, textOf } from '../../config/scalar';
import { fileIn, MS_SWIFT } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { weightsDtypeOf } from '../hf/weights-dtype';
import {
  readAttention,
  readLoss,
  readModules,
  readOptimizerArguments,
  readParallelism,
  readPrecisionArguments,
  readRecomputation,
  readSharding,
} from '../megatron/parallel-arguments';
import { readUnmodelled } from '../megatron/unmodelled-arguments';
import type { DefaultValue, Section } from '../section';

const SOURCE = fileIn(MS_SWIFT, 'swift/megatron/arguments/megatron_args.py');

function own<V>(value: V): DefaultValue<V> {
  return { value, note: say('ms-swift default for Megatron'), source: SOURCE };
}

/** `megatron sft`: Megatron's arguments with defaults of ms-swift's own. */
export function readSwiftMegatron(config: Section, draft: Draft, context: ReadContext): void {
  const section = config.withDefaultsOf(SOURCE, say('ms-swift default for Megatron'));
  draft.assume('model.code', 'megatron', say('Megatron runs its own modules'), SOURCE);
  section.take('micro_batch_size', 'global_batch_size', 'train_iters');
  readRecomputed(section);
  // Megatron itself splits experts as everything else is split.
  section.take('expert_tensor_parallel_size');
  readParallelism(section, context.model?.layers);
  // A checkpoint in fp8 is loaded to be trained: nothing of it is frozen.
  section.assume('quantization.kind', own('none' as const));
  readRecomputation(section);
  readTypes(section, draft, context);
  section.take('use_distributed_optimizer');
  readOptimizerArguments(section);
  readSharding(section);
  if (!section.has('attention_backend')) section.assume('attention.implementation', own('flash2' as const));
  else readAttention(section);
  readModules(section, { transformerEngine: true, grouped: true });
  readUnmodelled(section);
  readLoss(section, own(true));
  const further = section.find('mtp_num_layers');
  if (further && (integerOf(further.node) ?? 0) > 0)
    draft.report(
      'further-tokens-left-out',
      'information',
      say(
        'Layers that predict further tokens are left out: the estimate is too low by their weights and logits.',
      ),
      further.node.range,
      { source: SOURCE },
    );
  const packing = section.find('packing');
  if (packing && flagOf(packing.node) === true) section.state('batch.packed', true, packing);
  else {
    section.takeElse('padding_free', own(true));
    // The samples of a micro batch lie in one row as they are: how long it gets is up to the data.
    const free = section.find('padding_free');
    if (!free) section.assume('batch.paddingFree', own(true), 'padding_free');
    else section.state('batch.paddingFree', flagOf(free.node) === true, free);
  }
}

/** Attention scores are computed again unless set otherwise; `none` is how that is written. */
function readRecomputed(section: Section): void {
  const granularity = section.find('recompute_granularity');
  if (!granularity)
    section.assume('activations.checkpointing', own('selective' as const), 'recompute_granularity');
  else if (textOf(granularity.node)?.toLowerCase() === 'none')
    section.state('activations.checkpointing', 'none', granularity);
}

/** `bf16` and `fp16`, else the type of the checkpoint decides (`model_args.py`, `_init_mixed_precision`). */
function readTypes(section: Section, draft: Draft, context: ReadContext): void {
  const asked = (['bf16', 'fp16'] as const).some((key) => section.flag(key) === true);
  if (!asked) {
    const found = section.find('torch_dtype');
    const loaded = weightsDtypeOf(textOf(found?.node)) ?? context.model?.publishedDtype;
    const type = loaded === undefined || loaded === 'bf16' ? 'bf16' : 'fp16';
    const note = say('ms-swift follows the type of the weights, {0}', loaded ?? say('mostly bf16'));
    for (const field of ['precision.weights', 'precision.compute'] as const)
      draft.assume(field, type, note, SOURCE, 'torch_dtype');
    draft.assume('precision.scheme', 'megatron', note, SOURCE);
    if (type === 'bf16')
      section.assume('precision.gradientAccumulation', {
        ...own('fp32' as const),
        note: say('bf16 gradients are accumulated and reduced in fp32'),
      });
  }
  if (asked) readPrecisionArguments(section);
}
