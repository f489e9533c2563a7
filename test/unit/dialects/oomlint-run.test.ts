import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { factOf, problemsOf, read, stated } from './reading';

const run = (text: string) => read('oomlint-run', 'file:///r.yaml', text);

describe('Oomlint run files', () => {
  it('accept nested mappings, dotted keys and short forms', () => {
    const nested = `run:
  model: {id: meta-llama/Llama-3.1-8B}
  batch: {micro: 2, sequence: 4096}
  hardware:
    gpu: H100-SXM5-80GB
    gpus: 8
    gpuMemory: 79GiB
  precision: {weights: bf16, scheme: deepspeed}
  lora: {targets: [q_proj, v_proj]}
  zero.reduceBucket: 5e8
`;
    const dotted = `run:
  model: meta-llama/Llama-3.1-8B
  batch.micro: 2
  batch.sequence: 4096
  gpu: H100-SXM5-80GB
  hardware.gpus: "8"
  hardware.gpuMemory: 79 GiB
  precision.weights: bfloat16
  precision.scheme: deepspeed
  lora.targets: q_proj, v_proj
  zero: {reduceBucket: 500000000}
`;
    for (const text of [nested, dotted]) {
      const reading = run(text);
      assert.deepEqual(reading.problems, []);
      assert.equal(stated(reading, 'model.id'), 'meta-llama/Llama-3.1-8B file');
      assert.equal(stated(reading, 'batch.micro'), '2 file');
      assert.equal(stated(reading, 'hardware.gpu'), 'H100-SXM5-80GB file');
      assert.equal(stated(reading, 'hardware.gpus'), '8 file');
      assert.equal(stated(reading, 'hardware.gpuMemory'), `${79 * 2 ** 30} file`);
      assert.equal(stated(reading, 'precision.weights'), 'bf16 file');
      assert.equal(stated(reading, 'zero.reduceBucket'), '500000000 file');
      assert.deepEqual(factOf(reading, 'lora.targets')?.value, ['q_proj', 'v_proj']);
    }
    assert.deepEqual(factOf(run(nested), 'batch.micro')?.origin, {
      kind: 'file',
      key: 'run.batch.micro',
      location: {
        uri: 'file:///r.yaml',
        range: { start: { line: 2, character: 17 }, end: { line: 2, character: 18 } },
      },
    });
  });

  it('accept JSON and an architecture in place', () => {
    const reading = read(
      'oomlint-run',
      'r.json',
      '{"run": {"model": {"config": {"hidden_size": 64}}, "batch": {"micro": 1}}}',
    );
    assert.deepEqual(factOf(reading, 'model.config')?.value, { hidden_size: 64 });
  });

  it('link a model by path', () => {
    const reading = run('run:\n  model: {path: ./models/tiny}\n  batch: {micro: 1}\n');
    assert.deepEqual(
      reading.links.map((link) => [link.path, link.role]),
      [['./models/tiny', 'model']],
    );
    assert.equal(
      stated(run('run: {model: ./models/tiny, batch: {micro: 1}}'), 'model.path'),
      './models/tiny file',
    );
  });

  it('suggest near names for unknown fields', () => {
    const reading = run('run:\n  batch: {mirco: 2, micro: 1}\n  hardwear: {gpu: H100}\n');
    assert.deepEqual(
      problemsOf(reading, 'error').map((problem) => [problem.code, problem.data?.replacement]),
      [
        ['unknown-key', 'micro'],
        ['unknown-key', 'hardware'],
      ],
    );
  });

  it('report wrong values at the value', () => {
    const reading = run('run:\n  batch: {micro: two}\n  precision: {weights: int3}\n  offload: cpu\n');
    assert.deepEqual(
      problemsOf(reading, 'error').map((problem) => [
        problem.code,
        problem.range.start.line,
        problem.range.start.character,
      ]),
      [
        ['wrong-value', 1, 17],
        ['wrong-value', 2, 23],
        ['wrong-type', 3, 11],
      ],
    );
  });

  it('take blank values as not stated', () => {
    assert.deepEqual(run('run:\n  batch:\n    micro:\n  model:\n').facts, []);
  });

  it('are not mistaken for the run mappings of other tools', () => {
    const detect = (uri: string, text: string) => detectDialect(parseConfig(uri, text))?.id;
    assert.equal(detect('oomlint.yaml', 'run:\n  batch: {micro: 2}\n'), undefined);
    assert.equal(detect('/x/.oomlint.yml', 'run:\n  batch: {micro: 2}\n'), undefined);
    assert.equal(
      detect('launch.yaml', 'run:\n  name: x\n  results_dir: /r\n  time_limit: "1"\n  nodes: 2\n'),
      undefined,
    );
    assert.equal(detect('ci.yaml', 'jobs:\n  a:\n    steps:\n      - run: npm test\n'), undefined);
    assert.equal(detect('a.yaml', 'run: npm test\n'), undefined);
    assert.equal(detect('a.oomlint.yaml', 'run:\n'), 'oomlint-run');
  });
});
