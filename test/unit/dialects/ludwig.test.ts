import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeChanges } from '../../../server/src/advice/write/write';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import type { RunValues, TrainingRun } from '../../../server/src/run/fields';
import { smallWorkspace } from '../workspace/small-workspace';
import { assertStates, complaints, problemsOf, read, refused } from './reading';

const QLORA = readFileSync('test/fixtures/configs/ludwig-qlora.yaml', 'utf8');
const URI = 'file:///model.yaml';
const ludwig = (text: string, known = {}) => read('ludwig', URI, text, known);

/** A config of a full fine-tuning, with more lines at its end. */
const small = (trainer = '', more = '') =>
  `model_type: llm\nbase_model: gpt2\ntrainer:\n  type: finetune\n${trainer}${more}`;

function rewritten(text: string, changes: RunValues): string | undefined {
  const document = parseConfig(URI, text);
  const dialect = detectDialect(document);
  assert.ok(dialect);
  const reading = dialect.read(document, { known: {} });
  const run = Object.fromEntries(reading.facts.map(({ field, value }) => [field, value]));
  const written = writeChanges({
    files: [{ uri: URI, text, document, dialect, reading }],
    run: run as unknown as TrainingRun,
    origins: {},
    changes,
    fields: Object.keys(changes) as (keyof RunValues)[],
  });
  return written && (written[0]?.after ?? text);
}

