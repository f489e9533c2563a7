import { flagOf, integerOf, textOf, textsOf } from '../../config/scalar';
import { fileIn, MEGATRON } from '../../sources/repositories';
import type { DType } from '../../terms/dtypes';
import { say } from '../../wording/say';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { MEGATRON_OPTIMIZERS, optimizerIn } from '../optimizer-names';
import type { DefaultValue, Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { MEGATRON_TABLE } from './megatron-keys';
import { layoutAt } from './pipeline-layout';

/*
 * What the tools around Megatron-Core have in common: sizes of every parallelism, recomputation, types and optimizer, in the
 * names of its `ModelParallelConfig`, `TransformerConfig` and `OptimizerConfig`. Families that spell them otherwise give a
 * section that translates (`SpelledSection`).
 */

const CORE = fileIn(MEGATRON, 'megatron/core/');

/** Megatron's own default. */
export function megatron<V>(
  value: V,
  file = 'model_parallel_config.py',
  note = say('{0} default', 'Megatron'),
): DefaultValue<V> {
  return { value, note, source: `${CORE}${file}` };
}

/** Sizes of every kind of parallelism; `layers` of the model where they are known. */
export function readParallelism(section: Section, layers?: number): void {
  const args = section.by(MEGATRON_TABLE);
  args.take('tensor_model_parallel_size', 'pipeline_model_parallel_size', 'context_parallel_size');
  args.take('expert_model_parallel_size', 'expert_tensor_parallel_size', 'sequence_parallel', 'cp_comm_type');
  args.take('tp_comm_overlap');
  readPipeline(args, layers);
  args.take('moe_expert_capacity_factor');
}

/** Chunks per stage: stated, or layers of a stage over layers of a chunk. Several chunks are interleaved. */
function readPipeline(args: Section, layers: number | undefined): void {
  const stages = args.integerOrDefault('pipeline_model_parallel_size');
  const direct = args.find(['virtual_pipeline_model_parallel_size', 'num_virtual_stages_per_pipeline_rank']);
  const perChunk = args.find('num_layers_per_virtual_pipeline_stage');
  const size = integerOf(perChunk?.node);
  const ends =
    (args.flag('account_for_embedding_in_pipeline_split') === true ? 1 : 0) +
    (args.flag('account_for_loss_in_pipeline_split') === true ? 1 : 0);
  const derived =
    size !== undefined && layers !== undefined && size > 0 ? (layers + ends) / stages / size : undefined;
  const found = direct ?? perChunk;
  const chunks = direct ? integerOf(direct.node) : derived;
  if (found && stages > 1 && chunks !== undefined && Number.isInteger(chunks) && chunks > 1) {
    args.state('parallel.virtualStages', chunks, found);
    args.state('parallel.pipelineSchedule', 'interleaved', found);
  }
  readLayout(args, stages);
  args.take('decoder_first_pipeline_num_layers', 'decoder_last_pipeline_num_layers');
  const embedding = args.find('account_for_embedding_in_pipeline_split');
  if (embedding && flagOf(embedding.node) === true) args.state('parallel.embeddingLayers', 1, embedding);
  const loss = args.find('account_for_loss_in_pipeline_split');
  if (loss && flagOf(loss.node) === true) args.state('parallel.headLayers', 1, loss);
  else if (embedding && flagOf(embedding.node) === true)
    args.assume('parallel.headLayers', megatron(0), 'account_for_loss_in_pipeline_split');
}

/** Layers of each stage or chunk as letters; the stages over those of the pipeline are its chunks (`PipelineParallelLayerLayout`). */
function readLayout(args: Section, stages: number): void {
  const found = args.find('pipeline_model_parallel_layout');
  const layout = found ? layoutAt(found.node) : 'none';
  if (!found || layout === 'none' || stages < 2) return;
  const chunks = (layout?.length ?? 0) / stages;
  if (!layout || !Number.isInteger(chunks)) {
    args.leave(found, ['parallel.stageLayers']);
    return;
  }
  args.state(
    'parallel.stageLayers',
    layout.map(({ layers }) => String(layers)),
    found,
  );
  if (chunks === 1) return;
  args.state('parallel.virtualStages', chunks, found);
  args.state('parallel.pipelineSchedule', 'interleaved', found);
}

/** Activation recomputation. */
export function readRecomputation(args: Section): void {
  const none = megatron('none' as const, 'transformer/transformer_config.py');
  const granularity = args.find('recompute_granularity');
  const kind = textOf(granularity?.node)?.toLowerCase();
  const plain = args.find('recompute_activations');
  const old = args.find('checkpoint_activations');
  // Megatron-LM 2.5 to 2.7 recompute where a method is named (https://github.com/NVIDIA/Megatron-LM/blob/v2.6/megatron/arguments.py).
  const before3 = args.find('activations_checkpoint_method');
  if (granularity && (kind === 'full' || kind === 'selective'))
    args.state('activations.checkpointing', kind, granularity);
  else if (plain && flagOf(plain.node) === true) args.state('activations.checkpointing', 'selective', plain);
  else if (old && flagOf(old.node) === true) args.state('activations.checkpointing', 'full', old);
  else if (before3 && /^(?:uniform|block)$/.test(textOf(before3.node) ?? ''))
    args.state('activations.checkpointing', 'full', before3);
  else {
    args.assume('activations.checkpointing', none, 'recompute_granularity');
    return;
  }
  args.assume('activations.reentrant', {
    ...megatron(true, 'tensor_parallel/random.py'),
    note: say("Megatron's `CheckpointFunction` keeps no graph of the first pass"),
  });
  const number = args.find([
    'recompute_num_layers',
    'checkpoint_num_layers',
    'activations_checkpoint_num_layers',
  ]);
  const layers = integerOf(number?.node);
  const method = args.text(['recompute_method', 'activations_checkpoint_method']);
  if (number && layers !== undefined && kind !== 'selective') {
    if (method === 'block') args.state('activations.layers', layers, number);
    else args.state('activations.checkpointEvery', layers, number);
  }
  const modules = args.find('recompute_modules');
  const named = textsOf(modules?.node)?.flatMap((word) => word.split(/\s+/));
  if (modules && named && kind === 'selective') args.state('activations.modules', named, modules);
  args.by(MEGATRON_TABLE).take('distribute_saved_activations');
}

/**
 * Low-precision weights with fp32 masters and main gradients (`training/arguments.py`, `params_dtype`,
 * `accumulate_allreduce_grads_in_fp32`), fp32 without a flag.
 */
export function readPrecisionArguments(args: Section): void {
  const low = (['bf16', 'fp16'] as const)
    .map((type) => ({ type, found: args.find(type) }))
    .find(({ found }) => found && flagOf(found.node) === true);
  if (low?.found) {
    args.state('precision.weights', low.type, low.found);
    args.state('precision.compute', low.type, low.found);
    args.state('precision.scheme', 'megatron', low.found);
  } else {
    const note = say('Megatron default: neither `bf16` nor `fp16` is on');
    const byDefault = megatron('fp32' as const, '../training/arguments.py', note);
    args.assume('precision.weights', byDefault);
    args.assume('precision.compute', byDefault);
    args.assume('precision.scheme', megatron('megatron' as const, '../training/arguments.py'));
  }
  readStates(args);
  readMainGradients(args, low?.type);
  readFp8(args);
}

/** Formats of products, and the words for none. */
const FP8_FORMATS = /^(?:e4m3|hybrid|none|null)$/;

/** fp8 products, by Transformer Engine or with block-wise scales. */
export function readFp8(args: Section): void {
  const fp8 = args.find(['fp8', 'fp8_format', 'fp8_hybrid', 'fp8_e4m3']);
  const word = textOf(fp8?.node)?.toLowerCase();
  if (fp8 && word !== undefined && flagOf(fp8.node) === undefined && !FP8_FORMATS.test(word)) {
    args.leave(fp8, ['precision.fp8']);
    return;
  }
  if (fp8 && word !== undefined && flagOf(fp8.node) !== false && !/^(none|null)$/.test(word))
    args.state(
      'precision.fp8',
      args.text('fp8_recipe') === 'blockwise' ? 'blockwise' : 'transformer-engine',
      fp8,
    );
}

function readMainGradients(args: Section, low: DType | undefined): void {
  const narrow = args.find('grad_reduce_in_bf16');
  const wide = args.find(['accumulate_allreduce_grads_in_fp32', 'grad_reduce_in_fp32']);
  const stated = flagOf(wide?.node);
  if (narrow && flagOf(narrow.node) === true) args.state('precision.gradientAccumulation', 'bf16', narrow);
  else if (wide && stated === true) args.state('precision.gradientAccumulation', 'fp32', wide);
  else if (wide && stated === false && low && wide.key.endsWith('grad_reduce_in_fp32'))
    args.state('precision.gradientAccumulation', low, wide);
  else if (low === 'bf16')
    args.assume('precision.gradientAccumulation', {
      ...megatron('fp32' as const, '../training/arguments.py'),
      note: say('Megatron default: bf16 gradients are accumulated and reduced in fp32'),
    });
}

/** Types of gradients, masters and states, which only `use_precision_aware_optimizer` lets differ from fp32. */
export function readStates(args: Section): void {
  const aware = args.find('use_precision_aware_optimizer');
  if (!aware || flagOf(aware.node) !== true) return;
  args.state('optimizer.precisionAware', true, aware);
  const typeAt = (name: string) => {
    const found = args.find(name);
    const type = weightsDtypeOf(textOf(found?.node));
    return found && type ? { found, type } : undefined;
  };
  const gradients = typeAt('main_grads_dtype');
  if (gradients && gradients.type !== 'fp32')
    args.state('precision.gradientAccumulation', gradients.type, gradients.found);
  const masters = typeAt('main_params_dtype');
  if (masters) args.state('precision.masterWeights', masters.type, masters.found);
  const states = typeAt('exp_avg_sq_dtype') ?? typeAt('exp_avg_dtype');
  if (states) args.state('precision.optimizerStates', states.type, states.found);
}

/** Settings of Megatron-Core's optimizer (`optimizer/optimizer_config.py`), for who spells them otherwise. */
export const OPTIMIZER_SETTINGS = [
  'optimizer',
  'use_distributed_optimizer',
  'use_precision_aware_optimizer',
  'main_grads_dtype',
  'main_params_dtype',
  'exp_avg_dtype',
  'exp_avg_sq_dtype',
  'optimizer_cpu_offload',
  'optimizer_offload_fraction',
] as const;

/** Optimizer, what shards its states, and where they lie. */
export function readOptimizerArguments(section: Section): void {
  const args = section.by(MEGATRON_TABLE);
  const found = args.find('optimizer');
  const name = textOf(found?.node)?.toLowerCase();
  const values = name === undefined ? undefined : optimizerIn(MEGATRON_OPTIMIZERS, name);
  const source = `${CORE}optimizer/__init__.py`;
  if (found && name === 'soap') args.state('optimizer.name', 'soap', found);
  else if (found) stateOptimizer(args, values, found);
  else {
    args.assume(
      'optimizer.name',
      { value: 'adamw', note: say('Megatron default: Adam'), source },
      'optimizer',
    );
    args.assume('optimizer.implementation', { value: 'fused', note: say("Apex' fused Adam"), source });
  }
  args.take('use_distributed_optimizer');
  const instances = args.find('num_distributed_optimizer_instances');
  const count = integerOf(instances?.node);
  if (instances && count !== undefined && count > 1) args.state('parallel.replicate', count, instances);
  const offload = args.find('optimizer_cpu_offload');
  if (offload && flagOf(offload.node) === true) {
    args.state('offload.optimizer', 'cpu', offload);
    args.take('optimizer_offload_fraction');
  }
}

/**
 * Sharding of weights: Megatron-FSDP and torch's FSDP 2 keep no buffers of Megatron's, so they are read as FSDP. Otherwise
 * replicas, whose states the distributed optimizer may shard.
 */
export function readSharding(args: Section): void {
  const torch = args.find('use_torch_fsdp2');
  const own = args.find(['use_megatron_fsdp', 'use_custom_fsdp']);
  const strategy = args.by(MEGATRON_TABLE).textOrDefault('data_parallel_sharding_strategy');
  const found = flagOf(torch?.node) === true ? torch : flagOf(own?.node) === true ? own : undefined;
  const shards = found === torch || strategy === 'optim_grads_params' || strategy === 'optim_grads';
  if (!found || !shards) {
    args.assume('parallel.data', {
      ...megatron('ddp' as const, 'distributed/distributed_data_parallel.py'),
      note: say('replicas with buffers of their own'),
    });
    return;
  }
  args.state('parallel.data', 'fsdp2', found);
  args.state('fsdp.strategy', found === own && strategy === 'optim_grads' ? 'grad-op' : 'full', found);
  args.state('precision.scheme', 'fsdp', found);
}

/** What holds of the modules where nothing is stated of them. */
interface ModulesByDefault {
  /** Transformer Engine's; forks from before Megatron-Core have their own. */
  readonly transformerEngine: boolean;
  /** The experts of a GPU run as one product: what is built from a published model asks for it. */
  readonly grouped: boolean;
}

/** Whose modules the layers are made of, and how their experts run. */
export function readModules(section: Section, { transformerEngine, grouped }: ModulesByDefault): void {
  const args = section.by(MEGATRON_TABLE);
  const found = args.find('transformer_impl');
  const word = textOf(found?.node);
  if (found && /^(local|transformer_engine)$/.test(word ?? ''))
    args.state('kernels.transformerEngine', word === 'transformer_engine', found);
  else if (transformerEngine)
    args.assume('kernels.transformerEngine', {
      ...megatron(true, '../training/arguments.py'),
      note: say("{0} default: Transformer Engine's modules", 'Megatron'),
    });
  args.takeElse('moe_grouped_gemm', megatron(grouped, 'transformer/transformer_config.py'));
}

/** Flags of Megatron-LM, and of the fork with DeepSpeed beneath, for kernels of FlashAttention (`megatron/arguments.py`, `_add_training_args`). */
const FLASH_SWITCHES = [
  'use_flash_attn',
  'use_flash_attn_v1',
  'use_flash_attn_v2',
  'use_flash_attn_triton',
  'use_flash_attn_builder',
];

/**
 * Kernels: Transformer Engine's and flash attention keep no scores, Megatron's own attention does, with its masked softmax fused or not.
 * `ownModules`: layers are Megatron's own where nothing is stated, as in forks that run DeepSpeed beneath.
 */
export function readAttention(args: Section, ownModules = false): void {
  const backend = args.find('attention_backend');
  const word = textOf(backend?.node)?.replace(/^.*\./, '').toLowerCase();
  const switches = FLASH_SWITCHES.map((key) => args.find(key));
  const flash = switches.find((found) => flagOf(found?.node) === true) ?? switches.find(Boolean);
  const modules = args.text('transformer_impl');
  const local = modules === 'local' || (ownModules && modules === undefined);
  if (backend && (word === 'unfused' || (word === 'local' && flagOf(flash?.node) !== true)))
    args.state('attention.implementation', 'eager', backend);
  else if (backend && (word === 'flash' || word === 'fused'))
    args.state('attention.implementation', 'flash2', backend);
  else if (flash && flagOf(flash.node) === true) args.state('attention.implementation', 'flash2', flash);
  else
    args.assume('attention.implementation', {
      ...megatron(local ? ('eager' as const) : ('flash2' as const), 'transformer/transformer_config.py'),
      note: local
        ? say("Megatron's own attention keeps the scores")
        : say('Transformer Engine chooses a fused kernel'),
    });
}

/**
 * Cross-entropy over the split vocabulary, compiled where it is fused. Transformer Engine's kernel, too, holds one fp32 gradient
 * beside the logits (`triton/cross_entropy.py`). `fused`: what holds where the fusion is not mentioned.
 */
export function readLoss(args: Section, fused?: DefaultValue<boolean>): void {
  const loss = args.find('cross_entropy_loss_fusion');
  const own = args.text('cross_entropy_fusion_impl') === 'te';
  const implementation = own ? 'vocab-parallel' : 'vocab-parallel-compiled';
  const on = flagOf(loss?.node);
  if (loss && on === true) args.state('loss.implementation', implementation, loss);
  else if (loss && on === false) args.state('loss.implementation', 'vocab-parallel', loss);
  else if (fused?.value)
    args.assume('loss.implementation', { ...fused, value: implementation }, 'cross_entropy_loss_fusion');
}
