import assert from 'node:assert/strict';
import type { KeySpec } from '../../../server/src/dialects/dialect';
import { hover } from '../../../server/src/features/hover';
import { withBreakdown } from '../../../server/src/features/hover-breakdown';
import { whatIfTexts } from '../../../server/src/features/hover-what-if';
import type { FieldPath } from '../../../server/src/run/fields';
import type { Origin } from '../../../server/src/run/origin';
import { speak } from '../../../server/src/wording/say';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { ESTIMATE, MODEL, marked, sample } from './sample';

const KEYS: readonly KeySpec[] = [
  { path: 'zero', type: 'object', doc: 'The ZeRO section.' },
  {
    path: 'zero.reduce_bucket_size',
    type: 'integer',
    default: 500_000_000,
    doc: 'Gradient reduction bucket.',
    source: 'https://www.deepspeed.ai/docs/config-json/',
    fields: ['zero.reduceBucket'],
  },
  { path: 'alpha', type: 'number', doc: 'LoRA alpha.', fields: ['lora.alpha'], deprecated: 'lora_alpha' },
  { path: 'extra.*.dtype', type: 'string', doc: 'Type of one module.' },
  { path: 'modules', type: 'array', doc: 'Names of modules.', fields: ['lora.targets'] },
  {
    path: 'pinned',
    type: 'boolean',
    doc: 'Page-locked.',
    defaults: { of: 'version.deepspeed', before: false, since: '0.19.5', after: true },
  },
  { path: 'model', type: 'string', doc: 'The model.', fields: ['model.id'] },
];

const here = (line: number, from: number, to: number): Origin => ({
  kind: 'file',
  location: {
    uri: 'file:///project/config.yaml',
    range: { start: { line, character: from }, end: { line, character: to } },
  },
});

