import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { problemsOf, read, refused, stated } from './reading';

const trlx = (text: string) => read('trlx', 'file:///w/ppo.yml', text);

const PPO = `train:
  seq_length: 550
  batch_size: 8
  total_steps: 1000
  eval_interval: 100
  trainer: AcceleratePPOTrainer
model:
  model_path: EleutherAI/gpt-j-6B
  num_layers_unfrozen: 2
optimizer:
  name: adamw
method:
  name: ppoconfig
  chunk_size: 16
  gen_kwargs:
    max_new_tokens: 50
`;

describe('trlX', () => {
  it('reads PPO with the reference of the trained layers alone', () => {
    const reading = trlx(PPO);
    assert.equal(stated(reading, 'model.id'), 'EleutherAI/gpt-j-6B file');
    assert.equal(stated(reading, 'batch.micro'), '8 file');
    assert.equal(stated(reading, 'batch.accumulation'), '1 default');
    assert.equal(stated(reading, 'batch.sequence'), '550 file');
    assert.equal(stated(reading, 'method.objective'), 'ppo file');
    assert.equal(stated(reading, 'method.kind'), 'freeze file');
    assert.equal(stated(reading, 'method.trainableLayers'), '2 file');
    assert.equal(stated(reading, 'method.referenceModel'), 'false file');
    assert.equal(stated(reading, 'rollout.batch'), '16 file');
    assert.equal(stated(reading, 'rollout.completion'), '50 file');
    assert.equal(stated(reading, 'precision.weights'), 'fp32 default');
    assert.equal(stated(reading, 'optimizer.name'), 'adamw file');
    assert.equal(stated(reading, 'schedule.steps'), '1000 file');
  });

  it('keeps a second model where all layers are trained, none with adapters', () => {
    const whole = trlx(PPO.replace('num_layers_unfrozen: 2', 'num_layers_unfrozen: -1'));
    assert.equal(stated(whole, 'method.referenceModel'), 'true file');
    assert.equal(stated(whole, 'method.kind'), 'full default');
    const adapters = trlx(
      PPO.replace('  num_layers_unfrozen: 2', '  peft_config:\n    peft_type: LORA\n    r: 4\n'),
    );
    assert.equal(stated(adapters, 'method.kind'), 'lora file');
    assert.equal(stated(adapters, 'lora.rank'), '4 file');
    assert.equal(stated(adapters, 'method.referenceModel'), 'false file');
  });

  it('names the layers that are trained once the model is known', () => {
    const document = parseConfig('file:///w/ppo.yml', PPO);
    const facts = detectDialect(document)?.read(document, { known: {}, model: { layers: 28 } }).facts ?? [];
    const trained = facts.find(({ field }) => field === 'method.trainable')?.value as readonly string[];
    const matches = (name: string) => trained.some((pattern) => new RegExp(`^(?:${pattern})`).test(name));
    assert.ok(matches('transformer.h.27.mlp.fc_in.weight'));
    assert.ok(matches('lm_head.weight'));
    assert.ok(!matches('transformer.h.2.mlp.fc_in.weight'));
    assert.ok(!matches('transformer.wte.weight'));
  });

  it('takes the largest value of a sweep, and reports it', () => {
    const sweep = `tune_config:
  mode: max
train:
  seq_length:
    strategy: choice
    values: [36, 52, 48]
  batch_size:
    strategy: quniform
    values: [8, 32, 64]
  trainer: AcceleratePPOTrainer
model:
  model_path: gpt2
  num_layers_unfrozen:
    strategy: randint
    values: [2, 4]
method:
  name: ppoconfig
`;
    const reading = trlx(sweep);
    assert.equal(stated(reading, 'batch.sequence'), '52 file');
    assert.equal(stated(reading, 'batch.micro'), '32 file');
    assert.equal(stated(reading, 'method.trainableLayers'), '3 file');
    const length = reading.facts.find(({ field }) => field === 'batch.sequence');
    assert.equal(length?.origin.note, 'the largest value of the sweep');
    assert.deepEqual(length?.origin.location?.range, {
      start: { line: 5, character: 17 },
      end: { line: 5, character: 19 },
    });
  });

  it('refuses a minibatch that does not divide, and nothing else', () => {
    const with_ = (size: number) =>
      trlx(PPO.replace('batch_size: 8', `batch_size: 8\n  minibatch_size: ${size}`));
    assert.deepEqual(refused(with_(3)), ['minibatch-does-not-divide']);
    assert.deepEqual(refused(with_(4)), []);
    assert.equal(stated(with_(4), 'batch.micro'), '4 file');
    assert.equal(stated(with_(4), 'batch.accumulation'), '2 file');
  });

  it('reports what has no effect and what is left out', () => {
    const codes = (text: string) => problemsOf(trlx(text), 'warning', 'information').map(({ code }) => code);
    assert.deepEqual(codes(PPO), []);
    assert.deepEqual(
      codes(PPO.replace('num_layers_unfrozen: 2', 'num_layers_unfrozen: 2\n  peft_config: {r: 4}')),
      ['dead-key'],
    );
    assert.deepEqual(codes(PPO.replace('ppoconfig', 'ilqlconfig').replace('PPOTrainer', 'ILQLTrainer')), [
      'heads-not-modelled',
    ]);
  });

  it('reads configs of 2022', () => {
    const old = trlx(
      'model:\n  model_path: gpt2\n  model_type: AcceleratePPOModel\ntrain:\n  n_ctx: 512\n  batch_size: 4\nmethod:\n  name: ppoconfig\n',
    );
    assert.equal(stated(old, 'batch.sequence'), '512 file');
    assert.equal(stated(old, 'method.objective'), 'ppo file');
  });
});
