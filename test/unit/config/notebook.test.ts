import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseConfig } from '../../../server/src/config/parse';
import { joinCells } from '../../../server/src/config/python/cells';
import { loadPython } from '../../../server/src/config/python/grammar';
import { readNotebook } from '../../../server/src/config/python/notebook';
import { detectDialect } from '../../../server/src/dialects/registry';
import { processorMs } from '../processor-time';

const cell = (source: string | string[], kind = 'code') => ({
  cell_type: kind,
  metadata: {},
  source,
  outputs: [],
});
const TRAINS = [
  'from transformers import AutoModelForCausalLM\n',
  'from trl import SFTConfig, SFTTrainer\n',
  'name = "a\\tb" "meta-llama/Llama-2-7b-hf"[0:]\n',
  'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")',
];
const NOTEBOOK = JSON.stringify(
  {
    cells: [
      cell('# A title with SFTTrainer(', 'markdown'),
      cell('%%capture\n!pip install trl==0.22.2'),
      cell('%%bash\npython -c "SFTConfig(max_length=1)"'),
      cell(TRAINS),
      cell(['s = "\\"é\\u00e9"; SFTTrainer(model, args=SFTConfig(max_length=512)).train()\n', 'def half(']),
    ],
    metadata: { accelerator: 'GPU', colab: { gpuType: 'L4' } },
    nbformat: 4,
  },
  null,
  1,
);
const URI = 'file:///train.ipynb';

function reading(text: string) {
  const document = parseConfig(URI, text);
  const dialect = detectDialect(document);
  return { document, dialect, facts: dialect?.read(document, { known: {} }).facts ?? [] };
}

