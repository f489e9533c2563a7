import assert from 'node:assert/strict';
import { completeBatch } from '../../../server/src/dialects/deepspeed/batch-triangle';
import { fillAutos } from '../../../server/src/dialects/deepspeed/deepspeed-auto';
import type { ReadContext } from '../../../server/src/dialects/dialect';
import { factOf, problemsOf, read, refused, stated } from './reading';

const BATCH = { train_micro_batch_size_per_gpu: 2 };
const json = (config: object, known: ReadContext['known'] = {}) =>
  read('deepspeed', 'file:///ds.json', JSON.stringify({ ...BATCH, ...config }), known);
/** Of a version that is stated, or that nobody names. */
const at = (config: object, version?: string) =>
  version === undefined
    ? read('deepspeed', 'file:///ds.json', JSON.stringify({ ...BATCH, ...config }), {}, {})
    : json(config, { 'version.deepspeed': version });
const zero = (block: object, rest: object = {}) => json({ zero_optimization: block, ...rest });

const TYPICAL = `{
  "bf16": { "enabled": true },
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": false,
    "reduce_bucket_size": 2e8,
    "stage3_prefetch_bucket_size": "auto",
    "offload_optimizer": { "device": "cpu", "pin_memory": false },
    "offload_param": { "device": "nvme", "nvme_path": "/nvme" }
  },
  "optimizer": { "type": "AdamW", "params": { "lr": "auto" } },
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 8,
  "train_batch_size": 512
}
`;

