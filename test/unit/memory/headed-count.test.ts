import assert from 'node:assert/strict';
import { breakdownOf } from '../../../server/src/features/breakdown';
import { headedCount } from '../../../server/src/memory/headed-count';
import { catalogEntries, findModel } from '../../../server/src/model/catalog';
import { OBJECTIVES } from '../../../server/src/terms/objectives';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

async function parameters(model: string, objective: string, hardware: string, micro = 'micro: 2') {
  const uri = 'file:///w/run.oomlint.yaml';
  const text = `run:\n  model: ${model}\n  method: { kind: full, objective: ${objective} }\n  batch: { ${micro}, sequence: 64 }\n${hardware}`;
  const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
  assert.ok(analysis);
  assert.equal(analysis.estimate !== undefined, hardware !== '', JSON.stringify(analysis.problems));
  return breakdownOf(analysis).model?.totalParameters;
}

describe('parameters of a run whose GPU nobody states', () => {
  it('are those that the class of its task loads', async () => {
    // `DistilBertForMaskedLM` and `Wav2Vec2ForSequenceClassification` of transformers 5.23, counted.
    assert.equal(await parameters('{ id: distilbert-base-uncased }', 'lm', ''), 66_985_530);
    assert.equal(
      await parameters('{ id: facebook/wav2vec2-base, labels: 2 }', 'classification', ''),
      94_569_090,
    );
  });

  it('are those of its estimate', async () => {
    const hardware = '  hardware: { gpu: B200, gpus: 1 }\n';
    for (const [id, objectives] of [
      ['google-bert/bert-base-cased', ['lm', 'classification', 'token-classification', 'multiple-choice']],
      ['microsoft/deberta-v3-base', ['lm', 'classification', 'question-answering']],
      ['answerdotai/ModernBERT-base', ['lm', 'classification', 'token-classification']],
      ['google/vit-base-patch16-224-in21k', ['classification']],
      ['facebook/bart-large', ['lm', 'classification']],
      ['meta-llama/Llama-3.1-8B', ['lm', 'dpo', 'reward', 'classification']],
      ['Qwen/Qwen2.5-0.5B', ['lm', 'reward']],
    ] as const)
      for (const objective of objectives) {
        const model = `{ id: ${id} }`;
        const stated = await parameters(model, objective, hardware);
        assert.equal(await parameters(model, objective, ''), stated, `${id} ${objective}`);
      }
  });

  it('are counted of every model for every objective', () => {
    for (const { id } of catalogEntries())
      for (const objective of OBJECTIVES) {
        const model = findModel(id);
        assert.ok(model);
        assert.ok(headedCount(model, { 'method.objective': objective }).total > 0, `${id} ${objective}`);
      }
  });
});
