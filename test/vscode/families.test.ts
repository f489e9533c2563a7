import assert from 'node:assert/strict';
import {
  type CompletionList,
  commands,
  DiagnosticSeverity,
  extensions,
  languages,
  Position,
  Range,
  type TextDocument,
  WorkspaceEdit,
  workspace,
} from 'vscode';
import { eventually, file, hoverText, lensTitles, open } from './editor';

/** What the stand-in for the YAML extension shows of those that contribute schemas. */
interface YamlStandIn {
  readonly contributors: ReadonlyMap<
    string,
    {
      requestSchema(resource: string): string | undefined;
      requestSchemaContent(uri: string): Promise<string>;
    }
  >;
}

async function offered(document: TextDocument, line: number, character: number): Promise<string[]> {
  const list = await commands.executeCommand<CompletionList>(
    'vscode.executeCompletionItemProvider',
    document.uri,
    new Position(line, character),
  );
  return list.items.map(({ label }) => (typeof label === 'string' ? label : label.label));
}

describe('a launch script in VS Code', () => {
  let document: TextDocument;

  before(async () => {
    document = await open('runs/run.sh');
  });

  it('is estimated together with the recipe that it names', async () => {
    const titles = await eventually(
      () => lensTitles(document),
      (all) => all.some((title) => title.includes('GiB')),
    );
    assert.match(titles.join('\n'), /GiB.*Llama-3\.1-8B.*8×H100/);
  });

  it('explains a flag on hover', async () => {
    const text = await eventually(
      () => hoverText(document, 'per_device_train_batch_size'),
      (found) => found.length > 0,
    );
    assert.match(text, /per_device_train_batch_size/);
    assert.match(text, /^\*\*`--per_device_train_batch_size`\*\* 4 — /);
  });
});

describe('a TOML config in VS Code', () => {
  it('is completed', async () => {
    const document = await open('runs/train.toml');
    assert.equal(document.languageId, 'toml');
    const labels = await eventually(
      () => offered(document, 8, 0),
      (all) => all.includes('global_batch_size'),
    );
    assert.ok(labels.includes('global_batch_size'), labels.slice(0, 20).join(', '));
    assert.ok(!labels.includes('seq_len'));
  });
});

describe('a YAML config beside the YAML extension', () => {
  let document: TextDocument;
  let standIn: YamlStandIn;

  before(async () => {
    document = await open('runs/sft.yaml');
    const yaml = extensions.getExtension<YamlStandIn>('redhat.vscode-yaml');
    assert.ok(yaml, 'no YAML extension is there');
    standIn = await yaml.activate();
  });

  it('gets its schema by what it holds, not by its name', async () => {
    const address = await eventually(
      async () => standIn.contributors.get('oomlint')?.requestSchema(document.uri.toString()),
      (found) => found !== undefined,
    );
    assert.match(address ?? '', /^oomlint:\/\/schemas\/(trl|hf-training-arguments)$/);
    const contributor = standIn.contributors.get('oomlint');
    assert.equal(contributor?.requestSchema(file('tasks.json').toString()), undefined);
    const schema = JSON.parse((await contributor?.requestSchemaContent(address ?? '')) ?? '{}');
    const { description, anyOf } = schema.properties.per_device_train_batch_size;
    assert.ok(description.length > 10);
    // What is wrong with a value is reported by the server alone.
    assert.ok(anyOf.some((accepted: object) => Object.keys(accepted).length === 0));
  });

  it('has broken syntax reported once, also where the other extension is later', async () => {
    const places = () =>
      languages
        .getDiagnostics(document.uri)
        .filter(({ severity }) => severity === DiagnosticSeverity.Error)
        .map(({ source, range }) => `${source} ${range.start.line}`);
    const end = document.lineCount;
    const write = async (text: string, range = new Range(end, 0, end, 0)) => {
      const edit = new WorkspaceEdit();
      edit.replace(document.uri, range, text);
      await workspace.applyEdit(edit);
      await document.save();
    };
    const before = document.getText();
    try {
      const line = document.lineAt(end - 1).text === '' ? end - 1 : end;
      await write(`${line === end ? '\n' : ''}broken: with: two\n`);
      await eventually(
        async () => places(),
        (found) => found.includes(`YAML ${line}`) && !found.includes(`oomlint ${line}`),
      );
      // What Oomlint finds comes with the save, too.
      await new Promise((resolve) => setTimeout(resolve, 1000));
      assert.deepEqual(places(), [`YAML ${line}`]);
    } finally {
      await write(before, new Range(0, 0, document.lineCount, 0));
    }
    await eventually(
      async () => places(),
      ({ length }) => length === 0,
    );
  });

  it('is completed with what a schema does not know', async () => {
    const line = 8;
    const labels = await eventually(
      () => offered(document, line, 'optim: '.length),
      (all) => all.includes('paged_adamw_8bit'),
    );
    assert.ok(labels.includes('paged_adamw_8bit'), labels.slice(0, 20).join(', '));
    const models = await offered(document, 0, 'model_name_or_path: '.length);
    assert.ok(models.includes('Qwen/Qwen2.5-7B'));
    assert.ok(!(await offered(document, line, 0)).includes('gradient_checkpointing_kwargs'));
  });
});
