import assert from 'node:assert/strict';
import { codeLens } from '../../../server/src/features/code-lens';
import { diagnostics } from '../../../server/src/features/diagnostics';
import { documentLinks } from '../../../server/src/features/document-links';
import { status } from '../../../server/src/features/status';
import type { Verdict } from '../../../server/src/results/estimate';
import type { Problem } from '../../../server/src/text/problem';
import { ESTIMATE, MODEL, sample } from './sample';

const RUN = { values: { 'hardware.gpu': 'H100-SXM5-80GB', 'hardware.gpus': 8, 'model.id': MODEL.id } };
const unknown = [
  { field: 'model.id' as const, reason: 'Nothing that is read of the files names the model.' },
  {
    field: 'hardware.gpu' as const,
    reason: 'Nothing that is read of the files says which GPU the run uses.',
  },
];

describe('code lens', () => {
  it('gives the answer and opens the panel', () => {
    const lens = codeLens(sample('a: 1', { resolved: RUN, model: MODEL, estimate: ESTIMATE }));
    assert.equal(lens?.title, 'Fits: 61.3 of 79.2 GiB · Llama-3.1-8B · 8×H100 · 412 TFLOP/step');
    assert.match(lens?.tooltip ?? '', /on 8 × H100-SXM5-80GB: fits/, 'the whole name where there is room');
    assert.equal(lens?.command, 'oomlint.estimateMemory');
    assert.deepEqual(lens?.argument, { uri: 'file:///project/config.yaml' });
    assert.deepEqual(lens?.range.start, { line: 0, character: 0 });
  });

  it('names a card without form and memory, whatever it is called', () => {
    const named = (gpu: string) =>
      codeLens(
        sample('a: 1', { resolved: { values: { ...RUN.values, 'hardware.gpu': gpu } }, estimate: ESTIMATE }),
      )?.title.match(/8×([^·]*) ·/)?.[1];
    for (const [gpu, short] of [
      ['A100-PCIE-40GB', 'A100'],
      ['H200-NVL-141GB', 'H200'],
      ['GH200-96GB', 'GH200'],
      ['B200-SXM', 'B200'],
      ['RTX 4060 Ti 8GB', 'RTX 4060 Ti 8GB'],
      ['RTX PRO 6000 Blackwell Max-Q', 'RTX PRO 6000 Blackwell Max-Q'],
    ] as const)
      assert.equal(named(gpu), short);
  });

  it('begins with the verdict, whatever it is', () => {
    const first = (
      verdict: Verdict,
      capacityBytes = ESTIMATE.capacityBytes,
      unmodelled: readonly string[] = [],
    ) => {
      const estimate = { ...ESTIMATE, verdict, capacityBytes, unmodelled };
      return codeLens(sample('a: 1', { resolved: RUN, model: MODEL, estimate }))?.title.split(' · ')[0];
    };
    assert.equal(first('exceeds', 40 * 1024 ** 3), 'Does not fit: 61.3 of 40.0 GiB');
    assert.equal(first('tight'), 'Tight: 61.3 of 79.2 GiB');
    assert.equal(first('tight', 60 * 1024 ** 3), 'May not fit: 61.3 of 60.0 GiB');
    assert.equal(first('unknown'), 'No verdict: 61.3 of 79.2 GiB and what is not modelled');
    const beside = (...features: string[]) => first('unknown', ESTIMATE.capacityBytes, features);
    assert.equal(beside('open-code'), 'No verdict: 61.3 of 79.2 GiB and what is not known');
    assert.equal(beside('open-code', 'muon-step'), 'No verdict: 61.3 of 79.2 GiB and what is not modelled');
  });

  it('reports when pointed at what the answer hangs on', () => {
    const { estimate, ...rest } = sample('a: 1', { resolved: RUN, model: MODEL, estimate: ESTIMATE });
    const answers = [{ field: 'zero.stage' as const, reason: 'No file shows how the run is launched.' }];
    const lines = codeLens({ ...rest, estimate, answers })?.tooltip?.split('\n') ?? [];
    assert.ok(lines.includes('Between 59.0 GiB and 64.0 GiB.'), lines.join('\n'));
    assert.equal(lines.at(-1), 'No file shows how the run is launched.');
  });

  it('reports what is missing and asks for it', () => {
    const lens = codeLens(sample('a: 1', { resolved: { unknown } }));
    assert.equal(lens?.title, 'Oomlint: needs model and GPU to estimate');
    assert.equal(lens?.command, 'oomlint.supply');
    assert.deepEqual(lens?.argument, {
      uri: 'file:///project/config.yaml',
      fields: ['model.id', 'hardware.gpu'],
    });
  });

  it('is absent where there is neither an answer nor a question', () => {
    assert.equal(codeLens(sample('a: 1')), undefined);
  });
});

