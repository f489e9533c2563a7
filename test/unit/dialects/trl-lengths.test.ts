import assert from 'node:assert/strict';
import { factOf, read, stated } from './reading';

const RECIPE =
  'model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-5\ndataset_name: d\nattn_implementation: sdpa\n';

/** The length of a recipe of a trainer in a release of TRL. */
const length = (method: string, version: string | undefined, more = '') =>
  stated(
    read(
      'trl',
      `file:///${method}.yaml`,
      RECIPE + more,
      version === undefined ? {} : { 'version.trl': version },
    ),
    'batch.sequence',
  );

describe('the length at which TRL cuts where a recipe has none', () => {
  it('is that of each trainer in each release', () => {
    const releases = ['0.8.6', '0.11.4', '0.12.2', '0.13.0', '0.14.0', '0.24.0', '1.16.0', undefined];
    const [none, fiveHundred, thousand] = [undefined, '512 default', '1024 default'];
    const later = [thousand, thousand, thousand, thousand];
    const expected: Readonly<Record<string, readonly (string | undefined)[]>> = {
      sft: [thousand, thousand, thousand, thousand, ...later],
      dpo: [fiveHundred, fiveHundred, none, none, ...later],
      kto: [fiveHundred, fiveHundred, fiveHundred, fiveHundred, ...later],
      orpo: [fiveHundred, fiveHundred, fiveHundred, fiveHundred, ...later],
      cpo: [fiveHundred, fiveHundred, fiveHundred, fiveHundred, ...later],
      reward: [none, none, fiveHundred, fiveHundred, ...later],
    };
    for (const [method, lengths] of Object.entries(expected))
      assert.deepEqual(
        releases.map((version) => length(method, version)),
        lengths,
        method,
      );
  });

  it('may be a limit all the same where it is null', () => {
    const without = (method: string, ...versions: (string | undefined)[]) =>
      versions.map((version) => length(method, version, 'max_length: null\n'));
    assert.deepEqual(without('dpo', '0.11.4', '0.14.0', undefined), ['512 default', undefined, undefined]);
    assert.deepEqual(without('kto', '1.3.0', '1.4.0'), ['512 default', undefined]);
    assert.deepEqual(without('orpo', '0.9.2', '1.16.0', undefined), [
      '512 default',
      '512 default',
      '512 default',
    ]);
    assert.deepEqual(without('sft', '0.16.0', undefined), [undefined, undefined]);
    assert.equal(length('sft', '0.14.0', 'max_seq_length: null\n'), '1024 default');
  });

  it('is that of prompt and answer where both are cut, and is stated where a recipe states it', () => {
    const parts = 'max_prompt_length: 100\nmax_completion_length: 200\n';
    assert.equal(length('dpo', '0.12.2', parts), '300 file');
    assert.equal(length('dpo', '0.12.2', 'max_prompt_length: 100\n'), undefined);
    assert.equal(length('dpo', '0.14.0', parts), '1024 default');
    assert.equal(length('dpo', '0.12.2', 'max_length: 256\n'), '256 file');
    assert.equal(length('reward', '0.11.4', 'max_length: 256\n'), '256 file');
  });

  it('holds prompt and completion where a trainer generates', () => {
    const generated = (method: string, ...versions: string[]) =>
      versions.map((version) => length(method, version));
    assert.deepEqual(generated('grpo', '0.25.0', '1.10.0'), ['768 inferred', '1024 inferred']);
    assert.deepEqual(generated('rloo', '0.21.0', '0.22.0', '1.10.0'), [
      '565 inferred',
      '768 inferred',
      '1024 inferred',
    ]);
    assert.deepEqual(generated('online_dpo', '0.10.1', '0.13.0', '0.14.0'), [
      '565 inferred',
      '576 inferred',
      '512 default',
    ]);
    assert.equal(length('online_dpo', '0.14.0', 'max_length: 300\n'), '300 file');
  });

  it('is no more than the window of vLLM beside the training, where nothing cuts prompts', () => {
    const whole = (more: string, version: string | undefined = '1.16.0') => {
      const recipe = `${RECIPE}num_generations: 2\nmax_completion_length: 1024\nuse_vllm: true\n${more}`;
      const reading = read('trl', 'file:///grpo.yaml', recipe, { 'version.trl': version });
      const fact = factOf(reading, 'batch.sequence');
      return [fact?.value, fact?.origin.orElse];
    };
    const window = (tokens: number) => `vllm_max_model_length: ${tokens}\n`;
    assert.deepEqual(whole(''), [1536, '2048']);
    assert.deepEqual(whole(window(3072)), [1536, '3072']);
    assert.deepEqual(whole(window(1280)), [1280, undefined]);
    assert.deepEqual(whole(`${window(3072)}vllm_mode: server\n`), [1536, '2048']);
    assert.deepEqual(whole(window(3072), '0.29.0'), [1536, '2048']);
    assert.deepEqual(whole(`${window(3072)}vllm_mode: colocate\n`, '0.29.0'), [1536, '3072']);
  });
});
