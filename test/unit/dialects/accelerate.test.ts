import assert from 'node:assert/strict';
import { accelerateWords } from '../../../server/src/dialects/accelerate/accelerate-words';
import type { FieldPath, TrainingRun } from '../../../server/src/run/fields';
import { factOf, problemsOf, read, refused, stated } from './reading';

const yaml = (text: string) => read('accelerate', 'file:///a.yaml', text);
const config = (type: string, rest: string) =>
  yaml(`compute_environment: LOCAL_MACHINE\ndistributed_type: ${type}\n${rest}`);
const expectAll = (
  reading: ReturnType<typeof yaml>,
  expected: Partial<Record<FieldPath, string | undefined>>,
) => {
  for (const [field, value] of Object.entries(expected)) {
    assert.equal(stated(reading, field as FieldPath), value, field);
  }
};

describe('Accelerate', () => {
  it('multiplies in fp8 inside autocast to bf16, by the library that is named', () => {
    const fp8 = (more = '') => config('MULTI_GPU', `num_processes: 8\nmixed_precision: fp8\n${more}`);
    assert.equal(stated(fp8(), 'precision.compute'), 'bf16 file');
    assert.equal(stated(fp8(), 'precision.scheme'), 'autocast file');
    assert.equal(stated(fp8(), 'precision.fp8'), 'torchao file');
    assert.equal(stated(fp8('fp8_config:\n  backend: TE\n'), 'precision.fp8'), 'transformer-engine file');
    const old = (level: string) => `fp8_config:\n  backend: MSAMP\n${level}`;
    assert.equal(stated(fp8(old('')), 'precision.fp8'), 'ms-amp-o2 file');
    assert.equal(stated(fp8(old('  opt_level: O1\n')), 'precision.fp8'), 'ms-amp-o1 file');
    const engine = config('DEEPSPEED', `num_processes: 8\nmixed_precision: fp8\n${old('')}`);
    assert.equal(stated(engine, 'precision.fp8'), undefined);
    assert.ok(engine.problems.some(({ code }) => code === 'fp8-not-modelled'));
  });

  it('states GPUs and nodes at their place', () => {
    const reading = config('MULTI_GPU', 'num_machines: 2\nnum_processes: 16\nmixed_precision: bf16\n');
    assert.deepEqual(factOf(reading, 'hardware.gpus')?.origin, {
      kind: 'file',
      key: 'num_processes',
      note: undefined,
      location: {
        uri: 'file:///a.yaml',
        range: { start: { line: 3, character: 15 }, end: { line: 3, character: 17 } },
      },
    });
    expectAll(reading, {
      framework: 'accelerate default',
      'hardware.gpus': '16 file',
      'hardware.nodes': '2 file',
      'parallel.data': 'ddp file',
      'precision.scheme': 'autocast file',
      'precision.compute': 'bf16 file',
      'precision.weights': 'fp32 inferred',
    });
    assert.match(factOf(reading, 'precision.weights')?.origin.note ?? '', /transformers 5/);
    assert.deepEqual(problemsOf(reading), []);
  });

  it('reads one GPU', () => {
    const reading = config("'NO'", "mixed_precision: 'no'\n");
    expectAll(reading, {
      'hardware.gpus': '1 file',
      'parallel.data': 'none file',
      'precision.scheme': 'native default',
    });
    const unquoted = config('NO', 'num_processes: 8\n');
    expectAll(unquoted, { 'hardware.gpus': '1 file', 'precision.scheme': 'native default' });
    assert.deepEqual(
      problemsOf(unquoted, 'warning').map((problem) => problem.code),
      ['ignored-key'],
    );
  });

  it('knows the traps of YAML 1.1', () => {
    const [problem] = problemsOf(config('MULTI_GPU', 'num_processes: 2\nmixed_precision: no\n'), 'error');
    assert.equal(problem?.code, 'yaml-boolean');
    assert.equal(problem.data?.replacement, "'no'");
    assert.deepEqual(
      refused(config('MULTI_GPU', "num_processes: 2\nmixed_precision: 'no'\ndowncast_bf16: no\n")),
      [],
    );
    const fsdp = config('FSDP', "num_processes: 2\nfsdp_config:\n  fsdp_offload_params: 'true'\n");
    assert.equal(stated(fsdp, 'offload.parameters'), 'cpu file');
  });

  it('is compiled where the backend fuses operations, which some do not and others may', () => {
    const compiled = (backend: string) => {
      const reading = config('MULTI_GPU', `num_processes: 2\ndynamo_config: {dynamo_backend: ${backend}}\n`);
      const left = (reading.unread ?? []).flatMap(({ fields = [] }) => fields);
      return [stated(reading, 'kernels.compile'), ...left];
    };
    assert.deepEqual(compiled('INDUCTOR'), ['true file']);
    assert.deepEqual(compiled('EAGER'), ['false file']);
    assert.deepEqual(compiled("'NO'"), ['false file']);
    assert.deepEqual(compiled('AOT_EAGER'), [undefined, 'kernels.compile']);
  });

  it('reads old spellings', () => {
    const reading = config('MULTI_GPU', 'num_processes: 2\nfp16: true\ndynamo_backend: INDUCTOR\n');
    expectAll(reading, { 'precision.compute': 'fp16 file', 'kernels.compile': 'true file' });
    assert.equal(problemsOf(reading, 'hint').length, 2);
  });

  describe('FSDP', () => {
    it('reads version 1', () => {
      const reading = config(
        'FSDP',
        `num_processes: 8
mixed_precision: bf16
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_sharding_strategy: 2
  fsdp_backward_prefetch: BACKWARD_PRE
  forward_prefetch: true
  fsdp_offload_params: false
  fsdp_activation_checkpointing: true
  fsdp_use_orig_params: false
`,
      );
      expectAll(reading, {
        'parallel.data': 'fsdp1 file',
        'precision.scheme': 'fsdp file',
        'precision.masterWeights': 'fp32 file',
        'precision.weights': 'fp32 inferred',
        'precision.reduce': 'bf16 default',
        'fsdp.strategy': 'grad-op file',
        'fsdp.wrap': 'layer file',
        'fsdp.backwardPrefetch': 'pre file',
        'fsdp.forwardPrefetch': 'true file',
        'fsdp.useOriginalParameters': 'false file',
        'activations.checkpointing': 'full file',
        'offload.parameters': 'none file',
      });
      assert.deepEqual(refused(reading), []);
    });

    it('takes the old name of a setting from the releases that have it', () => {
      const old = (version: string, more = '') =>
        read(
          'accelerate',
          'file:///a.yaml',
          `distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_backward_prefetch_policy: BACKWARD_PRE\n${more}`,
          { 'version.accelerate': version },
        );
      assert.equal(stated(old('0.33.0'), 'fsdp.backwardPrefetch'), 'pre file');
      // The old name goes before the new one (`utils/launch.py`).
      const both = old('0.33.0', '  fsdp_backward_prefetch: BACKWARD_POST\n');
      assert.equal(stated(both, 'fsdp.backwardPrefetch'), 'pre file');
      assert.deepEqual([problemsOf(old('0.33.0')), old('0.33.0').unread], [[], undefined]);
      assert.equal(stated(old('1.14.0'), 'fsdp.backwardPrefetch'), 'none default');
      const [problem] = problemsOf(old('1.14.0'));
      assert.equal(problem?.code, 'unknown-key');
      assert.equal(
        problem?.message,
        'Accelerate has no key `fsdp_backward_prefetch_policy` any more, since version 1.0.1.',
      );
      assert.equal(problem?.data?.replacement, 'fsdp_backward_prefetch');
    });

    it('reads version 2', () => {
      const reading = config(
        'FSDP',
        'num_processes: 8\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: false\n  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n',
      );
      expectAll(reading, {
        'parallel.data': 'fsdp2 file',
        'fsdp.strategy': 'grad-op file',
        'fsdp.wrap': 'size file',
        'fsdp.minParameters': '100000000 default',
        'fsdp.backwardPrefetch': 'none default',
      });
    });

    it('assumes that nothing is wrapped without a policy', () => {
      assert.equal(
        stated(config('FSDP', 'num_processes: 8\nfsdp_config: {}\n'), 'fsdp.wrap'),
        'none default',
      );
    });

    it('reads every sharding strategy by name and number', () => {
      const names = ['FULL_SHARD', 'SHARD_GRAD_OP', 'NO_SHARD', 'HYBRID_SHARD', 'HYBRID_SHARD_ZERO2'];
      const values = ['full', 'grad-op', 'none', 'hybrid', 'hybrid-grad-op'];
      names.forEach((name, index) => {
        for (const written of [name, name.toLowerCase(), index + 1]) {
          const reading = config(
            'FSDP',
            `num_processes: 8\nfsdp_config:\n  fsdp_sharding_strategy: ${written}\n`,
          );
          assert.equal(stated(reading, 'fsdp.strategy'), `${values[index]} file`);
        }
      });
    });
  });

  describe('DeepSpeed', () => {
    it('reads settings in place', () => {
      const reading = config(
        'DEEPSPEED',
        `num_processes: 8
mixed_precision: bf16
deepspeed_config:
  zero_stage: 3
  gradient_accumulation_steps: 4
  offload_optimizer_device: cpu
  offload_param_device: none
`,
      );
      expectAll(reading, {
        'parallel.data': 'zero file',
        'zero.stage': '3 file',
        'zero.reduceBucket': '500000000 default',
        'zero.overlapCommunication': 'true default',
        'batch.accumulation': '4 file',
        'offload.optimizer': 'cpu file',
        'offload.parameters': 'none file',
        'precision.scheme': 'deepspeed file',
        'precision.weights': 'bf16 file',
      });
      assert.deepEqual(problemsOf(reading), []);
    });

    it('gives the defaults of Accelerate', () => {
      const reading = config(
        'DEEPSPEED',
        'num_processes: 8\ndeepspeed_config:\n  gradient_accumulation_steps: auto\n',
      );
      expectAll(reading, { 'zero.stage': '2 default', 'batch.accumulation': undefined });
      assert.deepEqual(
        reading.autos.map((auto) => auto.key),
        ['deepspeed_config.gradient_accumulation_steps'],
      );
    });

    it('links a DeepSpeed file and leaves everything to it', () => {
      const reading = config(
        'DEEPSPEED',
        'num_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: ds/zero3.json\n',
      );
      assert.deepEqual(reading.links, [
        {
          path: 'ds/zero3.json',
          key: 'deepspeed_config.deepspeed_config_file',
          role: 'deepspeed',
          range: { start: { line: 4, character: 25 }, end: { line: 4, character: 38 } },
        },
      ]);
      expectAll(reading, {
        'zero.stage': undefined,
        'precision.weights': undefined,
        'parallel.data': 'zero file',
      });
    });

    it('refuses settings beside the file', () => {
      for (const key of ['zero_stage: 2', 'offload_param_device: cpu', 'gradient_clipping: 1.0']) {
        const text = `num_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: a.json\n  ${key}\n`;
        assert.deepEqual(refused(config('DEEPSPEED', text)), ['deepspeed-file-conflict'], key);
      }
      const mixed =
        "num_processes: 8\nmixed_precision: 'no'\ndeepspeed_config:\n  deepspeed_config_file: a.json\n";
      const [problem] = problemsOf(config('DEEPSPEED', mixed), 'error');
      assert.equal(problem?.code, 'deepspeed-file-conflict');
      assert.equal(problem.related?.length, 1);
      const allowed =
        'num_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: a.json\n  zero3_init_flag: true\n';
      assert.deepEqual(refused(config('DEEPSPEED', allowed)), []);
    });
  });

  it('reads the classes that stage 3 takes for one module each', () => {
    const text =
      'num_processes: 8\ndeepspeed_config:\n  zero_stage: 3\n  deepspeed_moe_layer_cls_names: MixtralSparseMoeBlock, GptOssMLP\n';
    assert.deepEqual(factOf(config('DEEPSPEED', text), 'zero.leafModules')?.value, [
      'MixtralSparseMoeBlock',
      'GptOssMLP',
    ]);
    const none = text.replace(/ {2}deepspeed_moe.*\n/, '');
    assert.equal(factOf(config('DEEPSPEED', none), 'zero.leafModules'), undefined);
  });

  it('reads Megatron-LM', () => {
    const reading = config(
      'MEGATRON_LM',
      `num_processes: 16
mixed_precision: bf16
megatron_lm_config:
  megatron_lm_tp_degree: 4
  megatron_lm_pp_degree: 2
  megatron_lm_num_micro_batches: 8
  megatron_lm_sequence_parallelism: true
  megatron_lm_recompute_activations: 'true'
  megatron_lm_use_distributed_optimizer: true
`,
    );
    expectAll(reading, {
      'precision.scheme': 'megatron file',
      'parallel.tensor': '4 file',
      'parallel.pipeline': '2 file',
      'batch.accumulation': '8 file',
      'parallel.sequence': 'true file',
      'activations.checkpointing': 'selective file',
      'parallel.distributedOptimizer': 'true file',
    });
  });

  it('reads how Megatron-LM splits stages and experts, and which layers it recomputes', () => {
    const of = (method: string) =>
      config(
        'MEGATRON_LM',
        `num_processes: 16
megatron_lm_config:
  megatron_lm_pp_degree: 2
  megatron_lm_expert_tensor_parallel_size: 1
  megatron_lm_decoder_last_pipeline_num_layers: 15
  megatron_lm_recompute_granularity: full
  megatron_lm_recompute_method: ${method}
  megatron_lm_recompute_num_layers: 4
`,
      );
    expectAll(of('uniform'), {
      'parallel.expertTensor': '1 file',
      'parallel.lastStageLayers': '15 file',
      'activations.checkpointEvery': '4 file',
    });
    expectAll(of('block'), { 'activations.checkpointing': 'full file', 'activations.layers': '4 file' });
  });

  it('reads parallelism sizes', () => {
    const sizes = (replicate: number, shard: number, tp: number, cp: number, sp: number) =>
      `parallelism_config:
  parallelism_config_dp_replicate_size: ${replicate}
  parallelism_config_dp_shard_size: ${shard}
  parallelism_config_tp_size: ${tp}
  parallelism_config_cp_size: ${cp}
  parallelism_config_sp_size: ${sp}
`;
    const fsdp2 = (text: string) =>
      config('FSDP', `num_processes: 16\nfsdp_config:\n  fsdp_version: 2\n${text}`);
    const reading = fsdp2(sizes(2, 4, 2, 1, 1));
    expectAll(reading, {
      'parallel.replicate': '2 file',
      'parallel.tensor': '2 file',
      'parallel.context': '1 file',
      'fsdp.strategy': 'hybrid default',
    });
    assert.deepEqual(refused(reading), []);
    assert.deepEqual(refused(fsdp2(sizes(1, 4, 2, 1, 1))), ['parallelism-product']);
    assert.deepEqual(refused(fsdp2(sizes(8, 1, 2, 1, 1))), ['parallelism']);
    assert.deepEqual(refused(fsdp2(sizes(1, 4, 1, 2, 2))), ['parallelism']);
    assert.deepEqual(refused(config('FSDP', `num_processes: 4\n${sizes(1, 4, 1, 1, 1)}`)), ['parallelism']);
    assert.equal(
      stated(config('DEEPSPEED', `num_processes: 8\n${sizes(1, 1, 1, 1, 2)}`), 'parallel.ulysses'),
      '2 file',
    );
  });

  it('names the instance of a SageMaker job', () => {
    const reading = yaml(
      `compute_environment: AMAZON_SAGEMAKER
distributed_type: DATA_PARALLEL
ec2_instance_type: ml.p4d.24xlarge
iam_role_name: r
num_machines: 2
mixed_precision: fp16
`,
    );
    assert.equal(stated(reading, 'hardware.gpu'), 'A100-SXM4-40GB file');
    assert.equal(stated(reading, 'hardware.instance'), 'p4d.24xlarge file');
    assert.equal(stated(reading, 'hardware.gpus'), '16 file');
    const gpus = reading.facts.find(({ field }) => field === 'hardware.gpus');
    assert.deepEqual(gpus?.origin.location?.range.start, { line: 2, character: 19 });
    assert.equal(stated(reading, 'hardware.nodes'), '2 file');
    assert.deepEqual(refused(reading), []);
    const local = config('MULTI_GPU', 'num_processes: 2\nec2_instance_type: ml.p4d.24xlarge\n');
    assert.deepEqual(refused(local), ['unknown-key']);
  });

  it('has words for the offload of checkpoints under FSDP 2 alone, where there are any', () => {
    const speak = accelerateWords['activations.offload'];
    const worded = (parallel: 'ddp' | 'fsdp1' | 'fsdp2', kept: 'full' | 'none') => {
      const run = { 'parallel.data': parallel, 'activations.checkpointing': kept } as TrainingRun;
      return speak?.(true, { run, changes: {}, text: () => undefined, items: () => [] });
    };
    assert.deepEqual(
      [worded('ddp', 'full'), worded('fsdp1', 'full'), worded('fsdp2', 'none')],
      [undefined, undefined, undefined],
    );
    assert.deepEqual(
      worded('fsdp2', 'full')?.map(({ key }) => key),
      ['fsdp_config.fsdp_activation_checkpointing_offload'],
    );
  });

  it('reads but does not estimate other accelerators', () => {
    const refusals = (reading: ReturnType<typeof yaml>) =>
      (reading.unread ?? []).filter(({ kind }) => kind === 'refused').map(({ message }) => message);
    for (const [type, devices, processes] of [
      ['XLA', 'TPUs', 8],
      ['MULTI_XPU', 'accelerators of type MULTI_XPU', 8],
      ['MULTI_NPU', 'accelerators of type MULTI_NPU', 8],
      ['MULTI_CPU', 'CPUs', undefined],
    ] as const) {
      const reading = yaml(`distributed_type: ${type}\nnum_processes: 8\nmixed_precision: bf16\n`);
      assert.equal(factOf(reading, 'hardware.gpus')?.value, processes, type);
      assert.deepEqual(refusals(reading), [
        `Oomlint estimates GPU memory: runs on ${devices} are read but not estimated.`,
      ]);
      assert.deepEqual(
        problemsOf(reading, 'information').map((problem) => problem.code),
        ['not-estimated'],
      );
    }
    const xpus = yaml(
      "distributed_type: MULTI_XPU\nnum_processes: 4\nnum_machines: 2\nmixed_precision: 'bf16'\n",
    );
    expectAll(xpus, {
      'hardware.nodes': '2 file',
      'parallel.data': 'ddp file',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'autocast file',
    });
    assert.deepEqual(refusals(config('MULTI_GPU', 'num_processes: 4\n')), []);
    assert.deepEqual(
      problemsOf(config("'NO'", 'use_cpu: true\n'), 'information').map((problem) => problem.code),
      ['not-estimated'],
    );
  });

  describe('refuses what Accelerate refuses', () => {
    const table: readonly (readonly [string, string, string, readonly string[]])[] = [
      ['an unknown key', 'MULTI_GPU', 'num_proceses: 2\nnum_processes: 2\n', ['unknown-key']],
      ['an unknown type', 'MULTI_GPUS', 'num_processes: 2\n', ['distributed-type']],
      ['an unknown precision', 'MULTI_GPU', 'num_processes: 2\nmixed_precision: tf32\n', ['mixed-precision']],
      ['one GPU for several', 'MULTI_GPU', "num_processes: 2\ngpu_ids: '0'\n", ['one-gpu-id']],
      ['several GPUs', 'MULTI_GPU', 'num_processes: 2\ngpu_ids: 0,1\n', []],
      [
        'a strategy in FSDP 2',
        'FSDP',
        'num_processes: 2\nfsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: FULL_SHARD}\n',
        ['reshard-flag'],
      ],
      [
        'an unknown strategy',
        'FSDP',
        'num_processes: 2\nfsdp_config: {fsdp_sharding_strategy: FULL}\n',
        ['sharding-strategy'],
      ],
      [
        'an unknown wrap policy',
        'FSDP',
        'num_processes: 2\nfsdp_config: {fsdp_auto_wrap_policy: LAYERS}\n',
        ['wrong-type'],
      ],
      [
        'local state dicts in FSDP 2',
        'FSDP',
        'num_processes: 2\nfsdp_config: {fsdp_version: 2, fsdp_state_dict_type: LOCAL_STATE_DICT}\n',
        ['state-dict-type'],
      ],
      [
        'efficient loading without sync',
        'FSDP',
        'num_processes: 2\nfsdp_config: {fsdp_sync_module_states: false}\n',
        ['sync-module-states'],
      ],
      [
        'neither',
        'FSDP',
        'num_processes: 2\nfsdp_config: {fsdp_sync_module_states: false, fsdp_cpu_ram_efficient_loading: false}\n',
        [],
      ],
      [
        'offloaded checkpoints alone',
        'FSDP',
        'num_processes: 2\nfsdp_config: {fsdp_version: 2, fsdp_activation_checkpointing_offload: true}\n',
        ['checkpointing-needed'],
      ],
    ];
    for (const [name, type, text, expected] of table) {
      it(name, () => assert.deepEqual(refused(config(type, text)), expected));
    }
  });

  // `utils/dataclasses.py` and `utils/launch.py` of 0.21 to 1.15.
  for (const [name, block, code, first, before] of [
    [
      'local state dicts',
      '{fsdp_version: 2, fsdp_state_dict_type: LOCAL_STATE_DICT}',
      'state-dict-type',
      '1.7.0',
      '1.6.0',
    ],
    ['loading without sync', '{fsdp_sync_module_states: false}', 'sync-module-states', '0.24.0', '0.21.0'],
  ] as const)
    it(`refuses ${name} from ${first} on`, () => {
      const of = (version: string) =>
        read(
          'accelerate',
          'file:///a.yaml',
          `compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 2\nfsdp_config: ${block}\n`,
          {},
          { accelerate: { version, source: 'pinned' } },
        ).problems.flatMap((problem) => (problem.code === code ? [problem.severity] : []));
      assert.deepEqual(of(first), ['error']);
      assert.deepEqual(of(before), []);
    });

  it('points out what has no effect', () => {
    const reading = config('MULTI_GPU', 'num_processes: 2\nfsdp_config:\n  fsdp_offload_params: true\n');
    assert.deepEqual(
      problemsOf(reading, 'warning').map((problem) => problem.code),
      ['ignored-key'],
    );
    const inner = config('FSDP', 'num_processes: 2\nfsdp_config:\n  fsdp_ofload_params: true\n');
    assert.equal(problemsOf(inner, 'warning')[0]?.data?.replacement, 'fsdp_offload_params');
  });

  it('asks for the number of processes', () => {
    assert.deepEqual(
      problemsOf(config('MULTI_GPU', 'num_machines: 1\n'), 'information').map((problem) => problem.code),
      ['processes-missing'],
    );
  });

  it('reads the JSON of old versions', () => {
    const text =
      '{"compute_environment": "LOCAL_MACHINE", "distributed_type": "MULTI_GPU", "fp16": true, "num_processes": 2}';
    expectAll(read('accelerate', 'a.json', text), {
      'hardware.gpus': '2 file',
      'precision.compute': 'fp16 file',
    });
  });
});
