import assert from 'node:assert/strict';
import fc from 'fast-check';
import { estimate } from '../../../server/src/estimate';
import { type Detail, detailOf } from '../../../server/src/explanation/detail';
import { findAccelerator } from '../../../server/src/hardware/catalog';
import { findModel, modelNames } from '../../../server/src/model/catalog';
import type { Model } from '../../../server/src/model/model';
import { type DetailNode, UNEXPLAINED } from '../../../server/src/results/detail-node';
import type { Estimate } from '../../../server/src/results/estimate';
import { CATEGORY_LABELS } from '../../../server/src/results/labels';
import { FIELDS, type FieldPath, type RunValues } from '../../../server/src/run/fields';
import { LONG, runs } from '../../unit/long';
import { aModel, aRun, CARD, SMALL_LLAMA } from '../../unit/memory/a-run';

const small = aModel(SMALL_LLAMA);

function open(values: RunValues, model: Model = small, sample?: number): Detail {
  return detailOf({ run: aRun(values), model, accelerator: CARD }, sample);
}

function leaves(node: DetailNode): DetailNode[] {
  return node.children ? node.children.flatMap(leaves) : [node];
}

function child(node: DetailNode | undefined, name: string): DetailNode {
  const found = node?.children?.find((one) => one.name === name);
  assert.ok(found, `${name} among ${node?.children?.map((one) => one.name).join(', ')}`);
  return found;
}

function find(node: DetailNode, name: string): DetailNode | undefined {
  if (node.name === name) return node;
  for (const one of node.children ?? []) {
    const found = find(one, name);
    if (found) return found;
  }
  return undefined;
}

/** Every node is the sum of its children, in whole bytes, none negative, none without a formula. */
function checkSums(node: DetailNode): void {
  assert.ok(Number.isInteger(node.value) && node.value >= 0, `${node.name}: ${node.value}`);
  assert.notEqual(node.name, UNEXPLAINED);
  if (!node.children) {
    assert.ok(node.formula, `${node.name} has no formula`);
    assert.ok(node.source?.url.startsWith('https://'), `${node.name} has no source`);
    return;
  }
  const sum = node.children.reduce((total, one) => total + one.value, 0);
  assert.equal(sum, node.value, node.name);
  for (const one of node.children) checkSums(one);
}

/** Parts whose posts are of tensors or weights alone: nothing of them may stay without a name. */
const REPORTED = [
  'weights',
  'quantized weights',
  'adapters',
  'reference model',
  'master weights',
  'gradients',
  'optimizer states',
  'activations',
  'checkpoints',
  'logits and loss',
  'autocast cache',
];

function checkDetail(
  values: RunValues,
  model: Model = small,
): { readonly whole: Estimate; readonly detail: Detail } {
  const run = aRun(values);
  const whole = estimate({ run, model, accelerator: CARD });
  const detail = open(values, model);
  assert.equal(detail.memory.value, whole.peak.processBytes);
  for (const { category, bytes } of whole.parts) {
    assert.equal(child(detail.memory, CATEGORY_LABELS[category]).value, bytes, category);
  }
  checkSums(detail.memory);
  assert.ok(detail.astrayBytes < 1, `${detail.astrayBytes} bytes astray`);
  for (const name of REPORTED) {
    assert.equal(find(detail.memory, `other ${name}`), undefined, `other ${name}`);
  }
  return { whole, detail };
}

const SHARDING: readonly RunValues[] = [
  {},
  { 'parallel.data': 'ddp', 'hardware.gpus': 8 },
  ...[0, 1, 2, 3].map(
    (stage): RunValues => ({
      'parallel.data': 'zero',
      'zero.stage': stage,
      'precision.scheme': 'deepspeed',
      'precision.compute': 'bf16',
      'hardware.gpus': 8,
    }),
  ),
  { 'parallel.data': 'zero', 'zero.stage': 3, 'offload.optimizer': 'cpu', 'hardware.gpus': 4 },
  ...(['fsdp1', 'fsdp2'] as const).map(
    (data): RunValues => ({
      'parallel.data': data,
      'precision.scheme': 'fsdp',
      'precision.compute': 'bf16',
      'hardware.gpus': 8,
    }),
  ),
  { 'parallel.data': 'fsdp1', 'fsdp.strategy': 'grad-op', 'hardware.gpus': 2 },
  { 'parallel.tensor': 2, 'hardware.gpus': 2 },
  { 'parallel.pipeline': 4, 'batch.accumulation': 8, 'hardware.gpus': 4 },
  { 'precision.scheme': 'megatron', 'precision.compute': 'bf16', 'hardware.gpus': 2, 'parallel.tensor': 2 },
];

