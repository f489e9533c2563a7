import { strict as assert } from 'node:assert';
import * as fc from 'fast-check';
import { estimate } from '../../../server/src/estimate';
import { FIELDS, type RunValues } from '../../../server/src/run/fields';
import { runs } from '../long';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const model = aModel(SMALL_LLAMA);
const N = model.parameters.total;
const bf16 = { 'precision.weights': 'bf16', 'precision.compute': 'bf16' } as const;

function of(values: RunValues) {
  return estimate({ run: aRun({ ...bf16, 'batch.micro': 2, ...values }), model, accelerator: CARD });
}

function part(e: ReturnType<typeof of>, moment: string, category: string): number {
  const samples = e.timeline.filter((sample) => sample.moment === moment);
  return Math.max(0, ...samples.map(({ parts }) => parts.find((p) => p.category === category)?.bytes ?? 0));
}

const frozen = (values: RunValues) => part(of(values), 'optimizer-step', 'reference-model');

describe('frozen models beside the trained one', () => {
  it('a reference of DPO is the model once more, unless its answers were computed before', () => {
    const dpo = { 'method.objective': 'dpo', 'method.referenceModel': true } as const;
    assert.equal(frozen(dpo), 2 * N);
    assert.equal(frozen({ ...dpo, 'method.frozenDtype': 'fp32' }), 4 * N);
    assert.equal(frozen({ ...dpo, 'method.precomputedReference': true }), 0);
  });

  it('adapters and modules trained beside them are no part of it', () => {
    const lora = { 'method.kind': 'lora', 'method.referenceModel': true } as const;
    assert.equal(frozen({ ...lora, 'lora.modulesToSave': ['lm_head'] }), 2 * N);
  });

  it('a copy of the adapters lies in fp32, one of what is trained in full beside them in the type of the weights', () => {
    const lora = {
      'method.kind': 'lora',
      'lora.targets': ['q_proj'],
      'method.referenceAdapter': true,
    } as const;
    const saved = { ...lora, 'lora.modulesToSave': ['lm_head'] } as const;
    const [adapters, both] = [lora, saved].map((values) => of(values).model.trainableParameters) as [
      number,
      number,
    ];
    assert.equal(frozen(lora), 4 * adapters);
    assert.equal(frozen({ ...lora, 'lora.dtype': 'bf16' }), 4 * adapters);
    assert.equal(frozen(saved), 4 * adapters + 2 * (both - adapters));
    assert.equal(frozen({ 'method.referenceAdapter': true }), 0);
  });

  it('reward models and a teacher of another size', () => {
    const values = {
      'method.referenceModel': true,
      'method.frozenModels': 1,
      'method.frozenParameters': 1_000_000,
    } as const;
    assert.equal(frozen(values), 4 * N + 2_000_000);
  });

  it('are split by ZeRO 3 and FSDP as the trained one is, unless they are stated not to be', () => {
    const zero3: RunValues = {
      'parallel.data': 'zero',
      'zero.stage': 3,
      'precision.scheme': 'deepspeed',
      'precision.weights': 'fp32',
      'hardware.gpus': 8,
      'method.referenceModel': true,
    };
    assert.equal(frozen(zero3), (2 * N) / 8, 'cast to bf16');
    assert.equal(frozen({ ...zero3, 'method.frozenSharded': false }), 2 * N);
    assert.equal(frozen({ ...zero3, 'zero.stage': 2 }), 2 * N);
  });

  it('PPO in TRL keeps the scores of all generated tokens, twice while they are joined, and beside those of the reference', () => {
    const ppo: RunValues = {
      'method.objective': 'ppo',
      'rollout.engine': 'transformers',
      'rollout.batch': 16,
      'rollout.completion': 53,
    };
    const plain = part(of(ppo), 'generation', 'logits-and-loss');
    const kept = part(of({ ...ppo, 'rollout.sequences': 64 }), 'generation', 'logits-and-loss');
    assert.ok(kept > plain);
    const scores = 64 * 53 * model.vocabulary * 4;
    assert.equal(kept, scores + 16 * 1024 * model.vocabulary * 2);
    const few = part(
      of({ ...ppo, 'rollout.batch': 4, 'rollout.sequences': 64 }),
      'generation',
      'logits-and-loss',
    );
    assert.equal(few, 2 * scores);
  });

  it('a value model that runs with the policy is not counted twice', () => {
    const apart = of({ 'method.objective': 'ppo', 'method.valueModel': true });
    const together = of({
      'method.objective': 'ppo',
      'method.valueModel': true,
      'method.valueTogether': true,
    });
    // The head of the value model is a score of one number instead of the vocabulary.
    assert.equal(
      apart.model.trainableParameters - together.model.trainableParameters,
      model.vocabulary * model.hiddenSize - model.hiddenSize,
    );
    const kept = (e: typeof apart) => part(e, 'loss', 'activations');
    assert.ok(kept(together) > 1.9 * kept(apart));
  });

  it('a value model is trained: weights, gradients and states once more', () => {
    const plain = of({ 'method.objective': 'ppo' });
    const valued = of({ 'method.objective': 'ppo', 'method.valueModel': true });
    for (const category of ['weights', 'gradients', 'optimizer-states']) {
      const of1 = part(plain, 'optimizer-step', category);
      assert.equal(part(valued, 'optimizer-step', category), 2 * of1, category);
    }
  });
});

