import assert from 'node:assert/strict';
import { askingOf } from '../../../server/src/dialects/python/asked-values';

describe('examples of models', () => {
  for (const [kind, model] of [
    ['AutoModelForSeq2SeqLM', 'google-t5/t5-base'],
    ['T5ForConditionalGeneration', 'google-t5/t5-base'],
    ['BartForConditionalGeneration', 'google-t5/t5-base'],
    ['BlipForConditionalGeneration', '...'],
    ['Pix2StructForConditionalGeneration', '...'],
    ['Qwen2VLForConditionalGeneration', '...'],
    ['AutoModelForVision2Seq', '...'],
    ['AutoModelForImageTextToText', '...'],
    ['AutoModel', '...'],
    ['AutoModelForSequenceClassification', 'google-bert/bert-base-uncased'],
    ['AutoModelForCausalLM', undefined],
  ] as const)
    it(`of ${kind} are of its family, or none`, () => {
      assert.equal(askingOf(kind)?.examples['model.id'], model);
    });
});