describe('status', () => {
  it('has the severity that Problems have, and the words for a peak above what there is', () => {
    const estimate = { ...ESTIMATE, verdict: 'exceeds' as const };
    const problem = (severity: Problem['severity']): Problem => ({
      code: 'does-not-fit',
      severity,
      message: 'Does not fit.',
      range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } },
    });
    const shown = (severity: Problem['severity']) =>
      status(sample('a: 1', { resolved: RUN, model: MODEL, estimate, problems: [problem(severity)] }))
        .severity;
    assert.deepEqual((['error', 'warning', 'information'] as const).map(shown), [
      'error',
      'warning',
      'information',
    ]);
    // A rule that is switched off reports nothing.
    assert.equal(
      status(sample('a: 1', { resolved: RUN, model: MODEL, estimate, problems: [] })).severity,
      undefined,
    );
    const tight = { ...ESTIMATE, verdict: 'tight' as const, capacityBytes: 60 * 1024 ** 3 };
    assert.equal(
      status(sample('a: 1', { resolved: RUN, model: MODEL, estimate: tight })).outcome,
      'may not fit',
    );
  });
  it('is short in the item and longer in its hover', () => {
    const { dialect, verdict, text, detail } = status(
      sample('a: 1', { resolved: RUN, model: MODEL, estimate: { ...ESTIMATE, verdict: 'exceeds' } }),
    );
    assert.deepEqual(
      { dialect, verdict, text },
      { dialect: 'Sample', verdict: 'exceeds', text: '61.3 of 79.2 GiB' },
    );
    assert.equal(
      detail,
      [
        'Llama-3.1-8B on 8 × H100-SXM5-80GB: does not fit.',
        'Peak 61.3 GiB of 79.2 GiB per GPU, in the backward pass (layer 31 backward).',
        'Between 59.0 GiB and 64.0 GiB.',
        '412 TFLOP per step.',
      ].join('\n'),
    );
  });

  it('names what is missing', () => {
    const { verdict, text, detail } = status(sample('a: 1', { resolved: { unknown } }));
    assert.equal(verdict, 'unknown');
    assert.equal(text, 'needs model and GPU');
    assert.match(detail, /Nothing that is read of the files names the model\./);
  });
});

describe('document links', () => {
  it('makes files that exist clickable and leaves the others alone', () => {
    const range = { start: { line: 0, character: 11 }, end: { line: 0, character: 18 } };
    const link = { path: 'ds.json', range, key: 'deepspeed', role: 'deepspeed' as const };
    const links = documentLinks(
      sample('deepspeed: ds.json', { links: [{ ...link, uri: 'file:///project/ds.json' }, link] }),
    );
    assert.deepEqual(links, [
      { range, target: 'file:///project/ds.json', tooltip: 'Open the DeepSpeed config ds.json' },
    ]);
  });
});

describe('diagnostics', () => {
  const problem = (line: number, message: string, end = line): Problem => ({
    code: 'bad-value',
    severity: 'warning',
    message,
    range: { start: { line, character: 2 }, end: { line: end, character: 4 } },
  });

  it('stand in file order, each once', () => {
    const found = diagnostics(sample('', { problems: [problem(3, 'b'), problem(1, 'a'), problem(3, 'b')] }));
    assert.deepEqual(
      found.map(({ message }) => message),
      ['a', 'b'],
    );
  });

  it('have ranges that end where they start or later, and an end to their number', () => {
    const found = diagnostics(sample('', { problems: [problem(3, 'b', 1)] }));
    assert.deepEqual(found[0]?.range.end, found[0]?.range.start);
    const many = Array.from({ length: 2000 }, (_, line) => problem(line, 'm'));
    assert.equal(diagnostics(sample('', { problems: many })).length, 500);
  });
});
