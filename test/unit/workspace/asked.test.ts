import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Workspace } from '../../../server/src/workspace/analyze';
import { Asked, listKey } from '../../../server/src/workspace/asked';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const FILE = 'file:///w/a.json';
const OTHER = 'file:///w/b.json';

describe('what an analysis asked', () => {
  it('holds while the answers are the same, and no longer', async () => {
    let text = 'one';
    const asked = new Asked();
    assert.equal(await asked.ask(FILE, async () => text), 'one');
    assert.ok(asked.concerns(FILE));
    assert.ok(!asked.concerns(OTHER));
    assert.ok(await asked.holds([FILE]));
    text = 'two';
    assert.ok(await asked.holds([OTHER]), 'nobody says that it changed');
    assert.ok(!(await asked.holds([OTHER, FILE])));
    text = 'one';
    assert.ok(await asked.holds([FILE]));
  });

  it('takes part in what a folder holds', async () => {
    let names = ['a.json'];
    const asked = new Asked();
    await asked.ask(
      listKey('file:///w'),
      async () => names,
      (a, b) => a.join() === b.join(),
    );
    assert.ok(asked.concerns(OTHER));
    assert.ok(!asked.concerns('file:///w/deeper/c.json'));
    names = ['a.json'];
    assert.ok(await asked.holds([OTHER]));
    names = ['a.json', 'b.json'];
    assert.ok(!(await asked.holds([OTHER])));
  });

  it('sees an answer that changed while the analysis was made', async () => {
    let text = 'one';
    const asked = new Asked();
    await asked.ask(FILE, async () => text);
    text = 'two';
    await asked.ask(FILE, async () => text);
    assert.ok(!(await asked.holds([FILE])));
    text = 'one';
    assert.ok(!(await asked.holds([FILE])), 'half of it was made of the other text');
  });

  it('holds no text of the files that a gist looked through: they may be all those of a folder', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const asked = new Asked();
    const held: WeakRef<object>[] = [];
    const look = (files: Pick<Asked, 'ask'>) =>
      files.ask(FILE, () => {
        const answer = Promise.resolve('a long text');
        held.push(new WeakRef(answer));
        return answer;
      });
    await asked.gist(async (files) => (await look(files)) === 'a long text');
    assert.ok(await asked.holds([FILE]), 'asked once more');
    assert.equal(held.length, 2);
    await new Promise((resolve) => setTimeout(resolve, 0));
    collect();
    assert.deepEqual(
      held.map((answer) => answer.deref()),
      [undefined, undefined],
    );
  });

  it('keeps a gist while files say the same to the question, whatever else they say', async () => {
    const texts = new Map([
      [FILE, 'names b'],
      [OTHER, 'anything'],
    ]);
    const asked = new Asked();
    const follows = () =>
      asked.gist(async (files) => {
        const first = await files.ask(FILE, async () => texts.get(FILE) ?? '');
        const second = first.includes('b') ? await files.ask(OTHER, async () => texts.get(OTHER) ?? '') : '';
        return second.includes('yes');
      });
    assert.equal(await follows(), false);
    assert.ok(asked.concerns(FILE) && asked.concerns(OTHER));
    texts.set(OTHER, 'something else');
    assert.ok(await asked.holds([OTHER]));
    texts.set(FILE, 'names nothing');
    assert.ok(await asked.holds([FILE]));
    assert.ok(!asked.concerns(OTHER), 'it is not asked about any more');
    texts.set(OTHER, 'yes');
    assert.ok(await asked.holds([OTHER]));
    texts.set(FILE, 'names b again');
    assert.ok(!(await asked.holds([FILE])));
  });

  it('does not hold where a question fails', async () => {
    let fails = false;
    const asked = new Asked();
    await asked.gist(async (files) => {
      await files.ask(FILE, async () => {
        if (fails) throw new Error('gone');
      });
      return true;
    });
    fails = true;
    assert.ok(!(await asked.holds([FILE])));
  });
});

