import * as assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { estimate } from '../../../server/src/estimate';
import { savedStorages } from '../../../server/src/memory/play';
import { traceRun, traceSettings } from '../../../server/src/memory/traced-run';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD } from './a-run';

interface Recorded {
  readonly run: RunValues;
  readonly model: Record<string, unknown>;
  /** Bytes of each tensor that forward hands to backward, of what depends on the tokens: a layer by itself, and one of several. */
  readonly alone: readonly number[];
  readonly among: readonly number[];
}

const { cases } = JSON.parse(readFileSync(join(__dirname, '../../oracle/compiled.json'), 'utf8')) as {
  readonly cases: Readonly<Record<string, Recorded>>;
};

/**
 * Phi-3's rotated parts are concatenated in the layout that they have, so that the compiler copies no result of attention; ours is
 * that of the operators one by one, a copy more. Bytes.
 */
const MORE: Readonly<Record<string, readonly number[]>> = {
  phi3: [2 * 384 * 1024 * 2],
  'phi3, autocast': [2 * 384 * 1024 * 2],
};
const descending = (bytes: readonly number[]) => bytes.filter((one) => one > 100_000).sort((a, b) => b - a);

describe('layers that torch.compile compiles', () => {
  for (const [name, recorded] of Object.entries(cases)) {
    for (const graph of ['alone', 'among'] as const) {
      it(`${name}, ${graph}: keep what AOTAutograd's partitioner keeps`, () => {
        const { run, model } = recorded;
        const settings = traceSettings(aRun(run), aModel({ max_position_embeddings: 4096, ...model }));
        const compilesWholeModel = graph === 'among';
        const layer = traceRun(aModel({ max_position_embeddings: 4096, ...model }), aRun(run), {
          behaviours: { ...settings.behaviours, compilesWholeModel },
        }).find(({ stage }) => stage.role === 'layer');
        assert.ok(layer);
        const kept = [...savedStorages(layer.tape)].filter(
          ({ kind }) => kind !== 'weight-copy' && kind !== 'kept-weight',
        );
        // Statistics of rows and dropout's bits are small, and cosine and sine are the model's.
        const ours = kept.map(({ bytes }) => bytes);
        assert.deepEqual(descending(ours), descending([...recorded[graph], ...(MORE[name] ?? [])]));
      });
    }
  }

  it("sum the table's gradient in fp32 where the model is compiled whole", () => {
    const model = aModel({ ...(cases.llama?.model ?? {}), max_position_embeddings: 4096 });
    const scratch = (values: RunValues, code = 'transformers') => {
      const run = aRun({
        'batch.sequence': 64,
        'precision.weights': 'bf16',
        'model.code': code,
        ...values,
      } as RunValues);
      const table = traceRun(model, run).find(({ stage }) => stage.role === 'embedding')?.tape;
      const lookup = table?.operations.find(({ weights }) =>
        weights.some(({ role }) => role === 'embedding'),
      );
      return [lookup?.backwardScratch, 4 * (lookup?.weights[0]?.localElements ?? 0)];
    };
    const [raised, table] = scratch({ 'kernels.compile': true });
    assert.ok(table && table > 0);
    assert.equal(raised, table);
    assert.equal(scratch({ 'kernels.compile': false })[0], 0);
    assert.equal(
      scratch({ 'kernels.compile': true }, 'torchtitan')[0],
      0,
      'layers are compiled one by one there',
    );
    assert.equal(scratch({ 'kernels.compile': true, 'precision.weights': 'fp32' })[0], 0);
  });

  it('are those with 4-bit weights, too, where Unsloth makes their products operators of the graph', () => {
    const model = { ...(cases.llama?.model ?? {}), num_hidden_layers: 2, max_position_embeddings: 4096 };
    const kept = (values: RunValues) => {
      const run = aRun({
        'batch.micro': 1,
        'batch.sequence': 256,
        'method.kind': 'lora',
        'lora.targets': ['q_proj', 'v_proj'],
        'quantization.kind': 'nf4',
        'quantization.prepared': false,
        'precision.weights': 'bf16',
        ...values,
      });
      const [layer] = traceRun(aModel(model), run)
        .filter(({ stage }) => stage.role === 'layer')
        .slice(-1);
      assert.ok(layer);
      return [...savedStorages(layer.tape)].reduce((sum, { bytes }) => sum + bytes, 0);
    };
    const stock = kept({ 'kernels.compile': true });
    assert.ok(kept({ 'kernels.compile': true, 'kernels.unsloth': true }) < 0.8 * stock);
  });

  // The review's toy: 73.7 of 77.9 MB of gradients a second time where the whole model is one graph, nothing without.
  it('hold a second set of gradients where the whole model is one node of backward that adds to an earlier micro batch', () => {
    const model = { ...(cases.llama?.model ?? {}), num_hidden_layers: 4, max_position_embeddings: 4096 };
    const peak = (values: RunValues) => {
      const input = {
        model: aModel(model),
        accelerator: CARD,
        run: aRun({
          'batch.micro': 1,
          'batch.sequence': 64,
          'optimizer.name': 'sgd',
          'precision.weights': 'bf16',
          'precision.compute': 'bf16',
          'precision.scheme': 'native',
          'kernels.compile': true,
          ...values,
        }),
      };
      return { bytes: estimate(input).peak.allocatedBytes, gradients: 2 * input.model.parameters.total };
    };
    const twice = peak({ 'batch.accumulation': 2 });
    const once = peak({ 'batch.accumulation': 1 });
    const layers = peak({ 'batch.accumulation': 2, 'model.code': 'torchtitan' });
    assert.ok(twice.bytes - once.bytes > 0.95 * twice.gradients, `${twice.bytes - once.bytes}`);
    assert.ok(twice.bytes - layers.bytes > 0.8 * twice.gradients, 'layers are compiled one by one there');
    const regions = peak({ 'batch.accumulation': 2, 'kernels.unsloth': true });
    assert.ok(twice.bytes - regions.bytes > 0.8 * twice.gradients, 'so they are by Unsloth');
  });
});
