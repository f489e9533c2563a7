import assert from 'node:assert/strict';
import { aModel } from '../memory/a-run';
import { smallWorkspace } from '../workspace/small-workspace';
import { assertStates, complaints, factOf, problemsOf, read } from './reading';

const olmo = (text: string, known = {}) => read('olmo', 'file:///configs/a.yaml', text, known);

// Interpolation of OmegaConf, in a text that TypeScript would take for its own.
const at = (path: string) => `$\{${path}}`;

const CONFIG = `run_name: small
model:
  d_model: 1024
  n_heads: 16
  n_layers: 8
  mlp_ratio: 8
  weight_tying: false
  rope: true
  flash_attention: true
  include_bias: false
  layer_norm_type: rms
  norm_after: true
  max_sequence_length: 2048
  vocab_size: 50280
  embedding_size: 50304
  init_device: meta
optimizer: {name: adamw}
tokenizer: {identifier: a.json}
max_duration: 739_328
global_train_batch_size: 512
device_train_microbatch_size: 8
device_eval_batch_size: ${at('device_train_microbatch_size')}
precision: amp_bf16
fsdp:
  wrapping_strategy: by_block_and_size
  sharding_strategy: FULL_SHARD
  precision: mixed
activation_checkpointing: one_in_four
softmax_auxiliary_loss: true
fused_loss: true
compile: null
save_interval_unsharded: 1000
evaluators:
  - {label: a}
  - {label: b, device_eval_batch_size: 32}
`;

const without = (line: string) => {
  const text = CONFIG.split('\n')
    .filter((one) => !one.trimStart().startsWith(line))
    .join('\n');
  assert.notEqual(text, CONFIG);
  return text;
};
const replaced = (from: string, to: string) => {
  assert.ok(CONFIG.includes(from), from);
  return CONFIG.replace(from, to);
};