describe('losses of log-probabilities', () => {
  const V = 32000;
  const highest = (values: RunValues) =>
    Math.max(part(of(values), 'loss', 'logits-and-loss'), part(of(values), 'backward', 'logits-and-loss'));

  it('pairs of completions run through the model as one batch', () => {
    const pairwise = ['dpo', 'ipo', 'orpo', 'cpo', 'simpo', 'reward', 'online-dpo'] as const;
    const lm = part(of({}), 'loss', 'activations');
    for (const objective of pairwise) {
      const activations = part(of({ 'method.objective': objective }), 'loss', 'activations');
      assert.ok(activations > 1.9 * lm, objective);
    }
    for (const objective of ['kto', 'grpo', 'ppo', 'distillation'] as const) {
      const activations = part(of({ 'method.objective': objective }), 'loss', 'activations');
      assert.ok(activations < 1.1 * lm, objective);
    }
  });

  it('bf16 logits keep a log-softmax per sample beside the logits themselves', () => {
    const logits = 4 * 1024 * V;
    const dpo = highest({ 'method.objective': 'dpo' });
    // Logits and log-softmax; in backward the gradient of each, per sample and stacked.
    assert.ok(dpo >= 6 * logits && dpo <= 8 * logits, `${dpo / logits} bytes per logit`);
  });

  it('older trainers keep the log-softmax of all logits, and fill a gradient of its size', () => {
    const logits = 4 * 1024 * V;
    const dpo = { 'method.objective': 'dpo' } as const;
    // fp32: the logits, their shifted slice and its log-softmax; in backward that, what was picked, and its gradient.
    const wide = highest({ ...dpo, 'loss.implementation': 'full-log-softmax' });
    assert.ok(wide >= 12 * logits && wide <= 14 * logits, `${wide / logits} bytes per logit`);
    const old = highest({ ...dpo, 'version.trl': '0.14' });
    assert.ok(old >= 6 * logits && old <= 8 * logits, `${old / logits} bytes per logit`);
    const tokens = { 'method.objective': 'grpo' } as const;
    assert.equal(
      highest({ ...tokens, 'version.trl': '0.14' }),
      highest({ ...tokens, 'version.trl': '0.15' }),
    );
  });

  it('completions alone are scored where the method generates them', () => {
    const whole = highest({ 'method.objective': 'grpo', 'batch.sequence': 2048 });
    const scored = highest({
      'method.objective': 'grpo',
      'batch.sequence': 2048,
      'rollout.completion': 511,
    });
    // A quarter of the positions; the highest point of the step may lie elsewhere then.
    assert.ok(scored <= whole / 4 + 1024 && scored >= whole / 6 - 1024, `${scored} of ${whole}`);
  });

  it('the fused head of TRL never holds all logits', () => {
    const dpo = { 'method.objective': 'dpo', 'batch.micro': 16 } as const;
    const full = highest(dpo);
    const tiled = highest({ ...dpo, 'loss.implementation': 'log-probabilities-chunked' });
    assert.ok(tiled < 0.15 * full, `${tiled} of ${full}`);
  });

  it("Liger's preference loss holds one pair of logits at a time", () => {
    const liger = (batch: number) => {
      const values = { 'method.objective': 'dpo', 'kernels.liger': true, 'batch.micro': batch } as const;
      return highest(values);
    };
    // Beside the pair and its gradient: the gradients of head and hidden states, which grow with the batch.
    const hidden = 2 * 1024 * 2048 * 2;
    assert.ok(liger(8) - liger(2) <= 6 * hidden + 4096, `${liger(8) - liger(2)}`);
    assert.ok(liger(8) >= 2 * 2 * 1024 * V * 2);
  });

  // Bytes per logit: TRL's `selective_log_softmax` and transformers' `LabelSmoother` under the oracle's tracker (torch 2.13).
  const RECORDED: readonly (readonly [string, number, number, RunValues])[] = [
    ['bf16 logits', 4, 6, { 'method.objective': 'kto' }],
    ['logits returned in fp32', 6, 16, { 'method.objective': 'kto', 'precision.scheme': 'autocast' }],
    ['divided by a temperature', 8, 16, { 'method.objective': 'grpo', 'precision.scheme': 'autocast' }],
    ['label smoother, bf16', 8, 10, { 'loss.labelSmoothing': true }],
    ['label smoother, fp32', 16, 16, { 'loss.labelSmoothing': true, 'precision.scheme': 'autocast' }],
  ];
  for (const [name, forward, backward, values] of RECORDED) {
    it(`${name}: ${forward} bytes per logit forward, ${backward} backward`, () => {
      const logits = 2 * 1024 * V;
      const e = of(values);
      assert.ok(Math.abs(part(e, 'loss', 'logits-and-loss') / logits - forward) < 0.05);
      assert.ok(Math.abs(part(e, 'backward', 'logits-and-loss') / logits - backward) < 0.05);
    });
  }

  it('router logits cost a mask of every layer, token, choice and expert until transformers 5.16', () => {
    const moe = aModel({
      model_type: 'mixtral',
      hidden_size: 512,
      intermediate_size: 1024,
      num_hidden_layers: 4,
      num_attention_heads: 8,
      num_key_value_heads: 8,
      num_local_experts: 64,
      num_experts_per_tok: 8,
      vocab_size: 1000,
    });
    const loss = (values: RunValues) => {
      const e = estimate({ run: aRun({ ...bf16, ...values }), model: moe, accelerator: CARD });
      return part(e, 'loss', 'logits-and-loss');
    };
    const more = (values: RunValues) => loss({ 'loss.routerLogits': true, ...values }) - loss(values);
    const scores = 4 * 1024 * 64;
    const joined = more({ 'version.transformers': '5.15' });
    // An int64 and an fp32 each, and the scores twice, less the logits of the words that were the highest before.
    assert.ok(joined > scores * 8 * 12 - 16 * 1024 * 1000 && joined <= scores * (8 * 12 + 8), `${joined}`);
    // Layer by layer no mask is made.
    assert.ok(more({ 'version.transformers': '5.16' }) <= scores * 8);
  });
});

