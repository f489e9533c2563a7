import assert from 'node:assert/strict';
import { oomlint, type Surroundings, spawned } from '../unit/cli/oomlint';

const ROOT = process.cwd();
const CONFIG = 'examples/zero3-llama-8b.json';
const ON_T4 = ['--gpu', 'T4', '--gpus', '1'];
const RUSSIAN = { environment: { LC_ALL: 'ru_RU.UTF-8' } };
const RECIPE =
  'base_model: NousResearch/Llama-3.2-1B\nmicro_batch_size: 1\nsequence_len: 2048\nwarmup_step: 3\n';

/** Every command, and what is of the process: exit codes, both outputs, standard input, variables. */
const RUNS: readonly (readonly [args: readonly string[], surroundings?: Surroundings])[] = [
  [['estimate', CONFIG, ...ON_T4]],
  [['explain', CONFIG, '--part', 'weights', '--depth', '1']],
  [['fix', CONFIG, ...ON_T4, '--json']],
  [['search', CONFIG]],
  [['check', 'examples'], RUSSIAN],
  [['check', 'examples', '--quiet'], { environment: { FORCE_COLOR: '1' } }],
  [['check', 'examples'], { environment: { FORCE_COLOR: '1', NO_COLOR: '1' } }],
  [['check', '--stdin', '--stdin-filename', 'run.yaml', '--format', 'concise'], { input: RECIPE }],
  [['diff', 'HEAD', '--', '--output=x']],
  [['rule', 'tight']],
  [['oom', 'test/fixtures/logs/torch-2.5-loss.log', CONFIG]],
  [['oom', '-'], { input: 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n' }],
  [['compare-run', 'test/fixtures/logs/zero3-run', CONFIG]],
  [['measured', 'test/fixtures/logs/zero3-run']],
  [['estmate'], RUSSIAN],
  [['--version']],
  [[]],
];

describe('the bundled command line', function () {
  this.timeout(60_000);
  for (const [args, surroundings] of RUNS)
    it(`does what its source does: ${args.join(' ')}`, async () => {
      const [bundled, own] = await Promise.all([
        spawned(args, ROOT, surroundings),
        oomlint(args, ROOT, surroundings),
      ]);
      assert.ok((bundled.out + bundled.err).length > 0);
      assert.deepEqual(bundled, own);
    });
});
