import assert from 'node:assert/strict';
import { TestServer } from './server-process';

const VOCABULARY = `id: ads
name: Ads trainer
keys:
  ads_samples: { type: integer, doc: Samples per GPU of the ads trainer., sets: batch.micro }
  ads_tokens: { type: integer, sets: batch.sequence }
defaults:
  model.id: gpt2
  hardware.gpu: H100-SXM5-80GB
  hardware.gpus: 8
rules:
  - when: ads_samples > 64
    severity: error
    code: too-many-samples
    message: "{ads_samples} samples are more than the reader gives."
`;

describe('flags of a team', function () {
  this.timeout(30_000);
  let server: TestServer;
  afterEach(async () => {
    await server.stop();
  });

  it('are read, explained and checked as the vocabulary states', async () => {
    server = await TestServer.start({ files: { 'oomlint-flags.yaml': VOCABULARY } });
    const text = '# ads\nads_samples=65\nads_tokens=512\n';
    const uri = await server.open('run.flags', text, 'oomlint-flags');
    const { diagnostics } = await server.published(uri, (params) => params.uri === uri);
    assert.deepEqual(
      diagnostics
        .filter(({ code }) => code === 'too-many-samples')
        .map(({ message, range }) => [message, range.start]),
      [['65 samples are more than the reader gives.', { line: 1, character: 12 }]],
    );
    const hover = (await server.hover(uri, 1, 3)) ?? '';
    assert.match(hover, /Ads trainer/);
    assert.match(hover, /Samples per GPU of the ads trainer\./);
    assert.match(hover, /^\*\*`ads_samples`\*\* 65 — /);
  });

  it('are explained behind a script and in JSON, too', async () => {
    server = await TestServer.start({ files: { 'oomlint-flags.yaml': VOCABULARY } });
    const uri = await server.open('run.json', '{"ads_samples": 4, "ads_tokens": 512}');
    await server.published(uri);
    assert.match((await server.hover(uri, 0, 4)) ?? '', /Samples per GPU of the ads trainer\./);
  });

  it('come and go with the vocabulary, in files that are open', async () => {
    server = await TestServer.start({ files: {} });
    const uri = await server.open('run.flags', 'ads_samples=65\nads_tokens=512\n', 'oomlint-flags');
    await server.write('oomlint-flags.yaml', VOCABULARY);
    const vocabulary = await server.open('oomlint-flags.yaml', VOCABULARY);
    await server.save(vocabulary);
    await server.until(() => server.codes(uri).includes('too-many-samples'), 'the rule');
    await server.change(vocabulary, VOCABULARY.replace('> 64', '> 65'));
    await server.save(vocabulary);
    await server.until(() => !server.codes(uri).includes('too-many-samples'), 'the rule to go');
  });

  it('errors of a vocabulary are shown in it', async () => {
    server = await TestServer.start({ files: {} });
    const uri = await server.open(
      'oomlint-flags.yaml',
      VOCABULARY.replace('ads_samples > 64', 'ads_sample > 64'),
    );
    const { diagnostics } = await server.published(uri);
    assert.deepEqual(
      diagnostics.map(({ range, severity }) => [range.start.line, severity]),
      [[10, 1]],
    );
    assert.match(String(diagnostics[0]?.message), /no key "ads_sample".*ads_samples/);
  });

  it('of the in-house stack are known without a vocabulary', async () => {
    server = await TestServer.start({ files: {} });
    const text = 'l=24,h=2048\nbs=32 seq_len=512 gac=1\nfp16=true ln_ytf_impl=1\n';
    const uri = await server.open('xlarge.flags', text, 'oomlint-flags');
    const { diagnostics } = await server.published(uri);
    assert.ok(diagnostics.some(({ code }) => code === 'fused-layer-norm-alone'));
    assert.match((await server.hover(uri, 2, 12)) ?? '', /Layer norm as one kernel/);
  });
});