const GRPO = { 'method.objective': 'grpo', 'rollout.engine': 'transformers' } as const;

describe('rollouts', () => {
  it('one call generates the micro batches of a step where a trainer takes them at once, or as many as are stated', () => {
    const cache = (values: RunValues) =>
      part(
        of({ ...GRPO, 'batch.accumulation': 4, 'rollout.completion': 1023, ...values }),
        'generation',
        'activations',
      );
    assert.equal(cache({ 'rollout.steps': 0 }), 4 * cache({}));
    assert.equal(cache({ 'rollout.steps': 2 }), 2 * cache({}));
    assert.equal(cache({ 'rollout.steps': 2, 'rollout.batch': 2 }), cache({}));
    assert.equal(
      cache({ 'method.objective': 'online-dpo' }),
      2 * cache({}),
      'two completions of each prompt',
    );
  });

  it('what scores completions makes logits where the loss of Liger does not', () => {
    const logits = (values: RunValues) =>
      part(
        of({
          ...GRPO,
          'rollout.engine': 'vllm-server',
          'rollout.completion': 255,
          'kernels.liger': true,
          ...values,
        }),
        'generation',
        'logits-and-loss',
      );
    assert.equal(logits({ 'method.scoringForwards': 0 }), 0);
    assert.equal(logits({ 'method.scoringForwards': 1 }), 2 * 2 * 256 * model.vocabulary * 2);
    assert.equal(logits({ 'method.scoringForwards': 1, 'kernels.liger': false }), 0, 'the loss makes more');
  });

  it('prompts of all sequences go through each layer at once, without a graph and without logits', () => {
    const at = (completion: number) => of({ ...GRPO, 'rollout.batch': 64, 'rollout.completion': completion });
    const prompt = 64 * (1024 - 64);
    const e = at(64);
    const cache = 2 * 8 * 2048 * 2 * prompt;
    // Hidden states before and in a layer, and what its MLP makes beside: at least the gate, the product and its output.
    const activations = part(e, 'generation', 'activations') - cache;
    assert.ok(activations > prompt * 2 * 2048 * 3, `${activations}`);
    assert.ok(part(at(1000), 'generation', 'activations') < part(e, 'generation', 'activations'));
    const logits = part(e, 'generation', 'logits-and-loss');
    assert.equal(logits, 64 * model.vocabulary * (2 + 3 * 4));
  });

  it('the model itself keeps keys and values of whole sequences', () => {
    const e = of({ ...GRPO, 'rollout.batch': 16, 'rollout.completion': 1023 });
    const cache = 2 * 8 * 2048 * 2 * 16 * 1024;
    const generation = e.timeline.find(({ moment }) => moment === 'generation');
    assert.ok(generation);
    assert.equal(part(e, 'generation', 'activations'), cache + cache / 8);
    assert.equal(part(e, 'generation', 'gradients'), 0);
  });

  it('sharded weights are whole while the model generates', () => {
    const e = of({
      'rollout.engine': 'transformers',
      'parallel.data': 'zero',
      'zero.stage': 3,
      'precision.scheme': 'deepspeed',
      'hardware.gpus': 4,
    });
    assert.equal(part(e, 'generation', 'gathered-parameters'), 2 * N * (3 / 4));
  });

  it('vLLM beside the trainer takes its share, and sleeps while the model trains', () => {
    const share = { 'rollout.engine': 'vllm-colocate', 'hardware.reservedFraction': 0.3 } as const;
    const awake = of(share);
    assert.equal(part(awake, 'forward', 'reserved-for-others'), Math.round(0.3 * CARD.usableBytes));
    const asleep = of({ ...share, 'rollout.sleep': true });
    assert.equal(part(asleep, 'forward', 'reserved-for-others'), 0);
    assert.ok(part(asleep, 'generation', 'reserved-for-others') > 0);
    assert.ok(asleep.peak.allocatedBytes < awake.peak.allocatedBytes);
  });

  it('vLLM that shares the weights fills its share with keys and values, and the least is without them', () => {
    const share = {
      'rollout.engine': 'vllm-colocate',
      'rollout.sharesWeights': true,
      'hardware.reservedFraction': 0.5,
    } as const;
    const alone = of({ 'rollout.engine': 'none' });
    const awake = of(share);
    const graphs = 0.15 * 2 ** 30;
    const context = alone.parts.find(({ category }) => category === 'cuda-context')?.bytes ?? 0;
    const held = part(awake, 'forward', 'weights') + part(awake, 'forward', 'reserved-for-others');
    const expected = 0.5 * (CARD.usableBytes - context) + graphs;
    assert.ok(Math.abs(held - expected) <= 2, `${held} ${expected}`);
    assert.equal(part(awake, 'forward', 'weights'), part(alone, 'forward', 'weights'));
    assert.ok(awake.peak.lowerBytes < 0.5 * CARD.usableBytes);
    // Where the weights take all of the share, nothing is left for more.
    const small = of({ ...share, 'hardware.reservedFraction': 0.0001 });
    assert.equal(part(small, 'forward', 'reserved-for-others'), Math.round(graphs));
    const asleep = of({ ...share, 'rollout.sleep': true });
    assert.equal(part(asleep, 'forward', 'reserved-for-others'), Math.round(graphs));
    assert.ok(
      part(asleep, 'generation', 'reserved-for-others') > part(asleep, 'forward', 'reserved-for-others'),
    );
  });
});

