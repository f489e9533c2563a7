import {
  ACCELERATE,
  APEX,
  BERT,
  BITSANDBYTES,
  DEEPSPEED,
  fileIn,
  LIGER,
  LIGHTNING,
  LITGPT,
  MEGATRON,
  NEMO_RL,
  OLMO,
  OLMO_CORE,
  PEFT,
  PYTORCH,
  TENSORFLOW,
  TORCHAO,
  TORCHTITAN,
  TORCHTUNE,
  TRANSFORMER_ENGINE,
  TRANSFORMERS,
  TRANSFORMERS_4,
  TRL,
} from '../sources/repositories';
import type { ModelCode } from '../terms/model-codes';
import type { PrecisionScheme } from '../terms/precision-schemes';
import type { Behaviours } from './behaviours';
import type { Library } from './products';

/** Who behaves so. All that is stated has to hold; a version holds only where it is known to lie in the range. */
export interface BehaviourCase<V> {
  readonly value: V;
  /** Whose code runs the model: any of these. */
  readonly code?: readonly ModelCode[];
  /** Who lowers the precision: any of these. */
  readonly scheme?: readonly PrecisionScheme[];
  /** A library from a version on (`since`, included) or up to one (`before`, left out). */
  readonly library?: { readonly of: Library; readonly since?: string; readonly before?: string };
  /** Where that can be read. */
  readonly source: string;
}

export interface BehaviourRow<V> {
  /** The first that holds decides. */
  readonly cases: readonly BehaviourCase<V>[];
  readonly otherwise: V;
}

const yes = (
  who: Omit<BehaviourCase<boolean>, 'value'>,
  ...more: readonly Omit<BehaviourCase<boolean>, 'value'>[]
) => ({
  cases: [who, ...more].map((one) => ({ value: true, ...one })),
  otherwise: false,
});

const transformers4 = (path: string) => fileIn(TRANSFORMERS_4, `src/transformers/${path}`);
const transformers = (path: string) => fileIn(TRANSFORMERS, `src/transformers/${path}`);
const megatron = (path: string) => fileIn(MEGATRON, `megatron/core/${path}`);
const engine = (path: string) => fileIn(TRANSFORMER_ENGINE, `transformer_engine/pytorch/${path}`);
const titan = (path: string) => fileIn(TORCHTITAN, `torchtitan/${path}`);
const accelerate = (path: string) => fileIn(ACCELERATE, `src/accelerate/${path}`);

const MAIN_GRADIENTS = megatron('distributed/param_and_grad_buffer.py');
const FLOAT16_MODULE = megatron('transformer/module.py');
const FLAT_GROUPS = fileIn(DEEPSPEED, 'deepspeed/runtime/zero/stage_1_and_2.py');
const ENGINE_CASTS = fileIn(DEEPSPEED, 'deepspeed/runtime/engine.py');
const FSDP_PARAMETER = fileIn(PYTORCH, 'torch/distributed/fsdp/_fully_shard/_fsdp_param.py');
const APEX_MASTERS = fileIn(APEX, 'apex/amp/_process_optimizer.py');
const TITAN_PLANS = titan('models/llama3/infra/parallelize.py');
const MEGATRON_LAYERS = megatron('tensor_parallel/layers.py');