const CHECKPOINTING: readonly RunValues[] = [
  {},
  { 'activations.checkpointing': 'full', 'activations.reentrant': true },
  { 'activations.checkpointing': 'full', 'activations.reentrant': false },
  { 'activations.checkpointing': 'full', 'activations.checkpointEvery': 2 },
  { 'activations.checkpointing': 'full', 'activations.offload': true },
  { 'activations.checkpointing': 'selective' },
];

const METHODS: readonly RunValues[] = [
  {},
  { 'method.kind': 'lora', 'lora.rank': 16 },
  { 'method.kind': 'lora', 'quantization.kind': 'nf4', 'precision.compute': 'bf16' },
  { 'method.kind': 'freeze', 'method.trainableLayers': 2 },
  { 'precision.scheme': 'autocast', 'precision.compute': 'bf16' },
  { 'precision.weights': 'bf16', 'precision.compute': 'bf16', 'batch.accumulation': 4 },
];

const EVALUATED: RunValues = {
  'evaluation.enabled': true,
  'evaluation.batch': 4,
  'evaluation.samples': 64,
  'evaluation.predictions': 'logits',
  'saving.weights': 'full',
};

describe('the opened memory', function () {
  this.timeout(120_000);

  for (const sharding of SHARDING) {
    it(`adds up: ${JSON.stringify(sharding)}`, () => {
      for (const checkpointing of CHECKPOINTING) checkDetail({ ...sharding, ...checkpointing });
    });
  }

  for (const method of METHODS) {
    it(`adds up: ${JSON.stringify(method)}`, () => {
      for (const checkpointing of CHECKPOINTING) checkDetail({ ...method, ...checkpointing });
    });
  }

  it('adds up for architectures of the catalog', () => {
    const known = new Map<string, Model>();
    for (const id of modelNames()) {
      const model = findModel(id);
      if (model && !known.has(model.modelType)) known.set(model.modelType, model);
    }
    assert.ok(known.size > 50);
    // Each with another scheme, method and checkpointing: together they meet most pairs. Every sixth of them, in the long run all.
    [...known.values()].forEach((model, turn) => {
      if (!LONG && turn % 6 !== 0) return;
      const values = {
        'batch.sequence': 512,
        ...SHARDING[turn % 11],
        ...METHODS[turn % METHODS.length],
        ...CHECKPOINTING[turn % 5],
      };
      const { whole, detail } = checkDetail(values, model);
      const parameters = detail.figures.find(({ name }) => name === 'parameters');
      assert.equal(parameters?.value, whole.model.totalParameters, model.id);
    });
  });

  // Experts' routers have a bias that is no trained one, and lies in one flat weight with those that are.
  for (const id of ['LiquidAI/LFM2-8B-A1B', 'deepseek-ai/DeepSeek-V3', 'zai-org/GLM-4.5']) {
    it(`adds up where FSDP 1 gives frozen weights of ${id} gradients`, () => {
      const model = findModel(id);
      assert.ok(model);
      for (const strategy of ['full', 'grad-op'] as const) {
        for (const checkpointing of [CHECKPOINTING[0], CHECKPOINTING[3]]) {
          const flat = { 'parallel.data': 'fsdp1', 'fsdp.strategy': strategy, 'hardware.gpus': 2 } as const;
          const values = { 'batch.sequence': 512, ...flat, ...checkpointing };
          checkDetail(values, model);
          checkDetail({ ...values, 'method.kind': 'freeze', 'method.trainableLayers': 2 }, model);
          // Each stretch of backward is a moment; the middle of them, and the step.
          const { timeline } = estimate({ run: aRun(values), model, accelerator: CARD });
          for (const share of [0.6, 0.9])
            checkSums(open(values, model, Math.floor(share * timeline.length)).memory);
        }
      }
    });
  }

  it("adds up where layers keep the batch's waveform as it came", () => {
    const model = findModel('facebook/wav2vec2-base');
    assert.ok(model);
    for (const checkpointing of CHECKPOINTING) {
      for (const method of [METHODS[1], METHODS[4]])
        checkDetail({ 'batch.sequence': 16_000, ...method, ...checkpointing }, model);
    }
  });

  it('adds up whatever a field of the vocabulary states', () => {
    const base = { 'batch.micro': 2, 'batch.accumulation': 2, ...SHARDING[5] } as const;
    checkDetail(base);
    // Each value in the long run, else every second, and each way of a flag.
    for (const [path, spec] of Object.entries(FIELDS)) {
      const values: readonly unknown[] =
        spec.type === 'choice'
          ? spec.values.filter((_: unknown, place: number) => LONG || place % 2 === 1)
          : spec.type === 'flag'
            ? [true, false]
            : [];
      // A value that the base has is the base, which adds up already.
      for (const value of values)
        if (aRun(base)[path as FieldPath] !== value) checkDetail({ ...base, [path]: value });
    }
  });

  it('adds up for any mixture', () => {
    fc.assert(
      fc.property(
        fc.record({
          sharding: fc.constantFrom(...SHARDING),
          checkpointing: fc.constantFrom(...CHECKPOINTING),
          method: fc.constantFrom(...METHODS),
          micro: fc.integer({ min: 1, max: 9 }),
          sequence: fc.integer({ min: 1, max: 5000 }),
          liger: fc.boolean(),
          eager: fc.boolean(),
        }),
        ({ sharding, checkpointing, method, micro, sequence, liger, eager }) => {
          checkDetail({
            ...sharding,
            ...method,
            ...checkpointing,
            'batch.micro': micro,
            'batch.sequence': sequence,
            'kernels.liger': liger,
            'attention.implementation': eager ? 'eager' : 'sdpa',
          });
        },
      ),
      { numRuns: runs(20, 200) },
    );
  });

  it('adds up at every sample of the timeline', () => {
    let turn = 0;
    for (const values of [...CHECKPOINTING, ...SHARDING.slice(1), ...METHODS, EVALUATED]) {
      const { timeline } = estimate({ run: aRun(values), model: small, accelerator: CARD });
      // Every sample in the long run; else a third of them, another third for each run, with the ends.
      const third = turn++ % 3;
      timeline.forEach((sample, index) => {
        const end = index === 0 || index === timeline.length - 1;
        if (!LONG && !end && index % 3 !== third) return;
        const detail = open(values, small, index);
        assert.equal(detail.memory.value, sample.bytes, sample.label);
        checkSums(detail.memory);
        assert.ok(detail.astrayBytes < 1, `${sample.label}: ${detail.astrayBytes} bytes astray`);
      });
    }
  });

  it('names tensors by shape, type, count and what keeps them', () => {
    const values: RunValues = {
      'precision.weights': 'bf16',
      'precision.compute': 'bf16',
      'optimizer.name': 'sgd',
    };
    const { memory } = open(values);
    const activations = child(memory, 'activations');
    const gate = child(child(activations, 'layers 0-7'), 'mlp.gate_proj');
    assert.deepEqual(gate.tensor, {
      shape: [1, 1024, 5632],
      dtype: 'bf16',
      bytesEach: 2 * 1024 * 5632,
      count: 8,
    });
    assert.equal(gate.value, 8 * 2 * 1024 * 5632);
    assert.equal(gate.why, 'kept for backward of act_fn');
    assert.equal(gate.formula, '2 B × 1 sample × 1024 tokens × 5632 = 11 MiB × 8');
    assert.match(gate.source?.url ?? '', /v2\.8\.0\/tools\/autograd\/derivatives\.yaml#L2100$/);
  });

  it('tells weights and states by kind of module', () => {
    const { memory } = open({ 'optimizer.name': 'adamw' });
    for (const [part, width] of [
      ['weights', 4],
      ['optimizer states', 8],
    ] as const) {
      const mlp = child(child(memory, part), 'MLP');
      assert.equal(mlp.value, width * 8 * 3 * 2048 * 5632, part);
      const attention = child(child(memory, part), 'attention');
      assert.equal(attention.value, width * 8 * 4 * 2048 * 2048, part);
      const up = child(mlp, 'layers 0-7 mlp.up_proj.weight');
      assert.equal(up.formula, `${width} B × 5632 × 2048 × 8`);
    }
  });

  it('counts the gradients that are there while backward runs', () => {
    const values: RunValues = { 'optimizer.name': 'sgd' };
    const { timeline } = estimate({ run: aRun(values), model: small, accelerator: CARD });
    const index = timeline.findIndex(
      ({ moment, label }) => moment === 'backward' && label.startsWith('layer 7'),
    );
    const { memory } = open(values, small, index);
    const head = find(child(memory, 'gradients'), 'head: lm_head.weight');
    assert.equal(head?.value, 4 * 32000 * 2048);
    const down = leaves(child(memory, 'gradients')).find(({ name }) => name.endsWith('mlp.down_proj.weight'));
    assert.equal(down?.tensor?.count, 1);
    assert.equal(down?.formula, '4 B × 2048 × 5632');
  });

  it('counts checkpoints of layers, and reports why they are there', () => {
    const { memory } = open({
      'activations.checkpointing': 'full',
      'batch.micro': 16,
      'optimizer.name': 'sgd',
    });
    const [input] = leaves(child(memory, 'checkpoints'));
    assert.equal(input?.value, 16 * 8 * 4 * 1024 * 2048);
    assert.match(input?.why ?? '', /input of a checkpointed layer/);
  });

  const figure = (detail: Detail, name: string): DetailNode => {
    const found = detail.figures.find((one) => one.name === name);
    assert.ok(found, name);
    return found;
  };

  it('opens every other figure of the estimate, with formula and source', () => {
    const values: readonly RunValues[] = [
      {},
      { 'activations.checkpointing': 'full', 'method.objective': 'dpo', 'method.kind': 'lora' },
      { 'parallel.data': 'zero', 'zero.stage': 3, 'offload.optimizer': 'cpu', 'hardware.gpus': 8 },
    ];
    for (const one of values) {
      const whole = estimate({ run: aRun(one), model: small, accelerator: CARD });
      const detail = open(one);
      assert.equal(figure(detail, 'process').value, whole.peak.processBytes);
      assert.equal(figure(detail, 'lower bound').value, whole.peak.lowerBytes);
      assert.equal(figure(detail, 'upper bound').value, whole.peak.upperBytes);
      assert.equal(figure(detail, 'usable memory').value, whole.capacityBytes);
      assert.equal(figure(detail, 'parameters').value, whole.model.totalParameters);
      assert.equal(figure(detail, 'trained parameters').value, whole.model.trainableParameters);
      assert.equal(figure(detail, 'tokens per step').value, whole.compute.tokensPerStep);
      if (whole.host.bytesPerNode > 0)
        assert.equal(figure(detail, 'host memory').value, whole.host.bytesPerNode);
      for (const node of detail.figures) {
        assert.ok(node.formula, `${node.name} has no formula`);
        if (node.name !== 'usable memory') assert.ok(node.source, `${node.name} has no source`);
      }
    }
  });

  it('opens time, energy and cost of a run whose length is known', () => {
    const card = findAccelerator('H100-SXM5-80GB');
    assert.ok(card);
    const run = aRun({
      'hardware.gpu': card.name,
      'hardware.gpus': 8,
      'parallel.data': 'ddp',
      'precision.scheme': 'autocast',
      'precision.compute': 'bf16',
      'schedule.steps': 5000,
    });
    const { compute } = estimate({ run, model: small, accelerator: card });
    const detail = detailOf({ run, model: small, accelerator: card });
    const { time } = compute;
    assert.ok(time?.runSeconds && time.costUsd && time.energyKwh);
    assert.equal(figure(detail, 'time per step').value, time.stepSeconds.likely);
    assert.equal(figure(detail, 'time of the run').value, time.runSeconds.likely);
    assert.equal(figure(detail, 'energy').value, time.energyKwh.likely);
    assert.equal(figure(detail, 'cost').value, time.costUsd.likely);
    assert.match(figure(detail, 'time of the run').formula ?? '', /^5,000 steps × /);
    const flops = figure(detail, 'FLOPs of the run').value;
    assert.ok(Math.abs(flops / (5000 * compute.flopsPerStep) - 1) < 1e-9);
  });

  it('counts FLOPs operator by operator, and they add up to those of the step', () => {
    for (const checkpointing of CHECKPOINTING) {
      for (const method of METHODS) {
        const values = { ...checkpointing, ...method, 'hardware.gpus': 4, 'parallel.data': 'ddp' } as const;
        const whole = estimate({ run: aRun(values), model: small, accelerator: CARD });
        const flops = figure(open(values), 'FLOPs per step');
        const sum = leaves(flops).reduce((total, one) => total + one.value, 0);
        assert.ok(
          Math.abs(sum / whole.compute.flopsPerStep - 1) < 1e-9,
          `${JSON.stringify(values)}: ${sum} for ${whole.compute.flopsPerStep}`,
        );
      }
    }
  });

  it('tells the active parameters of a mixture of experts', () => {
    const model = findModel('mistralai/Mixtral-8x7B-v0.1');
    assert.ok(model);
    const detail = open({ 'batch.sequence': 128 }, model);
    assert.equal(figure(detail, 'parameters').value, 46_702_792_704);
    assert.equal(figure(detail, 'active parameters').value, model.parameters.active);
    const experts = child(figure(detail, 'active parameters'), 'experts');
    assert.ok(experts.children?.some((one) => one.formula?.includes('× 0.25 of the experts')));
  });
});
