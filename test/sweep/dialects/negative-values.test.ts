import assert from 'node:assert/strict';
import { SEEDS } from '../../fuzz/seeds';
import { smallWorkspace } from '../../unit/workspace/small-workspace';
import { configOf, exampleConfigs, valuesIn, withValue } from './replaced-values';

/** Keys of which a framework takes a negative value, with what it makes of it. */
const TAKEN: Readonly<Record<string, string>> = {
  // `pp_size = self.pipe_parallel_size if self.pipe_parallel_size >= 1 else 1` (gpt-neox, `megatron/neox_arguments/arguments.py`).
  'gpt-neox pipe_parallel_size': 'no pipeline',
};
const PROJECT = 'targets: { gpu: H100, gpus: 16 }\n';

async function answerOf(file: string, text: string) {
  const { workspace } = smallWorkspace({ 'oomlint.yaml': PROJECT, [file]: text });
  const analysis = await workspace.analyze(`file:///repo/${file}`);
  return {
    verdict: analysis?.estimate?.verdict,
    peak: analysis?.estimate?.peak.processBytes,
    reported: new Set(analysis?.problems.map(({ code, message }) => `${code} ${message}`)),
  };
}

/** Keys of a config that shape its peak, and whose negative value is taken for another one without a word. */
async function unreportedIn(file: string, text: string, tried: Set<string>): Promise<string[]> {
  const whole = configOf(`file:///repo/${file}`, text);
  if (!whole) return [];
  const asIs = await answerOf(file, text);
  const unreported: string[] = [];
  for (const value of valuesIn(whole.document.root)) {
    const name = `${whole.dialect.id} ${value.key}`;
    const [negative, other] = ['-8', '7'].map((by) => withValue(text, value, by));
    if (tried.has(name) || name in TAKEN || !/^\d/.test(value.node.text)) continue;
    if (negative === undefined || other === undefined) continue;
    tried.add(name);
    const { verdict, reported } = await answerOf(file, negative);
    if (verdict !== 'fits' && verdict !== 'tight') continue;
    if ([...reported].some((problem) => !asIs.reported.has(problem))) continue;
    if ((await answerOf(file, other)).peak !== asIs.peak) unreported.push(`${file}: ${name}: ${verdict}`);
  }
  return unreported;
}

describe('a number below zero', function () {
  this.timeout(120_000);

  it('is never taken for a default without a word where the peak hangs on its key', async () => {
    const tried = new Set<string>();
    const unreported: string[] = [];
    const examples = exampleConfigs().map(({ uri, text }) => [uri.split('/').at(-1) ?? '', text] as const);
    for (const [file, text] of [...examples, ...SEEDS.map(([, ...seed]) => seed)])
      unreported.push(...(await unreportedIn(file, text, tried)));
    assert.ok(tried.size > 80, `${tried.size} keys`);
    assert.deepEqual(unreported, []);
  });
});
