import assert from 'node:assert/strict';
import {
  type CompletionList,
  commands,
  DiagnosticSeverity,
  languages,
  TabInputWebview,
  type TextDocument,
  window,
  workspace,
} from 'vscode';
import {
  codes,
  eventually,
  extension,
  file,
  hoverText,
  lensTitles,
  open,
  ours,
  replace,
  untilCodes,
} from './editor';

function panels(): string[] {
  return window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .filter(({ input }) => input instanceof TabInputWebview && input.viewType.includes('oomlint.breakdown'))
    .map(({ label }) => label);
}

async function set(name: string, value: unknown): Promise<void> {
  await workspace.getConfiguration('oomlint').update(name, value, false);
}

describe('a DeepSpeed config in VS Code', () => {
  let document: TextDocument;

  before(async () => {
    document = await open('ds_config.json');
  });

  it('activates the extension', async () => {
    assert.ok(await eventually(async () => extension().isActive, Boolean));
  });

  it('shows the estimate above the file', async () => {
    const titles = await eventually(
      () => lensTitles(document),
      (all) => all.some((title) => title.includes('GiB')),
    );
    assert.match(titles.join('\n'), /Fits: [\d.]+ of [\d.]+ GiB · Llama-3\.1-8B · 8×H100/);
  });

  it('explains a key on hover', async () => {
    const text = await eventually(
      () => hoverText(document, '"stage"'),
      (found) => found.length > 0,
    );
    assert.match(text, /stage/i);
    assert.match(text, /\b3\b/);
  });

  it('offers each value once, and explains a key once', async () => {
    await replace(document, '"stage": 3', '"stage": ');
    const at = document.positionAt(document.getText().indexOf('"stage": ') + '"stage": '.length);
    const offered = async () => {
      const { items } = await commands.executeCommand<CompletionList>(
        'vscode.executeCompletionItemProvider',
        document.uri,
        at,
      );
      return items.map(({ label }) => (typeof label === 'string' ? label : label.label).trim());
    };
    const found = await eventually(offered, (labels) => labels.includes('2'));
    await replace(document, '"stage": ', '"stage": 3');
    assert.deepEqual(found.toSorted(), [...new Set(found)].toSorted());
    assert.ok(!found.includes('"auto"'), found.join(', '));
    const sentences = (await hoverText(document, '"stage"')).split(/\n+/).filter((line) => line.length > 40);
    assert.equal(new Set(sentences).size, sentences.length, sentences.join('\n'));
  });

  it('leaves broken syntax to the editor, which reports it of JSON itself', async () => {
    await replace(document, '_per_gpu": 1,', '_per_gpu": 1');
    await document.save();
    const errors = () => languages.getDiagnostics(document.uri);
    const found = await eventually(
      async () => errors(),
      ({ length }) => length > 0,
    );
    // What Oomlint finds comes with the save, too.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.deepEqual(
      errors().map(({ source }) => source),
      ['json'],
      JSON.stringify(found),
    );
    await replace(document, '_per_gpu": 1', '_per_gpu": 1,');
    await document.save();
    await eventually(
      async () => errors(),
      ({ length }) => length === 0,
    );
  });

  it('marks a run that does not fit when it is saved, and clears the mark when it fits again', async () => {
    assert.ok(!codes(document.uri).includes('does-not-fit'));
    await replace(document, '_per_gpu": 1,', '_per_gpu": 256,');
    await document.save();
    const marked = await untilCodes(document.uri, (all) => all.includes('does-not-fit'));
    assert.ok(marked.includes('does-not-fit'), `found ${marked.join(', ') || 'nothing'}`);
    const problem = ours(document.uri).find(({ severity }) => severity === DiagnosticSeverity.Error);
    assert.match(problem?.message ?? '', /GiB/);
    await replace(document, '_per_gpu": 256,', '_per_gpu": 1,');
    await document.save();
    const cleared = await untilCodes(document.uri, (all) => !all.includes('does-not-fit'));
    assert.ok(!cleared.includes('does-not-fit'));
  });

  it('marks what a checkout brings, and clears the mark of what is reverted', async () => {
    const before = document.getText();
    const text = before.replace('_per_gpu": 1,', '_per_gpu": 256,');
    await workspace.fs.writeFile(document.uri, new TextEncoder().encode(text));
    const marked = await untilCodes(document.uri, (all) => all.includes('does-not-fit'));
    assert.ok(marked.includes('does-not-fit'), `found ${marked.join(', ') || 'nothing'}`);
    await workspace.fs.writeFile(document.uri, new TextEncoder().encode(before));
    const cleared = await untilCodes(document.uri, (all) => !all.includes('does-not-fit'));
    assert.ok(!cleared.includes('does-not-fit'));
  });

  it('links its answers to the panel', async () => {
    await commands.executeCommand('oomlint.estimateMemory', { uri: document.uri.toString() });
    assert.deepEqual(
      await eventually(
        async () => panels(),
        ({ length }) => length > 0,
      ),
      ['Memory: ds_config.json'],
    );
  });

  it('keeps one panel, which follows the active config', async () => {
    await open('accelerate.yaml');
    const followed = await eventually(
      async () => panels(),
      (all) => all[0] === 'Memory: accelerate.yaml',
    );
    assert.deepEqual(followed, ['Memory: accelerate.yaml']);
    await commands.executeCommand('oomlint.estimateMemory', document.uri);
    assert.deepEqual(
      await eventually(
        async () => panels(),
        (all) => all[0] === 'Memory: ds_config.json',
      ),
      ['Memory: ds_config.json'],
    );
  });

  it('answers again after a restart of the server', async () => {
    document = await open('ds_config.json');
    await commands.executeCommand('oomlint.restart');
    const titles = await eventually(
      () => lensTitles(document),
      (all) => all.some((title) => title.includes('GiB')),
    );
    assert.match(titles.join('\n'), /GiB/);
  });
});