describe('Ludwig', () => {
  it('reads QLoRA', () => {
    const reading = ludwig(QLORA);
    assertStates(reading, {
      'model.id': 'mistralai/Mistral-7B-v0.1 file',
      'method.kind': 'lora file',
      'lora.kind': 'lora file',
      'lora.rank': '16 file',
      'lora.alpha': '32 file',
      'lora.dropout': '0.05 default',
      'lora.targets': undefined,
      'quantization.kind': 'nf4 file',
      'quantization.double': 'true default',
      'precision.weights': 'fp16 default',
      'precision.compute': 'fp16 default',
      'precision.scheme': 'native default',
      'attention.implementation': 'eager default',
      'attention.mask': 'true inferred',
      'batch.micro': '2 file',
      'batch.accumulation': '8 file',
      'batch.sequence': '1024 file',
      'activations.checkpointing': 'full file',
      'optimizer.name': 'paged-adamw file',
      'evaluation.enabled': 'true default',
      'evaluation.batch': '2 default',
      'loss.implementation': 'full-shifted default',
      'loss.keptLogits': 'backward-with-softmax default',
      'parallel.data': 'none default',
      'parallel.pipeline': undefined,
    });
    assert.deepEqual(problemsOf(reading), []);
  });

  it('trains all weights in fp32 where neither adapter nor quantization is named', () => {
    assertStates(ludwig(small()), {
      'method.kind': 'full default',
      'precision.weights': 'fp32 default',
      'precision.compute': 'fp32 default',
      'attention.implementation': undefined,
      'batch.micro': '1 default',
      'batch.accumulation': '1 inferred',
      'optimizer.name': 'adam default',
      'optimizer.implementation': 'foreach default',
    });
    assertStates(ludwig(small('  use_mixed_precision: true\n')), {
      'precision.weights': 'fp32 default',
      'precision.compute': 'fp16 file',
      'precision.scheme': 'autocast file',
    });
  });

  it('takes what the effective batch leaves for `auto`', () => {
    assertStates(ludwig(small('  batch_size: 4\n  effective_batch_size: 16\n')), {
      'batch.micro': '4 file',
      'batch.accumulation': '4 inferred',
      'batch.global': '16 file',
    });
    assertStates(
      ludwig(small('  batch_size: auto\n  effective_batch_size: 16\n  gradient_accumulation_steps: 8\n')),
      { 'batch.micro': '2 inferred', 'batch.accumulation': '8 file' },
    );
    assertStates(ludwig(small('  batch_size: auto\n')), {
      'batch.micro': undefined,
      'batch.accumulation': undefined,
    });
  });

  it('limits a sample by its features, by the global length or by the model', () => {
    const feature = (name: string, length: number) =>
      `${name}_features: [{ name: a, type: text, preprocessing: { max_sequence_length: ${length} } }]\n`;
    const features = feature('input', 512) + feature('output', 128);
    const global = 'preprocessing: { global_max_sequence_length: 512 }\n';
    assertStates(ludwig(small('', features)), { 'batch.sequence': '641 inferred' });
    assertStates(ludwig(small('', features + global)), { 'batch.sequence': '512 file' });
    assertStates(ludwig(small()), { 'batch.sequence': '2048 inferred' });
    const document = parseConfig(URI, small('', global));
    const reading = detectDialect(document)?.read(document, { known: {}, model: { maxPositions: 256 } });
    assert.ok(reading);
    assertStates(reading, { 'batch.sequence': '256 inferred' });
  });

  it('starts other adapters from their own rank', () => {
    assertStates(ludwig(small('', 'adapter: { type: adalora }\n')), {
      'lora.kind': 'adalora file',
      'lora.rank': '12 default',
    });
    assertStates(ludwig(small('', 'adapter: { type: ia3 }\n')), {
      'lora.kind': 'ia3 file',
      'lora.rank': undefined,
    });
    assertStates(ludwig(small('', 'adapter: { type: lora, r: 4 }\n')), { 'lora.alpha': '8 default' });
  });

  it('spreads the layers over several GPUs, one of which works at a time', () => {
    assertStates(ludwig(QLORA, { 'hardware.gpus': 2 }), {
      'parallel.pipeline': '2 inferred',
      'parallel.pipelineSchedule': 'sequential inferred',
      'parallel.data': 'none default',
    });
  });

  it('reports what it does not work out', () => {
    for (const [more, field] of [
      ['backend: { type: ray }\n', 'parallel.data'],
      ['adapter: { type: lora, pretrained_adapter_weights: out/a }\n', 'lora.rank'],
    ] as const) {
      const reading = ludwig(small('', more));
      assert.deepEqual(
        reading.unread?.map(({ fields }) => fields),
        [[field]],
      );
      assertStates(reading, { [field]: undefined });
    }
    const frozen = ludwig(small('  layers_to_freeze_regex: "h.0"\n'));
    assert.deepEqual(
      frozen.unread?.map(({ fields }) => fields),
      [['method.kind']],
    );
    assertStates(frozen, { 'method.kind': undefined });
  });

  it('estimates nothing for adapters, optimizers and quantization of later releases', () => {
    for (const [text, field] of [
      [small('', 'adapter: { type: vera }\n'), 'lora.rank'],
      [small('  optimizer: { type: muon }\n'), 'optimizer.name'],
      [QLORA.replace('bits: 4', 'backend: torchao'), 'quantization.kind'],
    ] as const) {
      const reading = ludwig(text);
      assert.ok(
        reading.unread?.some(({ fields }) => fields?.includes(field)),
        field,
      );
      assertStates(reading, { [field]: undefined });
      assert.deepEqual(problemsOf(reading), []);
    }
  });

  for (const [code, text, line] of [
    [
      'adapter-without-finetune',
      'model_type: llm\nbase_model: gpt2\nadapter:\n  type: lora\ntrainer:\n  type: none\n',
      'type: lora',
    ],
    ['quantized-without-lora', small('', 'quantization: { bits: 4 }\n'), 'quantization: { bits: 4 }'],
    [
      'quantized-without-lora',
      small('', 'adapter: { type: adalora }\nquantization: { bits: 8 }\n'),
      'quantization: { bits: 8 }',
    ],
    [
      'merge-into-4bit',
      QLORA.replace('  r: 16\n', '  postprocessor: { merge_adapter_into_base_model: true }\n'),
      'postprocessor: { merge_adapter_into_base_model: true }',
    ],
    ['effective-batch', small('  batch_size: 3\n  effective_batch_size: 16\n'), 'effective_batch_size: 16'],
    [
      'input-feature',
      small('', 'input_features: [{ name: a, type: text }, { name: b, type: text }]\n'),
      'input_features: [{ name: a, type: text }, { name: b, type: text }]',
    ],
    [
      'output-feature',
      small('', 'output_features: [{ name: a, type: category }]\n'),
      'output_features: [{ name: a, type: category }]',
    ],
  ] as const)
    it(`stops at ${code}: ${line}`, () => {
      assert.deepEqual(complaints(ludwig(text), text, 'error'), [`${code}: ${line}`]);
    });

  it('does not stop where Ludwig goes on', () => {
    const eight = QLORA.replace('bits: 4', 'bits: 8');
    assert.deepEqual(
      refused(
        ludwig(eight.replace('  r: 16\n', '  postprocessor: { merge_adapter_into_base_model: true }\n')),
      ),
      [],
    );
    assertStates(ludwig(eight), { 'quantization.kind': 'int8 file', 'quantization.double': undefined });
  });

  it('leaves other models of Ludwig alone, and prompts that train nothing', () => {
    for (const text of [
      'model_type: ecd\ninput_features: []\ntrainer: { type: trainer, batch_size: 8 }\n',
      'model_type: llm\nbase_model: gpt2\ntrainer: { type: none }\n',
      'model_type: llm\nbase_model: gpt2\nadapter: { type: lora, pretrained_adapter_weights: a }\n',
      'model_type: llama\nbase_model: gpt2\ntrainer: { type: finetune }\n',
    ])
      assert.equal(detectDialect(parseConfig(URI, text))?.id, undefined, text);
  });

  it('sees slips of the keyboard', () => {
    const [slip] = problemsOf(
      ludwig(QLORA.replace('gradient_accumulation_steps', 'gradient_acumulation_steps')),
    );
    assert.deepEqual([slip?.code, slip?.data?.replacement], ['unknown-key', 'gradient_accumulation_steps']);
  });

  it('is written in its own words', () => {
    assert.equal(rewritten(QLORA, { 'batch.micro': 1 }), QLORA.replace('batch_size: 2', 'batch_size: 1'));
    assert.equal(
      rewritten(QLORA, { 'optimizer.name': 'paged-adamw-8bit' }),
      QLORA.replace('paged_adam', 'paged_adam_8bit'),
    );
    assert.equal(rewritten(QLORA, { 'quantization.kind': 'int8' }), QLORA.replace('bits: 4', 'bits: 8'));
    assert.equal(rewritten(small(), { 'quantization.kind': 'nf4' }), undefined);
    assert.equal(
      rewritten(small(), { 'activations.checkpointing': 'full' }),
      small('  enable_gradient_checkpointing: true\n'),
    );
  });

  it('is estimated, as a file and by the script that trains it', async () => {
    const { analyze } = smallWorkspace({
      'model.yaml': QLORA,
      'train.sh': 'ludwig train --config model.yaml --dataset data.csv\n',
      'oomlint.yaml': 'targets: { gpu: A100-SXM4-80GB, gpus: 1 }\n',
    });
    const file = await analyze('model.yaml');
    assert.ok(file.estimate, JSON.stringify(file.resolved.unknown));
    const launched = await analyze('train.sh');
    assert.equal(launched.estimate?.peak.upperBytes, file.estimate.peak.upperBytes);
  });
});
