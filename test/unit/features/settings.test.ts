import assert from 'node:assert/strict';
import { readSettings, settingValues } from '../../../server/src/lsp/settings';

describe('settings', () => {
  it('have defaults for everything', () => {
    for (const raw of [undefined, null, 7, 'x', [], {}]) {
      assert.deepEqual(settingValues(readSettings(raw)), {});
      const { enable, detectGpu, diagnosticsRun, codeLens, hover, inlayHints } = readSettings(raw);
      assert.deepEqual([enable, detectGpu, codeLens, hover], [true, true, true, true]);
      assert.deepEqual([diagnosticsRun, inlayHints], ['onSave', 'heaviest']);
    }
  });

  it('switch each kind of hint by itself; a word that nobody knows switches nothing', () => {
    assert.equal(readSettings({ inlayHints: { show: 'all' } }).inlayHints, 'all');
    assert.equal(readSettings({ inlayHints: { show: 'off' } }).inlayHints, 'off');
    assert.equal(readSettings({ inlayHints: { show: 'some' } }).inlayHints, 'heaviest');
    assert.equal(readSettings({ diagnostics: { run: 'off' } }).diagnosticsRun, 'off');
    assert.equal(readSettings({ diagnostics: { run: 'now' } }).diagnosticsRun, 'onSave');
  });

  it('supply facts of a run', () => {
    const settings = readSettings({
      gpu: ' H100 ',
      gpus: 8,
      nodes: 2,
      model: 'a/b',
      sequence: 4096,
      microBatch: 2,
      price: 2.5,
      diagnostics: { run: 'onType' },
      codeLens: { enabled: false },
      hover: { enabled: false },
      detectGpu: false,
      enable: false,
    });
    assert.deepEqual(settingValues(settings), {
      'hardware.gpu': 'H100',
      'hardware.gpus': 8,
      'hardware.nodes': 2,
      'model.id': 'a/b',
      'batch.sequence': 4096,
      'batch.micro': 2,
      'hardware.price': 2.5,
    });
    assert.equal(settings.diagnosticsRun, 'onType');
    assert.deepEqual(
      [settings.codeLens, settings.hover, settings.detectGpu, settings.enable],
      [false, false, false, false],
    );
  });

  it('tell a model from a path', () => {
    assert.deepEqual(settingValues(readSettings({ model: './m' })), { 'model.path': './m' });
    assert.deepEqual(settingValues(readSettings({ model: 'm/config.json' })), {
      'model.path': 'm/config.json',
    });
  });

  it('count as not set where they are empty or of the wrong type', () => {
    const raw = { gpu: '', gpus: null, nodes: 0, model: 7, sequence: 1.5, microBatch: '2', price: -1 };
    assert.deepEqual(settingValues(readSettings(raw)), {});
  });
});
