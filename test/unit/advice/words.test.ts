import assert from 'node:assert/strict';
import { fieldsOf, writeChanges } from '../../../server/src/advice/write/write';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import type { RunValues, TrainingRun } from '../../../server/src/run/fields';

/** A config after changes, written in its family's words; undefined where they cannot be written in it. */
function rewritten(family: string, text: string, changes: RunValues, uri = 'file:///a.yaml') {
  const document = parseConfig(uri, text);
  const dialect = detectDialect(document);
  assert.equal(dialect?.id, family);
  const reading = dialect.read(document, { known: {} });
  const run = Object.fromEntries(reading.facts.map(({ field, value }) => [field, value]));
  const files = [{ uri, text, document, dialect, reading }];
  const written = writeChanges({
    files,
    run: run as unknown as TrainingRun,
    origins: {},
    changes,
    fields: fieldsOf(changes),
  });
  return written && (written[0]?.after ?? text);
}

describe('words of a family', () => {
  it('are those of a row that sets the field', () => {
    const litgpt = 'checkpoint_dir: a/b\nprecision: bf16-true\ndevices: 1\ntrain:\n  micro_batch_size: 1\n';
    assert.equal(rewritten('litgpt', litgpt, { 'quantization.kind': 'nf4' }), `${litgpt}quantize: bnb.nf4\n`);
    assert.equal(rewritten('litgpt', litgpt, { 'quantization.kind': 'gptq' }), undefined);
    assert.equal(
      rewritten('litgpt', litgpt, { 'batch.micro': 4 }),
      litgpt.replace('batch_size: 1', 'batch_size: 4'),
    );
  });

  it('are the first name of a key, not a second or an old one', () => {
    const bridge = 'train:\n  train_iters: 10\n  micro_batch_size: 1\nmodel:\n  seq_length: 4096\n';
    assert.equal(
      rewritten('megatron-bridge', bridge, { 'parallel.tensor': 2 }),
      `${bridge}  tensor_model_parallel_size: 2\n`,
    );
    const automodel = 'step_scheduler:\n  local_batch_size: 1\n  global_batch_size: 8\n';
    assert.equal(rewritten('nemo-automodel', automodel, { 'hardware.nodes': 2 }), undefined);
    assert.equal(
      rewritten('nemo-automodel', `${automodel}ci:\n  nodes: 1\n`, { 'hardware.nodes': 2 }),
      `${automodel}ci:\n  nodes: 2\n`,
    );
  });

  it('say the length of a sample where a key limits it, and nothing where none does', () => {
    const dpo =
      'model_name_or_path: a/b\nlearning_rate: 1e-5\nbeta: 0.1\nmax_prompt_length: 512\nloss_type: sigmoid\n';
    assert.equal(
      rewritten('trl', dpo, { 'batch.sequence': 1536 }, 'file:///dpo.yaml'),
      `${dpo}max_length: 1536\n`,
    );
    const grpo = dpo.replace('max_prompt_length', 'num_generations: 4\nmax_completion_length');
    assert.equal(rewritten('trl', grpo, { 'batch.sequence': 1536 }, 'file:///grpo.yaml'), undefined);
  });

  it('take away what would contradict them', () => {
    const axolotl = 'base_model: a/b\ndatasets: []\nsequence_len: 512\nmicro_batch_size: 2\nbatch_size: 16\n';
    assert.equal(
      rewritten('axolotl', axolotl, { 'batch.accumulation': 4 }),
      axolotl.replace('batch_size: 16', 'gradient_accumulation_steps: 4'),
    );
    const flash = `${axolotl}flash_attention: true\n`;
    assert.equal(
      rewritten('axolotl', flash, { 'attention.implementation': 'sdpa' }),
      flash.replace('flash_attention', 'sdp_attention'),
    );
    assert.equal(
      rewritten('axolotl', axolotl, { 'attention.implementation': 'flash2' }),
      `${axolotl}attn_implementation: flash_attention_2\n`,
    );
  });
});
