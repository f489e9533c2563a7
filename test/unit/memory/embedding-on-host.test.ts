import assert from 'node:assert/strict';
import { estimate } from '../../../server/src/estimate';
import type { Estimate } from '../../../server/src/results/estimate';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const GIB = 2 ** 30;
const TABLE = SMALL_LLAMA.vocab_size * SMALL_LLAMA.hidden_size * 2;
const QLORA: RunValues = {
  'method.kind': 'lora',
  'lora.rank': 8,
  'lora.targets': ['q_proj'],
  'precision.weights': 'bf16',
  'precision.compute': 'bf16',
  'batch.sequence': 128,
};
/** No process holds a copy of the checkpoint, which would be more than the embedding. */
const FROM_MAPPED: RunValues = { 'loading.hostCopies': 'none' };

function of(values: RunValues, config: Record<string, unknown> = SMALL_LLAMA): Estimate {
  return estimate({ run: aRun({ ...QLORA, ...values }), model: aModel(config), accelerator: CARD });
}

const resting = (e: Estimate) =>
  e.timeline.filter(({ moment }) => moment === 'initialization').at(-1)?.bytes ?? 0;
const onHost = (e: Estimate) => e.host.parts.find(({ label }) => label === 'embedding in host memory')?.bytes;

describe('an embedding in host memory', () => {
  it('is not on the GPU while it trains, but was there when the model was loaded', () => {
    const [plain, hosted] = [of(FROM_MAPPED), of({ ...FROM_MAPPED, 'loading.embedding': 'host' })];
    assert.equal(resting(plain) - resting(hosted), TABLE);
    assert.equal(onHost(hosted), TABLE);
    assert.equal(onHost(plain), undefined);
    const loaded = hosted.timeline.find(({ label }) => /goes to the host/.test(label));
    // There are no adapters yet.
    const adapters = plain.timeline.at(0)?.parts.find(({ category }) => category === 'adapters')?.bytes ?? 0;
    assert.ok(loaded?.parts.every(({ category }) => category !== 'adapters'));
    assert.equal(loaded?.bytes, resting(plain) - adapters);
    assert.equal(hosted.model.totalParameters, plain.model.totalParameters);
  });

  it('stays where the head shares it, where it is trained, and where several GPUs train', () => {
    const tied = { ...SMALL_LLAMA, tie_word_embeddings: true };
    for (const place of ['host', 'spare-to-host'] as const) {
      assert.equal(resting(of({ 'loading.embedding': place }, tied)), resting(of({}, tied)));
      for (const values of [
        { 'lora.modulesToSave': ['embed_tokens'] },
        { 'method.kind': 'full' },
        { 'hardware.gpus': 2, 'parallel.data': 'ddp' },
      ] satisfies RunValues[])
        assert.equal(resting(of({ ...values, 'loading.embedding': place })), resting(of(values)));
    }
  });

  it('moves where it may only leave no run that is sure not to fit but for it', () => {
    const plain = of({});
    const tight: RunValues = { 'loading.embedding': 'spare-to-host-if-tight' };
    const roomy = of(tight);
    assert.deepEqual(roomy.peak, plain.peak);
    // A card that holds all but half of the table.
    const memory: RunValues = { 'hardware.gpuMemory': plain.peak.lowerBytes - TABLE / 2 };
    assert.equal(of(memory).verdict, 'exceeds');
    assert.equal(of({ ...memory, ...tight }).verdict, 'tight');
    assert.equal(of({ ...tight, 'hardware.gpuMemory': GIB / 4 }).verdict, 'exceeds');
  });
});
