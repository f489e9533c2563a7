import assert from 'node:assert/strict';
import { FIELD_PATHS, FIELDS, type FieldPath, type FieldSpec } from '../../../server/src/run/fields';
import {
  fieldError,
  fieldNames,
  findField,
  parseField,
  unknownFieldMessage,
} from '../../../server/src/run/parse-field';

function value(field: FieldPath, raw: unknown): unknown {
  const parsed = parseField(field, raw);
  assert.ok('value' in parsed, `${field}=${String(raw)}: ${'error' in parsed ? parsed.error : ''}`);
  return parsed.value;
}
function error(field: FieldPath, raw: unknown): string {
  const parsed = parseField(field, raw);
  assert.ok('error' in parsed, `${field}=${String(raw)} was accepted`);
  return parsed.error;
}

describe('field values', () => {
  it('reads sizes as people write them', () => {
    assert.equal(value('zero.reduceBucket', '5e8'), 500_000_000);
    assert.equal(value('zero.reduceBucket', '500M'), 500_000_000);
    assert.equal(value('zero.reduceBucket', '500_000_000'), 500_000_000);
    assert.equal(value('batch.sequence', '4Ki'), 4096);
    assert.equal(value('schedule.tokens', '15T'), 15e12);
    assert.equal(value('hardware.gpuMemory', '80GiB'), 80 * 2 ** 30);
    assert.equal(value('hardware.gpuMemory', '80 GB'), 80e9);
    assert.equal(value('hardware.gpuMemory', '1.5GiB'), 1.5 * 2 ** 30);
  });

  it('refuses units that may mean two things', () => {
    assert.match(error('batch.sequence', '32k'), /1000 or 1024/);
    assert.match(error('hardware.gpuMemory', '80G'), /GiB or GB/);
  });

  it('refuses numbers that cannot be meant', () => {
    for (const raw of [
      0,
      -1,
      1.5,
      '0',
      '-3',
      'two',
      '',
      'NaN',
      '1e30',
      1e30,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      true,
      [],
      {},
    ]) {
      error('batch.micro', raw);
    }
    assert.match(error('zero.stage', 4), /above 3/);
    assert.match(error('hardware.reservedFraction', 1.2), /above 1/);
    assert.match(error('batch.micro', 0), /below 1/);
  });

  it('reads flags and choices in usual spellings', () => {
    assert.equal(value('kernels.liger', 'yes'), true);
    assert.equal(value('kernels.liger', 'off'), false);
    assert.equal(value('precision.weights', 'bfloat16'), 'bf16');
    assert.equal(value('attention.implementation', 'flash_attention_2'), 'flash2');
    assert.equal(value('offload.optimizer', false), 'none');
    assert.match(error('optimizer.name', 'adamv'), /Did you mean "adamw" or "adam"/);
    assert.match(error('kernels.liger', 'maybe'), /true or false/);
  });

  it('reads lists from text with commas', () => {
    assert.deepEqual(value('lora.targets', 'q_proj, v_proj'), ['q_proj', 'v_proj']);
    assert.deepEqual(value('lora.targets', ['q_proj']), ['q_proj']);
  });

  it('accepts every default of the vocabulary', () => {
    for (const field of FIELD_PATHS) {
      const spec: FieldSpec = FIELDS[field];
      if (spec.default !== undefined) {
        assert.equal(fieldError(field, spec.default), undefined, field);
      }
    }
  });

  it('reports what is accepted in every message', () => {
    for (const field of FIELD_PATHS) {
      const parsed = parseField(field, null);
      assert.ok('error' in parsed && parsed.error.length > 10, field);
    }
  });
});

describe('field names', () => {
  it('finds a field by its path and by every alias', () => {
    for (const field of FIELD_PATHS) {
      assert.equal(findField(field), field);
    }
    assert.equal(findField('micro-batch'), 'batch.micro');
    assert.equal(findField('MICRO_BATCH'), 'batch.micro');
    assert.equal(findField('gpu'), 'hardware.gpu');
    for (const name of fieldNames()) {
      assert.ok(findField(name), name);
    }
  });

  it('gives every alias to one field only', () => {
    const seen = new Map<string, FieldPath>();
    for (const field of FIELD_PATHS) {
      const spec: FieldSpec = FIELDS[field];
      for (const alias of spec.aliases ?? []) {
        const other = seen.get(alias);
        assert.ok(other === undefined || other === field, `${alias} means ${other} and ${field}`);
        assert.equal(findField(alias), field, alias);
        seen.set(alias, field);
      }
    }
  });

  it('offers near names', () => {
    assert.match(unknownFieldMessage('seqence'), /"sequence"/);
    assert.match(unknownFieldMessage('gpuz'), /"gpu/);
    assert.doesNotMatch(unknownFieldMessage('xyzzyplugh'), /mean/);
  });
});
