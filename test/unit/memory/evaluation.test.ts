import assert from 'node:assert/strict';
import fc from 'fast-check';
import { estimate } from '../../../server/src/estimate';
import { keyValueCacheBytes } from '../../../server/src/memory/key-value-cache';
import type { Estimate, Sample } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

/** A card whose libraries take no workspace: what remains is what tensors take. */
const BARE = { ...CARD, vendor: '' };

const llama = (vocabulary: number) => ({
  model_type: 'llama',
  hidden_size: 1024,
  num_hidden_layers: 4,
  num_attention_heads: 16,
  num_key_value_heads: 4,
  intermediate_size: 2816,
  vocab_size: vocabulary,
  tie_word_embeddings: false,
  max_position_embeddings: 4096,
});
const gpt2 = (vocabulary: number) => ({
  model_type: 'gpt2',
  n_embd: 768,
  n_layer: 4,
  n_head: 12,
  n_positions: 1024,
  vocab_size: vocabulary,
});
const QWEN3 = {
  model_type: 'qwen3',
  hidden_size: 1024,
  num_hidden_layers: 4,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 128,
  intermediate_size: 3072,
  vocab_size: 151936,
  tie_word_embeddings: true,
  max_position_embeddings: 4096,
};

const NATIVE: RunValues = {
  'batch.micro': 2,
  'batch.sequence': 512,
  'evaluation.enabled': true,
  'evaluation.batch': 4,
  'version.transformers': '5.23',
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
};
/** Before 5.0 the model returned its keys and values. */
const CACHED: RunValues = { 'version.transformers': '4.57' };
const AUTOCAST: RunValues = { ...NATIVE, 'precision.weights': 'fp32', 'precision.scheme': 'autocast' };

function of(config: Record<string, unknown>, values: RunValues): Estimate {
  return estimate({ run: aRun(values), model: aModel(config), accelerator: BARE });
}

function evaluation(e: Estimate): Sample[] {
  return e.timeline.filter((s) => s.moment === 'evaluation');
}

/** Highest bytes while the model runs. */
function running(e: Estimate): number {
  return Math.max(...evaluation(e).map((s) => (s.label.startsWith('evaluation, ') ? s.bytes : 0)));
}

function bytesAt(e: Estimate, label: RegExp): number {
  return evaluation(e).find((s) => label.test(s.label))?.bytes ?? 0;
}

function near(actual: number, expected: number, share: number): void {
  assert.ok(Math.abs(actual / expected - 1) <= share, `${actual} for ${expected}`);
}

/** Of GPT-2's layers before transformers 5.2, whose Trainer kept a cache: the recorded model of 5.23 has none. */
const MASKS = 4 * 1024 ** 2;

/**
 * Recorded with the tracker of test/oracle (torch 2.13, transformers 5.23): a training step, then `prediction_step` and
 * `EvalLoopContainer` of the Trainer. By batch: highest while the model runs, and while predictions are concatenated.
 */
