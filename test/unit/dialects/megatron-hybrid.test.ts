import assert from 'node:assert/strict';
import type { Reading } from '../../../server/src/dialects/dialect';
import { patternFromRatios } from '../../../server/src/dialects/megatron/hybrid-arguments';
import { catalogEntries } from '../../../server/src/model/catalog';
import { assertStates, modelOf, read, stated } from './reading';

function hybrid(flags: Readonly<Record<string, string | number | boolean>>): Reading {
  const lines = Object.entries({ seq_length: 128, micro_batch_size: 1, ...flags }).map(
    ([key, value]) => `  --${key.replaceAll('_', '-')}: ${value}`,
  );
  return read(
    'megatron',
    'file:///tests/hybrid/case/model_config.yaml',
    `MODEL_ARGS:\n${lines.join('\n')}\n`,
  );
}

const SMALL = {
  hidden_size: 256,
  num_attention_heads: 4,
  vocab_size: 1024,
  max_position_embeddings: 128,
};

/** Flags with which Megatron builds a Nemotron-H of the catalog, whose count transformers gives. */
function nemotron(id: string): {
  readonly flags: Record<string, string | number | boolean>;
  readonly total: number;
} {
  const entry = catalogEntries().find((e) => e.id === id);
  assert.ok(entry);
  const config = entry.config as Record<string, number | string | undefined>;
  const flags: Record<string, string | number | boolean | undefined> = {
    hybrid_layer_pattern: config.hybrid_override_pattern,
    hidden_size: config.hidden_size,
    ffn_hidden_size: config.intermediate_size,
    num_attention_heads: config.num_attention_heads,
    group_query_attention: true,
    num_query_groups: config.num_key_value_heads,
    kv_channels: config.head_dim ?? config.attention_head_dim,
    mamba_num_heads: config.mamba_num_heads,
    mamba_head_dim: config.mamba_head_dim,
    mamba_state_dim: config.ssm_state_size,
    mamba_num_groups: config.n_groups,
    vocab_size: config.vocab_size,
    squared_relu: true,
    normalization: 'RMSNorm',
    disable_bias_linear: true,
    position_embedding_type: 'none',
    untie_embeddings_and_output_weights: true,
    num_experts: config.n_routed_experts,
    moe_router_topk: config.num_experts_per_tok,
    moe_ffn_hidden_size: config.moe_intermediate_size,
    moe_shared_expert_intermediate_size: config.moe_shared_expert_intermediate_size,
    moe_latent_size: config.moe_latent_size,
    moe_router_score_function: config.n_routed_experts ? 'sigmoid' : undefined,
    moe_router_enable_expert_bias: config.n_routed_experts ? true : undefined,
  };
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return {
    flags: Object.fromEntries(given) as Record<string, string | number | boolean>,
    total: entry.params.total,
  };
}

describe('hybrids of Megatron-Core', () => {
  for (const id of [
    'nvidia/Nemotron-H-8B-Base-8K',
    'nvidia/Nemotron-H-56B-Base-8K',
    'nvidia/NVIDIA-Nemotron-Nano-9B-v2',
    'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16',
    'nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16',
  ])
    it(`have as many weights as transformers counts in ${id}`, () => {
      const { flags, total } = nemotron(id);
      assert.equal(modelOf(hybrid(flags)).parameters.total, total);
    });

  it('have layer norms, biases, positions and GELU where nothing else is stated', () => {
    const { parameters, layers } = modelOf(hybrid({ ...SMALL, hybrid_layer_pattern: 'M*-' }));
    assert.equal(layers, 3);
    const h = 256;
    // `MambaMixer`: 2 × 256 wide in 8 heads of 64, 8 groups with a state of 128; no biases but the convolution's.
    const conv = 512 + 2 * 8 * 128;
    const mamba = 2 * h + h * (512 + conv + 8) + 5 * conv + 3 * 8 + 512 + 512 * h;
    const attention = 2 * h + 4 * (h * h + h);
    const mlp = 2 * h + 2 * h * 4 * h + 4 * h + h;
    const ends = 1024 * h + 128 * h + 2 * h;
    assert.equal(parameters.total, mamba + attention + mlp + ends);
  });

  it('have the layers of the old flag, and further tokens behind a slash', () => {
    const old = modelOf(hybrid({ ...SMALL, hybrid_override_pattern: 'MM*-' }));
    assert.equal(old.layers, 4);
    const further = hybrid({ ...SMALL, position_embedding_type: 'none', hybrid_layer_pattern: 'MM*-/M*/M*' });
    assert.equal(modelOf(further).layers, 4);
    const config = further.facts.find(({ field }) => field === 'model.config');
    assert.equal((config?.value as Record<string, unknown> | undefined)?.mtp_num_layers, 2);
  });

  it('have stages, and chunks of them, as the pattern bounds them', () => {
    const stages = hybrid({
      ...SMALL,
      hybrid_layer_pattern: 'M-M|M*-|M-|M-M-',
      pipeline_model_parallel_size: 2,
    });
    assertStates(stages, {
      'parallel.stageLayers': '3,3,2,4 file',
      'parallel.virtualStages': '2 file',
      'parallel.pipelineSchedule': 'interleaved file',
    });
    assert.equal(modelOf(stages).layers, 12);
    const plain = hybrid({ ...SMALL, hybrid_layer_pattern: 'M-M|M*-', pipeline_model_parallel_size: 2 });
    assert.equal(stated(plain, 'parallel.virtualStages'), undefined);
  });

  it('spread attention and MLPs by the shares of old flags', () => {
    // `pattern_from_ratios` of Megatron-LM at d98e8a64 for the same figures.
    const expected: readonly (readonly [number, number, number, string])[] = [
      [8, 0, 0, 'MMMMMMMM'],
      [56, 0.08, 0.5, 'M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-'],
      [24, 0.125, 0.25, 'MMM-M*M-MMM-*MM-MM*M-MM-'],
      [52, 0.077, 0.46, 'M-M-M-M-M-*M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-*M-M-M-M-M-'],
      [10, 0.25, 0, 'MMM*MM*MMM'],
      [7, 0.5, 0.25, 'M**-**-'],
      [12, 0.25, 0.5, 'M-*-M-*-M*--'],
      [5, 0.5, 0.5, 'M*-*-'],
    ];
    for (const [layers, attention, mlp, pattern] of expected)
      assert.equal(patternFromRatios(layers, attention, mlp), pattern);
    const shares = hybrid({
      ...SMALL,
      num_layers: 10,
      is_hybrid_model: true,
      hybrid_attention_ratio: 0.25,
    });
    const config = shares.facts.find(({ field }) => field === 'model.config');
    assert.equal((config?.value as Record<string, unknown> | undefined)?.hybrid_layer_pattern, 'MMM*MM*MMM');
  });

  it('are no model where a layer is of a kind that is not built', () => {
    // Gated delta nets, DeepSeek's sparse attention; experts whose number nobody states; attention of both kinds.
    for (const pattern of ['MG*-', 'MD-', 'ME*', 'M+*-'])
      assert.equal(stated(hybrid({ ...SMALL, hybrid_layer_pattern: pattern }), 'model.config'), undefined);
  });
});