describe('an Accelerate config in VS Code', () => {
  let document: TextDocument;

  before(async () => {
    document = await open('accelerate.yaml');
  });

  it('is estimated with the facts of its directive and of the project file', async () => {
    const titles = await eventually(
      () => lensTitles(document),
      (all) => all.some((title) => title.includes('GiB')),
    );
    assert.match(titles.join('\n'), /GiB.*Llama-3\.1-8B.*8×H100/);
  });

  it('explains a key on hover', async () => {
    const text = await eventually(
      () => hoverText(document, 'mixed_precision'),
      (found) => found.length > 0,
    );
    assert.match(text, /bf16/);
  });
});

describe('any other JSON file in VS Code', () => {
  it('is left alone', async () => {
    // The neighbour is answered first, so no answer here is no matter of time.
    const neighbour = await open('ds_config.json');
    const document = await open('tasks.json');
    await eventually(
      () => lensTitles(neighbour),
      ({ length }) => length > 0,
    );
    assert.deepEqual(await lensTitles(document), []);
    assert.deepEqual(ours(document.uri), []);
  });
});

describe('settings', () => {
  let document: TextDocument;

  beforeEach(async () => {
    document = await open('ds_config.json');
    await eventually(
      () => lensTitles(document),
      ({ length }) => length > 0,
    );
  });
  afterEach(async () => {
    for (const name of ['enable', 'codeLens.enabled', 'hover.enabled', 'gpu']) {
      await set(name, undefined);
    }
  });

  it('switch the lens off and on', async () => {
    await set('codeLens.enabled', false);
    assert.deepEqual(
      await eventually(
        () => lensTitles(document),
        ({ length }) => length === 0,
      ),
      [],
    );
    await set('codeLens.enabled', undefined);
    assert.notDeepEqual(
      await eventually(
        () => lensTitles(document),
        ({ length }) => length > 0,
      ),
      [],
    );
  });

  it('switch hovers off', async () => {
    await set('hover.enabled', false);
    const text = await eventually(
      () => hoverText(document, '"stage"'),
      (found) => !/ZeRO/i.test(found),
    );
    assert.doesNotMatch(text, /ZeRO/i);
  });

  it('switch everything off', async () => {
    await set('enable', false);
    assert.deepEqual(
      await eventually(
        () => lensTitles(document),
        ({ length }) => length === 0,
      ),
      [],
    );
    assert.deepEqual(await untilCodes(document.uri, ({ length }) => length === 0), []);
  });

  it('are weaker than the project file', async () => {
    await set('gpu', 'A100-SXM4-40GB');
    assert.match((await lensTitles(document)).join('\n'), /H100/);
  });
});

describe('commands', () => {
  it('all exist', async () => {
    const known = new Set(await commands.getCommands(true));
    const contributed: { command: string }[] = extension().packageJSON.contributes.commands;
    assert.deepEqual(
      contributed.map(({ command }) => command).filter((command) => !known.has(command)),
      [],
    );
  });

  it('show the output', async () => {
    await commands.executeCommand('oomlint.showOutput');
  });

  it('estimate a file that is not open', async () => {
    await commands.executeCommand('workbench.action.closeAllEditors');
    await commands.executeCommand('oomlint.estimateMemory', file('accelerate.yaml'));
    assert.deepEqual(
      await eventually(
        async () => panels(),
        ({ length }) => length > 0,
      ),
      ['Memory: accelerate.yaml'],
    );
  });
});