describe('an analysis is made anew', () => {
  const ROOT = 'file:///w';
  const zero = (stage: number) =>
    `{ "train_micro_batch_size_per_gpu": "auto", "zero_optimization": { "stage": ${stage} } }`;
  const recipe = (deepspeed: string, rate = '1e-5') =>
    `model_name_or_path: meta-llama/Llama-3.1-8B\nper_device_train_batch_size: 1\nlearning_rate: ${rate}\noutput_dir: out\nmax_length: 2048\ndeepspeed: ${deepspeed}\n`;
  const world = (files: Readonly<Record<string, string>>) => {
    const host = new MemoryHost(
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`${ROOT}/${name}`, text])),
      { folders: [ROOT] },
    );
    const workspace = new Workspace(host);
    return {
      analyze: (name: string) => workspace.analyze(`${ROOT}/${name}`),
      change: (name: string, text: string | undefined) => {
        const uri = `${ROOT}/${name}`;
        if (text === undefined) host.remove(uri);
        else host.write(uri, text);
        workspace.invalidate(uri);
      },
    };
  };

  it('not where a neighbour changes that has nothing to do with it', async () => {
    const { analyze, change } = world({ 'a.json': zero(3), 'b.json': zero(3) });
    const first = await analyze('a.json');
    change('b.json', zero(2));
    assert.equal(await analyze('a.json'), first);
    change('c.yaml', recipe('b.json'));
    // The folder holds another file now; nothing else is different.
    assert.deepEqual((await analyze('a.json'))?.problems, first?.problems);
  });

  it('not where a neighbour only mentions it, or names it in another folder', async () => {
    const { analyze, change } = world({ 'a.json': zero(3), 'c.yaml': recipe('elsewhere/a.json') });
    const first = await analyze('a.json');
    assert.equal(first?.usedBy, undefined);
    change('c.yaml', `# a.json\n${recipe('elsewhere/a.json')}`);
    assert.equal(await analyze('a.json'), first);
  });

  it('where a file comes to use it in a folder that was not there, or in one that was', async () => {
    const { analyze, change } = world({ 'ds/a.json': zero(3), 'old/b.yaml': recipe('../ds/other.json') });
    const first = await analyze('ds/a.json');
    change('new/more/data.yaml', 'a: 1\n');
    assert.equal((await analyze('ds/a.json'))?.usedBy, undefined);
    change('new/c.yaml', recipe('../ds/a.json'));
    assert.equal((await analyze('ds/a.json'))?.usedBy?.length, 1);
    change('new/c.yaml', undefined);
    assert.equal((await analyze('ds/a.json'))?.usedBy, undefined);
    change('newer/deep/d.yaml', 'a: 1\n');
    change('newer/e.yaml', recipe('../ds/a.json'));
    assert.equal((await analyze('ds/a.json'))?.usedBy?.length, 1);
    assert.equal(first?.usedBy, undefined);
  });

  it('not where a file comes deep in a folder that was there', async () => {
    const { analyze, change } = world({ 'ds/a.json': zero(3), 'old/b.yaml': recipe('../ds/other.json') });
    const first = await analyze('ds/a.json');
    change('old/outputs/checkpoint/config.json', '{}');
    assert.equal(await analyze('ds/a.json'), first);
  });

  it('where a neighbour comes to use it, states something else to it, and uses it no more', async () => {
    const { analyze, change } = world({ 'a.json': zero(3), 'c.yaml': recipe('other.json') });
    const first = await analyze('a.json');
    assert.equal(first?.usedBy, undefined);
    change('c.yaml', recipe('a.json'));
    const used = await analyze('a.json');
    assert.equal(used?.usedBy?.length, 1);
    assert.equal(used?.resolved.values['optimizer.name'], 'adamw');
    change('c.yaml', recipe('a.json', '2e-5'));
    assert.notEqual(await analyze('a.json'), used);
    change('c.yaml', recipe('other.json', '2e-5'));
    assert.equal((await analyze('a.json'))?.usedBy, undefined);
  });

  it('where a file that was looked for appears', async () => {
    const { analyze, change } = world({ 'c.yaml': recipe('a.json') });
    const first = await analyze('c.yaml');
    assert.notEqual(first?.resolved.values['zero.stage'], 3);
    change('a.json', zero(3));
    assert.equal((await analyze('c.yaml'))?.resolved.values['zero.stage'], 3);
    change('a.json', undefined);
    assert.notEqual((await analyze('c.yaml'))?.resolved.values['zero.stage'], 3);
  });

  it('not where what it uses is as it was', async () => {
    const { analyze, change } = world({ 'a.json': zero(3), 'c.yaml': recipe('a.json') });
    const first = await analyze('c.yaml');
    change('a.json', zero(2));
    change('a.json', zero(3));
    assert.equal(await analyze('c.yaml'), first);
  });

  it('once, whoever asks while it is looked at', async () => {
    const { analyze, change } = world({ 'a.json': zero(3), 'c.yaml': recipe('a.json') });
    const first = await analyze('c.yaml');
    change('a.json', zero(2));
    const answers = await Promise.all([analyze('c.yaml'), analyze('c.yaml'), analyze('c.yaml')]);
    assert.equal(new Set(answers).size, 1);
    assert.notEqual(answers[0], first);
    assert.equal(answers[0]?.resolved.values['zero.stage'], 2);
  });
});