describe('hover on a key', () => {
  it('reports what it means, what it is set to, what it costs, the default and where to read on', () => {
    const { text, position } = marked('zero:\n  reduce_buc|ket_size: 200000000\n');
    const found = hover(
      sample(text, {
        keys: KEYS,
        estimate: ESTIMATE,
        resolved: { values: { 'zero.reduceBucket': 2e8 }, origins: { 'zero.reduceBucket': here(1, 22, 31) } },
      }),
      position,
    );
    assert.deepEqual(found?.markdown.split('\n'), [
      '**`zero.reduce_bucket_size`** · Sample',
      '',
      'Gradient reduction bucket.',
      '',
      '- **Value** 200,000,000 elements — set here',
      '- **Memory** communication buffers 1.9 GiB of the 61.3 GiB peak',
      '- **Default** `500000000`',
      '',
      '[Sample documentation](https://www.deepspeed.ai/docs/config-json/)',
    ]);
    assert.deepEqual(found?.range, { start: { line: 1, character: 2 }, end: { line: 1, character: 20 } });
  });

  it('leaves out of a YAML file what another extension shows of its schema, in every language', () => {
    const { text, position } = marked('zero:\n  reduce_buc|ket_size: 200000000\n');
    const shown = () => hover(sample(text, { keys: KEYS }), position, { schemaShown: true })?.markdown ?? '';
    assert.match(shown(), /zero\.reduce_bucket_size/);
    assert.doesNotMatch(shown(), /Gradient reduction bucket/);
    try {
      speak('ru', { 'Gradient reduction bucket.': 'Буфер сведения градиентов.' });
      assert.doesNotMatch(shown(), /Буфер сведения градиентов|Gradient reduction/);
    } finally {
      speak('en', undefined);
    }
  });

  it('reports the default of the version that the run uses', () => {
    const { text, position } = marked('pin|ned: null\n');
    const stated = (version: string) =>
      hover(sample(text, { keys: KEYS, resolved: { values: { 'version.deepspeed': version } } }), position)
        ?.markdown.split('\n')
        .filter((line) => line.includes('Default'));
    assert.deepEqual(stated('0.18.9'), ['- **Default** `false`']);
    assert.deepEqual(stated('0.19.5'), ['- **Default** `true`']);
  });

  it('covers the value when it is asked there', () => {
    const { text, position } = marked('zero:\n  reduce_bucket_size: 2000|00000\n');
    assert.deepEqual(hover(sample(text, { keys: KEYS }), position)?.range, {
      start: { line: 1, character: 22 },
      end: { line: 1, character: 31 },
    });
  });

  it('links to the place in another file that states it, and names whom it overrules', () => {
    const { text, position } = marked('alp|ha: 8\n');
    const origin: Origin = {
      kind: 'command-line',
      location: {
        uri: 'file:///project/a%20(b).json',
        range: { start: { line: 11, character: 2 }, end: { line: 11, character: 4 } },
      },
    };
    const markdown = hover(
      sample(text, {
        keys: KEYS,
        resolved: {
          values: { 'lora.alpha': 16 },
          origins: { 'lora.alpha': origin },
          overruled: [{ field: 'lora.alpha', value: 8, origin: here(0, 7, 8) }],
        },
      }),
      position,
    )?.markdown;
    assert.match(
      markdown ?? '',
      /\*\*Value\*\* 16 — from \[a \(b\)\.json:12\]\(file:\/\/\/project\/a%20%28b%29\.json#L12\), which overrules this/,
    );
    assert.match(markdown ?? '', /\*\*Memory\*\* no effect on the peak/);
    assert.match(markdown ?? '', /\*\*Deprecated:\*\* use `lora_alpha`/);
  });

  it('links a default to the source that states it, and to nothing that is not https', () => {
    const { text, position } = marked('alp|ha: auto\n');
    const show = (source: string) =>
      hover(
        sample(text, {
          keys: KEYS,
          resolved: {
            values: { 'lora.alpha': 16 },
            origins: { 'lora.alpha': { kind: 'default', note: 'PEFT 0.17 default', source } },
          },
        }),
        position,
      )?.markdown ?? '';
    assert.match(
      show('https://peft.example/docs'),
      /\[PEFT 0\.17 default\]\(https:\/\/peft\.example\/docs\)/,
    );
    assert.doesNotMatch(show('command:evil'), /\]\(/);
  });

  it('knows keys below a wildcard, items of a list, and nothing of others', () => {
    const at = (marks: string) => {
      const { text, position } = marked(marks);
      return hover(sample(text, { keys: KEYS }), position)?.markdown;
    };
    assert.match(at('extra:\n  head:\n    dty|pe: bf16\n') ?? '', /Type of one module/);
    assert.match(at('modules:\n  - q_pr|oj\n') ?? '', /Names of modules/);
    assert.equal(at('other|: 1\n'), undefined);
    assert.equal(at('alpha: 1\n|\n'), undefined);
  });

  it('does not let text of the file become Markdown', () => {
    const { text, position } = marked('extra:\n  "`[x](http://evil)<b>":\n    dty|pe: bf16\n');
    const markdown = hover(sample(text, { keys: KEYS }), position)?.markdown ?? '';
    assert.ok(markdown.startsWith('**``extra.`[x](http://evil)<b>.dtype``**'), markdown);
  });

  it('gives one line to values of one source, and names fields whose values are spelt differently', () => {
    const keys: KeySpec[] = [
      {
        path: 'mixed',
        type: 'string',
        doc: 'Precision.',
        fields: ['precision.weights', 'precision.compute', 'precision.scheme'],
      },
      { path: 'kind', type: 'string', doc: 'Kind.', fields: ['parallel.data'] },
    ];
    const origin = here(0, 7, 11);
    const show = (marks: string) => {
      const { text, position } = marked(marks);
      return hover(
        sample(text, {
          keys,
          resolved: {
            values: {
              'precision.weights': 'bf16',
              'precision.compute': 'bf16',
              'precision.scheme': 'native',
              'parallel.data': 'zero',
            },
            origins: {
              'precision.weights': origin,
              'precision.compute': origin,
              'precision.scheme': { kind: 'default' },
              'parallel.data': here(0, 6, 15),
            },
          },
        }),
        position,
      )?.markdown;
    };
    assert.match(
      show('mix|ed: bf16\n') ?? '',
      /- \*\*Value\*\* `bf16` weights and compute — set here\n- \*\*Value\*\* precision scheme `native` — default/,
    );
    assert.match(
      show('ki|nd: DEEPSPEED\n') ?? '',
      /- \*\*Value\*\* kind of data parallelism `zero` — set here/,
    );
    assert.match(
      show('\nki|nd: zero\n') ?? '',
      /- \*\*Value\*\* `zero` — from \[line 1\]\(file:\/\/\/project\/config\.yaml#L1\)/,
    );
  });

  it('has in words what one switch of the precision sets', () => {
    const { text, position } = marked('mix|ed: bf16\n');
    const origin = here(0, 0, 5);
    const fields = ['precision.weights', 'precision.compute', 'precision.scheme'] as const;
    const found = hover(
      sample(text, {
        keys: [{ path: 'mixed', type: 'string', doc: 'Precision.', fields }],
        resolved: {
          values: {
            'precision.weights': 'bf16',
            'precision.compute': 'bf16',
            'precision.scheme': 'deepspeed',
          },
          origins: Object.fromEntries(fields.map((field) => [field, origin])),
        },
      }),
      position,
    );
    assert.match(
      found?.markdown ?? '',
      /- \*\*Value\*\* `bf16` weights and compute, `fp32` masters — set here/,
    );
  });

  it('reports why a smaller optimizer may need more', async () => {
    const uri = 'file:///p/a.yml';
    const text =
      '# oomlint: gpu=A100-SXM4-80GB gpus=1 allocator.expandableSegments=false\nbase_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\nadapter: lora\nload_in_8bit: true\nlora_r: 32\nlora_alpha: 16\nlora_target_linear: true\noptimizer: adamw_torch\nbf16: true\ngradient_checkpointing: true\ngradient_accumulation_steps: 4\ndatasets:\n  - path: a\n    type: alpaca\n';
    const analysis = await new Workspace(new MemoryHost({ [uri]: text })).analyze(uri);
    assert.ok(analysis?.estimate);
    const rest = (field: FieldPath) => whatIfTexts(analysis, [field])?.rest ?? '';
    assert.match(rest('optimizer.name'), /blocks that the caching allocator holds/);
    assert.doesNotMatch(rest('batch.micro'), /caching allocator/);
  });

  it('promises no figures before there is an estimate', () => {
    const { text, position } = marked('zero:\n  reduce_buc|ket_size: 1\n');
    assert.doesNotMatch(hover(sample(text, { keys: KEYS }), position)?.markdown ?? '', /Memory/);
  });
});

describe('hover on a model', () => {
  const { text, position } = marked('model: meta-llama/|Llama-3.1-8B\n');

  it('shows parameters and architecture', () => {
    const found = hover(sample(text, { keys: KEYS, model: MODEL, estimate: ESTIMATE }), position);
    assert.deepEqual(found?.markdown.split('\n'), [
      '**meta-llama/Llama-3.1-8B** · llama',
      '',
      '- **Parameters** 8.03B (8,030,261,248) · all trainable',
      '- **Architecture** 32 layers · hidden size 4,096 · 32 heads, 8 key-value heads · vocabulary 128,256 · up to 131,072 positions',
      '- **Published as** `bf16`',
      '',
      'Read from Oomlint catalog · [Source](https://huggingface.co/meta-llama/Llama-3.1-8B)',
    ]);
  });

  it('links what a row was written down from: a page without the words behind it, and a file at a commit', () => {
    const sources = ['https://huggingface.co/a/b config.json (a page)', 'a/b@0123abcd c/d.json', 'derived'];
    const found = hover(
      sample(text, { keys: KEYS, model: { ...MODEL, sources }, estimate: ESTIMATE }),
      position,
    );
    assert.match(
      found?.markdown ?? '',
      /· \[Source 1\]\(https:\/\/huggingface\.co\/a\/b\) · \[Source 2\]\(https:\/\/github\.com\/a\/b\/blob\/0123abcd\/c\/d\.json\)$/,
    );
  });

  it('tells active and trainable parameters apart', () => {
    const model = { totalParameters: 46.7e9, activeParameters: 12.9e9, trainableParameters: 41.9e6 };
    const found = hover(
      sample(text, { keys: KEYS, model: MODEL, estimate: { ...ESTIMATE, model } }),
      position,
    );
    assert.match(
      found?.markdown ?? '',
      /46\.7B \(46,700,000,000\) · 12\.9B active per token · 41\.9M trainable/,
    );
  });

  it('reports why a model is not known', () => {
    const unknown = [{ field: 'model.id' as const, reason: 'Not in the catalog. Point model.path to it.' }];
    const found = hover(sample(text, { keys: KEYS, resolved: { unknown } }), position);
    assert.match(found?.markdown ?? '', /Not in the catalog\. Point model\.path to it\./);
  });
});

describe('hover on a directive', () => {
  const text = '# oomlint: gpus=8 gpu=H100\nalpha: 1\n';
  const stated = (from: number, to: number): Origin => ({ ...here(0, from, to), kind: 'directive' });

  it('lists what it supplies and what does not count', () => {
    const analysis = sample(text, {
      keys: KEYS,
      resolved: {
        values: { 'hardware.gpus': 8, 'hardware.gpu': 'A100' },
        origins: { 'hardware.gpus': stated(11, 17), 'hardware.gpu': { kind: 'command-line' } },
        overruled: [{ field: 'hardware.gpu', value: 'H100', origin: stated(18, 26) }],
      },
    });
    const markdown = hover(analysis, { line: 0, character: 4 })?.markdown ?? '';
    assert.match(markdown, /- `hardware\.gpus` 8 GPUs — GPUs over all nodes\./);
    assert.match(markdown, /- `hardware\.gpu` `H100` — overridden by a stronger statement/);
  });

  it('reports it when it supplies nothing', () => {
    const markdown = hover(sample(text), { line: 0, character: 14 })?.markdown ?? '';
    assert.match(markdown, /says nothing about this run/);
  });
});

describe('the way from a hover to the breakdown', () => {
  const text = {
    markdown: 'Says something.',
    range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } },
  };

  it('is a link with the file, where there is an estimate', () => {
    const { markdown } = withBreakdown(text, sample('a: 1\n', { keys: KEYS, estimate: ESTIMATE }));
    const [, query = ''] =
      /^Says something\.\n\n\[Open the memory breakdown\]\(command:oomlint\.estimateMemory\?(.+)\)$/.exec(
        markdown,
      ) ?? [];
    const [argument] = JSON.parse(decodeURIComponent(query));
    assert.match(argument.uri, /^file:/);
  });

  it('is absent where there is none', () => {
    assert.equal(withBreakdown(text, sample('a: 1\n', { keys: KEYS })), text);
  });
});