describe('any combination of methods', () => {
  const tiny = [
    aModel({ ...SMALL_LLAMA, num_hidden_layers: 2, hidden_size: 64, intermediate_size: 128, vocab_size: 50 }),
    aModel({
      model_type: 'mixtral',
      hidden_size: 64,
      intermediate_size: 32,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      num_local_experts: 4,
      num_experts_per_tok: 2,
      vocab_size: 50,
    }),
    aModel({
      model_type: 'bert',
      hidden_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      vocab_size: 50,
    }),
  ];

  it('has a finite figure whose parts add up, and more frozen models never need less', () => {
    const values = fc.record({
      'method.objective': fc.constantFrom(...FIELDS['method.objective'].values),
      'method.kind': fc.constantFrom(...FIELDS['method.kind'].values),
      'method.frozenModels': fc.integer({ min: 0, max: 3 }),
      'method.valueModel': fc.boolean(),
      'method.noisyEmbeddings': fc.boolean(),
      'rollout.engine': fc.constantFrom(...FIELDS['rollout.engine'].values),
      'rollout.completion': fc.constantFrom(undefined, 1, 8, 1000),
      'rollout.sleep': fc.boolean(),
      'hardware.reservedFraction': fc.constantFrom(0, 0.3, 1),
      'loss.implementation': fc.constantFrom(...FIELDS['loss.implementation'].values),
      'loss.labelSmoothing': fc.boolean(),
      'loss.zLoss': fc.boolean(),
      'loss.routerLogits': fc.boolean(),
      'kernels.liger': fc.boolean(),
      'kernels.unsloth': fc.boolean(),
      'precision.fp8': fc.constantFrom(...FIELDS['precision.fp8'].values),
      'precision.scheme': fc.constantFrom(...FIELDS['precision.scheme'].values),
      'precision.compute': fc.constantFrom('fp32' as const, 'bf16' as const),
      'optimizer.name': fc.constantFrom(...FIELDS['optimizer.name'].values),
      'parallel.data': fc.constantFrom('none' as const, 'ddp' as const, 'zero' as const, 'fsdp2' as const),
      'zero.stage': fc.constantFrom(0, 2, 3),
      'hardware.gpus': fc.constantFrom(1, 4),
    });
    fc.assert(
      fc.property(fc.constantFrom(...tiny), values, (architecture, chosen) => {
        const at = (more: RunValues) => {
          const run = aRun({ 'batch.sequence': 16, ...chosen, ...more });
          return estimate({ run, model: architecture, accelerator: CARD });
        };
        const e = at({});
        assert.ok(Number.isFinite(e.peak.processBytes) && e.peak.processBytes > 0);
        assert.equal(
          e.parts.reduce((sum, { bytes }) => sum + bytes, 0),
          e.peak.processBytes,
        );
        const more = at({ 'method.frozenModels': chosen['method.frozenModels'] + 1 });
        assert.ok(more.peak.allocatedBytes >= e.peak.allocatedBytes);
      }),
      { numRuns: runs(120, 600) },
    );
  });
});