/** What the programs of a run do, by product and version. Formulas see the names in `Behaviours` alone. */
export const TABLE: { readonly [Name in keyof Behaviours]: BehaviourRow<Behaviours[Name]> } = {
  ignoresDropout: yes(
    { code: ['litgpt'], source: fileIn(LITGPT, 'litgpt/model.py') },
    { code: ['torchtune'], source: fileIn(TORCHTUNE, 'torchtune/modules/attention.py') },
    { code: ['torchtitan'], source: titan('models/llama3/model/model.py') },
  ),
  buildsGraph: yes({ code: ['tensorflow'], source: fileIn(BERT, 'modeling.py') }),
  joinsProjections: yes({ code: ['litgpt'], source: fileIn(LITGPT, 'litgpt/lora.py') }),
  concatenatesRotated: yes({
    code: ['transformers'],
    source: transformers('models/gpt_neox/modeling_gpt_neox.py'),
  }),
  rotatesInFp32: yes({ code: ['transformers'], source: transformers('models/llama/modeling_llama.py') }),
  copiesValues: yes({
    code: ['megatron'],
    source: engine('attention/dot_product_attention/utils.py'),
  }),
  // `attn_implementation` came with 4.36: Llama's only other class of 4.35 is that of FlashAttention 2.
  writesAttentionOut: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '4.36' },
    source: fileIn({ ...TRANSFORMERS_4, at: 'v4.35.2' }, 'src/transformers/models/llama/modeling_llama.py'),
  }),
  writesBoundedAttentionOut: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '4.46' },
    source: fileIn({ ...TRANSFORMERS_4, at: 'v4.45.2' }, 'src/transformers/models/opt/modeling_opt.py'),
  }),
  // Until 5.21 SDPA was the default, and left the cap out; from 4.45 to 4.47 it was not the default (`_check_and_enable_sdpa`).
  writesCappedAttentionOut: {
    cases: [
      {
        value: true,
        code: ['transformers'],
        library: { of: 'transformers', since: '4.45', before: '4.48' },
        source: fileIn(
          { ...TRANSFORMERS_4, at: 'v4.47.1' },
          'src/transformers/models/gemma2/modeling_gemma2.py',
        ),
      },
      {
        value: false,
        code: ['transformers'],
        library: { of: 'transformers', before: '5.21' },
        source: fileIn({ ...TRANSFORMERS, at: 'v5.20.2' }, 'src/transformers/integrations/sdpa_attention.py'),
      },
    ],
    otherwise: true,
  },
  boundsMaskedScores: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '4.49' },
    source: fileIn({ ...TRANSFORMERS_4, at: 'v4.48.3' }, 'src/transformers/models/opt/modeling_opt.py'),
  }),
  returnsUnaskedWeights: yes({
    code: ['transformers'],
    library: { of: 'transformers', since: '4.54' },
    source: fileIn({ ...TRANSFORMERS_4, at: 'v4.54.1' }, 'src/transformers/models/bloom/modeling_bloom.py'),
  }),
  runsStatesWithoutKernels: yes({
    code: ['transformers'],
    source: transformers('models/mamba2/modeling_mamba2.py'),
  }),
  // 5.18 has them as `einsum`.
  sumsWholeProducts: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5.18' },
    source: fileIn({ ...TRANSFORMERS, at: 'v5.17.0' }, 'src/transformers/models/mamba2/modeling_mamba2.py'),
  }),
  // 5.17 has `torch.linalg.solve_triangular`.
  invertsChunksRowByRow: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5.17' },
    source: fileIn(
      { ...TRANSFORMERS, at: 'v5.16.1' },
      'src/transformers/models/qwen3_next/modeling_qwen3_next.py',
    ),
  }),
  masksWindows: yes({ code: ['transformers'], source: transformers('masking_utils.py') }),
  expandsSingleHead: yes({
    code: ['transformers'],
    source: transformers('integrations/sdpa_attention.py'),
  }),
  // torchtitan up to 0.2.1 (`repeat_kv`); 0.2.2 has grouped heads (ff0829c10, 2026-01-27: after torch 2.10 was out). Runs state
  // torch and not torchtitan, which recommends the nightly builds of its day: those of 2.11 and later have what groups.
  repeatsKeysAndValues: yes(
    { code: ['torchtune'], source: fileIn(TORCHTUNE, 'torchtune/modules/attention.py') },
    {
      code: ['torchtitan'],
      library: { of: 'torch', before: '2.11' },
      source: titan('models/llama3/model/model.py'),
    },
  ),
  // Since 4.54 SDPA groups heads itself where it is given no mask (`use_gqa_in_sdpa`), and where torch has that (2.5).
  repeatsForSdpa: yes(
    {
      code: ['transformers'],
      library: { of: 'transformers', before: '4.54' },
      source: fileIn({ ...TRANSFORMERS_4, at: 'v4.53.3' }, 'src/transformers/integrations/sdpa_attention.py'),
    },
    {
      code: ['transformers'],
      library: { of: 'torch', before: '2.5' },
      source: fileIn({ ...TRANSFORMERS_4, at: 'v4.57.1' }, 'src/transformers/integrations/sdpa_attention.py'),
    },
  ),
  widensGraniteLogits: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5' },
    source: fileIn(TRANSFORMERS_4, 'src/transformers/models/granitemoehybrid/modeling_granitemoehybrid.py'),
  }),
  groupsWideHeads: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5.13' },
    source: fileIn({ ...TRANSFORMERS, at: 'v5.12.0' }, 'src/transformers/integrations/sdpa_attention.py'),
  }),
  // On NVIDIA's cards: its `kernel_forward.h` finds the keys' head by `q_heads_per_kv` there, and not in 2.13.
  groupsInEfficientKernel: yes({
    library: { of: 'torch', since: '2.14' },
    source: fileIn({ ...PYTORCH, at: 'v2.14.1' }, 'torch/nn/functional.py'),
  }),
  fusesScores: yes({ code: ['megatron'], source: megatron('fusions/fused_softmax.py') }),
  castsProbabilitiesBack: yes({
    code: ['transformers'],
    source: transformers('models/llama/modeling_llama.py'),
  }),
  softmaxKeepsInput: yes({
    library: { of: 'torch', before: '1.11' },
    source: fileIn({ ...PYTORCH, at: 'v1.10.0' }, 'tools/autograd/derivatives.yaml'),
  }),
  fusesRmsNorm: yes(
    { code: ['megatron'], source: engine('ops/basic/rmsnorm.py') },
    // `nn.RMSNorm` is one kernel from 2.9 on (`_fused_rms_norm`).
    {
      code: ['torchtitan'],
      library: { of: 'torch', since: '2.9' },
      source: fileIn({ ...PYTORCH, at: 'v2.9.0' }, 'tools/autograd/derivatives.yaml'),
    },
  ),
  scalesNormsInFp32: yes(
    { code: ['litgpt'], source: fileIn(LITGPT, 'litgpt/model.py') },
    { code: ['torchtune'], source: fileIn(TORCHTUNE, 'torchtune/modules/rms_norm.py') },
  ),
  fusesActivation: yes({ code: ['megatron'], source: megatron('fusions/fused_bias_gelu.py') }),
  fusesApproximateGelu: yes({ code: ['litgpt'], source: fileIn(LITGPT, 'litgpt/model.py') }),
  fusesGatedProduct: yes({ code: ['megatron'], source: megatron('fusions/fused_bias_swiglu.py') }),
  lossInLogitsType: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '4.49' },
    source: fileIn({ ...TRANSFORMERS, at: 'v4.48.0' }, 'src/transformers/models/gpt2/modeling_gpt2.py'),
  }),
  hasOwnHead: yes({ code: ['litgpt'], source: fileIn(LITGPT, 'litgpt/model.py') }),

  stepsWeightByWeight: yes({
    library: { of: 'torch', before: '2' },
    source: fileIn({ ...PYTORCH, at: 'v1.13.1' }, 'torch/optim/adamw.py'),
  }),
  keepsProjectionsOfSharedKeys: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5.6' },
    source: transformers4('models/gemma3n/modeling_gemma3n.py'),
  }),
  keepsProjectionsOfKeysInGemma4: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5.5.2' },
    source: fileIn({ ...TRANSFORMERS, at: 'v5.5.0' }, 'src/transformers/models/gemma4/modeling_gemma4.py'),
  }),
  leavesListedUnquantized: yes({
    code: ['transformers'],
    library: { of: 'transformers', since: '4.26' },
    source: transformers('quantizers/base.py'),
  }),
  raisesListed: {
    cases: [
      {
        value: 'never',
        code: ['transformers'],
        library: { of: 'transformers', before: '4.26' },
        source: fileIn({ ...TRANSFORMERS_4, at: 'v4.25.1' }, 'src/transformers/modeling_utils.py'),
      },
      {
        value: 'always',
        code: ['transformers'],
        library: { of: 'transformers', since: '4.50', before: '4.51' },
        source: fileIn({ ...TRANSFORMERS_4, at: 'v4.50.3' }, 'src/transformers/modeling_utils.py'),
      },
      {
        value: 'always',
        code: ['transformers'],
        library: { of: 'transformers', since: '5', before: '5.1' },
        source: fileIn({ ...TRANSFORMERS, at: 'v5.0.0' }, 'src/transformers/modeling_utils.py'),
      },
      // `use_keep_in_fp32_modules` of the quantizers of bitsandbytes.
      {
        value: 'with-fp16-or-quantized',
        code: ['transformers'],
        library: { of: 'transformers', before: '5' },
        source: transformers4('modeling_utils.py'),
      },
      { value: 'with-fp16', code: ['transformers'], source: transformers('modeling_utils.py') },
    ],
    otherwise: 'never',
  },
  stacksExperts: yes({
    library: { of: 'transformers', since: '5' },
    source: transformers('models/mixtral/modeling_mixtral.py'),
  }),
  stacksGraniteExperts: yes({
    library: { of: 'transformers', since: '5.13' },
    source: fileIn(
      { ...TRANSFORMERS, at: 'v5.13.0' },
      'src/transformers/models/granitemoe/modeling_granitemoe.py',
    ),
  }),
  groupsProductsAnywhere: {
    cases: [
      {
        value: false,
        library: { of: 'torch', before: '2.9' },
        source: fileIn({ ...PYTORCH, at: 'v2.8.0' }, 'aten/src/ATen/native/cuda/Blas.cpp'),
      },
    ],
    otherwise: true,
  },
  adaptsGatedExpertsTogether: yes({
    code: ['megatron'],
    source: megatron('transformer/moe/experts.py'),
  }),
  makesWholeChangeOfExperts: yes({
    library: { of: 'peft', before: '0.21' },
    source: fileIn({ ...PEFT, at: 'v0.20.0' }, 'src/peft/tuners/lora/layer.py'),
  }),
  runsExpertsInLoop: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5' },
    source: transformers4('models/qwen3_moe/modeling_qwen3_moe.py'),
  }),
  groupsProductsByPytorch: yes({
    code: ['transformers'],
    library: { of: 'transformers', since: '5' },
    source: transformers('integrations/moe.py'),
  }),
  convertsNamesOfExperts: yes({
    library: { of: 'peft', since: '0.19' },
    source: fileIn({ ...PEFT, at: 'v0.19.0' }, 'src/peft/utils/transformers_weight_conversion.py'),
  }),
  convertsPatternsOfExperts: yes({
    library: { of: 'peft', since: '0.20' },
    source: fileIn({ ...PEFT, at: 'v0.20.0' }, 'src/peft/utils/transformers_weight_conversion.py'),
  }),
  convertsExpertsBeside: {
    cases: [
      {
        value: ['qwen2_moe', 'qwen3_5_moe'],
        library: { of: 'transformers', before: '5.4' },
        source: fileIn({ ...TRANSFORMERS, at: 'v5.3.0' }, 'src/transformers/conversion_mapping.py'),
      },
      {
        value: ['qwen2_moe', 'afmoe'],
        library: { of: 'transformers', before: '5.6' },
        source: fileIn({ ...TRANSFORMERS, at: 'v5.5.0' }, 'src/transformers/conversion_mapping.py'),
      },
    ],
    otherwise: ['afmoe'],
  },
  refusesMambaTargets: {
    cases: [
      {
        value: [],
        library: { of: 'peft', before: '0.16' },
        source: fileIn({ ...PEFT, at: 'v0.15.2' }, 'src/peft/tuners/tuners_utils.py'),
      },
      {
        value: ['falcon_h1', 'mamba', 'mamba2', 'falcon_mamba'],
        library: { of: 'peft', before: '0.20' },
        source: fileIn({ ...PEFT, at: 'v0.19.1' }, 'src/peft/tuners/tuners_utils.py'),
      },
    ],
    otherwise: ['falcon_h1', 'mamba', 'mamba2', 'falcon_mamba', 'nemotron_h'],
  },
  wholeExpertBlocks: {
    cases: [
      {
        value: ['mixtral', 'qwen2_moe', 'qwen3_moe'],
        code: ['transformers'],
        library: { of: 'deepspeed', since: '0.18' },
        source: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/leaf_module_config.py'),
      },
    ],
    otherwise: [],
  },
  buildsExpertsFirst: {
    cases: [
      {
        value: [
          'deepseek_v2',
          'deepseek_v3',
          'deepseek_v32',
          'dots1',
          'exaone_moe',
          'glm4_moe',
          'glm4_moe_lite',
          'glm4v_moe',
          'lfm2_moe',
          'llama4',
          'llama4_text',
          'longcat_flash',
          'mimo_v2_flash',
          'mistral4',
          'nemotron_h',
          'qwen3_moe',
          'qwen3_omni_moe',
          'qwen3_vl_moe',
          'solar_open',
        ],
        library: { of: 'transformers', since: '5' },
        source: transformers('models/qwen3_moe/modeling_qwen3_moe.py'),
      },
    ],
    otherwise: [],
  },
  hooksAroundCheckpoints: yes({
    code: ['transformers'],
    library: { of: 'transformers', since: '5.23' },
    source: fileIn({ ...TRANSFORMERS, at: 'v5.23.0' }, 'src/transformers/modeling_layers.py'),
  }),
  keepsRoutingInFp32: yes({
    code: ['transformers'],
    source: transformers('models/deepseek_v3/modeling_deepseek_v3.py'),
  }),
  balancesByConfig: yes({
    code: ['transformers'],
    source: transformers('models/mixtral/modeling_mixtral.py'),
  }),
  joinsRouterLogits: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5.16' },
    source: fileIn({ ...TRANSFORMERS, at: 'v5.15.0' }, 'src/transformers/models/mixtral/modeling_mixtral.py'),
  }),
  groupedProductsIgnoreAutocast: yes({
    code: ['transformers'],
    source: transformers('integrations/moe.py'),
  }),
  weighsInsideExperts: yes({ code: ['megatron'], source: megatron('fusions/fused_bias_swiglu.py') }),

  gathersForEachLayer: yes({ code: ['megatron'], source: MEGATRON_LAYERS }),
  splitsEmbedding: yes(
    { code: ['megatron'], source: MEGATRON_LAYERS },
    { code: ['torchtitan'], source: TITAN_PLANS },
    { code: ['torchtune'], source: fileIn(TORCHTUNE, 'torchtune/models/llama3/_parallelism.py') },
  ),
  // Plans of DTensor. transformers' own plan splits an embedding by hand, and only one that the head is tied to.
  makesWholeEmbeddingGradients: yes({
    code: ['torchtitan', 'torchtune', 'transformers'],
    source: fileIn(PYTORCH, 'torch/distributed/tensor/_ops/_embedding_ops.py'),
  }),
  // Those of preferences and groups came one by one, and went when all of TRL's trainers scored tokens tile by tile.
  ligerLosses: {
    cases: [
      {
        value: [],
        library: { of: 'trl', before: '0.17' },
        source: fileIn({ ...TRL, at: 'v0.16.1' }, 'trl/trainer/grpo_trainer.py'),
      },
      {
        value: ['kto', 'grpo'],
        library: { of: 'trl', before: '0.19' },
        source: fileIn({ ...TRL, at: 'v0.18.2' }, 'trl/trainer/grpo_trainer.py'),
      },
      {
        value: ['dpo', 'kto', 'grpo'],
        library: { of: 'trl', before: '1.13' },
        source: fileIn({ ...TRL, at: 'v1.12.0' }, 'trl/trainer/grpo_trainer.py'),
      },
    ],
    otherwise: [],
  },
  keepsMagnitudes: yes({
    library: { of: 'trl', since: '1.15' },
    source: fileIn({ ...TRL, at: 'v1.15.0' }, 'trl/trainer/sft_trainer.py'),
  }),
  keepsLogSoftmax: yes({
    library: { of: 'trl', before: '0.15' },
    source: fileIn({ ...TRL, at: 'v0.14.0' }, 'trl/trainer/dpo_trainer.py'),
  }),
  takesLossOfSplitLogits: yes({
    code: ['megatron'],
    source: megatron('tensor_parallel/cross_entropy.py'),
  }),
  writesOutSplitLoss: yes(
    {
      code: ['torchtitan', 'torchtune'],
      source: fileIn(PYTORCH, 'torch/distributed/tensor/parallel/loss.py'),
    },
    { code: ['transformers'], source: fileIn(NEMO_RL, 'nemo_rl/distributed/model_utils.py') },
  ),
  vocabularyMultiple: {
    cases: [
      {
        value: 128,
        code: ['megatron'],
        source: fileIn(MEGATRON, 'megatron/core/tokenizers/utils/build_tokenizer.py'),
      },
    ],
    otherwise: undefined,
  },
  lendsTensorRanksToExperts: yes({ code: ['torchtitan'], source: titan('distributed/parallel_dims.py') }),
  contextMethod: {
    cases: [
      {
        value: 'ring',
        code: ['megatron'],
        source: megatron('transformer/transformer_config.py'),
      },
    ],
    otherwise: 'all-gather',
  },
  ringKeepsSteps: yes({
    code: ['megatron'],
    source: engine('attention/dot_product_attention/context_parallel.py'),
  }),
  freesSentResults: yes(
    { scheme: ['megatron'], source: megatron('pipeline_parallel/schedules.py') },
    { code: ['megatron'], source: megatron('pipeline_parallel/schedules.py') },
  ),
  receivesIntoBuffers: yes({
    code: ['torchtitan'],
    source: fileIn(PYTORCH, 'torch/distributed/pipelining/stage.py'),
  }),
  layersPerEnd: {
    cases: [{ value: 1, code: ['torchtitan'], source: titan('distributed/pipeline_parallel.py') }],
    otherwise: 0,
  },

  computesInStoredType: yes({
    scheme: ['native'],
    source: fileIn(PYTORCH, 'torch/nn/modules/module.py'),
  }),
  castsPerOperator: yes({
    scheme: ['autocast'],
    source: fileIn(PYTORCH, 'aten/src/ATen/autocast_mode.cpp'),
  }),
  lowersWeights: yes(
    { scheme: ['deepspeed'], source: ENGINE_CASTS },
    { scheme: ['megatron'], source: FLOAT16_MODULE },
    { scheme: ['fsdp'], source: FSDP_PARAMETER },
    { scheme: ['apex-o2'], source: APEX_MASTERS },
  ),
  lowersAdapters: yes(
    { scheme: ['deepspeed'], source: ENGINE_CASTS },
    { scheme: ['megatron'], source: FLOAT16_MODULE },
    { scheme: ['fsdp'], source: FSDP_PARAMETER },
  ),
  restsLowered: yes(
    { scheme: ['deepspeed'], source: ENGINE_CASTS },
    { scheme: ['megatron'], source: FLOAT16_MODULE },
    { scheme: ['apex-o2'], source: APEX_MASTERS },
  ),
  stepsMasters: yes(
    { scheme: ['deepspeed'], source: FLAT_GROUPS },
    { scheme: ['megatron'], source: megatron('optimizer/optimizer.py') },
    { scheme: ['fsdp'], source: FSDP_PARAMETER },
  ),
  keepsMastersBeside: yes(
    { scheme: ['deepspeed'], source: FLAT_GROUPS },
    { scheme: ['megatron'], source: megatron('optimizer/optimizer.py') },
  ),
  copiesLoweredWeights: yes({ scheme: ['apex-o2'], source: APEX_MASTERS }),
  castsWhenGathered: yes({ scheme: ['fsdp'], source: FSDP_PARAMETER }),
  flattensIntoBuffers: yes({ scheme: ['megatron'], source: MAIN_GRADIENTS }),
  lowersFrozenModels: yes(
    { scheme: ['deepspeed'], source: ENGINE_CASTS },
    { scheme: ['megatron'], source: FLOAT16_MODULE },
  ),
  returnsFp32: yes({
    scheme: ['autocast', 'fsdp'],
    source: accelerate('accelerator.py'),
  }),

  // `MatMul4Bit`: `ctx.tensors = (A, B)`, since 0.43.2 `(None, B)`.
  quantizedKeepsInput: yes({
    library: { of: 'bitsandbytes', before: '0.43.2' },
    source: fileIn({ ...BITSANDBYTES, at: '0.43.1' }, 'bitsandbytes/autograd/_functions.py'),
  }),
  unpacksToFp16: yes({
    code: ['litgpt'],
    source: fileIn(LIGHTNING, 'src/lightning/fabric/plugins/precision/bitsandbytes.py'),
  }),

  makesInputsRequireGradients: yes({ code: ['transformers'], source: transformers('modeling_utils.py') }),
  // `gradient_checkpointing_enable`, `needs_embedding_grads`: before, with adapters alone (4.57.6).
  differentiatesFrozenLayers: yes({
    code: ['transformers'],
    library: { of: 'transformers', since: '5' },
    source: transformers('modeling_utils.py'),
  }),
  checkpointsLie: {
    cases: [
      {
        value: 'around',
        code: ['transformers'],
        library: { of: 'transformers', before: '4.52' },
        source: fileIn({ ...TRANSFORMERS, at: 'v4.51.0' }, 'src/transformers/models/llama/modeling_llama.py'),
      },
    ],
    otherwise: 'within',
  },
  recomputesModules: yes({ code: ['megatron'], source: megatron('transformer/transformer_config.py') }),
  // `SwinLayer` is a `GradientCheckpointingLayer` since 5.9, as `SwinStage` was before.
  checkpointsWithinLevels: {
    cases: [
      {
        value: false,
        code: ['transformers'],
        library: { of: 'transformers', before: '5.9' },
        source: fileIn({ ...TRANSFORMERS, at: 'v5.8.0' }, 'src/transformers/models/swin/modeling_swin.py'),
      },
    ],
    otherwise: true,
  },
  recomputesEverySecondProduct: yes(
    { code: ['torchtitan'], source: titan('distributed/activation_checkpoint.py') },
    { code: ['olmo-core'], source: fileIn(OLMO_CORE, 'src/olmo_core/nn/utils.py') },
  ),
  compilesWholeModel: yes(
    { code: ['transformers'], source: accelerate('accelerator.py') },
    { code: ['litgpt'], source: fileIn(LITGPT, 'litgpt/pretrain.py') },
    { code: ['timm'], source: fileIn(TORCHAO, 'benchmarks/benchmark_low_bit_adam.py') },
  ),
  zeroesGradients: yes({
    library: { of: 'torch', before: '2' },
    source: fileIn({ ...PYTORCH, at: 'v1.10.0' }, 'torch/optim/optimizer.py'),
  }),
  // `addmm(out=grad_weight)`: into fp32 gradients since 0.8.1, into 16-bit ones since 0.8.3.
  ligerAddsInPlace: yes({
    library: { of: 'liger', since: '0.8.3' },
    source: fileIn(LIGER, 'src/liger_kernel/ops/fused_linear_cross_entropy.py'),
  }),

  wrapsAdaptersApart: {
    cases: [{ value: false, code: ['litgpt'], source: fileIn(LITGPT, 'litgpt/finetune/lora.py') }],
    otherwise: true,
  },
  wrapsEndsApart: yes({
    code: ['transformers'],
    library: { of: 'accelerate', since: '1.14' },
    source: accelerate('utils/fsdp_utils.py'),
  }),
  splitsFewExpertsInside: yes({ code: ['torchtitan'], source: titan('models/llama4/infra/parallelize.py') }),
  takesLossOutsideModel: yes(
    { code: ['torchtitan'], source: titan('train.py') },
    { code: ['olmo'], source: fileIn(OLMO, 'olmo/train.py') },
    { code: ['torchtune'], source: fileIn(TORCHTUNE, 'recipes/full_finetune_distributed.py') },
  ),
  wrapsEmbeddingApart: yes({
    code: ['olmo-core'],
    source: fileIn(OLMO_CORE, 'src/olmo_core/nn/transformer/model.py'),
  }),
  keepsLastReduction: yes({
    code: ['olmo-core'],
    source: fileIn(OLMO_CORE, 'src/olmo_core/train/train_module/transformer/train_module.py'),
  }),
  takesLossInHead: yes({ code: ['olmo-core'], source: fileIn(OLMO_CORE, 'src/olmo_core/nn/lm_head.py') }),
  reshardsEnds: yes(
    { code: ['torchtune'], source: fileIn(TORCHTUNE, 'torchtune/training/_distributed.py') },
    {
      code: ['transformers'],
      library: { of: 'accelerate', before: '1.14' },
      source: accelerate('utils/fsdp_utils.py'),
    },
  ),
  splitsQuantizedWeights: yes({
    code: ['torchtune'],
    source: fileIn(TORCHAO, 'torchao/quantization/quantize_/workflows/nf4/nf4_tensor.py'),
  }),
  accumulatesBf16InFp32: yes({
    library: { of: 'deepspeed', before: '0.18' },
    source: fileIn({ ...DEEPSPEED, at: 'v0.17.1' }, 'deepspeed/runtime/engine.py'),
  }),
  defersFsdp1Reduction: yes(
    { code: ['transformers'], source: accelerate('accelerator.py') },
    { code: ['litgpt'], source: fileIn(LITGPT, 'litgpt/finetune/lora.py') },
  ),
  defersFsdp2Reduction: yes(
    {
      code: ['transformers'],
      library: { of: 'accelerate', since: '1.11' },
      source: accelerate('accelerator.py'),
    },
    { code: ['litgpt'], source: fileIn(LITGPT, 'litgpt/finetune/lora.py') },
  ),
  // Before 1.14 it cast the shards.
  upcastsBeforeSharding: yes({
    code: ['transformers'],
    library: { of: 'accelerate', since: '1.14' },
    source: accelerate('utils/fsdp_utils.py'),
  }),
  masksEachGpt2Layer: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5.2' },
    source: transformers4('models/gpt2/modeling_gpt2.py'),
  }),
  // `fsdp2_prepare_model`, `original_sd`: Axolotl's own has it, too (`monkeypatch/accelerate/fsdp2.py`).
  namesWholeWhileSharding: yes({ code: ['transformers'], source: accelerate('utils/fsdp_utils.py') }),
  flattensOnGpu: yes({
    library: { of: 'deepspeed', since: '0.18.7' },
    source: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/stage_1_and_2.py'),
  }),
  makesBucketsBeforeLoss: yes({
    library: { of: 'deepspeed', before: '0.17.2' },
    source: fileIn({ ...DEEPSPEED, at: 'v0.17.1' }, 'deepspeed/runtime/zero/stage_1_and_2.py'),
  }),
  fillsBucketsAsSent: yes({
    library: { of: 'deepspeed', since: '0.17.2' },
    source: fileIn(DEEPSPEED, 'deepspeed/runtime/zero/stage3.py'),
  }),
  opensExtraGroups: yes({ scheme: ['megatron'], source: megatron('parallel_state.py') }),

  fillsWeightsOnHost: yes({ code: ['transformers'], source: transformers('modeling_utils.py') }),
  evaluatesWithLogits: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5.15' },
    source: fileIn({ ...TRANSFORMERS, at: 'v5.14.0' }, 'src/transformers/trainer.py'),
  }),
  evaluatesWithCache: yes({
    code: ['transformers'],
    library: { of: 'transformers', before: '5' },
    source: transformers4('trainer.py'),
  }),
  evaluatesWithTextCache: yes({
    code: ['transformers'],
    source: transformers4('models/llava/modeling_llava.py'),
  }),
  // `inputs_merger`: `masked_scatter` takes as many features as there are places, and nothing counts them before 5.21.
  leavesSurplusImages: yes({
    code: ['transformers'],
    library: { of: 'transformers', since: '4.54', before: '5.21' },
    source: fileIn(
      { ...TRANSFORMERS, at: 'v5.20.0' },
      'src/transformers/models/idefics3/modeling_idefics3.py',
    ),
  }),
  // `At least one sample has <image> tokens not divisible by patch_size`.
  asksForWholeTiles: yes({
    code: ['transformers'],
    library: { of: 'transformers', since: '4.51', before: '5.21' },
    source: fileIn({ ...TRANSFORMERS, at: 'v5.20.0' }, 'src/transformers/models/smolvlm/modeling_smolvlm.py'),
  }),
  // `convert_and_load_state_dict_in_model`, `thread_pool`; without it where weights are quantized, from 5.4 on.
  readsAheadOfQuantizing: yes({
    code: ['transformers'],
    library: { of: 'transformers', since: '5', before: '5.4' },
    source: fileIn({ ...TRANSFORMERS, at: 'v5.3.0' }, 'src/transformers/core_model_loading.py'),
  }),
  // `save_pretrained`, `max_shard_size`.
  savedFileBytes: {
    cases: [
      {
        value: 50e9,
        library: { of: 'transformers', since: '5' },
        source: transformers('modeling_utils.py'),
      },
    ],
    otherwise: 5e9,
  },
  // `find_executable_batch_size`: 1.8.1 halved.
  lowersBatchByTenth: yes({
    code: ['transformers'],
    library: { of: 'accelerate', since: '1.9' },
    source: accelerate('utils/memory.py'),
  }),
  hasWideBlackwellWorkspaces: yes({
    library: { of: 'torch', since: '2.12' },
    source: 'https://github.com/pytorch/pytorch/pull/175344',
  }),
  loadsAllKernels: yes({
    library: { of: 'torch', before: '1.13' },
    source: 'https://github.com/pytorch/pytorch/issues/86509',
  }),

  fusesElementwise: yes({ code: ['megatron'], source: megatron('transformer/transformer_config.py') }),
  multipliesInTf32: yes(
    { code: ['tensorflow'], source: fileIn(TENSORFLOW, 'tensorflow/python/framework/config.py') },
    // `allow_tf32_cublas`, true from 1.7 to 1.11.
    {
      library: { of: 'torch', since: '1.7', before: '1.12' },
      source: fileIn({ ...PYTORCH, at: 'v1.11.0' }, 'aten/src/ATen/Context.h'),
    },
  ),
};