describe('OLMo', () => {
  it('reads a run under FSDP', () => {
    const reading = olmo(CONFIG, { 'hardware.gpus': 64 });
    assertStates(reading, {
      'model.code': 'olmo default',
      'method.kind': 'full default',
      'batch.global': '512 file',
      'batch.micro': '8 file',
      'batch.sequence': '2048 file',
      'batch.packed': 'true default',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'fsdp file',
      'precision.weights': 'fp32 default',
      'precision.masterWeights': 'fp32 default',
      'precision.autocast': 'true default',
      'precision.reduce': 'fp32 file',
      'parallel.data': 'fsdp1 default',
      'fsdp.strategy': 'full file',
      'fsdp.wrap': 'layer file',
      'fsdp.separateEnds': 'true file',
      'fsdp.syncEachBatch': 'true default',
      'fsdp.backwardPrefetch': 'pre default',
      'activations.checkpointing': 'full file',
      'activations.period': '4 file',
      'activations.reentrant': 'false default',
      'attention.implementation': 'flash2 file',
      'loss.implementation': 'compiled file',
      'loss.zLoss': undefined,
      'kernels.compile': undefined,
      'optimizer.name': 'adamw file',
      'optimizer.implementation': undefined,
      'schedule.steps': '739328 file',
      'evaluation.enabled': 'true file',
      'evaluation.batch': '32 file',
      'saving.weights': 'full file',
      'loading.placement': 'partitioned file',
    });
    assert.deepEqual(problemsOf(reading), []);
    assert.deepEqual(reading.unread ?? [], []);
    const config = factOf(reading, 'model.config')?.value as Readonly<Record<string, unknown>>;
    assert.deepEqual(
      [config.model_type, config.d_model, config.flash_attention],
      ['hf_olmo', 1024, undefined],
    );
  });

  it('takes what OLMo takes where nothing is stated', () => {
    const reading = olmo(
      'model: {d_model: 512, n_heads: 8, max_sequence_length: 512}\nsave_folder: out\nprecision: amp_bf16\n',
    );
    assertStates(reading, {
      'batch.global': '512 default',
      'batch.micro': '16 default',
      'optimizer.name': 'lionw default',
      'fsdp.wrap': 'none default',
      'fsdp.strategy': 'full default',
      'precision.reduce': 'bf16 default',
      'activations.checkpointing': 'none default',
      'attention.implementation': 'sdpa default',
      'loss.implementation': 'full default',
    });
  });

  it('has a smaller micro batch where a GPU gets fewer samples', () => {
    assertStates(olmo(CONFIG, { 'hardware.gpus': 128 }), { 'batch.micro': '4 inferred' });
    assertStates(olmo(CONFIG, { 'hardware.gpus': 64 }), { 'batch.micro': '8 file' });
  });

  it('counts the squared log-sum-exp where no kernel of flash-attn has it', () => {
    assertStates(olmo(without('fused_loss')), {
      'loss.implementation': 'full default',
      'loss.zLoss': 'true file',
    });
  });

  it('knows which layers each word checkpoints, and leaves words that it does not know', () => {
    for (const [word, period] of [
      ['one_in_two', '2 file'],
      ['one_in_three', '3 file'],
      ['one_in_eight', '8 file'],
      ['two_in_three', '-3 file'],
      ['three_in_four', '-4 file'],
      ['whole_layer', undefined],
      ['true', undefined],
    ] as const)
      assertStates(olmo(replaced('one_in_four', word)), {
        'activations.checkpointing': 'full file',
        'activations.period': period,
      });
    assertStates(olmo(replaced('one_in_four', 'false')), { 'activations.checkpointing': 'none file' });
    const fine = olmo(replaced('one_in_four', 'fine_grained'));
    assertStates(fine, {
      'activations.checkpointing': 'none file',
      'features.unmodelled': 'part-checkpoints file',
    });
    const other = olmo(replaced('one_in_four', 'one_in_five'));
    assertStates(other, { 'activations.checkpointing': undefined });
    assert.deepEqual(other.unread?.[0]?.fields, ['activations.checkpointing', 'activations.period']);
  });

  it('knows how FSDP wraps, and leaves what lies between layers and the whole', () => {
    const wraps = (word: string) => olmo(replaced('by_block_and_size', word));
    assertStates(wraps('by_block'), { 'fsdp.wrap': 'layer file', 'fsdp.separateEnds': 'false file' });
    assertStates(wraps('size_based'), { 'fsdp.wrap': 'size file' });
    assertStates(wraps('null'), { 'fsdp.wrap': 'none default' });
    for (const word of ['one_in_two', 'by_block_group']) {
      assertStates(wraps(word), { 'fsdp.wrap': undefined });
      assert.ok(wraps(word).unread?.some(({ fields }) => fields?.includes('fsdp.wrap')));
    }
  });

  it('knows the types of each strategy', () => {
    const fsdp = (text: string) => olmo(replaced('  precision: mixed', `  precision: ${text}`));
    assertStates(fsdp('pure'), { 'precision.scheme': 'fsdp file', 'precision.reduce': 'bf16 file' });
    assertStates(fsdp('null'), { 'precision.scheme': 'autocast file', 'precision.reduce': undefined });
    assertStates(olmo(replaced('amp_bf16', 'fp32')), {
      'precision.scheme': 'native file',
      'precision.autocast': undefined,
      'features.unmodelled': 'written-out-attention file',
    });
    const single = olmo(`${CONFIG}distributed_strategy: single\n`);
    assertStates(single, {
      'parallel.data': 'none file',
      'precision.scheme': 'autocast file',
      'fsdp.wrap': undefined,
    });
    const ddp = `${replaced('meta', 'cuda')}distributed_strategy: ddp\nddp: {grad_sync_mode: batch}\n`;
    assertStates(olmo(ddp), { 'parallel.data': 'ddp file', 'loading.placement': 'gpu file' });
    assert.deepEqual(problemsOf(olmo(ddp)), []);
  });

  it('leaves a run open whose precision is stated elsewhere', () => {
    const reading = olmo(without('precision: amp'));
    assertStates(reading, { 'precision.compute': undefined });
    assert.deepEqual(reading.unread?.[0]?.fields, ['precision.compute', 'precision.scheme']);
  });

  it('compiles layers where a block of settings is there', () => {
    assertStates(olmo(replaced('compile: null', 'compile: {}')), { 'kernels.compile': 'true file' });
    assertStates(olmo(replaced('compile: null', 'compile: {mode: reduce-overhead}')), {
      'kernels.compile': 'true file',
      'features.unmodelled': 'cuda-graphs file',
    });
  });

  it('leaves compilers other than inductor', () => {
    assertStates(olmo(replaced('compile: null', 'compile: {backend: inductor}')), {
      'kernels.compile': 'true file',
    });
    for (const backend of ['eager', 'aot_eager', 'own']) {
      const reading = olmo(replaced('compile: null', `compile: {backend: ${backend}}`));
      assertStates(reading, { 'kernels.compile': undefined });
      assert.deepEqual(
        reading.unread?.map(({ fields }) => fields),
        [['kernels.compile']],
      );
    }
  });

  it('ends where it is stopped before', () => {
    const ends = (more: string, duration = '739_328') => olmo(`${replaced('739_328', duration)}${more}\n`);
    for (const [more, duration, steps, tokens] of [
      ['stop_at: 10', '739_328', '10 file', undefined],
      ['stop_after: 5', '739_328', '5 file', undefined],
      ['stop_at: 10\nstop_after: 5', '739_328', '5 file', undefined],
      ['stop_at: 1000', '100', '100 file', undefined],
      ['stop_at: 10', '1e12T', '10 file', undefined],
      ['stop_at: 1000', '1e8T', undefined, '100000000 file'],
      ['stop_at: 10', '1ep', undefined, undefined],
    ] as const)
      assertStates(ends(more, duration), { 'schedule.steps': steps, 'schedule.tokens': tokens });
    assertStates(olmo(`${without('max_duration')}stop_at: 10\n`), { 'schedule.steps': '10 file' });
  });

  it('stops at what OLMo refuses', () => {
    const errors = (text: string, known = {}) => complaints(olmo(text, known), text, 'error');
    for (const [text, code] of [
      [replaced('  rope: true', '  rope: true\n  alibi: true'), 'olmo-positions'],
      [replaced('embedding_size: 50304', 'embedding_size: 50176'), 'olmo-embedding-rows'],
      [replaced('  rope: true', '  rope: true\n  block_group_size: 3'), 'olmo-block-groups'],
      [replaced('  rope: true', '  rope: true\n  block_group_size: 0'), 'olmo-block-groups'],
      [`${replaced('meta', 'cuda')}distributed_strategy: ddp\nddp: {find_unused_params: true}\n`, 'olmo-ddp'],
      [replaced('by_block_and_size', 'by_block_group'), 'olmo-block-groups'],
      [`${CONFIG}distributed_strategy: ddp\nddp: {}\n`, 'olmo-ddp'],
      [`${replaced('meta', 'cuda')}distributed_strategy: ddp\n`, 'olmo-ddp'],
      [
        `${replaced('flash_attention: true', 'flash_attention: false')}data: {generate_doc_lengths: true}\n`,
        'olmo-document-masks',
      ],
    ] as const)
      assert.deepEqual(
        errors(text).map((line) => line.split(':')[0]),
        [code],
        text,
      );
    assert.deepEqual(errors(CONFIG, { 'hardware.gpus': 48 }), [
      'batch-not-divisible: global_train_batch_size: 512',
    ]);
  });

  it('refuses a tied unit of FSDP only where it is known to be sharded', () => {
    const tied = replaced('weight_tying: false', 'weight_tying: true');
    const hybrid = (more: string) => tied.replace('FULL_SHARD', `HYBRID_SHARD${more}`);
    const replicas = (count: number) => hybrid(`\n  hybrid_sharding_num_model_replicas: ${count}`);
    const codes = (text: string, known = {}) =>
      complaints(olmo(text, known), text, 'error').map((line) => line.split(':')[0]);
    const nodes = { 'hardware.gpus': 16, 'hardware.nodes': 2 };
    for (const [text, known] of [
      [tied, { 'hardware.gpus': 8 }],
      [replicas(4), { 'hardware.gpus': 8 }],
      [hybrid(''), nodes],
      [replicas(0), nodes],
    ] as const)
      assert.deepEqual(codes(text, known), ['olmo-tied-unit'], text);
    for (const [text, known] of [
      // What keeps its weights whole until backward has them for the head.
      [tied.replace('FULL_SHARD', 'SHARD_GRAD_OP'), { 'hardware.gpus': 8 }],
      [tied, {}],
      [tied, { 'hardware.gpus': 1 }],
      [replicas(8), { 'hardware.gpus': 8 }],
      [hybrid(''), { 'hardware.gpus': 2, 'hardware.nodes': 2 }],
      [hybrid(''), { 'hardware.gpus': 8 }],
    ] as const)
      assert.deepEqual(codes(text, known), [], text);
  });

  it('takes replicas of the model in hybrid sharding alone', () => {
    const replicas = '\n  hybrid_sharding_num_model_replicas: 4';
    for (const [strategy, expected] of [
      ['FULL_SHARD', undefined],
      ['SHARD_GRAD_OP', undefined],
      ['NO_SHARD', undefined],
      ['HYBRID_SHARD', '4 file'],
      ['_HYBRID_SHARD_ZERO2', '4 file'],
    ] as const)
      assertStates(olmo(replaced('FULL_SHARD', strategy + replicas)), { 'parallel.replicate': expected });
    const unset = replaced('FULL_SHARD', 'HYBRID_SHARD\n  hybrid_sharding_num_model_replicas: 0');
    assertStates(olmo(unset), { 'parallel.replicate': undefined });
  });

  it('builds the models that were published, parameter by parameter', () => {
    const small = { n_kv_heads: null, include_bias: false, rope: true, weight_tying: true };
    const of = (more: Record<string, unknown>) =>
      aModel({ model_type: 'hf_olmo', ...small, ...more }).parameters.total;
    const plain = {
      layer_norm_type: 'default',
      layer_norm_with_affine: false,
      vocab_size: 50_280,
      embedding_size: 50_304,
    };
    const two = {
      layer_norm_type: 'rms',
      attention_layer_norm: true,
      norm_after: true,
      weight_tying: false,
      vocab_size: 100_278,
      embedding_size: 100_352,
    };
    // allenai/OLMo-1B, OLMo-7B, OLMo-2-0425-1B, OLMo-2-1124-7B and OLMo-2-1124-13B, as the Hub counts their tensors.
    assert.deepEqual(
      [
        of({ ...plain, d_model: 2048, n_heads: 16, n_layers: 16, mlp_ratio: 8 }),
        of({
          ...plain,
          d_model: 4096,
          n_heads: 32,
          n_layers: 32,
          mlp_hidden_size: 22_016,
          weight_tying: false,
        }),
        of({ ...two, d_model: 2048, n_heads: 16, n_layers: 16, mlp_ratio: 8 }),
        of({ ...two, d_model: 4096, n_heads: 32, n_layers: 32, mlp_hidden_size: 22_016 }),
        of({ ...two, d_model: 5120, n_heads: 40, n_layers: 40, mlp_hidden_size: 27_648 }),
      ],
      [1_176_764_416, 6_888_095_744, 1_484_916_736, 7_298_617_344, 13_716_198_400],
    );
  });

  it('is estimated, and fits nowhere while something of it is not known', async () => {
    const verdict = async (text: string) => {
      const { analyze } = smallWorkspace({
        'a.yaml': text,
        'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 8\n',
      });
      const { estimate } = await analyze('a.yaml');
      return estimate?.verdict;
    };
    assert.equal(await verdict(CONFIG), 'fits');
    // What is checkpointed part by part needs no more than what is not checkpointed.
    assert.equal(await verdict(replaced('one_in_four', 'fine_grained')), 'fits');
    for (const more of [
      'n_kv_heads: 8',
      'n_kv_heads: 1\n  multi_query_attention: true',
      'mlp_hidden_size: 4096',
    ])
      assert.equal(await verdict(replaced('  rope: true', `  rope: true\n  ${more}`)), 'fits', more);
    const replicas = 'HYBRID_SHARD\n  hybrid_sharding_num_model_replicas: 4';
    assert.equal(await verdict(replaced('FULL_SHARD', replicas)), 'fits');
    for (const text of [
      replaced('  rope: true', '  rope: false\n  alibi: true').replace(
        'flash_attention: true',
        'flash_attention: false',
      ),
      replaced('  rope: true', '  rope: true\n  block_type: llama'),
      replaced('amp_bf16', 'fp32'),
      // What OLMo stops on.
      replaced('  rope: true', '  rope: true\n  n_kv_heads: 5'),
      replaced('  rope: true', '  rope: true\n  n_kv_heads: 8\n  multi_query_attention: true'),
      replaced('  rope: true', '  rope: true\n  n_kv_heads: 8\n  multi_query_attention: false'),
      replaced('  rope: true', '  rope: true\n  mlp_hidden_size: 4097'),
      replaced('FULL_SHARD', 'HYBRID_SHARD\n  hybrid_sharding_num_model_replicas: 5'),
      `${CONFIG.replace(/fsdp:\n(?: {2}.*\n)+/, '')}fsdp: null\n`,
      replaced('layer_norm_type: rms', 'layer_norm_type: own'),
      replaced('  rope: true', '  rope: true\n  use_own_attention: true'),
      without('precision: amp'),
      `${CONFIG}data: {generate_attention_mask: true}\n`,
      `${CONFIG}data: {custom_dataset: {name: mine}}\n`,
    ])
      assert.notEqual(await verdict(text), 'fits', text);
  });

  it('stops at no length of evaluation tasks, which are as long as their questions', async () => {
    const text = CONFIG.slice(0, CONFIG.indexOf('evaluators:'))
      .replace('max_sequence_length: 2048', 'max_sequence_length: 8192')
      .replace(/device_eval_batch_size: .*/, 'device_eval_batch_size: 64')
      .replace('device_train_microbatch_size: 8', 'device_train_microbatch_size: 1');
    const severities = async (type: string) => {
      const evaluators = `evaluators:\n  - {label: a, type: ${type}}\n`;
      const { analyze } = smallWorkspace({
        'a.yaml': text + evaluators,
        'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 8\n',
      });
      const { problems } = await analyze('a.yaml');
      return problems.filter(({ severity }) => severity === 'error').map(({ code }) => code);
    };
    assert.deepEqual(await severities('lm'), ['does-not-fit']);
    assert.deepEqual(await severities('downstream'), []);
  });

  it('evaluates texts as long as those of training, and tasks of at most 2048 tokens', () => {
    const base = CONFIG.slice(0, CONFIG.indexOf('evaluators:')).replace(
      /device_eval_batch_size: .*/,
      'device_eval_batch_size: 4',
    );
    const evaluates = (length: number, evaluators: string) =>
      olmo(
        `${base.replace('max_sequence_length: 2048', `max_sequence_length: ${length}`)}evaluators: [${evaluators}]\n`,
      );
    const [texts, tasks] = ['{label: a, type: lm}', '{label: b, type: downstream}'];
    const many = '{label: c, type: downstream, device_eval_batch_size: 16}';
    for (const [length, evaluators, batch, sequence] of [
      [4096, texts, '4 file', undefined],
      [4096, tasks, '4 file', '2048 inferred'],
      [512, tasks, '4 file', '2048 inferred'],
      [4096, `${texts}, ${tasks}`, '4 file', undefined],
      [512, `${texts}, ${tasks}`, '4 file', '2048 inferred'],
      [4096, `${texts}, ${many}`, '16 file', '2048 inferred'],
      [4096, `{label: d}, ${tasks}`, '4 file', undefined],
    ] as const)
      assertStates(evaluates(length, evaluators), {
        'evaluation.batch': batch,
        'evaluation.sequence': sequence,
      });
  });

  it('is certain of a run that training alone makes too large, however long its evaluation tasks are', async () => {
    const text = CONFIG.slice(0, CONFIG.indexOf('evaluators:'))
      .replace(/device_eval_batch_size: .*/, 'device_eval_batch_size: 1')
      .replace('device_train_microbatch_size: 8', 'device_train_microbatch_size: 64')
      .replace('n_layers: 8', 'n_layers: 96');
    const { analyze } = smallWorkspace({
      'a.yaml': `${text}evaluators:\n  - {label: a, type: downstream}\n`,
      'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 8\n',
    });
    const { problems } = await analyze('a.yaml');
    assert.deepEqual(
      problems.map(({ code, severity }) => [code, severity]),
      [['does-not-fit', 'error']],
    );
  });

  it('reads launches with values over a config', async () => {
    const { analyze } = smallWorkspace({
      'configs/own.yaml': CONFIG,
      'run.sh': `torchrun --nproc_per_node=8 scripts/train.py configs/own.yaml --run_name=x --save_folder=out \\
  --activation_checkpointing=whole_layer --device_train_microbatch_size=2 --fsdp.wrapping_strategy=by_block --model.flash_attention=false\n`,
      'oomlint.yaml': 'gpu: H100-SXM5-80GB\n',
    });
    const { resolved, estimate } = await analyze('run.sh');
    const values = resolved.run ?? assert.fail('no run');
    assert.deepEqual(
      (
        [
          'batch.micro',
          'fsdp.separateEnds',
          'activations.period',
          'attention.implementation',
          'hardware.gpus',
          'batch.sequence',
        ] as const
      ).map((field) => values[field]),
      [2, false, undefined, 'sdpa', 8, 2048],
    );
    assert.equal(estimate?.verdict, 'fits');
  });

  it('makes no model of values whose config is not here', async () => {
    const launch = (config: string) =>
      `torchrun --nproc_per_node=8 scripts/train.py ${config} --model.flash_attention=true --model.n_layers=4 \\
  --device_train_microbatch_size=2 --precision=amp_bf16 --fsdp.wrapping_strategy=by_block\n`;
    for (const config of ['configs/$1.yaml', 'configs/OLMo-7B.yaml', '/elsewhere/peteish7.yaml']) {
      const { analyze } = smallWorkspace({
        'run.sh': launch(config),
        'oomlint.yaml': 'gpu: H100-SXM5-80GB\n',
      });
      const { estimate, resolved } = await analyze('run.sh');
      assert.equal(estimate, undefined, config);
      assert.ok(
        resolved.unknown.some(({ field }) => field.startsWith('model.')),
        config,
      );
    }
  });

  it('builds no model of keys that it does not know, and takes them for those of another trainer', () => {
    const reading = olmo(replaced('  rope: true', '  rope: true\n  p_ratio: 2'));
    assert.equal(factOf(reading, 'model.config'), undefined);
    assert.ok(reading.unread?.some(({ fields }) => fields?.includes('model.config')));
    assert.deepEqual(
      problemsOf(reading).map(({ severity }) => severity),
      ['information'],
    );
  });

  it("leaves OLMoE's configs to what is not modelled", async () => {
    const text = replaced('  rope: true', '  rope: true\n  block_type: moe\n  moe_num_experts: 64');
    const { analyze } = smallWorkspace({ 'a.yaml': text, 'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 8\n' });
    const { problems, estimate } = await analyze('a.yaml');
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['trainer-not-modelled'],
    );
    assert.equal(estimate, undefined);
  });
});
