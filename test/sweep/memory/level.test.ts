import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { bytesOf, emptyLedger } from '../../../server/src/memory/ledger';
import { rounded } from '../../../server/src/memory/play';
import { shardingOf } from '../../../server/src/memory/sharding';
import { walkStep } from '../../../server/src/memory/step';
import { type TracedStage, traceRun } from '../../../server/src/memory/traced-run';
import { sumWeights } from '../../../server/src/memory/weights';
import { modelFromConfig } from '../../../server/src/model/catalog';
import type { Model } from '../../../server/src/model/model';
import { CATEGORIES, type Category } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { LONG } from '../../unit/long';
import { aRun } from '../../unit/memory/a-run';

/** One model of every family and shape that was recorded. */
function families(): Map<string, Model> {
  const file = path.join(process.cwd(), 'test', 'oracle', 'cases.json');
  if (!existsSync(file)) return new Map();
  const { cases } = JSON.parse(readFileSync(file, 'utf8')) as {
    cases: readonly { readonly model: Record<string, unknown> }[];
  };
  const found = new Map<string, Model>();
  for (const { model: config } of cases) {
    const name = `${config.model_type}${config.tie_word_embeddings === true ? ', tied' : ''}`;
    const model = modelFromConfig(config, String(config.model_type), 'inline');
    if (!found.has(name) && !('error' in model)) found.set(name, model);
  }
  return found;
}

const BF16: RunValues = { 'precision.weights': 'bf16', 'precision.compute': 'bf16' };
const AUTOCAST: RunValues = { 'precision.compute': 'bf16', 'precision.scheme': 'autocast' };

const METHODS: Readonly<Record<string, RunValues>> = {
  full: {},
  lora: { 'method.kind': 'lora', 'lora.targets': ['all-linear'], 'lora.dropout': 0.1 },
  'lora of attention': { 'method.kind': 'lora', 'lora.targets': ['q_proj', 'q', 'query', 'c_attn', 'qkv'] },
  freeze: { 'method.kind': 'freeze', 'method.trainableLayers': 1 },
};

const CHECKPOINTS: Readonly<Record<string, RunValues>> = {
  'no checkpoints': {},
  'reentrant checkpoints': { 'activations.checkpointing': 'full', 'activations.reentrant': true },
  checkpoints: { 'activations.checkpointing': 'full', 'activations.reentrant': false },
  'selective checkpoints': { 'activations.checkpointing': 'selective' },
};

const SHARDED = { 'hardware.gpus': 8, 'lora.dtype': 'bf16' } as const;
const SHARDING: Readonly<Record<string, RunValues>> = {
  'one GPU, bf16': BF16,
  'one GPU, autocast': AUTOCAST,
  DDP: { ...AUTOCAST, 'hardware.gpus': 8, 'parallel.data': 'ddp' },
  'ZeRO 1': zero(1),
  'ZeRO 2': zero(2),
  'ZeRO 3': zero(3),
  'FSDP 1': { ...BF16, ...SHARDED, 'parallel.data': 'fsdp1', 'precision.scheme': 'fsdp' },
  'FSDP 2': { ...BF16, ...SHARDED, 'parallel.data': 'fsdp2', 'precision.scheme': 'fsdp' },
  'FSDP 2, kept': {
    ...BF16,
    ...SHARDED,
    'parallel.data': 'fsdp2',
    'precision.scheme': 'fsdp',
    'fsdp.strategy': 'grad-op',
    'batch.accumulation': 4,
  },
};

function zero(stage: 1 | 2 | 3): RunValues {
  return {
    ...BF16,
    ...SHARDED,
    'parallel.data': 'zero',
    'precision.scheme': 'deepspeed',
    'zero.stage': stage,
  };
}

/** Lengths of samples that are no tokens: of a waveform so many values make five frames. */
const LENGTHS: Readonly<Record<string, number>> = { wav2vec2: 1_680 };

/** A waveform of this length in fp32, which goes through the first stage as it came: the layer behind it frees what nobody counted. */
const UNCOUNTED: Readonly<Record<string, number>> = {
  wav2vec2: 13_824,
};

/** The loss is a number: where nothing is trained, nobody gives it back. */
const NUMBER = 512;

/** Of the step alone: what a micro batch makes and leaves. */
const PASSING: readonly Category[] = ['activations', 'checkpoints', 'logits-and-loss', 'autocast-cache'];

/**
 * One sharding in nine for each family, method and way of checkpointing, the next one for each: every pair is met, and each triple of
 * method, checkpointing and sharding by every ninth family. The factors are those that make the sixteen of a family meet all shardings.
 */
function isTaken(family: number, method: number, checkpoints: number, sharded: number): boolean {
  return LONG || (family + 4 * method + checkpoints + sharded) % Object.keys(SHARDING).length === 0;
}

/** Bytes of the gradients of all trained weights that a step gives one to, each once however often it is used. */
function givenGradients(stages: readonly TracedStage[]): number {
  let bytes = 0;
  const tied = new Set<string>();
  for (const { tape, copies } of stages) {
    const own = new Set<string>();
    for (const { weight, bytes: one } of tape.operations.flatMap(({ weightGrads }) => weightGrads)) {
      const name = weight.tiedTo ?? weight.name;
      const shared = weight.tiedTo !== undefined || weight.role === 'embedding';
      if (own.has(name) || (shared && tied.has(name))) continue;
      own.add(name);
      if (shared) tied.add(name);
      bytes += copies * rounded(one);
    }
  }
  return bytes;
}

describe('the level of a walked step', () => {
  [...families()].forEach(([family, model], familyPlace) => {
    it(`is never below nothing in any category, and comes down to nothing: ${family}`, () => {
      const wrong: string[] = [];
      for (const [methodPlace, [method, byMethod]] of Object.entries(METHODS).entries()) {
        for (const [place, [checkpoints, byCheckpoints]] of Object.entries(CHECKPOINTS).entries()) {
          for (const [shardedPlace, [sharded, bySharding]] of Object.entries(SHARDING).entries()) {
            if (!isTaken(familyPlace, methodPlace, place, shardedPlace)) continue;
            const values = { 'batch.micro': 2, 'batch.sequence': LENGTHS[family] ?? 256 };
            const run = aRun({ ...values, ...byMethod, ...byCheckpoints, ...bySharding });
            const stages = traceRun(model, run);
            const sharding = shardingOf(run, sumWeights(stages, run), stages);
            const walk = walkStep(stages, run, sharding, emptyLedger());
            const name = `${method}, ${checkpoints}, ${sharded}`;
            for (const { ledger, label } of walk.points)
              for (const category of CATEGORIES)
                if (bytesOf(ledger, category) < -1 - (UNCOUNTED[family] ?? 0))
                  wrong.push(`${name}: ${category} ${bytesOf(ledger, category)} at ${label}`);
            const left = bytesOf(walk.afterBackward, 'gradients');
            const given = givenGradients(stages);
            if (sharded.startsWith('one GPU') && Math.abs(left - given) > 1)
              wrong.push(`${name}: gradients ${left} left, where weights are given ${given}`);
            // What came with the batch is the loop's.
            const inputs = walk.points.find(({ label }) => label === 'step begins');
            for (const category of PASSING) {
              const left = bytesOf(walk.afterBackward, category);
              const came = inputs ? bytesOf(inputs.ledger, category) : 0;
              if (left < -1 || left > came + NUMBER)
                wrong.push(`${name}: ${category} ${left} left of ${came}`);
            }
          }
        }
      }
      assert.deepEqual(wrong.slice(0, 12), [], `${wrong.length} in all`);
    });
  });
});
