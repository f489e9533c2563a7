import assert from 'node:assert/strict';
import {
  type CodeAction,
  type CodeLens,
  type CompletionList,
  commands,
  type InlayHint,
  languages,
  Range,
  type TextDocument,
  Uri,
  workspace,
} from 'vscode';
import { eventually, file, hoverText, lensTitles, open } from './editor';

/** The project file of the folder states model, length and GPUs; nobody states whether activations are recomputed. */
const ZERO2 = `{
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 8,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 2, "overlap_comm": true }
}
`;
const LORA = `# oomlint: gpu=A100-SXM4-80GB gpus=1 allocator.expandableSegments=false
base_model: meta-llama/Llama-3.1-8B
sequence_len: 4096
micro_batch_size: 2
adapter: lora
load_in_8bit: true
lora_r: 32
lora_alpha: 16
lora_target_linear: true
optimizer: adamw_torch
bf16: true
gradient_checkpointing: true
gradient_accumulation_steps: 4
datasets:
  - path: a
    type: alpaca
`;
const SHARED = `{
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3 }
}
`;
const RECIPE = `model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 1.0e-5
bf16: true
gradient_checkpointing: true
max_length: 4096
output_dir: out
`;
const FILES: Readonly<Record<string, string>> = {
  'ds_zero2.json': ZERO2,
  'lora.yaml': LORA,
  'unknown_gpu.yaml': LORA.replace('A100-SXM4-80GB', 'H999'),
  'unknown_model.yaml': LORA.replace('Llama-3.1-8B', 'Llama-9.9-8B'),
  'ds_triangle.json': ZERO2.replace('{', '{\n  "train_batch_size": 100,'),
  'ds_two_precisions.json': ZERO2.replace('{', '{\n  "fp16": { "enabled": true },'),
  'deepspeed/zero3.json': SHARED,
  'factory/sft.yaml': `${RECIPE}deepspeed: ../deepspeed/zero3.json\n`,
  'scripts/sft.yaml': RECIPE,
  'scripts/run.sh':
    '#!/bin/bash\naccelerate launch --num_processes 8 --multi_gpu sft.py --config sft.yaml --deepspeed ../deepspeed/zero3.json\n',
};
const FOLDER = 'advised';

/** The part of a list in which the best of each kind stands: what a person takes is near its top. */
const actionsAt = async (document: TextDocument, needle: string): Promise<CodeAction[]> => {
  const at = document.positionAt(document.getText().indexOf(needle));
  return commands.executeCommand<CodeAction[]>(
    'vscode.executeCodeActionProvider',
    document.uri,
    new Range(at, at.translate(0, 1)),
    undefined,
    50,
  );
};
const titlesOf = (actions: readonly CodeAction[]) => actions.map(({ title }) => title);

/** What Oomlint offers at a place, once it does. */
const offeredAt = (document: TextDocument, needle: string, wanted: RegExp) =>
  eventually(
    () => actionsAt(document, needle),
    (all) => titlesOf(all).some((title) => wanted.test(title)),
  );