describe('DeepSpeed', () => {
  it('knows nothing of what goes with a stage that a template leaves open', () => {
    const keys = '"stage3_prefetch_bucket_size": "auto", "offload_param": { "device": "cpu" }';
    const codes = (stage: string) => {
      const text = `{ "train_batch_size": 8, "zero_optimization": { "stage": ${stage}, ${keys} } }`;
      return problemsOf(read('deepspeed', 'file:///ds.json', text)).map(({ code }) => code);
    };
    assert.equal(codes('1').filter((code) => code === 'ignored-key').length, 2);
    assert.ok(!codes('CONFIG_STAGE').includes('ignored-key'));
  });

  it('reads keys that are spelt with escapes, as Python does', () => {
    const text = [
      '{',
      '  "train_micro_b\\u0061tch_size_per_gpu": 2,',
      '  "zero_optimization": { "st\\u0061ge": 3, "\\u0073tagee": 1 }',
      '}',
    ].join('\n');
    const reading = read('deepspeed', 'file:///a/ds_config.json', text);
    assert.equal(stated(reading, 'batch.micro'), '2 file');
    assert.equal(stated(reading, 'zero.stage'), '3 file');
    const [problem] = reading.problems.filter(({ code }) => code === 'unknown-key');
    assert.match(problem?.message ?? '', /`stagee`/);
    const line = text.split('\n')[2] ?? '';
    const { start, end } = problem?.range ?? assert.fail();
    assert.match(line.slice(start.character, end.character), /^"?\\u0073tagee"?$/);
  });

  it('states what the file states, at its place', () => {
    const reading = read('deepspeed', 'file:///ds.json', TYPICAL);
    assert.deepEqual(factOf(reading, 'zero.stage'), {
      field: 'zero.stage',
      value: 3,
      origin: {
        kind: 'file',
        key: 'zero_optimization.stage',
        note: undefined,
        location: {
          uri: 'file:///ds.json',
          range: { start: { line: 3, character: 13 }, end: { line: 3, character: 14 } },
        },
      },
    });
    const expected = {
      framework: 'deepspeed default',
      'parallel.data': 'zero file',
      'precision.scheme': 'deepspeed file',
      'precision.weights': 'bf16 file',
      'precision.compute': 'bf16 file',
      'zero.overlapCommunication': 'false file',
      'zero.reduceBucket': '200000000 file',
      'zero.prefetchBucket': undefined,
      'zero.persistenceThreshold': '100000 default',
      'offload.optimizer': 'cpu file',
      'offload.parameters': 'nvme file',
      'offload.pinMemory': 'false file',
      'optimizer.name': 'adamw file',
      'optimizer.implementation': undefined,
      'batch.micro': '4 file',
      'batch.accumulation': '8 file',
      'batch.global': '512 file',
      'hardware.gpus': '16 inferred',
    } as const;
    for (const [field, value] of Object.entries(expected)) {
      assert.equal(stated(reading, field as keyof typeof expected), value, field);
    }
    assert.deepEqual(refused(reading), []);
    assert.deepEqual(
      reading.autos.map((auto) => auto.key),
      ['zero_optimization.stage3_prefetch_bucket_size', 'optimizer.params.lr'],
    );
  });

  it('gives the defaults of DeepSpeed with their source', () => {
    const reading = json({});
    assert.equal(stated(reading, 'zero.stage'), '0 default');
    assert.equal(stated(reading, 'precision.weights'), 'fp32 default');
    assert.equal(stated(reading, 'precision.scheme'), 'native default');
    assert.equal(stated(reading, 'zero.reduceBucket'), '500000000 default');
    assert.equal(stated(reading, 'zero.overlapCommunication'), 'false default');
    assert.equal(stated(zero({ stage: 3 }), 'zero.overlapCommunication'), 'true default');
    assert.equal(stated(reading, 'batch.accumulation'), '1 inferred');
    assert.match(factOf(reading, 'zero.stage')?.origin.source ?? '', /^https:\/\/www\.deepspeed\.ai/);
  });

  it('reads old spellings', () => {
    assert.equal(stated(json({ zero_optimization: true }), 'zero.stage'), '1 file');
    assert.equal(stated(json({ zero_optimization: false }), 'zero.stage'), '0 file');
    const old = zero({ stage: 3, cpu_offload: true, cpu_offload_param: true, max_live_parameters: 7 });
    assert.equal(stated(old, 'offload.optimizer'), 'cpu file');
    assert.equal(stated(old, 'offload.parameters'), 'cpu file');
    assert.equal(stated(old, 'zero.maxLiveParameters'), '7 file');
    const hint = problemsOf(old, 'hint').find((problem) => problem.code === 'deprecated-key');
    assert.equal(hint?.data?.replacement, 'zero_optimization.offload_optimizer');
    assert.equal(stated(json({ bfloat16: { enabled: true } }), 'precision.weights'), 'bf16 file');
  });

  it('reads types beside the weights', () => {
    const reading = zero(
      { stage: 2 },
      {
        bf16: { enabled: true, bf16_master_weights_and_grads: true, bf16_optimizer_states: true },
        data_types: { grad_accum_dtype: 'fp32' },
        communication_data_type: 'fp32',
      },
    );
    assert.equal(stated(reading, 'precision.masterWeights'), 'bf16 file');
    assert.equal(stated(reading, 'precision.optimizerStates'), 'bf16 file');
    assert.equal(stated(reading, 'precision.gradientAccumulation'), 'fp32 file');
    assert.equal(stated(reading, 'precision.reduce'), 'fp32 file');
    const autocast = json({ torch_autocast: { enabled: true, dtype: 'bfloat16' } });
    assert.equal(stated(autocast, 'precision.scheme'), 'autocast file');
    assert.equal(stated(autocast, 'precision.compute'), 'bf16 file');
    assert.equal(stated(autocast, 'precision.weights'), 'fp32 default');
  });

  it('refuses wrong keys of fp16 and bf16 where its version is known to', () => {
    const config = { fp16: { opt_level: 'O2', min_loss_scale: 1e-10 }, bf16: { enable: true } };
    const severities = (version?: string) =>
      at(config, version).problems.flatMap(({ code, severity }) =>
        code === 'unknown-key' || code === 'wrong-type' ? [`${code} ${severity}`] : [],
      );
    assert.deepEqual(severities('0.17.1').sort(), [
      'unknown-key error',
      'unknown-key error',
      'wrong-type error',
    ]);
    assert.deepEqual(severities('0.9.3').sort(), ['unknown-key hint', 'unknown-key hint']);
    assert.deepEqual(severities().sort(), [
      'unknown-key warning',
      'unknown-key warning',
      'wrong-type warning',
    ]);
  });

  it('refuses keys of `compile` since that is DeepCompile: releases before had others there, or read nothing of it', () => {
    const severities = (version?: string) =>
      at({ compile: { enabled: true, backend: 'inductor' } }, version).problems.flatMap(
        ({ code, severity }) => (code === 'unknown-key' ? [severity] : []),
      );
    assert.deepEqual(severities('0.19.8'), ['error', 'error']);
    assert.deepEqual(severities('0.15.4'), ['hint', 'hint']);
    assert.deepEqual(severities(), ['warning', 'warning']);
  });

  it('reads what stage 3 takes for one module: classes in place of those it knows, names beside them', () => {
    const leaves = (leaf: object | undefined) =>
      factOf(zero({ stage: 3, ...(leaf && { leaf_module: leaf }) }), 'zero.leafModules')?.value;
    assert.equal(leaves(undefined), undefined);
    assert.deepEqual(leaves({ classes: ['GptOssMLP'] }), ['GptOssMLP']);
    assert.deepEqual(leaves({ classes: 'GptOssMLP', name_suffixes: ['mlp.experts'] }), [
      'GptOssMLP',
      'mlp.experts',
    ]);
    assert.deepEqual(leaves({ names: ['model.layers.0.mlp'] }), [
      'MixtralSparseMoeBlock',
      'Qwen2MoeSparseMoeBlock',
      'Qwen3MoeSparseMoeBlock',
      'model.layers.0.mlp',
    ]);
    // None: blocks have hooks inside.
    assert.deepEqual(leaves({ classes: [] }), []);
  });

  it('refuses keys of `tensor_parallel` since that is read, and of the other strict blocks in every release', () => {
    const severities = (config: object, version?: string) =>
      at(config, version).problems.flatMap(({ code, severity }) =>
        code === 'unknown-key' ? [severity] : [],
      );
    const parallel = { tensor_parallel: { autotp_sizes: 2 } };
    assert.deepEqual(severities(parallel, '0.16.4'), ['error']);
    assert.deepEqual(severities(parallel, '0.16.3'), ['hint']);
    assert.deepEqual(severities(parallel), ['warning']);
    for (const block of ['comms_logger', 'hybrid_engine'])
      assert.deepEqual(severities({ [block]: { enabled: true, quick: true } }, '0.9.5'), ['error'], block);
    for (const block of ['zenflow', 'leaf_module'])
      for (const version of ['0.14.0', '0.19.8']) {
        const found = severities({ zero_optimization: { stage: 2, [block]: { quick: true } } }, version);
        assert.ok(found.includes('error'), `${block} ${version}`);
      }
  });

  it('judges nothing by a stage that is filled in later', () => {
    for (const stage of ['$ZERO_STAGE', '{{ stage }}']) {
      const reading = json({ zero_optimization: { stage, offload_optimizer: { device: 'cpu' } } });
      assert.deepEqual(
        reading.problems.map(({ code, message }) => `${code}: ${message}`),
        [],
      );
    }
    const plain = json({ zero_optimization: { stage: 0, offload_optimizer: { device: 'cpu' } } });
    assert.deepEqual(
      plain.problems.map(({ code }) => code),
      ['ignored-key'],
    );
  });

  it('maps optimizers', () => {
    const table: readonly (readonly [string, object, string | undefined, string | undefined])[] = [
      ['AdamW', {}, 'adamw', 'fused'],
      ['Adam', {}, 'adamw', 'fused'],
      ['Adam', { adam_w_mode: false }, 'adam', 'fused'],
      ['adam', { torch_adam: true }, 'adamw', 'foreach'],
      ['Lamb', {}, 'lamb', 'fused'],
      ['Lion', {}, 'lion', 'fused'],
      ['Muon', {}, 'muon', 'for-loop'],
      ['OneBitAdam', {}, 'onebit-adam', 'for-loop'],
      ['ZeroOneAdam', {}, 'zero-one-adam', 'for-loop'],
      ['OneBitLamb', {}, 'onebit-lamb', 'for-loop'],
      ['SGD', {}, 'sgd', 'foreach'],
      ['SGD', { momentum: 0.9 }, 'sgd-momentum', 'foreach'],
      ['NAdam', {}, 'nadam', 'foreach'],
    ];
    for (const [type, params, name, implementation] of table) {
      const reading = json({ optimizer: { type, params } });
      assert.equal(factOf(reading, 'optimizer.name')?.value, name, type);
      assert.equal(factOf(reading, 'optimizer.implementation')?.value, implementation, type);
    }
    const unknown = json({ optimizer: { type: 'sgd' } });
    assert.deepEqual(refused(unknown), ['unknown-optimizer']);
    assert.equal(problemsOf(unknown, 'error')[0]?.data?.replacement, 'SGD');
  });

  it('reads parallelism', () => {
    const reading = json({ sequence_parallel_size: 4, tensor_parallel: { autotp_size: 2 } });
    assert.equal(stated(reading, 'parallel.ulysses'), '4 file');
    assert.equal(stated(reading, 'zero.sequenceReduce'), undefined);
    const typed = json({ sequence_parallel_size: 4, seq_parallel_communication_data_type: 'bfloat16' });
    assert.equal(stated(typed, 'zero.sequenceReduce'), 'bf16 file');
    assert.equal(stated(reading, 'parallel.tensor'), '2 file');
    const hpz = zero({ stage: 3, zero_hpz_partition_size: 8, mics_shard_size: 16 });
    assert.equal(stated(hpz, 'zero.hpzPartition'), '8 file');
    assert.equal(stated(hpz, 'zero.micsShard'), '16 file');
  });

  it('assumes a low precision that is left to the caller only weakly', () => {
    const reading = json({ fp16: { enabled: 'auto' }, bf16: { enabled: 'auto' } });
    assert.equal(stated(reading, 'precision.weights'), 'bf16 inferred');
    assert.deepEqual(
      reading.autos.map((auto) => auto.key),
      ['fp16.enabled', 'bf16.enabled'],
    );
    assert.equal(stated(json({ fp16: { enabled: 'auto' } }), 'precision.weights'), 'fp16 inferred');
  });

  it('reports that the checkpointing block switches nothing on', () => {
    const reading = json({ activation_checkpointing: { partition_activations: true } });
    assert.equal(factOf(reading, 'activations.checkpointing'), undefined);
    assert.deepEqual(
      problemsOf(reading, 'information').map((problem) => problem.code),
      ['checkpointing-not-switched-on'],
    );
  });

  it('hints at readers of strict JSON', () => {
    const reading = read(
      'deepspeed',
      'ds.json',
      '{ // note\n "train_micro_batch_size_per_gpu": 1, "zero_optimization": {},}',
    );
    assert.ok(problemsOf(reading, 'hint').some((problem) => problem.code === 'relaxed-json'));
    assert.ok(!problemsOf(json({})).some((problem) => problem.code === 'relaxed-json'));
  });

  describe('refuses what DeepSpeed refuses', () => {
    // Checked against the Pydantic models of DeepSpeed 0.19.8 where they decide.
    const both = { offload_optimizer: { device: 'cpu' } };
    const table: readonly (readonly [string, object, readonly string[]])[] = [
      ['stage as text', { zero_optimization: { stage: '2' } }, []],
      ['stage as float', { zero_optimization: { stage: 2.0 } }, []],
      ['stage as flag', { zero_optimization: { stage: true } }, []],
      ['stage 4', { zero_optimization: { stage: 4 } }, ['wrong-type']],
      ['stage null', { zero_optimization: { stage: null } }, ['wrong-type']],
      ['bucket 5e8', { zero_optimization: { reduce_bucket_size: 5e8 } }, []],
      ['bucket "500"', { zero_optimization: { reduce_bucket_size: '500' } }, []],
      ['bucket "5e8"', { zero_optimization: { reduce_bucket_size: '5e8' } }, ['wrong-type']],
      ['bucket 2.5', { zero_optimization: { reduce_bucket_size: 2.5 } }, ['wrong-type']],
      ['bucket 0', { zero_optimization: { reduce_bucket_size: 0 } }, ['out-of-range']],
      ['flag as word', { zero_optimization: { overlap_comm: 'no' } }, []],
      ['flag null where null is the default', { zero_optimization: { overlap_comm: null } }, []],
      ['no offload', { zero_optimization: { offload_param: null } }, []],
      [
        'offload to gpu',
        { zero_optimization: { stage: 3, offload_param: { device: 'gpu' } } },
        ['wrong-type'],
      ],
      [
        'offload to CPU',
        { zero_optimization: { stage: 3, offload_param: { device: 'CPU' } } },
        ['wrong-type'],
      ],
      ['offload in short', { zero_optimization: { stage: 3, offload_param: 'cpu' } }, ['wrong-type']],
      [
        'old and new offload',
        { zero_optimization: { stage: 2, cpu_offload: false, ...both } },
        ['old-and-new-key'],
      ],
      [
        'old and new name',
        {
          zero_optimization: {
            stage: 3,
            stage3_gather_fp16_weights_on_model_save: true,
            stage3_gather_16bit_weights_on_model_save: true,
          },
        },
        ['old-and-new-key'],
      ],
      [
        'with and without prefix',
        { zero_optimization: { stage: 3, max_live_parameters: 1, stage3_max_live_parameters: 2 } },
        ['old-and-new-key'],
      ],
      [
        'partial offload below stage 3',
        { zero_optimization: { stage: 2, offload_optimizer: { device: 'cpu', ratio: 0.5 } } },
        ['zero-stage-needed'],
      ],
      [
        'partial offload',
        { zero_optimization: { stage: 3, offload_optimizer: { device: 'cpu', ratio: 0.5 } } },
        [],
      ],
      [
        'key of the other block',
        { zero_optimization: { stage: 2, offload_optimizer: { device: 'cpu', buffer_size: 1 } } },
        ['unknown-key'],
      ],
      [
        'NVMe without a path',
        { zero_optimization: { stage: 3, offload_param: { device: 'nvme' } } },
        ['nvme-path-missing'],
      ],
      ['norm off', { zero_optimization: { stage: 0, compute_grad_norm: false } }, ['zero-stage-needed']],
      ['block as list', { zero_optimization: [] }, ['wrong-type']],
      ['block null', { zero_optimization: null }, ['wrong-type']],
      ['fp16 null', { fp16: null }, ['wrong-type']],
      ['bf16 null', { bf16: null }, []],
      ['unknown fp16 key', { fp16: { enabled: true, opt_level: 'O2' } }, ['unknown-key']],
      ['enabled null', { bf16: { enabled: null } }, ['wrong-type']],
      ['enabled 2', { fp16: { enabled: 2 } }, ['wrong-type']],
      ['auto is dropped', { zero_optimization: { stage3_max_live_parameters: 'auto' } }, []],
      ['two precisions', { fp16: { enabled: true }, bf16: { enabled: true } }, ['two-precisions']],
      ['one precision', { fp16: { enabled: false }, bf16: { enabled: true } }, []],
      ['amp and ZeRO', { amp: { enabled: true }, zero_optimization: { stage: 1 } }, ['amp-combination']],
      ['amp and fp16', { amp: { enabled: true }, fp16: { enabled: true } }, ['amp-combination']],
      [
        'gradient type without ZeRO',
        { bf16: { enabled: true }, data_types: { grad_accum_dtype: 'fp32' } },
        ['gradient-type'],
      ],
      [
        'parameter type',
        { bf16: { enabled: true }, data_types: { param_dtype: 'fp16' } },
        ['parameter-type'],
      ],
      [
        'masters without ZeRO',
        { bf16: { enabled: true, bf16_master_weights_and_grads: true } },
        ['zero-stage-needed'],
      ],
      [
        'states without masters',
        { zero_optimization: { stage: 1 }, bf16: { enabled: true, bf16_optimizer_states: true } },
        ['masters-needed'],
      ],
      ['negative loss scale', { fp16: { enabled: true, loss_scale: -1 } }, ['loss-scale']],
      ['loss scale window', { fp16: { enabled: true, loss_scale_window: 0 } }, ['loss-scale']],
      [
        '1-bit and ZeRO',
        { optimizer: { type: 'OneBitAdam' }, zero_optimization: { stage: 1 } },
        ['onebit-zero'],
      ],
      [
        'LAMB with a static scale',
        { optimizer: { type: 'Lamb' }, fp16: { enabled: true, loss_scale: 128 } },
        ['lamb-loss-scale'],
      ],
      ['untested', { optimizer: { type: 'SGD' }, zero_optimization: { stage: 1 } }, ['untested-optimizer']],
      [
        'untested but allowed',
        { optimizer: { type: 'SGD' }, zero_optimization: { stage: 1 }, zero_allow_untested_optimizer: true },
        [],
      ],
      ['sum at stage 3', { gradient_allreduce_op: 'sum', zero_optimization: { stage: 3 } }, ['gradient-sum']],
      ['sum', { gradient_allreduce_op: 'sum', zero_optimization: { stage: 2 } }, []],
      [
        'predivide at stage 3',
        { gradient_predivide_factor: 2, zero_optimization: { stage: 3 } },
        ['predivide-stage3'],
      ],
      [
        'autocast and quantized weights',
        {
          torch_autocast: { enabled: true, dtype: 'bfloat16' },
          zero_optimization: { stage: 3, zero_quantized_weights: true },
        },
        ['autocast-quantized'],
      ],
      ['odd bucket', { zero_optimization: { stage: 2, allgather_bucket_size: 3 } }, ['odd-bucket']],
      ['legacy stage 1', { zero_optimization: { stage: 1, legacy_stage1: true } }, ['legacy-stage1']],
      ['batch 0', { train_micro_batch_size_per_gpu: 0 }, ['batch-positive']],
      ['batch as text', { train_micro_batch_size_per_gpu: '8' }, ['wrong-type']],
      ['compile backend', { compile: { backend: 'inductor' } }, ['unknown-key']],
    ];
    for (const [name, config, expected] of table) {
      it(name, () => assert.deepEqual(refused(json(config, { 'version.deepspeed': '0.19.6' })), expected));
    }
  });

  // Read in the packages 0.9.5 to 0.19.8: the first release with the check, and the last without.
  describe('checks of later releases', () => {
    const bf16 = { bf16: { enabled: true } };
    const table: [name: string, config: object, first: string, before: string][] = [
      ['fp32 gradients of bf16', { ...bf16, data_types: { grad_accum_dtype: 'fp32' } }, '0.18.5', '0.18.4'],
      ['parameter type', { ...bf16, data_types: { param_dtype: 'fp16' } }, '0.19.2', '0.19.1'],
      [
        'autocast beside quantized weights',
        {
          torch_autocast: { enabled: true, dtype: 'bfloat16' },
          zero_optimization: { stage: 3, zero_quantized_weights: true },
        },
        '0.17.2',
        '0.17.1',
      ],
      ['negative loss scale', { fp16: { enabled: true, loss_scale: -1 } }, '0.18.8', '0.18.7'],
      ['loss scale window', { fp16: { enabled: true, loss_scale_window: 0 } }, '0.19.3', '0.19.2'],
      [
        'sum at stage 3',
        { gradient_allreduce_op: 'sum', zero_optimization: { stage: 3 } },
        '0.19.6',
        '0.19.5',
      ],
    ];
    for (const [name, config, first, before] of table) {
      it(`${name}: an error from ${first} on, a warning where nobody names the version`, () => {
        const severities = (version?: string) =>
          at(config, version)
            .problems.filter(({ severity }) => severity === 'error' || severity === 'warning')
            .map(({ severity }) => severity);
        const without = severities(before).length;
        assert.deepEqual(
          severities(first).filter((severity) => severity === 'error'),
          ['error'],
        );
        assert.equal(without, severities(first).length - 1);
        assert.ok(!severities(before).includes('error'));
        assert.ok(!severities().includes('error'));
      });
    }

    it('fp16 gradients of bf16 are refused by every release', () => {
      const config = { ...bf16, data_types: { grad_accum_dtype: 'fp16' } };
      assert.deepEqual(refused(json(config, { 'version.deepspeed': '0.9.5' })), ['gradient-type']);
    });
  });

  it('tells silently ignored keys from foreign ones', () => {
    const typo = json({ gradient_acumulation_steps: 4 });
    const [warning] = problemsOf(typo, 'warning');
    assert.equal(warning?.code, 'unknown-key');
    assert.equal(warning.data?.replacement, 'gradient_accumulation_steps');
    const foreign = problemsOf(json({ cuda_visible_devices: '0' }));
    assert.deepEqual(
      foreign.map((problem) => [problem.code, problem.severity]),
      [['unknown-key', 'hint']],
    );
    assert.deepEqual(problemsOf(json({ _comment: 'why' })), []);
    const inside = zero({ stage: 3, stage3_param_persistance_threshold: 1 });
    assert.equal(problemsOf(inside, 'error')[0]?.data?.replacement, 'stage3_param_persistence_threshold');
  });

  it('points out what has no effect', () => {
    const offload = zero({ stage: 2, offload_param: { device: 'cpu' } });
    assert.deepEqual(
      problemsOf(offload, 'warning').map((problem) => problem.code),
      ['ignored-key'],
    );
    assert.equal(factOf(offload, 'offload.parameters'), undefined);
    assert.deepEqual(
      problemsOf(zero({ stage: 1, sub_group_size: 1e9 }), 'hint').map((problem) => problem.code),
      ['ignored-key'],
    );
  });

  it('judges removed keys by the version', () => {
    const config = { elasticity: { enabled: true } };
    const severity = (version?: string) => problemsOf(at(config, version)).map((p) => p.severity);
    assert.deepEqual(severity(), ['warning']);
    assert.deepEqual(severity('0.19'), ['warning']);
    assert.deepEqual(severity('0.19.8'), ['error']);
    assert.deepEqual(severity('0.16.4'), []);
  });

  describe('batch triangle', () => {
    it('derives like DeepSpeed, by floor division', () => {
      assert.deepEqual(completeBatch({ micro: 4, accumulation: 2 }, 8), {
        global: 64,
        micro: 4,
        accumulation: 2,
        dataParallel: 8,
      });
      assert.equal(completeBatch({ global: 64, micro: 4 }, 8).accumulation, 2);
      assert.equal(completeBatch({ global: 64, accumulation: 2 }, 8).micro, 4);
      assert.equal(completeBatch({ global: 64 }, 8).micro, 8);
      assert.equal(completeBatch({ micro: 4 }, 8).global, 32);
      assert.equal(completeBatch({ accumulation: 4 }, 8).micro, undefined);
      assert.equal(completeBatch({ global: 10, micro: 4 }, 1).contradiction?.product, 8);
      assert.equal(completeBatch({ global: 64, micro: 4, accumulation: 2 }, undefined).dataParallel, 8);
      assert.ok(completeBatch({ global: 65, micro: 4, accumulation: 2 }, undefined).contradiction);
    });

    it('is checked once the number of GPUs is known', () => {
      const config = {
        train_batch_size: 64,
        train_micro_batch_size_per_gpu: 4,
        gradient_accumulation_steps: 2,
      };
      assert.deepEqual(refused(json(config, { 'hardware.gpus': 8 })), []);
      const [problem] = problemsOf(json(config, { 'hardware.gpus': 4 }), 'error');
      assert.equal(problem?.code, 'batch-triangle');
      assert.equal(problem.data?.product, 32);
      assert.equal(problem.related?.length, 2);
      assert.deepEqual(refused(json(config, { 'hardware.gpus': 16, 'parallel.tensor': 2 })), []);
      assert.deepEqual(refused(json({ ...config, sequence_parallel_size: 2 }, { 'hardware.gpus': 16 })), []);
      assert.equal(stated(json({ ...config, sequence_parallel_size: 2 }), 'hardware.gpus'), '16 inferred');
    });

    it('is wrong for every number of GPUs where it does not divide', () => {
      const config = {
        train_batch_size: 10,
        train_micro_batch_size_per_gpu: 4,
        gradient_accumulation_steps: 1,
      };
      assert.deepEqual(refused(json(config)), ['batch-triangle']);
    });

    it('waits for what the caller fills in', () => {
      const config = {
        train_batch_size: 'auto',
        train_micro_batch_size_per_gpu: 'auto',
        gradient_accumulation_steps: 3,
      };
      const reading = json(config, { 'hardware.gpus': 8 });
      assert.equal(factOf(reading, 'batch.micro'), undefined);
      assert.deepEqual(refused(reading), []);
      assert.equal(stated(reading, 'batch.accumulation'), '3 file');
    });

    it('derives the micro batch', () => {
      const reading = read(
        'deepspeed',
        'ds.json',
        '{"train_batch_size": 64, "zero_optimization": {"stage": 2}}',
        {
          'hardware.gpus': 8,
        },
      );
      assert.equal(stated(reading, 'batch.micro'), '8 inferred');
      const missing = read('deepspeed', 'ds.json', '{"zero_optimization": {"stage": 2}}');
      assert.deepEqual(
        problemsOf(missing, 'warning').map((problem) => problem.code),
        ['batch-missing'],
      );
    });
  });

  it('takes the stage of Accelerate for `auto`: 2, or that of its flag', () => {
    const auto = { zero_optimization: { stage: 'auto', offload_param: { device: 'cpu' } } };
    const { autos } = json(auto);
    assert.deepEqual(
      fillAutos(autos, { known: {} }).map(({ field, value }) => [field, value]),
      [['zero.stage', 2]],
    );
    assert.equal(stated(json(auto), 'offload.parameters'), undefined, 'stage 2 offloads no weights');
    const flagged = json(auto, { 'zero.stage': 3 });
    assert.equal(stated(flagged, 'offload.parameters'), 'cpu file');
    assert.deepEqual(problemsOf(flagged, 'error'), []);
  });

  it('fills autos from the model, as the Hugging Face Trainer does', () => {
    const { autos } = zero({
      stage: 3,
      reduce_bucket_size: 'auto',
      stage3_prefetch_bucket_size: 'auto',
      stage3_param_persistence_threshold: 'auto',
    });
    const filled = fillAutos(autos, { known: {}, hiddenSize: 4096, uri: 'file:///ds.json' });
    assert.deepEqual(
      filled.map((fact) => [fact.field, fact.value]),
      [
        ['zero.reduceBucket', 16777216],
        ['zero.prefetchBucket', 15099494],
        ['zero.persistenceThreshold', 40960],
      ],
    );
    assert.ok(filled.every((fact) => fact.origin.kind === 'inferred' && fact.origin.location));
    assert.deepEqual(fillAutos(autos, { known: {} }), []);
    const precision = json({ fp16: { enabled: 'auto' } }).autos;
    assert.deepEqual(
      fillAutos(precision, { known: { 'precision.compute': 'fp16' } }).map((fact) => fact.value),
      ['deepspeed', 'fp16'],
    );
  });

  it('pins offloaded states by the default of its version', () => {
    const pinnedBy = (version: string) => {
      const { facts } = json(
        { zero_optimization: { stage: 2, offload_optimizer: { device: 'cpu' } } },
        { 'version.deepspeed': version },
      );
      const pinned = facts.find(({ field }) => field === 'offload.pinMemory');
      return [pinned?.value, pinned?.origin.note];
    };
    assert.deepEqual(pinnedBy('0.19.4'), [false, 'DeepSpeed default before 0.19.5']);
    assert.deepEqual(pinnedBy('0.19.5'), [true, 'DeepSpeed default since 0.19.5']);
  });
});
