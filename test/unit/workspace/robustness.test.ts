import assert from 'node:assert/strict';
import fc from 'fast-check';
import { breakdownOf } from '../../../server/src/features/breakdown';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const FILE = 'file:///repo/a.json';
const PROJECT = 'file:///repo/oomlint.yaml';

async function analyze(config: string, project: string) {
  const analysis = await new Workspace(new MemoryHost({ [FILE]: config, [PROJECT]: project })).analyze(FILE);
  if (analysis) {
    const codes = analysis.problems.map(({ code, message }) => `${code}: ${message}`);
    assert.deepEqual(
      codes.filter((code) => code.startsWith('internal-error')),
      [],
    );
    breakdownOf(analysis);
    for (const { range } of analysis.problems) {
      assert.ok(range.start.line >= 0 && range.end.line >= range.start.line);
    }
  }
  return analysis;
}

const odd = fc.oneof(
  fc.constantFrom(0, -1, 1, 2, 3, 7, 64, 1e9, 1e30, 0.5, null, true, false, 'auto', '', '8', [], {}),
  fc.jsonValue({ maxDepth: 1 }),
);

describe('whatever the files hold', function () {
  this.timeout(60_000);

  it('values of any kind are analysed without a failure', async () => {
    const config = fc.record(
      {
        train_batch_size: odd,
        train_micro_batch_size_per_gpu: odd,
        gradient_accumulation_steps: odd,
        bf16: fc.oneof(odd, fc.record({ enabled: odd })),
        zero_optimization: fc.oneof(
          odd,
          fc.record(
            {
              stage: odd,
              reduce_bucket_size: odd,
              stage3_prefetch_bucket_size: odd,
              overlap_comm: odd,
              offload_optimizer: fc.oneof(odd, fc.record({ device: odd, ratio: odd }, { requiredKeys: [] })),
            },
            { requiredKeys: [] },
          ),
        ),
        optimizer: fc.oneof(odd, fc.record({ type: odd })),
      },
      { requiredKeys: ['zero_optimization'] },
    );
    const facts = fc.record(
      {
        gpus: odd,
        nodes: odd,
        tp: odd,
        pp: odd,
        cp: odd,
        sequence: odd,
        'micro-batch': odd,
        'lora.rank': odd,
        reserved: odd,
      },
      { requiredKeys: [] },
    );
    const base = { gpu: 'H100', gpus: 8, model: 'gpt2', sequence: 128, micro: 1 };
    await fc.assert(
      fc.asyncProperty(config, facts, async (written, stated) => {
        await analyze(JSON.stringify(written), JSON.stringify({ ...base, defaults: stated }));
      }),
      { numRuns: 120 },
    );
  });

  it('texts of any kind are analysed without a failure', async () => {
    const scrap = fc.stringMatching(/^[-{}[\]:,"'#&*!|>%@ \na-z0-9.]{0,60}$/);
    await fc.assert(
      fc.asyncProperty(scrap, scrap, scrap, async (before, after, project) => {
        await analyze(`${before}{"zero_optimization": {"stage": 3}, "train_batch_size": 8}${after}`, project);
      }),
      { numRuns: 120 },
    );
  });
});