describe('what a person reads and is offered in VS Code', () => {
  before(async () => {
    for (const [name, text] of Object.entries(FILES))
      await workspace.fs.writeFile(file(`${FOLDER}/${name}`), new TextEncoder().encode(text));
  });
  after(() => workspace.fs.delete(file(FOLDER), { recursive: true }));

  const opened = (name: string) => open(`${FOLDER}/${name}`);
  const lens = async (document: TextDocument): Promise<string> => {
    const titles = await eventually(
      () => lensTitles(document),
      (all) => all.some((title) => title.includes('GiB')),
    );
    return titles.find((title) => title.includes('GiB')) ?? assert.fail('no lens');
  };

  it('names the assumption that decides the verdict, in the hover and above the file', async () => {
    const document = await opened('ds_zero2.json');
    await lens(document);
    const hover = await eventually(
      () => hoverText(document, '"train_micro'),
      (text) => /checkpointing/.test(text),
    );
    assert.match(
      hover,
      /checkpoints activations: none is assumed\. With activation checkpointing it would need [\d.]+ GiB/,
    );
    const lenses = await commands.executeCommand<CodeLens[]>(
      'vscode.executeCodeLensProvider',
      document.uri,
      20,
    );
    const tooltips = lenses.map(({ command }) => command?.tooltip ?? '');
    assert.match(tooltips.join('\n'), /checkpointing/, 'above the file');
  });

  it('offers checkpointing where the file has no word for it, and tells what is done by hand', async () => {
    const document = await opened('ds_zero2.json');
    const titles = titlesOf(await offeredAt(document, 'train_micro', /checkpointing/i));
    assert.match(titles.join('\n'), /checkpointing.*[\d.]+ → [\d.]+ GiB/i);
  });

  it('has each hint at the end of its line, words first', async () => {
    const document = await opened('ds_zero2.json');
    const found = await eventually(
      () =>
        commands.executeCommand<InlayHint[]>(
          'vscode.executeInlayHintProvider',
          document.uri,
          new Range(0, 0, document.lineCount, 0),
        ),
      ({ length }) => length > 0,
    );
    assert.ok(found.length > 0);
    for (const { position, label } of found) {
      assert.equal(position.character, document.lineAt(position.line).text.length);
      const text = typeof label === 'string' ? label : label.map(({ value }) => value).join('');
      assert.match(text, /^\D+ [\d.]+ [GM]iB/);
      assert.doesNotMatch(text, /\+\d/);
    }
  });

  it('has the value that the lens calls the largest in the table of the hover', async () => {
    const document = await opened('lora.yaml');
    const titles = await eventually(
      () => lensTitles(document),
      (all) => all.some((title) => title.includes('largest micro batch')),
    );
    const [, largest = ''] = /fits: (\d+)/.exec(titles.join('\n')) ?? assert.fail(titles.join('\n'));
    const hover = await eventually(
      () => hoverText(document, 'micro_batch_size'),
      (text) => text.includes('GiB'),
    );
    assert.match(hover, new RegExp(`\\|[^|\\n]*\\b${largest}\\b[^|\\n]*\\|[^\\n]*GiB[^\\n]*(fits|tight)`));
  });

  it('has the run as it is in the table of the adapter, with the figure of the lens', async () => {
    const document = await opened('lora.yaml');
    const [, peak = ''] = /([\d.]+) of [\d.]+ GiB/.exec(await lens(document)) ?? [];
    const hover = await eventually(
      () => hoverText(document, 'adapter'),
      (text) => text.includes('GiB'),
    );
    const now = hover.split('\n').find((row) => row.includes('▸'));
    assert.match(now ?? hover, new RegExp(`lora[^\\n]*${peak.replace('.', '\\.')}`, 'i'));
  });

  it('tells why a smaller optimizer may need more', async () => {
    const document = await opened('lora.yaml');
    await lens(document);
    const hover = await eventually(
      () => hoverText(document, 'optimizer'),
      (text) => text.includes('GiB'),
    );
    assert.match(hover, /blocks that the caching allocator holds/);
  });

  it('offers the usual optimizers before the exotic ones', async () => {
    const document = await opened('lora.yaml');
    await lens(document);
    const at = document.positionAt(document.getText().indexOf('optimizer: ') + 'optimizer: '.length);
    const { items } = await eventually(
      () => commands.executeCommand<CompletionList>('vscode.executeCompletionItemProvider', document.uri, at),
      (list) => list.items.length > 10,
    );
    const nameOf = ({ label }: (typeof items)[number]) => (typeof label === 'string' ? label : label.label);
    const order = items
      .toSorted((a, b) => ((a.sortText ?? nameOf(a)) < (b.sortText ?? nameOf(b)) ? -1 : 1))
      .map((item) => nameOf(item).trim());
    const place = (name: string) => {
      const found = order.indexOf(name);
      assert.ok(found >= 0, `${name} of ${order.join(', ')}`);
      return found;
    };
    for (const usual of ['adamw_torch', 'adamw_torch_fused', 'adamw_bnb_8bit', 'paged_adamw_8bit'])
      for (const exotic of ['optimi_adamw', 'ao_adamw_4bit', 'galore_adamw', 'lomo'])
        if (order.includes(exotic)) assert.ok(place(usual) < place(exotic), `${usual}, ${exotic}`);
    assert.ok(place('adamw_torch') < 6, order.slice(0, 10).join(', '));
  });

  for (const [name, needle, wanted] of [
    ['unknown_gpu.yaml', 'gpu=H999', /^Choose GPU/],
    ['unknown_model.yaml', 'meta-llama', /^Choose model/],
  ] as const)
    it(`offers a way on first, and to be switched off last: ${name}`, async () => {
      const document = await opened(name);
      const titles = titlesOf(await offeredAt(document, needle, /Switch/i));
      const off = titles.findIndex((title) => /Switch.* off/i.test(title));
      assert.equal(off, titles.length - 1, titles.join('\n'));
      assert.match(titles[0] ?? '', wanted, titles.join('\n'));
    });

  it('knows what makes three sizes of a batch agree, and prefers it', async () => {
    const document = await opened('ds_triangle.json');
    const actions = await offeredAt(document, '100,', /train_batch_size/);
    const preferred = actions.filter(({ isPreferred }) => isPreferred);
    assert.equal(preferred.length, 1, titlesOf(actions).join('\n'));
    assert.match(preferred[0]?.title ?? '', /train_batch_size.*256/, titlesOf(actions).join('\n'));
  });

  it('switches off either of two precisions, neither of which it prefers', async () => {
    const document = await opened('ds_two_precisions.json');
    const codes = () => languages.getDiagnostics(document.uri).map(({ code }) => code);
    const reported = () =>
      eventually(
        async () => codes().map((code) => (typeof code === 'object' ? code.value : code)),
        (all) => all.includes('two-precisions'),
      );
    assert.ok((await reported()).includes('two-precisions'), 'it is reported');
    const actions = await offeredAt(document, 'true },\n  "zero', /enabled/);
    const titles = titlesOf(actions);
    assert.deepEqual(
      titles.filter((title) => /enabled/.test(title)).map((title) => /fp16|bf16/.exec(title)?.[0]),
      ['fp16', 'bf16'],
      titles.join('\n'),
    );
    assert.ok(!actions.some(({ title, isPreferred }) => isPreferred && /enabled/.test(title)));
  });

  it('shows a shared file in the worst of its runs, whichever files were opened before', async () => {
    const document = await opened('deepspeed/zero3.json');
    const titles = () =>
      eventually(
        () => lensTitles(document),
        (all) => all.some((title) => /of \d+ runs/.test(title)),
      );
    const cold = await titles();
    assert.match(cold.join('\n'), /worst of 2 runs/);
    await opened('factory/sft.yaml');
    await lens(await opened('scripts/run.sh'));
    assert.deepEqual(await titles(), cold);
  });

  it('leaves nothing open of what it wrote', () => {
    for (const document of workspace.textDocuments)
      assert.ok(!document.isDirty, Uri.parse(document.uri.toString()).path);
  });
});
