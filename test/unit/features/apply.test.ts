import assert from 'node:assert/strict';
import { writeWhereStated } from '../../../server/src/features/apply';
import type { RunValues } from '../../../server/src/run/fields';
import { analysed, DEEPSPEED, PROJECT, URI } from './panel-run';

const PROJECT_URI = 'file:///project/oomlint.yaml';

async function written(values: RunValues, text = DEEPSPEED) {
  const texts: Record<string, string> = { [URI]: text, [PROJECT_URI]: PROJECT };
  const { edits, left } = await writeWhereStated(await analysed(text), values, {
    project: { uri: PROJECT_URI, text: PROJECT },
    readText: async (uri) => texts[uri],
  });
  return {
    edits: edits.map(({ uri, range, newText }) => [uri.split('/').pop(), range.start.line, newText]),
    left: left.map(({ field }) => field),
  };
}

describe('values written where they are stated', () => {
  it('replace what stands there, in the file that says it', async () => {
    assert.deepEqual(await written({ 'batch.micro': 8, 'zero.stage': 2, 'batch.sequence': 4096 }), {
      edits: [
        ['ds.json', 1, '8'],
        ['oomlint.yaml', 5, '4096'],
        ['ds.json', 4, '2'],
      ],
      left: [],
    });
  });

  it('keep the quotes of what they replace', async () => {
    const text = DEEPSPEED.replace('"AdamW"', '"adamw"');
    assert.deepEqual((await written({ 'optimizer.name': 'lion' }, text)).edits, [['ds.json', 5, '"lion"']]);
  });

  it('go to the project file where no file states them', async () => {
    const { edits, left } = await written({ 'activations.checkpointing': 'full' });
    assert.deepEqual(left, []);
    assert.equal(edits.length, 1);
    assert.match(String(edits[0]?.[2]), /^ {2}checkpointing: full\n$/);
    assert.equal(edits[0]?.[0], 'oomlint.yaml');
  });

  it('are left where the file says them in other words, and where nothing changes nothing is written', async () => {
    assert.deepEqual(await written({ 'precision.compute': 'fp16' }), {
      edits: [],
      left: ['precision.compute'],
    });
    assert.deepEqual(await written({ 'batch.micro': 2 }), { edits: [], left: [] });
  });
});
