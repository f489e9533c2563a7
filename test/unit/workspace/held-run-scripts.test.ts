import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const D = '$';
const RECIPE = `base_model: NousResearch/Llama-3.2-1B
datasets: [{path: a, type: alpaca}]
sequence_len: 2048
micro_batch_size: 1
`;
/** GPUs, and the recipe, as arguments. */
const TRAIN = `GPUS=${D}{1:-1}\nCONFIG=${D}2\naccelerate launch --num_processes ${D}GPUS -m axolotl.cli.train "${D}CONFIG"\n`;
const WORLD = {
  'oomlint.yaml': 'targets: {gpu: A100-SXM4-80GB}\n',
  'configs/tiny.yml': RECIPE,
  'scripts/train.sh': TRAIN,
};

const cell = (source: string) =>
  JSON.stringify({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: [{ cell_type: 'code', source, metadata: {}, outputs: [], execution_count: null }],
  });

async function gpus(files: Readonly<Record<string, string>>) {
  const { resolved } = await smallWorkspace({ ...WORLD, ...files }).analyze('configs/tiny.yml');
  return [resolved.values['hardware.gpus'], resolved.origins['hardware.gpus']?.location?.uri];
}

describe('a script of the shell that commands among other text run', () => {
  const run = 'bash scripts/train.sh 8 configs/tiny.yml';

  for (const [name, text] of [
    ['README.md', `# Train\n\n${'```'}bash\n${run}\n${'```'}\n`],
    ['Makefile', `train:\n\t${run}\n`],
    ['train.ipynb', cell(`!${run}`)],
  ] as const)
    it(`is started with their arguments: ${name}`, async () => {
      assert.equal((await gpus({ [name]: text }))[0], 8);
    });

  it('is started with the variables before it, and by another script', async () => {
    const train = TRAIN.replace('${1:-1}', '${N:-1}').replace('$2', '$1');
    const outer = 'scripts/outer.sh';
    const files = {
      'scripts/train.sh': train,
      [outer]: `export N=4\nbash "${D}(dirname "${D}0")/train.sh" "${D}1"\n`,
      'README.md': '```sh\nbash scripts/outer.sh configs/tiny.yml\n```\n',
    };
    assert.equal((await gpus(files))[0], 4);
  });

  it('is a pattern where words are left out, and nothing where it is not here', async () => {
    assert.notEqual(
      (
        await gpus({ 'README.md': '```bash\nbash scripts/train.sh 8 <your config> configs/tiny.yml\n```\n' })
      )[0],
      8,
    );
    assert.notEqual(
      (await gpus({ 'README.md': '```bash\nbash scripts/other.sh 8 configs/tiny.yml\n```\n' }))[0],
      8,
    );
  });
});