describe('notebooks', () => {
  before(loadPython);

  it('are read cell after cell, with places in the file', () => {
    const { dialect, facts } = reading(NOTEBOOK);
    assert.equal(dialect?.id, 'python');
    const length = facts.find(({ field }) => field === 'batch.sequence');
    assert.equal(length?.value, 512);
    const range = length?.origin.location?.range;
    const line = NOTEBOOK.split('\n')[range?.start.line ?? 0] ?? '';
    assert.equal(line.slice(range?.start.character, range?.end.character), '512');
    assert.equal(facts.find(({ field }) => field === 'model.id')?.value, 'meta-llama/Llama-2-7b-hf');
  });

  it('say what they install and which GPU they ask for', () => {
    const { facts } = reading(NOTEBOOK);
    const stated = (name: string) => facts.find(({ field }) => field === name)?.value;
    assert.deepEqual(
      [stated('version.trl'), stated('hardware.gpu'), stated('hardware.gpus')],
      ['0.22.2', 'L4', 1],
    );
    const plain = readNotebook(JSON.stringify({ cells: [], metadata: { accelerator: 'GPU' } }));
    assert.equal(plain?.gpu?.name, 'T4');
    assert.equal(readNotebook(JSON.stringify({ cells: [], metadata: {} }))?.gpu, undefined);
    const large = { cells: [], metadata: { colab: { gpuType: 'A100' } } };
    assert.equal(readNotebook(JSON.stringify(large))?.gpu?.name, 'A100');
    const printed = {
      ...large,
      cells: [{ ...cell('x'), outputs: [{ text: ['GPU = NVIDIA A100-SXM4-80GB.'] }] }],
    };
    assert.equal(readNotebook(JSON.stringify(printed))?.gpu?.name, 'A100-SXM4-80GB');
    // Metadata outlive a move to another machine.
    const ran = (card: string, metadata: object) =>
      readNotebook(
        JSON.stringify({
          metadata,
          cells: [{ ...cell('x'), outputs: [{ text: [`GPU = ${card}. Max memory = 39.495 GB.\n`] }] }],
        }),
      )?.gpu?.name;
    const colab = { accelerator: 'GPU', colab: {} };
    assert.equal(ran('NVIDIA A100-SXM4-40GB', colab), undefined);
    assert.equal(ran('NVIDIA H100 NVL', { colab: { gpuType: 'T4' } }), undefined);
    assert.equal(ran('Tesla T4', colab), 'T4');
    assert.equal(ran('NVIDIA L4', { colab: { gpuType: 'L4' } }), 'L4');
  });

  it('ask for the GPU that Unsloth found there, and for none where it found another', () => {
    const ran = (line: string, gpuType: string) =>
      readNotebook(
        JSON.stringify({
          metadata: { accelerator: 'GPU', colab: { gpuType } },
          cells: [{ ...cell('x'), outputs: [{ text: ['==((====))==\n', `   \\\\   /|    ${line}\n`] }] }],
        }),
      )?.gpu?.name;
    const found = (card: string, memory: string) =>
      `${card}Num GPUs = 1. Max memory: ${memory} GB. Platform: Linux.`;
    assert.equal(ran(found('', '79.318'), 'A100'), 'A100-SXM4-80GB');
    assert.equal(ran(found('', '39.557'), 'A100'), 'A100-SXM4-40GB');
    assert.equal(ran(found('', '191.688'), 'A100'), undefined);
    // Memory without a name tells of another card as well as a name does.
    assert.equal(ran(found('', '14.563'), 'T4'), 'T4');
    assert.equal(ran(found('', '22.161'), 'L4'), 'L4');
    assert.equal(ran(found('', '15.773'), 'V100'), 'V100');
    assert.equal(ran(found('', '79.32'), 'T4'), undefined);
    assert.equal(ran(found('', '15.773'), 'T4'), undefined);
    assert.equal(ran(found('', '23.635'), 'L4'), undefined);
    assert.equal(ran(found('', '14.741'), 'A100'), undefined);
    assert.equal(ran(found('NVIDIA A100-SXM4-40GB. ', '39.557'), 'A100'), 'A100-SXM4-40GB');
    assert.equal(ran(found('NVIDIA GeForce RTX 4090. ', '23.635'), 'T4'), undefined);
    assert.equal(ran(found('Tesla T4. ', '14.741'), 'T4'), 'T4');
    assert.equal(ran('GPU: Tesla T4. Max memory: 14.748 GB. Platform = Linux.', 'T4'), 'T4');
    assert.equal(ran('GPU: NVIDIA L4. Max memory: 22.161 GB. Platform = Linux.', 'T4'), undefined);
  });

  it('install one of the releases that a name in braces is bound to', () => {
    const torch = (bound: string) => {
      const text = JSON.stringify({
        cells: [
          cell(`${bound}\n!uv pip install {_torch} bitsandbytes`),
          cell(TRAINS),
          cell('SFTTrainer(model, args=SFTConfig(max_length=512)).train()'),
        ],
      });
      const found = reading(text).facts.find(({ field }) => field === 'version.torch');
      return [found?.value, found?.origin.orElse];
    };
    assert.deepEqual(torch('_torch, _conv = "torch==2.7.1", "b==1"'), ['2.7.1', undefined]);
    const two = 'if x:\n    _torch = "torch==2.9.1"\nelse:\n    _torch = "torch==2.7.1"';
    assert.deepEqual(torch(two), ['2.9.1', '2.7.1']);
    // The release that is there, or any.
    for (const other of [
      '    _torch = f"torch=={t.__version__}"',
      '    try: pass\n    except: _torch = "torch"',
    ])
      assert.deepEqual(torch(`if x:\n${other}\nelse:\n    _torch = "torch==2.7.1"`), ['2.15', '2.7.1']);
    assert.deepEqual(torch('_torch = "torch"'), [undefined, undefined]);
  });

  it('install on Colab what they do not install elsewhere', () => {
    const source =
      'if "COLAB_" not in "".join(os.environ.keys()):\n    !pip install a\nelse:\n    !pip install b\n!pip install c';
    const of = (metadata: object) =>
      readNotebook(JSON.stringify({ metadata, cells: [cell(source)] }))?.installs.map(({ name }) => name);
    assert.deepEqual(of({}), ['a', 'b', 'c']);
    assert.deepEqual(of({ accelerator: 'GPU', colab: { gpuType: 'T4' } }), ['b', 'c']);
    const joined = (gpu?: string) =>
      parseConfig('file:///a.ipynb', joinCells([source], gpu).text).installs?.map(({ name }) => name);
    assert.deepEqual(
      [joined(), joined('L4')],
      [
        ['a', 'b', 'c'],
        ['b', 'c'],
      ],
    );
  });

  it('ask for no GPU on which what they install does not run', () => {
    const asked = (install: string, known = {}) => {
      const text = JSON.stringify({
        cells: [
          cell(install),
          cell(TRAINS),
          cell('SFTTrainer(model, args=SFTConfig(max_length=512)).train()'),
        ],
        metadata: { accelerator: 'GPU', colab: { gpuType: 'T4' } },
      });
      const document = parseConfig(URI, text);
      const { facts, unread = [] } = detectDialect(document)?.read(document, { known }) ?? { facts: [] };
      const left = unread.some(({ fields = [] }) => fields.includes('hardware.gpu'));
      return [facts.find(({ field }) => field === 'hardware.gpu')?.value, left];
    };
    const whl = 'https://download.pytorch.org/whl';
    for (const install of [
      `!pip install torch --index-url ${whl}/rocm6.4`,
      `%%bash\nT="rocm7.1"\nINDEX="${whl}/rocm$T"\nuv pip install -U torch \\\n    --index-url "$INDEX"`,
      '!pip install torch==2.5.1+rocm6.2',
      '%%bash\nuv pip install -U torch triton-rocm --index-url "$INDEX"',
      '!uv pip install -U --no-deps "unsloth[amd]"',
      // Whatever a condition finds.
      `import torch\nif new:\n    !pip install torch --index-url ${whl}/rocm7.1\nelif old:\n    print(1)\n\n    !pip install torch --index-url ${whl}/rocm6.2\nelse:\n    !pip install torch --index-url ${whl}/rocm6.4`,
      `%%bash\nif [ -n "$NEW" ]; then\n  pip install torch --index-url ${whl}/rocm7.1\nelse\n  pip install torch --index-url ${whl}/rocm6.4\nfi\nls`,
      `try:\n    !pip install torch --index-url ${whl}/rocm7.1\nexcept Exception:\n    !pip install torch --index-url ${whl}/rocm6.4`,
    ])
      assert.deepEqual(asked(install), [undefined, true], install);
    // Whoever states the GPU leaves nothing open.
    assert.deepEqual(asked('!pip install "unsloth[amd]"', { 'hardware.gpu': 'MI300X' }), [undefined, false]);
    for (const install of [
      `!pip install torch --index-url ${whl}/cu126`,
      '!pip install unsloth',
      '# !pip install "unsloth[amd]"',
      // A cell that chooses tells nothing, nor does one whose condition leads elsewhere.
      `import torch\nif torch.version.hip:\n    !pip install torch --index-url ${whl}/rocm6.4\nelse:\n    !pip install torch`,
      `import torch\nif torch.version.hip:\n    !pip install torch --index-url ${whl}/rocm6.4`,
      `import torch\nif new:\n    !pip install torch --index-url ${whl}/rocm7.1\nelif old:\n    !pip install torch --index-url ${whl}/rocm6.4`,
      `import torch\nif new:\n    !pip install torch --index-url ${whl}/rocm7.1\nelif old:\n    pass\nelse:\n    !pip install torch --index-url ${whl}/rocm6.4`,
      `if amd:\n    if new:\n        !pip install torch --index-url ${whl}/rocm7.1\n    else:\n        !pip install torch --index-url ${whl}/rocm6.4`,
      `if new:\n    !pip install torch --index-url ${whl}/rocm7.1\nif old:\n    x = 1\nelse:\n    !pip install torch --index-url ${whl}/rocm6.4`,
      `%%bash\npip install torch --index-url ${whl}/cu126 || pip install torch --index-url ${whl}/rocm6.4`,
    ])
      assert.deepEqual(asked(install), ['T4', false], install);
  });

  it('hold what Python holds, and no cells of other languages', () => {
    const text = readNotebook(NOTEBOOK)?.lines.text ?? '';
    assert.ok(!text.includes('A title') && !text.includes('max_length=1') && !text.includes('pip'));
  });

  it('are none of Python where another language runs their cells', () => {
    const cells = [{ cell_type: 'code', source: TRAINS }];
    const of = (metadata: object) => readNotebook(JSON.stringify({ cells, metadata }))?.cells.length;
    assert.equal(of({ kernelspec: { language: 'julia', name: 'julia-1.9' } }), undefined);
    assert.equal(of({ kernelspec: { name: 'ir' }, language_info: { name: 'R' } }), undefined);
    for (const metadata of [
      {},
      { kernelspec: { language: 'python' } },
      { language_info: { name: 'ipython' } },
      { kernelspec: 5 },
    ])
      assert.equal(of(metadata), 1, JSON.stringify(metadata));
  });

  it('are read as far as they go where the file ends early', () => {
    const end = NOTEBOOK.indexOf('def half(');
    assert.equal(reading(NOTEBOOK.slice(0, end)).dialect?.id, 'python');
    for (const text of [
      '{',
      '{"cells": [',
      '{"cells": {}}',
      '[]',
      '',
      '{"cells": [{"cell_type": "code", "source": [1, null]}]}',
    ])
      assert.doesNotThrow(() => reading(text), text);
  });

  it('of the third format are read, too', () => {
    const old = { worksheets: [{ cells: [{ cell_type: 'code', input: TRAINS }] }] };
    assert.ok(readNotebook(JSON.stringify(old))?.lines.text.includes('from_pretrained'));
  });

  it('cost little for pictures in their outputs', async () => {
    const picture = { output_type: 'display_data', data: { 'image/png': 'A'.repeat(10_000_000) } };
    const big = JSON.stringify({ cells: [{ ...cell(TRAINS), outputs: [picture] }], metadata: {} });
    const took = await processorMs(() => assert.ok(readNotebook(big)));
    assert.ok(took < 2000, `${took} ms`);
  });

  it('never throw, whatever was changed in them', () => {
    fc.assert(
      fc.property(fc.nat(NOTEBOOK.length), fc.nat(20), fc.string({ maxLength: 4 }), (at, length, more) => {
        reading(NOTEBOOK.slice(0, at) + more + NOTEBOOK.slice(at + length));
      }),
      { numRuns: 150 },
    );
  });
});