const RECORDED: readonly (readonly [string, Record<string, unknown>, RunValues, number, number?])[] = [
  ['Llama, loss alone', llama(32000), NATIVE, 1323426304],
  ['Llama, autocast, loss alone', llama(32000), AUTOCAST, 2147138048],
  ['GPT-2, loss alone', gpt2(50257), NATIVE, 1438897152],
  ['GPT-2, autocast, loss alone', gpt2(50257), AUTOCAST, 1982337024],
  ['Qwen3, tied', QWEN3, NATIVE, 4426961408],
  ['Qwen3, tied, autocast', QWEN3, AUTOCAST, 6179187200],
  [
    'Llama, checkpointed in training',
    llama(32000),
    { ...NATIVE, 'activations.checkpointing': 'full' },
    1323426304,
  ],
  [
    'Llama with LoRA and its dropout in training',
    llama(32000),
    {
      ...NATIVE,
      'method.kind': 'lora',
      'lora.rank': 8,
      'lora.targets': ['all-linear'],
      'lora.dropout': 0.1,
    },
    887869952,
  ],
  ['Llama, small head', llama(512), NATIVE, 328428544],
  ['Llama, small head, autocast', llama(512), AUTOCAST, 706626560],
  ['GPT-2, small head', gpt2(512), NATIVE, 244079616],
  ['GPT-2, small head, autocast', gpt2(512), AUTOCAST, 511769088],
  ['Llama with its cache', llama(32000), { ...NATIVE, ...CACHED }, 1331814912],
  ['Llama with its cache, autocast', llama(32000), { ...AUTOCAST, ...CACHED }, 2163915264],
  ['Llama with its cache, small head', llama(512), { ...NATIVE, ...CACHED }, 336817152],
  ['Llama with its cache, small head, autocast', llama(512), { ...AUTOCAST, ...CACHED }, 723403776],
  ['GPT-2 with its cache, small head', gpt2(512), { ...NATIVE, ...CACHED }, 269245440 + MASKS],
  ['GPT-2 with its cache, small head, autocast', gpt2(512), { ...AUTOCAST, ...CACHED }, 536934912 + MASKS],
  ['Qwen3 with its cache', QWEN3, { ...NATIVE, ...CACHED }, 4460515840],
  ['Qwen3 with its cache, autocast', QWEN3, { ...AUTOCAST, ...CACHED }, 6246296064],
  ['Llama, 2 batches of logits', llama(32000), logits(NATIVE, 2), 1454515200, 1188126208],
  ['Llama, 3 batches of logits', llama(32000), logits(NATIVE, 3), 1716659200, 1450270208],
  ['Llama, 4 batches of logits', llama(32000), logits(NATIVE, 4), 1847731200, 1712414208],
  ['Llama, autocast, 2 batches', llama(32000), logits(AUTOCAST, 2), 2409298944, 2376218112],
  ['GPT-2, autocast, 4 batches', gpt2(50257), logits(AUTOCAST, 4), 3629175296, 4106518016],
  ['Qwen3, autocast, 4 batches', QWEN3, logits(AUTOCAST, 4), 11157842944, 12579399168],
];

function logits(values: RunValues, batches: number): RunValues {
  return { ...values, 'evaluation.predictions': 'logits', 'evaluation.samples': 4 * batches };
}

