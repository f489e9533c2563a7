import assert from 'node:assert/strict';
import { setPython } from '../../../server/src/advice/write/set-python';
import { loadPython } from '../../../server/src/config/python/grammar';

const TEXT = `from trl import SFTConfig
LENGTH = 2048
args = SFTConfig(
    per_device_train_batch_size = 4, # samples
    max_length = LENGTH,
    gradient_checkpointing_kwargs = {"use_reentrant": True},
    optim = 'adamw_torch',
)
`;
const set = (text: string, key: string, value: Parameters<typeof setPython>[2]) =>
  setPython(text, ['SFTConfig', ...key.split('.')], value);
const with_ = (from: string, to: string) => TEXT.replace(from, to);

describe('arguments written into Python', () => {
  before(loadPython);

  it('are changed where their value stands', () => {
    assert.equal(set(TEXT, 'per_device_train_batch_size', 2), with_('= 4', '= 2'));
    assert.equal(set(TEXT, 'max_length', 512), with_('2048', '512'));
    assert.equal(set(TEXT, 'optim', 'adamw_8bit'), with_('adamw_torch', 'adamw_8bit'));
    assert.equal(set(TEXT, 'gradient_checkpointing_kwargs.use_reentrant', false), with_('True', 'False'));
  });

  it('are changed where they are passed, when what stands behind them is computed', () => {
    const text = 'from trl import SFTConfig\nn = 2\nSFTConfig(max_length=n * 512)';
    assert.equal(set(text, 'max_length', 512), 'from trl import SFTConfig\nn = 2\nSFTConfig(max_length=512)');
  });

  it('are added as the others are written', () => {
    assert.equal(set(TEXT, 'bf16', true), with_("'adamw_torch',\n", "'adamw_torch',\n    bf16 = True,\n"));
    const line = 'from trl import SFTConfig\nSFTConfig("out", bf16=True)';
    assert.equal(
      set(line, 'optim', 'x'),
      'from trl import SFTConfig\nSFTConfig("out", bf16=True, optim="x")',
    );
    assert.equal(
      set('from trl import SFTConfig\nSFTConfig()', 'tf32', false),
      'from trl import SFTConfig\nSFTConfig(tf32=False)',
    );
    const last = 'from trl import SFTConfig\nSFTConfig(\n    bf16=True  # fast)\n)';
    assert.equal(
      set(last, 'tf32', true),
      'from trl import SFTConfig\nSFTConfig(\n    bf16=True,\n    tf32=True,  # fast)\n)',
    );
  });

  it('are taken away with their line or their comma', () => {
    assert.equal(
      set(TEXT, 'per_device_train_batch_size', undefined),
      with_('    per_device_train_batch_size = 4, # samples\n', ''),
    );
    const line = 'from trl import SFTConfig\nSFTConfig("out", bf16=True, tf32=False)';
    assert.equal(set(line, 'bf16', undefined), 'from trl import SFTConfig\nSFTConfig("out", tf32=False)');
    assert.equal(set(line, 'tf32', undefined), 'from trl import SFTConfig\nSFTConfig("out", bf16=True)');
  });
});
