/**
 * The one vocabulary of Oomlint: every quantity of a training run that memory, FLOPs or time depend on.
 *
 * Dialects write these fields, formulas read them, `run:` files, `--set`, directives and project files name them.
 * The table is the single source: types, parsing, documentation and the published JSON Schema are derived from it.
 */

import { ADAPTERS } from '../terms/adapters';
import { ATTENTION_KERNELS } from '../terms/attention-kernels';
import { CONTEXT_METHODS } from '../terms/context-methods';
import { DATA_PARALLEL } from '../terms/data-parallel';
import { DTYPES } from '../terms/dtypes';
import { FP8_RECIPES } from '../terms/fp8-recipes';
import { HEAD_OUTPUTS } from '../terms/head-outputs';
import { DIVERGENCES, LOGIT_HOLDS, LOSSES } from '../terms/losses';
import { MODEL_CODES } from '../terms/model-codes';
import { OBJECTIVES } from '../terms/objectives';
import { OPTIMIZERS } from '../terms/optimizers';
import { PRECISION_SCHEMES } from '../terms/precision-schemes';
import { QUANTIZATIONS } from '../terms/quantizations';

interface FieldBase {
  /** One sentence for people, shown in hovers and in the JSON Schema. */
  readonly doc: string;
  /** Other spellings accepted in directives, `--set` and project files. */
  readonly aliases?: readonly string[];
  /** Without it no estimate can be given; its absence is reported as an unknown field. */
  readonly required?: boolean;
}
interface TextField extends FieldBase {
  readonly type: 'text';
  readonly default?: string;
}
export interface IntegerField extends FieldBase {
  readonly type: 'integer';
  /** Numbers below the minimum by which frameworks say that there is none, or that they find it themselves. */
  readonly none?: readonly number[] | 'negative';
  readonly unit?: 'elements' | 'bytes' | 'tokens' | 'GPUs';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}
export interface NumberField extends FieldBase {
  readonly type: 'number';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}
interface FlagField extends FieldBase {
  readonly type: 'flag';
  readonly default?: boolean;
}
interface ChoiceField<V extends string = string> extends FieldBase {
  readonly type: 'choice';
  readonly values: readonly V[];
  readonly default?: V;
}
interface ListField extends FieldBase {
  readonly type: 'list';
  readonly default?: readonly string[];
}
interface ObjectField extends FieldBase {
  readonly type: 'object';
  readonly default?: Readonly<Record<string, unknown>>;
}
export type FieldSpec =
  | TextField
  | IntegerField
  | NumberField
  | FlagField
  | ChoiceField
  | ListField
  | ObjectField;

const text = <F extends Omit<TextField, 'type'>>(f: F) => ({ type: 'text' as const, ...f });
const integer = <F extends Omit<IntegerField, 'type'>>(f: F) => ({ type: 'integer' as const, ...f });
const number = <F extends Omit<NumberField, 'type'>>(f: F) => ({ type: 'number' as const, ...f });
const flag = <F extends Omit<FlagField, 'type'>>(f: F) => ({ type: 'flag' as const, ...f });
const list = <F extends Omit<ListField, 'type'>>(f: F) => ({ type: 'list' as const, ...f });
const object = <F extends Omit<ObjectField, 'type'>>(f: F) => ({ type: 'object' as const, ...f });
const choice = <const V extends readonly string[], const F extends FieldBase & { readonly default?: string }>(
  values: V,
  f: F,
) => ({ type: 'choice' as const, values, ...f });