describe('what a GPU holds while the run evaluates', () => {
  for (const [name, config, values, forward, joined] of RECORDED) {
    it(`${name}: as recorded, within 0.1 %`, () => {
      const e = of(config, values);
      near(running(e), forward, 0.001);
      if (joined !== undefined) near(bytesAt(e, /concatenated/), joined, 0.001);
    });
  }

  it('keeps no cache of encoders, nor where the run states it', () => {
    const bert = {
      model_type: 'bert',
      hidden_size: 768,
      num_hidden_layers: 4,
      num_attention_heads: 12,
      intermediate_size: 3072,
      vocab_size: 30522,
      max_position_embeddings: 512,
    };
    const both = (config: Record<string, unknown>) => [
      running(of(config, NATIVE)),
      running(of(config, { ...NATIVE, ...CACHED })),
      running(of(config, { ...NATIVE, ...CACHED, 'evaluation.keepsCache': false })),
    ];
    const [now, before] = both(bert);
    assert.equal(before, now);
    const [without, cached, reported] = both(llama(32000));
    assert.equal(reported, without);
    assert.equal(cached, (without ?? 0) + 4 * 2 * 4 * 64 * 4 * 512 * 2);
  });

  it("Liger's fused loss makes all logits in evaluation before transformers 5.15, or for predictions", () => {
    const liger: RunValues = { ...NATIVE, 'kernels.liger': true, 'evaluation.keepsCache': false };
    const at = (version: string, more: RunValues = {}) =>
      running(of(llama(32000), { ...liger, ...more, 'version.transformers': version }));
    const token = 4 * 512;
    // Logits in bf16, their fp32 copy and the log-softmax: ten bytes each.
    assert.ok(at('5.14') >= at('5.15') + 5 * token * 32000);
    assert.equal(at('5.14'), at('4.57'));
    assert.equal(at('5.15', { 'evaluation.predictions': 'logits' }), at('5.14'));
    const plain = running(of(llama(32000), NATIVE));
    assert.ok(Math.abs(at('5.14') - plain) <= token * 1024 * 8, `${at('5.14')} ${plain}`);
  });

  it('is not looked at unless the run states that it evaluates, and then changes nothing else', () => {
    const off = { ...NATIVE, 'evaluation.enabled': false } as const;
    const without = of(llama(32000), off);
    assert.equal(evaluation(without).length, 0);
    const e = of(llama(32000), { ...NATIVE, 'evaluation.batch': 1, 'evaluation.sequence': 64 });
    assert.ok(evaluation(e).length > 0);
    assert.equal(e.peak.allocatedBytes, without.peak.allocatedBytes);
    assert.equal(e.peak.moment, without.peak.moment);
    assert.deepEqual(
      e.timeline.filter((s) => s.moment !== 'evaluation'),
      without.timeline,
    );
  });

  it('can be the peak, whose parts add up', () => {
    const e = of(llama(32000), { ...NATIVE, 'evaluation.batch': 32 });
    assert.equal(e.peak.moment, 'evaluation');
    assert.equal(e.peak.allocatedBytes, running(e));
    assert.equal(
      e.parts.reduce((sum, { bytes }) => sum + bytes, 0),
      e.peak.processBytes,
    );
  });

  /** One batch's logits of one GPU: 4 samples of 512 tokens in bf16. */
  const OWN = 4 * 512 * 32000 * 2;
  const rest = (e: Estimate) => bytesAt(e, /gathered/);

  it('every GPU gets the predictions of all', () => {
    const values: RunValues = { ...logits(NATIVE, 1), 'parallel.data': 'ddp', 'hardware.gpus': 8 };
    const eight = of(llama(32000), values);
    const atRest = rest(eight) - 9 * OWN;
    const none = of(llama(32000), { ...values, 'evaluation.predictions': 'none' });
    assert.equal(bytesAt(none, /embed/) > 0, true);
    const two = of(llama(32000), { ...values, 'evaluation.samples': 64 });
    assert.equal(rest(two), atRest + (8 + 1 + 8) * OWN, 'the first batch, this GPU, all of the second');
    assert.equal(bytesAt(two, /concatenated/), atRest + 4 * 8 * OWN);
  });

  it('eval_accumulation_steps bounds what stays, a list is not joined, tokens are small', () => {
    const all = of(llama(32000), logits(NATIVE, 100));
    const two = of(llama(32000), { ...logits(NATIVE, 100), 'evaluation.accumulation': 2 });
    const one = of(llama(32000), logits(NATIVE, 1));
    assert.equal(rest(two) - rest(one), OWN);
    assert.equal(bytesAt(all, /concatenated/) - bytesAt(two, /concatenated/), 2 * 98 * OWN);
    const list = of(llama(32000), { ...logits(NATIVE, 100), 'evaluation.concatenates': false });
    assert.equal(bytesAt(list, /concatenated/), 0);
    assert.equal(rest(list) - rest(one), 99 * OWN);
    const tokens = of(llama(32000), { ...logits(NATIVE, 100), 'evaluation.predictions': 'tokens' });
    assert.equal(rest(one) - OWN + 100 * 4 * 512 * 8, rest(tokens));
  });

  /** A decoder behind an encoder, whose logits and states differ in size. */
  const T5 = {
    model_type: 't5',
    d_model: 512,
    d_kv: 64,
    d_ff: 1024,
    num_layers: 2,
    num_heads: 8,
    vocab_size: 4096,
  };
  const WHISPER = {
    model_type: 'whisper',
    d_model: 384,
    encoder_layers: 2,
    decoder_layers: 2,
    encoder_attention_heads: 6,
    decoder_attention_heads: 6,
    encoder_ffn_dim: 1536,
    decoder_ffn_dim: 1536,
    vocab_size: 4096,
    num_mel_bins: 80,
    max_source_positions: 1500,
    max_target_positions: 448,
  };

  // Run under transformers 5.24: `prediction_step` of T5, BART, Whisper and EncoderDecoderModel gives logits and `encoder_last_hidden_state`,
  // which their `keys_to_ignore_at_inference` does not name.
  it('keeps what an encoder hands over beside the logits of its decoder', () => {
    const values: RunValues = { ...logits(NATIVE, 100), 'batch.targetSequence': 128 };
    const kept = (config: Record<string, unknown>, more: RunValues = {}) => {
      const one = of(config, { ...values, ...more, 'evaluation.samples': 4 });
      return rest(of(config, { ...values, ...more, 'evaluation.samples': 8 })) - rest(one);
    };
    assert.equal(kept(T5), 4 * (128 * 4096 + 512 * 512) * 2);
    assert.equal(kept(WHISPER), 4 * (128 * 4096 + 1500 * 384) * 2);
    const wide = { ...AUTOCAST, 'batch.targetSequence': 128 };
    assert.equal(kept(T5, wide), 4 * (128 * 4096 + 512 * 512) * 4);
    assert.equal(kept(T5, { 'evaluation.predictions': 'tokens' }), 4 * 128 * 8);
    assert.equal(kept(T5, { 'method.objective': 'classification' }), 4 * 512 * 512 * 2);
    const host = of(T5, { ...values, 'evaluation.accumulation': 10 }).host;
    assert.equal(host.bytesPerNode, 2 * 100 * 2 * 4 * (128 * 4096 + 512 * 512) * 2);
  });

  it('reports it where nobody states how many batches there are', () => {
    const values = { ...NATIVE, 'evaluation.predictions': 'logits' } as const;
    assert.ok(of(llama(32000), values).notes.some((note) => /evaluation keeps/.test(note)));
    assert.ok(!of(llama(32000), logits(NATIVE, 2)).notes.some((note) => /evaluation keeps/.test(note)));
  });

  it('predictions gathered on every process end in host memory, in fp32', () => {
    const e = of(llama(32000), { ...logits(NATIVE, 100), 'evaluation.accumulation': 10 });
    // NumPy has no bf16; the last chunk is joined to the others.
    assert.equal(e.host.moment, 'evaluation');
    assert.equal(e.host.bytesPerNode, 2 * 100 * 2 * OWN);
  });

  it('generation keeps keys and values of prompt and answer', () => {
    const model = aModel(SMALL_LLAMA);
    assert.equal(keyValueCacheBytes(model, 4, { prompt: 640, fresh: 0 }, 2), 2 * 8 * 2048 * 640 * 4 * 2);
    const values = { ...NATIVE, 'evaluation.generatedTokens': 128, 'evaluation.beams': 2 } as const;
    const e = of(llama(32000), values);
    const cache = keyValueCacheBytes(aModel(llama(32000)), 8, { prompt: 512, fresh: 128 }, 2);
    const idle = of(llama(32000), logits(NATIVE, 1));
    const keys = cache / 4 / 2;
    const scores = 8 * 32000 * (2 + 12);
    assert.equal(bytesAt(e, /last token/), rest(idle) - OWN + cache + keys + scores);
  });

  it('layers with a window keep its tokens only, latent attention its expanded heads', () => {
    const sliding = aModel({
      ...llama(32000),
      model_type: 'mistral',
      layer_types: ['sliding_attention', 'full_attention', 'sliding_attention', 'linear_attention'],
      sliding_window: 100,
    });
    assert.equal(
      keyValueCacheBytes(sliding, 1, { prompt: 1000, fresh: 0 }, 2),
      2 * 4 * 64 * (99 + 1000 + 99) * 2,
    );
  });

  it('never lowers the peak, whatever the scheme', () => {
    const model = aModel(llama(32000));
    fc.assert(
      fc.property(
        fc.constantFrom('none', 'ddp', 'zero', 'fsdp1', 'fsdp2'),
        fc.constantFrom(0, 1, 2, 3),
        fc.integer({ min: 1, max: 16 }),
        fc.constantFrom('none', 'logits', 'tokens'),
        fc.constantFrom('none', 'full', 'sharded'),
        (data, stage, batch, predictions, saved) => {
          const base: RunValues = {
            'hardware.gpus': data === 'none' ? 1 : 4,
            'parallel.data': data as 'zero',
            'zero.stage': stage,
            'precision.scheme': data === 'zero' ? 'deepspeed' : data.startsWith('fsdp') ? 'fsdp' : 'native',
            'precision.compute': 'bf16',
            'precision.weights': 'bf16',
            'batch.sequence': 256,
          };
          const at = (values: RunValues) => estimate({ run: aRun(values), model, accelerator: CARD });
          const plain = at(base);
          const whole = at({
            ...base,
            'evaluation.enabled': true,
            'evaluation.batch': batch,
            'evaluation.predictions': predictions as 'logits',
            'evaluation.samples': 40,
            'saving.weights': saved as 'full',
          });
          assert.ok(whole.peak.allocatedBytes >= plain.peak.allocatedBytes);
          assert.equal(whole.peak.allocatedBytes, Math.max(...whole.timeline.map((s) => s.bytes)));
          assert.equal(
            whole.parts.reduce((sum, { bytes }) => sum + bytes, 0),
            whole.peak.processBytes,
          );
          for (const s of whole.timeline) for (const { bytes } of s.parts) assert.ok(bytes > 0);
        },
      ),
    );
  });
});

