import { strict as assert } from 'node:assert';
import { fillsSamples } from '../../../server/src/config/python/filled-samples';

describe('samples that code fills up', () => {
  for (const [name, code, expected] of [
    ['by a list', 'ids = [tokenizer.pad_token_id] * (\n    max_length - len(ids)\n) + ids', true],
    ['by a list of which the count comes first', 'ids += (self.size - len(ids)) * [0]', true],
    ['by a count that has a name', 'n = max_length - len(ids)\nids = ids + [pad] * n', true],
    ['by a tensor', 'row = torch.full((length - len(ids),), pad)', true],
    ['by padding of PyTorch', 'x = F.pad(x, (0, size - len(x)), value=pad)', true],
    ['not: room for a text', 'room = max_length - len(ids)\ntext = text[:room]', false],
    ['not: a mask of the prompt', 'labels = [-100] * len(prompt) + answer', false],
  ] as const)
    it(name, () => {
      assert.equal(fillsSamples(code), expected);
    });
});
