import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

/*
 * The 216 runs of LLM Foundry's benchmark (scripts/train/benchmarking/README.md at v0.22.0): what was run, on which GPUs, and
 * the number of parameters that it printed. All of them ran.
 */
const [, ...ROWS] = readFileSync('test/accuracy/llm-foundry-ran.tsv', 'utf8').trimEnd().split('\n');

/** Width, heads and layers of the models, as `scripts/train/yamls/pretrain` has them. */
const SIZES: Readonly<Record<string, readonly [width: number, heads: number, layers: number]>> = {
  '125m': [768, 12, 12],
  '350m': [1024, 16, 24],
  '760m': [1536, 12, 24],
  '1b': [2048, 16, 24],
  '3b': [2560, 20, 32],
  '7b': [4096, 32, 32],
  '13b': [5120, 40, 40],
  '30b': [7168, 56, 48],
  '70b': [8192, 64, 80],
};
const GPUS: Readonly<Record<string, string>> = {
  a100_40gb: 'A100-SXM4-40GB',
  a100_80gb: 'A100-SXM4-80GB',
  h100_80gb: 'H100-SXM5-80GB',
};

/** The row's config, as its own script writes it. */
function configOf(row: string): { readonly yaml: string; readonly parameters: number } {
  const [
    model = '',
    tokens,
    gpus,
    gpu = '',
    micro,
    global,
    precision,
    mixed,
    sharding,
    checkpointing,
    offload,
    parameters,
  ] = row.split('\t');
  const [width, heads, layers] = SIZES[model] ?? [];
  const yaml = `# oomlint: gpu=${GPUS[gpu]} gpus=${gpus}
max_seq_len: ${tokens}
model:
  name: mpt_causal_lm
  init_device: meta
  d_model: ${width}
  n_heads: ${heads}
  n_layers: ${layers}
  expansion_ratio: 4
  max_seq_len: ${tokens}
  vocab_size: 50368
  attn_config:
    attn_impl: flash
train_loader:
  name: text
  dataset:
    max_seq_len: ${tokens}
optimizer:
  name: decoupled_adamw
  lr: 6.0e-4
max_duration: 12ba
global_train_batch_size: ${global}
device_train_microbatch_size: ${micro}
precision: ${precision}
fsdp_config:
  sharding_strategy: ${sharding}
  mixed_precision: ${mixed}
  activation_checkpointing: ${checkpointing?.toLowerCase()}
  activation_checkpointing_reentrant: false
  activation_cpu_offload: ${offload?.toLowerCase()}
`;
  return { yaml, parameters: Number(parameters) };
}

describe("LLM Foundry's benchmark runs", () => {
  it('are called no misfit, and their models have the parameters that were printed', async () => {
    assert.equal(ROWS.length, 216);
    const wrong: string[] = [];
    for (const [index, row] of ROWS.entries()) {
      const { yaml, parameters } = configOf(row);
      const uri = `file:///w/${index}.yaml`;
      const analysis = await new Workspace(new MemoryHost({ [uri]: yaml })).analyze(uri);
      const { estimate } = analysis ?? {};
      assert.ok(estimate, row);
      assert.equal(estimate.model.totalParameters, parameters, row);
      if (estimate.verdict === 'exceeds') {
        const { lowerBytes, processBytes } = estimate.peak;
        const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(1);
        wrong.push(
          `${gib(processBytes)} (at least ${gib(lowerBytes)}) of ${gib(estimate.capacityBytes)}: ${row}`,
        );
      }
    }
    assert.deepEqual(wrong, []);
  });
});