/** Every field by its path. Element counts are elements, not bytes, unless the unit states bytes. */
export const FIELDS = {
  framework: text({ doc: 'Tool that reads the config, for example `deepspeed` or `accelerate`.' }),
  // Where nothing names a release, the newest whose sources and recordings were gone through, as of 2026-11-22. Newer ones that the index has are
  // taken where something names them: PyTorch 2.14 (vLLM 0.33 requires it; Axolotl 0.19 takes at most 2.13.0) and 2.15, transformers 5.24.
  'version.torch': text({ doc: 'PyTorch version that the run uses.', default: '2.15' }),
  'version.transformers': text({ doc: 'transformers version that the run uses.', default: '5.24' }),
  'version.deepspeed': text({ doc: 'DeepSpeed version that the run uses.', default: '0.19' }),
  'version.bitsandbytes': text({ doc: 'bitsandbytes version that the run uses.', default: '0.50' }),
  'version.liger': text({ doc: 'Liger Kernel version that the run uses.', default: '0.8.5' }),
  'version.trl': text({ doc: 'TRL version that the run uses.', default: '1.16' }),
  'version.accelerate': text({ doc: 'Accelerate version that the run uses.', default: '1.15' }),
  'version.peft': text({ doc: 'PEFT version that the run uses.', default: '0.21' }),

  'features.unmodelled': list({
    doc: 'Features of the run that the estimate does not hold, such as `multi-token-prediction` or `cuda-graphs`. With one that needs memory it is never said that the run fits, with one that saves some never that it does not.',
    default: [],
  }),

  'model.id': text({
    doc: 'Model on the Hugging Face Hub, in the catalog or in the local cache.',
    aliases: ['model'],
  }),
  'model.path': text({ doc: 'Local model directory or `config.json`, relative to the file that names it.' }),
  'model.config': object({
    doc: 'Architecture spelled out, with the field names of a Hugging Face `config.json`.',
  }),

  'model.changes': object({
    doc: 'Sizes that the run gives the config of the named model instead of its own, by the field names of a Hugging Face `config.json`.',
  }),

  'model.code': choice(MODEL_CODES, {
    doc: 'Whose code runs the model: frameworks compute norms, projections, adapters and positions differently.',
    default: 'transformers',
  }),

  'model.ownCode': flag({
    doc: 'The model is made by the code that comes with its checkpoint (`trust_remote_code`), not by the class of the library.',
    default: false,
  }),
  'model.class': text({
    doc: 'Class that loads the model. `AutoModelForCausalLM` and classes of text models, such as `Gemma3ForCausalLM`, make the text model alone of some that also see or hear. Unset: the whole model.',
  }),
  'model.linearExperts': flag({
    doc: 'Each expert is made of linear layers of its own, which are quantized and adapted as others are. Unset: as the code of the model has them.',
  }),
  'model.labels': integer({
    doc: 'Labels that the head of a classifier or a segmentation tells apart. Unset: those of the model.',
    aliases: ['labels'],
    minimum: 1,
  }),
  'model.tied': flag({
    doc: 'Whether a head that the model ties to its embedding shares the weight. Unset: it does, except in litgpt, whose models have a head of their own.',
  }),

  'method.kind': choice(['full', 'lora', 'freeze', 'block', 'lisa'], {
    doc: 'What is trained: all weights, adapters (`lora.kind`), some layers only, one block of layers after the other with fp32 copies of it alone (BAdam), or layers drawn anew every few steps beside embedding and head (LISA).',
    aliases: ['method'],
    default: 'full',
  }),
  'method.objective': choice(OBJECTIVES, {
    doc: 'Training objective. Pairwise ones (DPO, IPO, ORPO, CPO, SimPO, reward) run two sequences per sample; some keep a reference model.',
    aliases: ['objective'],
    default: 'lm',
  }),
  'method.referenceModel': flag({
    doc: 'A frozen copy of the model is resident beside the trained one.',
    default: false,
  }),
  'method.referenceAdapter': flag({
    doc: 'A frozen copy of the adapters is resident, in fp32, as the reference: TRL makes it of a model that has adapters already.',
    default: false,
  }),
  'method.precomputedReference': flag({
    doc: 'Log-probabilities of the reference were computed before training, so it is not resident.',
    default: false,
  }),
  'method.scoringForwards': number({
    doc: 'Forward passes without gradients that each pass which trains needs to score what it trains on: by the base under its adapters, and by the model before an update (GRPO, RLOO). Unset: as the objective does.',
    minimum: 0,
  }),
  'method.frozenModels': integer({
    doc: 'Further frozen models of the size of the trained one that are resident, such as reward models.',
    minimum: 0,
    default: 0,
  }),
  'method.frozenParameters': integer({
    doc: 'Parameters of frozen models of other sizes that are resident, such as a teacher or a named reward model.',
    unit: 'elements',
    minimum: 0,
    default: 0,
  }),
  'method.teacher': text({
    doc: 'Model of the catalog whose logits distillation compares with those of the trained one; its weights are counted by `method.frozenParameters`. Unset: as the trained model.',
  }),
  'method.frozenDtype': choice(DTYPES, {
    doc: 'Type of the reference and of further frozen models. Unset: as the weights of the trained model are loaded.',
  }),
  'method.frozenSharded': flag({
    doc: 'The reference and further frozen models are sharded as the trained one is (ZeRO stage 3, FSDP). Unset: they are.',
  }),
  'method.otherModels': object({
    doc: 'Models that lie whole on the GPU beside the training and have no part in it, such as a pipeline of the same program: by name `{parameters, dtype}`.',
  }),
  'method.valueModel': flag({
    doc: 'A value model of the size of the policy is trained beside it (PPO).',
    default: false,
  }),
  'method.valueStep': object({
    doc: 'The value model is trained in a step of its own while the policy waits, and the policy while it waits: fields of the run in which its step differs from that of the policy, such as `{activations.checkpointing: none}`. Gradients of the one are gone when the other trains. Unset: both are trained at once.',
  }),
  'method.valueOffload': choice(['none', 'states', 'weights', 'all'], {
    doc: 'What of a value model with a step of its own waits in host memory while others use the GPU: nothing, optimizer states, weights, or all.',
    default: 'none',
  }),
  'method.valueTurn': flag({
    doc: 'The step of the value model is looked at instead of that of the policy, where each has one of its own. An estimate looks at both and gives the larger.',
    default: false,
  }),
  'method.valueTogether': flag({
    doc: 'The value model runs forward and backward in one graph with the policy, whose hidden states and logits are returned whole (PPO in TRL).',
    default: false,
  }),
  'method.trainableLayers': integer({
    doc: 'Last layers that are trained when the method is `freeze`; negative: first layers. For `block` and `lisa`: layers that are trained at a time, unset one.',
  }),
  'method.newLayers': integer({
    doc: 'Copies of layers that are put into the model, one behind every group of equally many (LLaMA Pro).',
    minimum: 0,
    default: 0,
  }),
  'method.spreadLayers': flag({
    doc: 'The layers that the method `freeze` trains, or that get adapters, are the last of as many groups of equal size, as LLaMA Pro has its new ones, instead of the last of the model.',
    default: false,
  }),
  'method.switchSteps': integer({
    doc: 'Optimizer steps after which LISA draws other layers. Unset: 20.',
    minimum: 1,
  }),
  'method.trainable': list({
    doc: 'Regular expressions from the start of parameter names (`model.layers.31.mlp`): what matches one is trained, all else is frozen. For the method `freeze`.',
    default: [],
  }),
  'method.noisyEmbeddings': flag({
    doc: 'NEFTune: noise is added to the embedded tokens.',
    aliases: ['neftune'],
    default: false,
  }),

  'rollout.engine': choice(['none', 'transformers', 'vllm-colocate', 'vllm-server'], {
    doc: 'What generates completions: nothing, the model itself, vLLM on the same GPUs or on others.',
    default: 'none',
  }),
  'rollout.batch': integer({
    none: [0, -1],
    doc: 'Sequences per GPU that the model itself generates at a time. Unset: `rollout.steps` micro batches.',
    minimum: 1,
  }),
  'rollout.steps': integer({
    doc: 'Micro batches whose completions the model itself generates in one call (`steps_per_generation` of TRL). 0: as many as a step takes.',
    minimum: 0,
    default: 1,
  }),
  'rollout.sequences': integer({
    doc: 'Sequences per GPU whose logits of every generated token stay until they are scored (PPO in TRL: those of an update). Unset: none stay.',
    minimum: 1,
  }),
  'rollout.completion': integer({
    none: [0, -1],
    doc: 'Longest completion. Prompt and completion together are the sequence.',
    unit: 'tokens',
    minimum: 1,
  }),
  'rollout.offload': choice(['none', 'states', 'weights', 'all'], {
    doc: 'What of the trained model waits in host memory while vLLM generates on the same GPUs: nothing, optimizer states, weights and gradients, or all. It is on the GPU while the model trains.',
    default: 'none',
  }),
  'rollout.tensor': integer({
    doc: 'GPUs that share one copy of the weights while completions are generated: by vLLM, or by the hybrid engine of DeepSpeed.',
    minimum: 1,
    default: 1,
  }),
  'rollout.sleep': flag({
    doc: 'vLLM on the same GPUs gives its memory back while the model trains (sleep mode).',
    default: false,
  }),
  'rollout.quantized': flag({
    doc: 'vLLM keeps weights in fewer than 16 bits, or a part of them in host memory.',
    default: false,
  }),
  'rollout.sharesWeights': flag({
    doc: 'vLLM on the same GPUs runs on the very weights that are trained (`fast_inference` of Unsloth): its share, which is one of what is free before it starts, holds them, and the rest of it is its cache of keys and values.',
    default: false,
  }),

  'lora.kind': choice(ADAPTERS, {
    doc: 'Kind of adapter. MiSS was called Bone before. LLaMA-Adapter is that of litgpt: a prompt of `lora.virtualTokens` that every layer from the third on attends to; its second version scales and shifts every linear layer besides. rsLoRA, PiSSA, OLoRA, LoftQ, EVA and LoRA+ have the weights of LoRA.',
    default: 'lora',
  }),
  'lora.rank': integer({
    doc: 'Rank r of the LoRA matrices; for FourierFT the number of its frequencies.',
    aliases: ['rank'],
    minimum: 1,
    default: 8,
  }),
  'lora.alpha': number({ doc: 'LoRA scaling numerator. Costs no memory.', default: 16 }),
  'lora.dropout': number({
    doc: 'Dropout on the adapter input; above 0 each adapted module keeps a mask and a dropped copy.',
    minimum: 0,
    maximum: 1,
    default: 0,
  }),
  'lora.targets': list({
    doc: 'Module names that get an adapter; `all-linear` for every linear layer but the head. Empty: the PEFT default of the architecture.',
    default: [],
  }),
  'lora.modulesToSave': list({
    doc: 'Modules trained in full beside the adapters, as a second copy.',
    default: [],
  }),
  'lora.task': choice(['classification', 'question-answering', 'other'], {
    doc: 'Task that PEFT is given. For `classification` (`SEQ_CLS`, `TOKEN_CLS`) it trains modules named `classifier` and `score` beside the adapters, as second copies, for `question-answering` (`QUESTION_ANS`) those named `qa_outputs`, for others none. Unset: the task of the model.',
  }),
  'lora.tiesCopies': flag({
    doc: 'Of an embedding and a head that are tied and both trained in full PEFT makes one copy (`ensure_weight_tying`). Unset: one each.',
  }),
  'lora.dtype': choice(DTYPES, {
    doc: 'Type of the adapter weights. PEFT upcasts to fp32 by default.',
    default: 'fp32',
  }),
  'lora.targetPattern': text({
    doc: 'Regular expression that the whole path of a module must match to get an adapter (PEFT `target_modules` as text).',
  }),
  'lora.targetParameters': list({
    doc: 'Stacked weights that get an adapter per expert, for example `mlp.experts.gate_up_proj`.',
    default: [],
  }),
  'lora.exclude': list({
    doc: 'Modules that get no adapter though they are targets: the last parts of their paths, or whole paths with `*` for anything.',
    default: [],
  }),
  'lora.feedForward': list({
    doc: 'Ends of the names of modules whose input IA3 scales instead of their output. Unset: those that PEFT lists for the model.',
  }),
  'lora.layers': list({
    doc: 'Indices of the layers that get adapters. Empty: all.',
    default: [],
  }),
  'lora.rankPattern': object({
    doc: 'Ranks of some modules: name or regular expression to rank (PEFT `rank_pattern`).',
    default: {},
  }),
  'lora.bias': choice(['none', 'all', 'lora-only'], {
    doc: 'Biases that are trained beside the adapters.',
    default: 'none',
  }),
  'lora.trainsRest': flag({
    doc: 'Only the weights that get an adapter are frozen: embeddings, norms, biases and other linear layers are trained beside it.',
    default: false,
  }),
  'lora.ownBias': flag({ doc: 'The second LoRA matrix has a bias (PEFT `lora_bias`).', default: false }),
  'lora.frozenFirst': flag({
    doc: 'The first LoRA matrix is frozen, the second is trained alone (LoRA-FA; PEFT `create_lorafa_optimizer`).',
    default: false,
  }),
  'lora.blockSize': integer({
    doc: 'Block size of OFT and BOFT; for LoKr the decomposition factor.',
    minimum: -1,
  }),
  'lora.vectors': integer({
    doc: 'Vectors in the bank that all modules of VB-LoRA share (`num_vectors`).',
    minimum: 1,
    default: 256,
  }),
  'lora.vectorLength': integer({
    doc: 'Elements of a vector of VB-LoRA (`vector_length`).',
    minimum: 1,
    default: 256,
  }),
  'lora.virtualTokens': integer({
    doc: 'Virtual tokens of prompt, prefix and p-tuning.',
    unit: 'tokens',
    minimum: 1,
    default: 20,
  }),
  'lora.encoderSize': integer({
    doc: 'Hidden size of the encoder of p-tuning, or of prefix tuning with projection. Unset: as wide as the virtual tokens.',
    minimum: 1,
  }),
  'lora.prefixProjection': flag({
    doc: 'An encoder makes the prefixes of prefix tuning (`prefix_projection`); without it they are a table.',
    default: false,
  }),
  'lora.tokens': integer({
    doc: 'Rows of the token embedding that are trained beside the adapters (PEFT `trainable_token_indices`).',
    minimum: 0,
    default: 0,
  }),
  'lora.dora': flag({ doc: 'Weight-decomposed LoRA: one magnitude vector more per module.', default: false }),

  'quantization.kind': choice(QUANTIZATIONS, {
    doc: 'How the frozen base weights are stored: by bitsandbytes (`nf4`, `fp4`, `int8`), GPTQ, AWQ, AQLM, HQQ, EETQ, Quanto, torchao, in fp8 with scales, or MXFP4.',
    aliases: ['quantization'],
    default: 'none',
  }),
  'quantization.bits': integer({
    doc: 'Bits per quantized weight where the kind leaves a choice (GPTQ, HQQ, Quanto). Unset: 4, Quanto and EETQ 8.',
    minimum: 1,
    maximum: 8,
  }),
  'quantization.groupSize': integer({
    doc: 'Weights that share a scale; -1: a whole row. Unset: as the kind has it (GPTQ and AWQ 128, HQQ 64, MXFP4 32).',
    minimum: -1,
  }),
  'quantization.double': flag({ doc: 'Block scales are quantized once more.', default: false }),
  'quantization.storage': choice(['uint8', 'bf16', 'fp16', 'fp32', 'int8'], {
    doc: 'Type that the packed 4-bit weights are stored as; FSDP shards them only when it equals the other weights. `int8`: 8-bit weights where FSDP is made to shard them, as Axolotl does.',
    default: 'uint8',
  }),
  'quantization.prepared': flag({
    doc: 'PEFT `prepare_model_for_kbit_training` was called: what stays unquantized is upcast to fp32.',
    default: true,
  }),
  'quantization.recast': flag({
    doc: 'Of what preparation upcast to fp32, embedding and head were cast back to bf16 (`peft_module_casting_to_bf16` of TRL before 0.26); norms stay.',
    default: false,
  }),
  'quantization.fake': choice(['none', 'int4', 'int8', 'int8-int4'], {
    doc: 'Quantization-aware training: linear layers multiply with weights that are rounded to so many bits anew in each forward pass. `int4` has groups of 128, `int8` whole rows; `int8-int4` groups of 32, embeddings and inputs rounded to int8.',
    default: 'none',
  }),
  'quantization.experts': flag({
    doc: 'Weights of experts are quantized too. Unset: where they are linear layers (transformers 4), in fp8 and MXFP4, and in 4 bits by Unsloth.',
  }),
  'quantization.skippedParts': list({
    doc: 'Towers and projectors beside the layers, by the start of their names, and modules within layers, by a name of their path, whose linear layers are not quantized (`llm_int8_skip_modules`).',
    default: [],
  }),
  'quantization.partial': flag({
    doc: 'The checkpoint is quantized already and keeps some of its linear layers in 16 bits. Which ones follows from its size (`quantization.checkpointBytes`); without it the upper end of the band has as large a share so as any checkpoint whose size is listed.',
    default: false,
  }),
  'quantization.checkpointBytes': integer({
    doc: 'Size of the files of a checkpoint that is quantized already. What they hold beyond quantized layers is counted as layers in 16 bits.',
    unit: 'bytes',
    minimum: 1,
  }),
  'quantization.plainShare': number({
    doc: 'Share of the quantized weights that the checkpoint keeps in 16 bits. Unset: as `quantization.checkpointBytes` has it, else none.',
    minimum: 0,
    maximum: 1,
  }),
  'quantization.head': flag({
    doc: 'The output projection is quantized too, as Lightning does; transformers leaves it as it is.',
    default: false,
  }),

  'precision.weights': choice(DTYPES, {
    doc: 'Type in which the model weights are held during forward and backward.',
    aliases: ['weights'],
    default: 'fp32',
  }),
  'precision.compute': choice(DTYPES, {
    doc: 'Type in which matrices are multiplied.',
    aliases: ['precision', 'compute'],
    default: 'fp32',
  }),
  'precision.scheme': choice(PRECISION_SCHEMES, {
    doc: 'Who lowers the precision: nobody (weights are computed in their own type), torch autocast (and Apex O1), DeepSpeed (low-precision weights and fp32 masters), FSDP mixed precision, Megatron (fp32 main gradients), or Apex O2 (fp16 weights, fp32 masters).',
    aliases: ['scheme'],
    default: 'native',
  }),
  'precision.autocast': flag({
    doc: 'Autocast runs around the forward pass of a model whose weights FSDP 1 lowers already, as Accelerate prepares it.',
    default: false,
  }),
  'precision.halfModules': list({
    doc: 'Ends of the names of modules whose frozen weights become fp16 once a model is loaded in fp32 (Unsloth).',
    default: [],
  }),
  'precision.wideActivations': flag({
    doc: 'Without autocast, some of the activations are in fp32 where the weights are in 16 bits, because fp16 cannot hold them, and which is not known: between all of them, which is told, and none, which is the least.',
    default: false,
  }),
  'precision.gradientAccumulation': choice(DTYPES, {
    doc: 'Type in which gradients are accumulated. Unset: the type of the weights.',
  }),
  'precision.reduce': choice(DTYPES, {
    doc: 'Type in which gradients are reduced between GPUs. Unset: the type of the gradients.',
  }),
  'precision.layerNorm': choice(['fp32', 'bf16', 'fp16'], {
    doc: 'Type that layer norms are computed in (`model.code: tensorflow`). Unset: that of the activations.',
  }),
  'precision.masterWeights': choice(DTYPES, {
    doc: 'Type of the master weights where the scheme keeps them.',
    default: 'fp32',
  }),
  'precision.fp8': choice(FP8_RECIPES, {
    doc: 'Who multiplies in fp8: Transformer Engine (fp8 copies of weights are cached, inputs are kept in fp8), torchao (casts are made anew), block-wise scales of 128 (DeepSeek), or MS-AMP (weights of linear layers in fp16, their gradients in fp8; at O2 states in fp8 and fp16).',
    default: 'none',
  }),
  'precision.optimizerStates': choice(DTYPES, {
    doc: 'Type of the optimizer states. Unset: the type of the tensor that the optimizer steps.',
  }),

  'optimizer.name': choice(OPTIMIZERS, {
    doc: 'Optimizer, by what it keeps per parameter.',
    aliases: ['optimizer'],
    default: 'adamw',
  }),
  'optimizer.implementation': choice(['foreach', 'fused', 'for-loop'], {
    doc: 'How the step is executed: foreach needs one temporary copy of the weights, fused none.',
  }),
  'optimizer.precisionAware': flag({
    doc: "Megatron's precision-aware optimizer: gradients are stepped in their own type, and of fp32 main weights only what bf16 ones lack is kept.",
    default: false,
  }),
  'optimizer.rank': integer({
    doc: 'Rank of the projected gradients of GaLore and APOLLO.',
    minimum: 1,
    default: 128,
  }),
  'optimizer.targets': list({
    doc: 'Modules whose matrices GaLore, APOLLO and Muon treat; other weights take plain AdamW. Empty: every linear layer but the head.',
    default: [],
  }),
  'optimizer.extraStates': integer({
    doc: 'State tensors that options add: amsgrad, momentum of RMSprop, Adafactor or Lomo, centered RMSprop.',
    minimum: 0,
    default: 0,
  }),
  'optimizer.compensation': flag({
    doc: 'Kahan summation: a compensation of every low-precision weight is kept.',
    default: false,
  }),
  'optimizer.blockSize': integer({
    doc: 'Elements of a quantized state that share a scale. Unset: bitsandbytes and torchao 8-bit 256, torchao 4-bit 128.',
    unit: 'elements',
    minimum: 1,
  }),
  'optimizer.wideEmbeddings': flag({
    doc: 'An 8-bit bitsandbytes optimizer keeps fp32 states of embeddings, as transformers asks for.',
    default: false,
  }),
  'optimizer.embeddingsApart': flag({
    doc: 'Embeddings are a group of parameters of their own, which a foreach step goes through by itself.',
    default: false,
  }),
  'optimizer.lateZero': flag({
    doc: 'Gradients of the step before are there while forward runs: `zero_grad` stands between forward and backward.',
    default: false,
  }),
  'optimizer.inBackward': flag({
    doc: 'The step of a parameter runs as soon as its gradient is ready, so gradients never live together.',
    default: false,
  }),

  'batch.micro': integer({
    doc: 'Samples per GPU and forward pass.',
    aliases: ['micro-batch', 'microBatch', 'micro'],
    minimum: 1,
    required: true,
  }),
  'batch.accumulation': integer({
    doc: 'Micro batches per optimizer step.',
    aliases: ['gradient-accumulation', 'accumulation'],
    minimum: 1,
    default: 1,
  }),
  'batch.global': integer({
    doc: 'Samples per optimizer step over all GPUs.',
    aliases: ['global-batch'],
    minimum: 1,
  }),
  'batch.sequence': integer({
    none: [0, -1],
    doc: 'Tokens per sample (for encoder-decoder models: of the source).',
    aliases: ['sequence', 'sequence-length', 'seq'],
    unit: 'tokens',
    minimum: 1,
    required: true,
  }),
  'batch.targetSequence': integer({
    doc: 'Tokens per target sample of an encoder-decoder model. Unset: as the source.',
    aliases: ['target-sequence'],
    unit: 'tokens',
    minimum: 1,
  }),
  'batch.choices': integer({
    doc: 'Answers that a multiple-choice model scores per question: each is a sequence of its own.',
    aliases: ['choices'],
    minimum: 1,
    default: 1,
  }),
  'batch.images': integer({
    doc: 'Images per sample of a vision-language model.',
    aliases: ['images'],
    minimum: 0,
    default: 1,
  }),
  'batch.imagePixels': integer({
    doc: 'Pixels of an image after the processor has scaled it down. Unset: 672 × 672, for models that keep the size of an image.',
    aliases: ['image-pixels'],
    minimum: 1,
  }),
  'batch.imageTiles': integer({
    doc: 'Tiles that the processor cuts an image into, the whole image as one of them. Unset: the most that it makes, for models that see images in tiles.',
    aliases: ['image-tiles'],
    minimum: 1,
  }),
  'batch.sound': flag({
    doc: 'Samples hold sound, which a model with a part for it hears.',
    aliases: ['sound'],
    default: false,
  }),
  'batch.varied': flag({
    doc: 'Batches differ in length: each is padded to its own longest sample. The allocator then keeps blocks of many sizes.',
    default: false,
  }),
  'batch.meanSequence': integer({
    doc: 'Mean tokens per sample of the data, where batches differ in length. Unset: all lengths are taken to be as frequent.',
    unit: 'tokens',
    minimum: 1,
  }),
  'batch.longestSequence': integer({
    doc: 'Tokens of the longest sample of the data: batches that are padded to their own longest sample are no longer. Unset: as long as the run allows.',
    unit: 'tokens',
    minimum: 1,
  }),
  'batch.adaptive': flag({
    doc: 'The framework lowers the micro batch until it fits (`auto` of Composer, `auto_find_batch_size` of the Trainer): the one that is set is the first that is tried. The run is estimated with the largest of its steps that is sure to fit.',
    default: false,
  }),
  'batch.inParts': flag({
    doc: 'The micro batch is computed in as many parts as what is free asks for (GRPO in Unsloth): as a whole it is the most that is computed at once.',
    default: false,
  }),
  'batch.paddingFree': flag({
    doc: 'The samples of a micro batch lie in one row without padding, so that the row is as long as they are together: a run is sure to be too large only where one longest sample is.',
    default: false,
  }),
  'batch.packed': flag({ doc: 'Samples are packed into full sequences without padding.', default: false }),
  'batch.padded': flag({ doc: 'Every row is padded to the sequence length.', default: false }),
  'batch.pairMask': flag({
    doc: 'The data loader hands over a mask of all pairs of positions with every micro batch (Megatron-LM).',
    default: false,
  }),

  'attention.implementation': choice(ATTENTION_KERNELS, {
    doc: 'Attention kernel: eager keeps the score matrix, the others do not.',
    aliases: ['attention'],
    default: 'sdpa',
  }),
  'attention.mask': flag({
    doc: 'A padding mask reaches the attention kernel, so SDPA cannot take its flash path.',
    default: false,
  }),
  'attention.groupsMasked': flag({
    doc: 'Layers call SDPA themselves and ask it to group heads whatever the mask (Gemma 3 in Unsloth, until 2026.10.7): no fused kernel takes both, and all scores are kept.',
    default: false,
  }),
  'attention.unmaskedBatches': flag({
    doc: 'Beside batches whose padding masks the attention there are some whose rows are all of one length, for which no mask reaches the kernel: the larger of both is needed.',
    default: false,
  }),

  'activations.checkpointing': choice(['none', 'full', 'selective', 'elementwise'], {
    doc: 'Activation checkpointing: keep every activation, only the input of each layer, the outputs of the expensive operators, or all but cheap elementwise results (TensorFlow Grappler).',
    aliases: ['checkpointing', 'activation-checkpointing'],
    default: 'none',
  }),
  'activations.checkpointEvery': integer({
    none: [0],
    doc: 'Layers per checkpointed segment.',
    minimum: 1,
    default: 1,
  }),
  'activations.layers': integer({
    doc: 'Layers that are checkpointed, from the first of each pipeline stage on (Megatron `block`). Unset: all.',
    minimum: 0,
  }),
  'activations.period': integer({
    doc: 'Layers of which the first alone is checkpointed, again and again (`one_in_four` of OLMo: 4); negative: of which all but the first are (`three_in_four`: -4). Unset: all layers are.',
  }),
  'activations.modules': list({
    doc: 'Parts of a layer that selective checkpointing computes again (Megatron `recompute_modules`). Empty: attention scores in Megatron, cheap operators elsewhere.',
    default: [],
  }),
  'activations.distributed': flag({
    doc: 'Checkpoints are split over tensor-parallel GPUs (Megatron `distribute_saved_activations`).',
    default: false,
  }),
  'activations.reentrant': flag({ doc: 'Reentrant checkpointing (transformers 4 default).', default: true }),
  'activations.offload': flag({
    doc: 'Checkpoints are moved to host memory until backward; without checkpointing, all that autograd keeps.',
    default: false,
  }),
  'activations.offloadOverlap': flag({
    doc: 'Without checkpointing, copies to the host and back overlap the computation, for which some tensors stay.',
    default: true,
  }),

  'loss.implementation': choice(LOSSES, {
    doc: "How logits and cross-entropy are computed: fp32 copy of all logits (transformers 4.50+), of shifted logits (4.46 to 4.49), upcast inside the model (before) or by autocast, in the logits' own type, compiled (as a whole, or in chunks of the logits: Axolotl), in chunks over logits in fp32 (torchtune) or their own type (litgpt: over rows, or with the head over tokens), in chunks over the head, fused with the head (Liger), cut cross-entropy, chunks sized by what the GPU has free (Unsloth), split over tensor-parallel ranks, the same compiled (Megatron's fusion), log-probabilities of the tokens out of all logits or tile by tile (TRL) or picked from a log-softmax of all of them in fp32 (LLaMA-Factory), in checkpointed chunks of the head in the tokens' type or in fp32 (TRL's `chunked_nll`), in a kernel that turns the logits into their gradient in place (Unsloth, Liger's cross-entropy alone), or with a teacher's logits in chunks of 512 tokens (ms-swift's distillation).",
    aliases: ['loss'],
    default: 'full',
  }),
  'loss.divergence': choice(DIVERGENCES, {
    doc: 'What distillation takes of the logits of teacher and student: the forward KL divergence (`beta` 0), that of both from their mixture (Jensen-Shannon), or the reverse one (`beta` 1). Unset: the logits of the teacher are not counted.',
  }),
  'loss.labelSmoothing': flag({
    doc: "transformers' label smoother takes the loss of the returned logits (`label_smoothing_factor`).",
    default: false,
  }),
  'loss.zLoss': flag({ doc: 'The squared log-sum-exp of the logits is part of the loss.', default: false }),
  'loss.routerLogits': flag({
    doc: 'A mixture of experts returns its router logits and balances its experts with them (`output_router_logits`). Unset: as the config of the model has it.',
  }),
  'loss.tokenShare': number({
    doc: 'Share of the tokens that logits are computed of: masked words are gathered before the head (`model.code: tensorflow`).',
    minimum: 0,
    maximum: 1,
    default: 1,
  }),
  'loss.keptLogits': choice(LOGIT_HOLDS, {
    doc: 'How long the training loop itself keeps the logits in a variable: not at all, through backward, through backward with their softmax, or until the next batch has its own.',
    default: 'none',
  }),
  'kernels.liger': flag({
    doc: 'Liger kernels replace norms, SwiGLU and the loss.',
    aliases: ['liger'],
    default: false,
  }),
  'kernels.unsloth': flag({
    doc: "Unsloth's kernels replace norms, RoPE, the gated MLP, the LoRA branches and the loss.",
    aliases: ['unsloth'],
    default: false,
  }),
  'kernels.lora': list({
    doc: 'Parts of a layer whose linear layers run as one function with their LoRA branches: `mlp`, `qkv`, `output` (Axolotl, Unsloth).',
    default: [],
  }),
  'kernels.compile': flag({ doc: 'torch.compile is on.', aliases: ['compile'], default: false }),
  'kernels.compileParts': flag({
    doc: 'Parts of the layers are compiled by themselves, and what of a layer they keep is not known: between that of the operators one by one, which is told, and that of layers compiled whole, which is the least.',
    default: false,
  }),
  'kernels.uncompiled': flag({
    doc: 'Layers that Unsloth rewrites and would compile run operator by operator: it switches compilation off for the model.',
    default: false,
  }),
  'kernels.tiledMlp': flag({
    doc: 'MLPs and experts run on parts of the tokens, as many as the hidden size has features, one after the other, and each part again in backward (Unsloth): of a layer only their input is kept.',
    default: false,
  }),
  'kernels.wideHeads': flag({
    doc: 'Attention heads of 512 dimensions run as a kernel of Unsloth that keeps no scores, on NVIDIA cards since Ampere and in 16 bits; other cards run SDPA.',
    default: false,
  }),
  'kernels.transformerEngine': flag({
    doc: "Linear layers are modules of NVIDIA's Transformer Engine, whose products have a workspace of their own. Unset: where products are in its fp8.",
  }),
  'kernels.groupedExperts': flag({
    doc: 'The experts of a GPU run as one grouped product (Megatron `moe_grouped_gemm`), instead of one after the other.',
    default: false,
  }),
  'kernels.states': list({
    doc: 'Packages of kernels for layers that keep a state (Mamba, delta rules, short convolutions) that are installed: `mamba-ssm`, `causal-conv1d`, `flash-linear-attention`, `none`. With `unknown`, what it does not name may be installed or not. transformers runs what is absent in PyTorch’s own operators, which keep many times as much.',
    aliases: ['state-kernels'],
    default: ['unknown'],
  }),
  'kernels.tf32': flag({
    doc: 'PyTorch multiplies fp32 matrices in TF32 where the card has it.',
    aliases: ['tf32'],
    default: false,
  }),
  'kernels.xla': flag({ doc: 'XLA compiles the TensorFlow graph.', aliases: ['xla'], default: false }),
  'kernels.resourceVariables': flag({
    doc: 'TensorFlow holds variables as resources instead of references: XLA copies what it reads of them in forward for backward.',
    aliases: ['resource-variables'],
    default: false,
  }),
  'kernels.fusedLayerNorm': flag({
    doc: 'Layer norm is one kernel instead of a chain of operators (`model.code: tensorflow`).',
    default: false,
  }),
  'kernels.fusedSoftmax': flag({
    doc: 'Scaling, mask and softmax of the attention scores are one kernel (`model.code: tensorflow`).',
    default: false,
  }),
  'kernels.fusedGelu': flag({
    doc: 'GELU is one kernel instead of a chain of operators (`model.code: tensorflow`).',
    default: false,
  }),

  'allocator.expandableSegments': flag({
    doc: '`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`: one growing segment per stream instead of many of fixed sizes.',
    default: false,
  }),

  'allocator.maxSplit': integer({
    doc: 'From this size on a block is handed out whole, and goes to requests of about its size alone (`PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:N`). Unset: every block may be split.',
    unit: 'bytes',
    minimum: 20 * 2 ** 20,
  }),
  'allocator.roundup': integer({
    doc: 'Parts of a power of two that each request is rounded up to a multiple of (`PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:N`; of a list, the fewest): a request grows by less than one part in N, by which the band reaches higher. 1, or unset: none.',
    minimum: 1,
  }),
  'allocator.cublasWorkspace': integer({
    doc: 'Workspace of one handle of cuBLAS (`CUBLAS_WORKSPACE_CONFIG`: the sum of sizes × counts). Unset: as PyTorch has it for the card.',
    unit: 'bytes',
    minimum: 0,
  }),

  'parallel.data': choice(DATA_PARALLEL, {
    doc: 'How data-parallel GPUs share state: replicas (DDP), DeepSpeed ZeRO, FSDP 1 or 2, TensorFlow replicas under Horovod.',
    aliases: ['data-parallel'],
    default: 'none',
  }),
  'parallel.replicate': integer({
    none: [0, -1],
    doc: 'Replicas in hybrid sharding: each group of GPUs shards among itself.',
    minimum: 1,
    default: 1,
  }),
  'parallel.tensor': integer({
    none: [0],
    doc: 'Tensor-parallel size.',
    aliases: ['tp', 'tensor-parallel'],
    minimum: 1,
    default: 1,
  }),
  'parallel.sequence': flag({
    doc: 'Between attention and MLP each tensor-parallel GPU holds its part of the sequence (sequence parallelism of Megatron and of PyTorch).',
    default: false,
  }),
  'parallel.userBuffers': flag({
    doc: "Transfers of tensor parallelism overlap products in Transformer Engine's user buffers (`--tp-comm-overlap`), which lie outside PyTorch's allocator.",
    default: false,
  }),
  'parallel.embedding': choice(['split', 'whole'], {
    doc: 'What each tensor-parallel GPU holds of an embedding that no head is tied to: its rows of the vocabulary, or all of it. Unset: its rows in Megatron, torchtitan and torchtune, all of it by the plans of transformers.',
  }),
  'parallel.headOutput': choice(HEAD_OUTPUTS, {
    doc: 'What the split output projection gives each tensor-parallel GPU: its part of the logits, or all of them. Unset: its part where the loss works on parts.',
  }),
  'parallel.pipeline': integer({
    none: [0],
    doc: 'Pipeline-parallel size.',
    aliases: ['pp', 'pipeline-parallel'],
    minimum: 1,
    maximum: 4096,
    default: 1,
  }),
  'parallel.pipelineSchedule': choice(
    ['1f1b', 'gpipe', 'interleaved', 'looped-bfs', 'zero-bubble', 'zbv', 'dualpipev', 'sequential'],
    {
      doc: 'Pipeline schedule: one forward one backward, all forward then all backward (GPipe, AFAB), 1F1B over several layer chunks per stage, breadth-first over chunks, zero bubble (ZB-H1), V-shaped (ZBV, DualPipeV), or none: one GPU works at a time, as under a device map of Accelerate.',
      default: '1f1b',
    },
  ),
  'parallel.virtualStages': integer({
    doc: 'Layer chunks per pipeline stage in the interleaved schedules.',
    minimum: 1,
    maximum: 256,
    default: 1,
  }),
  'parallel.stageLayers': list({
    doc: 'Layers of each pipeline stage (of each chunk, in model order, with virtual stages). Empty: split evenly.',
    default: [],
  }),
  'parallel.firstStageLayers': integer({
    doc: 'Layers on the first pipeline stage; the stages between the ends share the rest evenly.',
    minimum: 0,
  }),
  'parallel.lastStageLayers': integer({ doc: 'Layers on the last pipeline stage.', minimum: 0 }),
  'parallel.embeddingLayers': integer({
    doc: 'Layers that the embedding counts as when layers are split over pipeline stages. Unset: 1 in torchtitan, else 0.',
    minimum: 0,
  }),
  'parallel.headLayers': integer({
    doc: 'Layers that the output projection counts as when layers are split over pipeline stages. Unset: as the embedding.',
    minimum: 0,
  }),
  'parallel.vocabularyMultiple': integer({
    doc: 'The vocabulary is padded to a multiple of this times the tensor-parallel size. Unset: 128 in Megatron, else no padding.',
    minimum: 1,
  }),
  'parallel.context': integer({
    none: [0],
    doc: 'Context-parallel size (sequence split over GPUs, ring or all-gather).',
    aliases: ['cp', 'context-parallel'],
    minimum: 1,
    default: 1,
  }),
  'parallel.contextMethod': choice(CONTEXT_METHODS, {
    doc: 'How context-parallel GPUs exchange keys and values: from neighbour to neighbour, all at once, or heads against tokens. Unset: all at once in PyTorch, else a ring.',
  }),
  'parallel.ulysses': integer({
    none: [0],
    doc: 'Ulysses sequence-parallel size (heads split over GPUs inside attention).',
    aliases: ['sp'],
    minimum: 1,
    default: 1,
  }),
  'parallel.expert': integer({
    none: [0],
    doc: 'Expert-parallel size.',
    aliases: ['ep', 'expert-parallel'],
    minimum: 1,
    default: 1,
  }),
  'parallel.expertTensor': integer({
    none: [0],
    doc: 'Tensor-parallel size inside experts. Unset: that of the rest (in torchtitan 1).',
    minimum: 1,
  }),
  'parallel.capacityFactor': number({
    doc: 'Tokens that an expert takes at most, as a multiple of its even share; the rest is dropped. Unset: none is dropped.',
    minimum: 0,
  }),
  'parallel.distributedOptimizer': flag({
    doc: 'Megatron distributed optimizer: states sharded over data-parallel ranks.',
    default: false,
  }),

  'zero.stage': integer({
    doc: 'ZeRO stage: 0 none, 1 optimizer states, 2 and gradients, 3 and weights are sharded.',
    aliases: ['zero-stage', 'zero'],
    minimum: 0,
    maximum: 3,
    default: 0,
  }),
  'zero.reduceBucket': integer({
    doc: 'Gradient reduction bucket.',
    unit: 'elements',
    minimum: 0,
    default: 500_000_000,
  }),
  'zero.allgatherBucket': integer({
    doc: 'All-gather bucket of stages 1 and 2.',
    unit: 'elements',
    minimum: 0,
    default: 500_000_000,
  }),
  'zero.overlapCommunication': flag({
    doc: 'Reduction overlaps backward; a second bucket in stages 1 and 2. Unset: only at stage 3.',
  }),
  'zero.contiguousGradients': flag({ doc: 'Gradients are copied to a contiguous buffer.', default: true }),
  'zero.prefetchBucket': integer({
    doc: 'Weights fetched ahead at stage 3.',
    unit: 'elements',
    minimum: 0,
    default: 50_000_000,
  }),
  'zero.persistenceThreshold': integer({
    doc: 'Weights smaller than this stay whole on every GPU at stage 3.',
    unit: 'elements',
    minimum: 0,
    default: 100_000,
  }),
  'zero.maxLiveParameters': integer({
    doc: 'Weights that may be whole at once at stage 3 before prefetch stops.',
    unit: 'elements',
    minimum: 0,
    default: 1_000_000_000,
  }),
  'zero.maxReuseDistance': integer({
    doc: 'Weights used again within this many elements are not released at stage 3.',
    unit: 'elements',
    minimum: 0,
    default: 1_000_000_000,
  }),
  'zero.subGroup': integer({
    none: [0],
    doc: 'Elements that the stage-3 optimizer steps at a time.',
    unit: 'elements',
    minimum: 1,
    default: 1_000_000_000,
  }),
  'zero.sequenceReduce': choice(['none', ...DTYPES], {
    doc: 'Type in which ZeRO reduces gradients where its ranks share sequences (Ulysses). none: DeepSpeed is not told of it.',
    default: 'fp32',
  }),
  'zero.hpzPartition': integer({
    none: [0],
    doc: 'ZeRO++ secondary partition: GPUs that share a second copy of the weights.',
    minimum: 1,
    default: 1,
  }),
  'zero.micsShard': integer({
    none: [-1],
    doc: 'MiCS: GPUs that a shard group spans; unset: all.',
    minimum: 1,
  }),

  'zero.leafModules': list({
    doc: 'Modules that stage 3 gathers whole, by class, name or end of name; unset: those that DeepSpeed knows.',
  }),

  'fsdp.strategy': choice(['full', 'grad-op', 'none', 'hybrid', 'hybrid-grad-op'], {
    doc: 'What FSDP shards: everything, gradients and states, nothing, or either inside a node only.',
    default: 'full',
  }),
  'fsdp.reshardSize': integer({
    doc: 'FSDP 2 splits the gathered weights of a layer over so many GPUs between its forward and its backward (`reshard_after_forward` as a number). Unset: over all.',
    unit: 'GPUs',
    minimum: 1,
  }),
  'fsdp.wrap': choice(['layer', 'size', 'none'], {
    doc: 'What FSDP gathers at a time: a transformer layer, modules above a size, or the whole model.',
    default: 'layer',
  }),
  'fsdp.separateEnds': flag({
    doc: 'Embedding and output projection are wrapped on their own beside the layers, instead of staying with the root. Unset: FSDP 2 through Accelerate from 1.14 on does.',
  }),
  'fsdp.reshardsEnds': flag({
    doc: 'FSDP 2 gives what ends the model back after its forward, as it does layers, and gathers it again for its backward. Unset: as the framework does.',
  }),
  'fsdp.minParameters': integer({
    doc: 'Smallest module that size-based wrapping wraps.',
    unit: 'elements',
    default: 100_000_000,
  }),
  'fsdp.backwardPrefetch': choice(['pre', 'post', 'none'], {
    doc: 'When the next layer is gathered in backward. Unset: FSDP1 `pre` in torch, none through Accelerate.',
  }),
  'fsdp.forwardPrefetch': flag({ doc: 'The next layer is gathered early in forward.', default: false }),
  'fsdp.useOriginalParameters': flag({ doc: 'FSDP1 keeps the original parameters visible.', default: true }),
  'fsdp.checkpoints': choice(['around', 'within'], {
    doc: 'Whether activation checkpoints lie around the units of FSDP1 or within them. Unset: around them where transformers before 4.52 checkpoints its layers.',
  }),
  'fsdp.syncEachBatch': flag({
    doc: 'Gradients are reduced every micro batch, so accumulation keeps no unsharded gradients. Unset: they are, but for FSDP 1 through Accelerate, FSDP 2 through Accelerate from 1.11 on, litgpt, and pipeline parallelism.',
  }),
  'fsdp.gathersWholeExperts': flag({
    doc: 'FSDP wraps experts too of which a GPU holds whole ones that no other GPU has: it copies what it would gather.',
    default: true,
  }),

  'ddp.gradientAsBucketView': flag({
    doc: 'Gradients are views of the DDP buckets instead of a second copy.',
    default: false,
  }),
  'ddp.bucketCap': integer({ doc: 'DDP bucket size.', unit: 'bytes', minimum: 1, default: 25 * 2 ** 20 }),

  'parallel.fusionBuffer': integer({
    doc: 'Horovod fusion buffer (`HOROVOD_FUSION_THRESHOLD`).',
    unit: 'bytes',
    minimum: 0,
    default: 64 * 2 ** 20,
  }),
  'parallel.variableSplit': choice(['greedy', 'naive'], {
    doc: 'How ZeRO under Horovod shares out whole variables: the largest first to who holds least, or equal counts in order.',
    default: 'greedy',
  }),
  'parallel.variableGroups': integer({
    doc: 'Groups that whole variables are shared out to. Unset: one per GPU.',
    minimum: 1,
  }),

  'offload.optimizer': choice(['none', 'cpu', 'nvme'], {
    doc: 'Where optimizer states and masters are kept.',
    aliases: ['offload-optimizer'],
    default: 'none',
  }),
  'offload.optimizerRatio': number({
    doc: 'Share of the optimizer states that is offloaded (stage 3).',
    minimum: 0,
    maximum: 1,
    default: 1,
  }),
  'offload.parameters': choice(['none', 'cpu', 'nvme'], {
    doc: 'Where sharded weights are kept.',
    aliases: ['offload-param', 'offload-parameters'],
    default: 'none',
  }),
  'offload.pinMemory': flag({ doc: 'Offload buffers are page-locked host memory.', default: true }),

  'offload.optimizerBuffers': integer({
    doc: 'Pinned buffers of optimizer offload to NVMe (`buffer_count`), each of the largest sub-group.',
    minimum: 0,
    default: 4,
  }),
  'offload.parameterBuffers': integer({
    doc: 'Pinned buffers of weight offload to NVMe (`buffer_count`).',
    minimum: 0,
    default: 5,
  }),
  'offload.parameterBufferSize': integer({
    doc: 'Size of one such buffer (`buffer_size`).',
    unit: 'elements',
    minimum: 0,
    default: 100_000_000,
  }),
  'offload.parametersInHost': integer({
    doc: 'Weights that stay in host memory though they are offloaded to NVMe (`max_in_cpu`).',
    unit: 'elements',
    minimum: 0,
    default: 1_000_000_000,
  }),

  'loading.placement': choice(['partitioned', 'host', 'gpu'], {
    doc: 'Where the weights are before they are sharded: never whole (`zero.Init`, meta device), whole in host memory and moved unit by unit, or whole on each GPU. DeepSpeed without `zero.Init` moves the whole model to each GPU. Unset: as the integrations of the scheme do it.',
  }),
  'loading.embedding': choice(['gpu', 'host', 'spare-to-host', 'spare-to-host-if-tight'], {
    doc: 'Where a frozen embedding stays while one GPU trains: on it, or in host memory, from where looked-up rows come (Unsloth, `offload_embedding`). `host` leaves a model alone whose head is its embedding, `spare-to-host` moves every other table of it, the last one only where the GPU has little room.',
    default: 'gpu',
  }),
  'loading.newWeights': flag({
    doc: 'The weights are made new from the model config: no checkpoint is read, and every process makes its own.',
    default: false,
  }),
  'loading.readsAhead': flag({
    doc: 'Threads read weights onto the GPU, in the type of the checkpoint, ahead of the one that quantizes them: how many lie there at a time, only the race decides (`HF_DEACTIVATE_ASYNC_LOAD` ends it). Unset: as the release of transformers does it.',
  }),
  'loading.hostCopies': choice(['none', 'one', 'every-process'], {
    doc: 'Processes of a node that hold a full copy of the checkpoint in host memory while they load it: `one` with `cpu_ram_efficient_loading`. Unset: as transformers and Accelerate do it for the scheme.',
  }),

  'evaluation.enabled': flag({
    doc: 'The run evaluates between optimizer steps.',
    aliases: ['evaluation'],
    default: false,
  }),
  'evaluation.batch': integer({
    none: [0],
    doc: 'Samples per GPU and batch of the evaluation. Unset: as the micro batch.',
    minimum: 1,
  }),
  'evaluation.sequence': integer({
    none: [0, -1],
    doc: 'Tokens per sample of the evaluation. Unset: as in training.',
    unit: 'tokens',
    minimum: 1,
  }),
  'evaluation.samples': integer({ doc: 'Samples of the evaluation set.', minimum: 1 }),
  'evaluation.predictions': choice(['none', 'logits', 'tokens'], {
    doc: 'What of each batch is gathered to every GPU and kept there for metrics: nothing but the loss, all logits, or the predicted token ids (`preprocess_logits_for_metrics`).',
    default: 'none',
  }),
  'evaluation.accumulation': integer({
    none: [0, -1],
    doc: 'Batches whose predictions stay on the GPU before they go to the host (`eval_accumulation_steps`). Unset: all.',
    minimum: 1,
  }),
  'evaluation.concatenates': flag({
    doc: 'Predictions are concatenated batch by batch on the GPU (`eval_do_concat_batches`), which holds old and new at once.',
    default: true,
  }),
  'evaluation.keepsCache': flag({
    doc: 'Keys and values of all layers are part of what the model returns in evaluation (`use_cache`), so that they live until its batch is over. Unset: as transformers does it, whose Trainer turns it off since 5.0.',
  }),
  'evaluation.generatedTokens': integer({
    none: [-1],
    doc: 'Tokens that the evaluation generates per sample (`predict_with_generate`); 0: it does not.',
    unit: 'tokens',
    minimum: 0,
    default: 0,
  }),
  'evaluation.beams': integer({ doc: 'Beams of that generation.', minimum: 1, default: 1 }),

  'saving.weights': choice(['none', 'full', 'sharded'], {
    doc: 'Checkpoints of the weights: not looked at, the whole model gathered into one (`FULL_STATE_DICT`, `stage3_gather_16bit_weights_on_model_save`), or the shards of each GPU.',
    default: 'none',
  }),
  'saving.optimizer': flag({
    doc: 'The states of the optimizer are saved with the weights, in the same form.',
    default: false,
  }),
  'saving.hostOffload': flag({
    doc: 'A gathered state goes to host memory of rank 0 piece by piece (`offload_to_cpu`, `rank0_only`); without it FSDP makes the whole model on every GPU.',
    default: true,
  }),

  'hardware.gpu': text({
    doc: 'GPU by its catalog name, for example `H100-SXM5-80GB`.',
    aliases: ['gpu'],
    required: true,
  }),
  'hardware.gpus': integer({
    none: [-1],
    doc: 'GPUs over all nodes.',
    aliases: ['gpus', 'world-size'],
    unit: 'GPUs',
    minimum: 1,
    required: true,
  }),
  'hardware.nodes': integer({ doc: 'Nodes (machines).', aliases: ['nodes'], minimum: 1, default: 1 }),
  'hardware.gpuMemory': integer({
    doc: 'Memory that PyTorch can use on one GPU; overrides the catalog.',
    unit: 'bytes',
    minimum: 1,
  }),
  'hardware.hostMemory': integer({ doc: 'Host memory of one node.', unit: 'bytes', minimum: 1 }),
  'hardware.reservedFraction': number({
    doc: 'Share of GPU memory taken by something else, such as a generation engine beside the trainer.',
    minimum: 0,
    maximum: 1,
    default: 0,
  }),

  'hardware.otherProcesses': integer({
    doc: 'Memory of one GPU that other processes have in use, such as a display or a served model.',
    unit: 'bytes',
    minimum: 0,
    default: 0,
  }),
  'hardware.outsideAllocator': integer({
    doc: "Memory that a process has in use beside PyTorch's allocator, as measured: CUDA context, kernels, communicators. Unset: by card and groups.",
    unit: 'bytes',
    minimum: 0,
  }),

  'hardware.instance': text({
    doc: 'Cloud machine by its name, for example `p5.48xlarge`. Its list price counts.',
    aliases: ['instance'],
  }),
  'hardware.price': number({
    doc: 'Price of one GPU for one hour in US dollars. Unset: on-demand list prices of cloud machines.',
    aliases: ['price'],
    minimum: 0,
  }),

  'schedule.steps': integer({
    none: 'negative',
    doc: 'Optimizer steps of the whole run.',
    aliases: ['steps'],
    minimum: 0,
  }),
  'schedule.tokens': integer({
    none: 'negative',
    doc: 'Training tokens of the whole run.',
    aliases: ['tokens'],
    unit: 'tokens',
    minimum: 0,
  }),
} as const satisfies Record<string, FieldSpec>;

