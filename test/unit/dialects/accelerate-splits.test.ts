import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { accelerate } from '../../../server/src/dialects/accelerate/accelerate';

describe('tensor parallelism in a config of Accelerate', () => {
  const text = `compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
num_processes: 2
parallelism_config:
  parallelism_config_tp_size: 2
`;
  const read = (model_type: string) =>
    accelerate.read(parseConfig('file:///w/accelerate.yaml', text), {
      known: {},
      model: { config: { model_type } },
    });

  it('splits nothing of a model that transformers has no plan for', () => {
    const reading = read('gpt2');
    assert.deepEqual(
      reading.unread?.flatMap(({ fields }) => fields ?? []),
      ['parallel.tensor'],
    );
    assert.deepEqual(
      read('llama').unread?.filter(({ fields }) => fields?.includes('parallel.tensor')) ?? [],
      [],
    );
  });
});