describe('micro steps of accumulation', () => {
  it('the last of them, with gradients of all others there, is never below the first', () => {
    const model = aModel(llama(32000));
    fc.assert(
      fc.property(
        fc.constantFrom('none', 'ddp', 'zero', 'fsdp1', 'fsdp2'),
        fc.constantFrom(0, 1, 2, 3),
        fc.constantFrom('none', 'full'),
        fc.boolean(),
        (data, stage, checkpointing, lora) => {
          const values: RunValues = {
            'hardware.gpus': data === 'none' ? 1 : 4,
            'parallel.data': data as 'zero',
            'zero.stage': stage,
            'precision.scheme': data === 'zero' ? 'deepspeed' : data.startsWith('fsdp') ? 'fsdp' : 'native',
            'precision.compute': 'bf16',
            'precision.weights': 'bf16',
            'batch.sequence': 256,
            'batch.micro': 4,
            'activations.checkpointing': checkpointing as 'full',
            'method.kind': lora ? 'lora' : 'full',
            'lora.targets': ['all-linear'],
          };
          const peak = (steps: number) =>
            estimate({ run: aRun({ ...values, 'batch.accumulation': steps }), model, accelerator: CARD })
              .peak;
          assert.ok(peak(4).allocatedBytes >= peak(1).allocatedBytes);
        },
      ),
    );
  });

  it('ZeRO 1 and 2 gather what they stepped in place', () => {
    const model = aModel(SMALL_LLAMA);
    const gather = (stage: number) =>
      estimate({
        run: aRun({
          'hardware.gpus': 8,
          'parallel.data': 'zero',
          'zero.stage': stage,
          'precision.scheme': 'deepspeed',
          'precision.compute': 'bf16',
          'precision.weights': 'bf16',
        }),
        model,
        accelerator: BARE,
      }).timeline.find((s) => s.moment === 'parameter-gather');
    const P = model.parameters.total;
    assert.equal(gather(2)?.bytes, 2 * P + (12 * P) / 8);
    assert.equal(gather(3), undefined);
  });
});