export type FieldPath = keyof typeof FIELDS;

type ValueOf<F> = F extends { type: 'choice'; values: readonly (infer V)[] }
  ? V
  : F extends { type: 'text' }
    ? string
    : F extends { type: 'integer' | 'number' }
      ? number
      : F extends { type: 'flag' }
        ? boolean
        : F extends { type: 'list' }
          ? readonly string[]
          : Readonly<Record<string, unknown>>;

/** TypeScript type of a field's value. */
export type FieldValue<P extends FieldPath = FieldPath> = ValueOf<(typeof FIELDS)[P]>;

/** Fields that the table gives no default: they may be absent from a resolved run. */
type OptionalPath = {
  [P in FieldPath]: (typeof FIELDS)[P] extends { default: unknown } | { required: true } ? never : P;
}[FieldPath];

/**
 * A run with every field that formulas need. Required fields were supplied, the others hold a value with an
 * origin or the vocabulary's default. Flat: `run['batch.micro']`.
 */
export type TrainingRun = {
  readonly [P in Exclude<FieldPath, OptionalPath>]: FieldValue<P>;
} & { readonly [P in OptionalPath]?: FieldValue<P> };

/** Any subset of a run's fields. */
export type RunValues = { readonly [P in FieldPath]?: FieldValue<P> };

export const FIELD_PATHS = Object.keys(FIELDS) as FieldPath[];

export function isFieldPath(path: string): path is FieldPath {
  return Object.hasOwn(FIELDS, path);
}
