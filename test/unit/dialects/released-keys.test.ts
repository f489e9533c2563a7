import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { parseConfig } from '../../../server/src/config/parse';
import { TRAINING_ARGUMENTS_TABLE } from '../../../server/src/dialects/hf/training-arguments-keys';
import { inRelease } from '../../../server/src/dialects/key-check';
import { detectDialect } from '../../../server/src/dialects/registry';

/** What is reported of the keys of a file: code, severity and key or message. */
function stated(family: string, uri: string, text: string, known: Readonly<Record<string, unknown>> = {}) {
  const document = parseConfig(uri, text);
  const dialect = detectDialect(document);
  assert.equal(dialect?.id, family);
  return dialect
    .read(document, { known })
    .problems.filter(({ code }) => code === 'unknown-key' || code === 'wrong-type')
    .map(({ code, severity, message }) => `${code} ${severity}: ${message}`);
}

const MEGATRON = `MODEL_ARGS:
  --num-layers: 2
  --hidden-size: 64
  --num-attention-heads: 4
  --micro-batch-size: 1
`;

describe('keys that releases of a framework have', () => {
  it("are not unknown, though no row has them: Megatron's fp4", () => {
    assert.deepEqual(
      stated('megatron', 'file:///a.yaml', `${MEGATRON}  --fp4-format: e2m1\n  --fp4-recipe: nvfp4\n`),
      [],
    );
    assert.equal(
      stated('megatron', 'file:///a.yaml', `${MEGATRON}  --fp7-format: e2m1\n`)[0]?.split(':')[0],
      'unknown-key warning',
    );
  });

  it('take null where the framework does, or hands it on', () => {
    assert.deepEqual(
      stated(
        'nemo',
        'file:///a.yaml',
        'trainer:\n  devices: 1\n  num_nodes: null\nmodel:\n  micro_batch_size: null\n  hidden_dropout: null\n',
      ),
      [],
    );
    assert.deepEqual(
      stated(
        'accelerate',
        'file:///a.yaml',
        'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 2\nnum_machines: null\nuse_cpu: null\n',
      ),
      [],
    );
    assert.deepEqual(
      stated(
        'verl',
        'file:///a.yaml',
        'actor_rollout_ref:\n  model:\n    path: a/b\n    lora_rank: null\n  actor:\n    ppo_mini_batch_size: null\n  rollout:\n    n: null\ndata:\n  train_batch_size: null\ntrainer:\n  nnodes: null\nalgorithm: {}\n',
      ),
      [],
    );
  });

  it('are those of another release: the message states which, and the refusal hangs on it', () => {
    const unknown = { severity: 'error', message: 'unknown' } as const;
    const judged = (key: string, version?: string) =>
      inRelease(unknown, '', key, TRAINING_ARGUMENTS_TABLE, version);
    assert.deepEqual(judged('use_liger_kernel', '4.40.0'), {
      severity: 'error',
      message: 'Trainer knows the key `use_liger_kernel` since version 4.45.2.',
      releases: { until: '4.45.2' },
    });
    assert.equal(judged('use_liger_kernel'), undefined);
    assert.deepEqual(judged('evaluation_strategy', '5.0.0'), {
      severity: 'error',
      message: 'Trainer has no key `evaluation_strategy` any more, since version 4.51.3.',
      releases: { from: '4.51.3' },
    });
    assert.deepEqual(judged('no_such_key', '5.0.0'), unknown);
  });

  it('are read for the families that are asked about them, not at every start', () => {
    // In a process of its own: here other tests have read them.
    const script = `
      const { parse } = JSON;
      const read = [];
      JSON.parse = (text, ...more) => {
        const value = parse(text, ...more);
        if (String(text).startsWith('{"source"')) read.push(value.source);
        return value;
      };
      require('./scripts/typescript.cjs');
      const { DIALECTS } = require('./server/src/dialects/registry.ts');
      const atStart = [...read];
      for (const { type } of DIALECTS.find(({ id }) => id === 'megatron').keys) void type;
      console.log(JSON.stringify({ atStart, asked: read }));`;
    const out = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    assert.deepEqual(JSON.parse(out), { atStart: [], asked: ['NVIDIA/Megatron-LM'] });
  });
});
