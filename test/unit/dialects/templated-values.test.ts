import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import type { Reading } from '../../../server/src/dialects/dialect';
import { detectDialect } from '../../../server/src/dialects/registry';
import { readDocument } from '../../../server/src/dialects/templated-values';
import type { FieldPath } from '../../../server/src/run/fields';
import { statedVersions } from './reading';

function reading(name: string, text: string): Reading {
  const document = parseConfig(`file:///${name}`, text);
  const dialect = detectDialect(document);
  assert.ok(dialect, 'a family takes it');
  return readDocument(dialect, document, { known: {}, versions: statedVersions({}) });
}

const fieldsLeft = ({ unread = [] }: Reading) => new Set(unread.flatMap(({ fields = [] }) => fields));
const serious = ({ problems }: Reading) =>
  problems.filter(({ severity }) => severity === 'error' || severity === 'warning');

/** Of each family: a config around a value, and the field that the value decides. */
const CASES: readonly (readonly [string, string, (value: string) => string, FieldPath, string])[] = [
  [
    'Accelerate',
    'accelerate.yaml',
    (value) =>
      `compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: ${value}\nnum_processes: 8\n`,
    'precision.scheme',
    'bf16',
  ],
  [
    'Axolotl',
    'axolotl.yml',
    (value) =>
      `base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: x\nmicro_batch_size: 1\nsequence_len: 4096\nsample_packing: ${value}\n`,
    'batch.packed',
    'true',
  ],
  [
    'LLaMA-Factory',
    'llama.yaml',
    (value) =>
      `model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: ${value}\nlora_rank: 8\ndataset: x\ntemplate: qwen\n`,
    'method.kind',
    'lora',
  ],
  [
    'DeepSpeed',
    'ds.json',
    (value) =>
      `{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": ${value === '3' ? 3 : JSON.stringify(value.replaceAll('"', ''))}}}`,
    'zero.stage',
    '3',
  ],
  [
    'torchtune',
    'tune.yaml',
    (value) =>
      `model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: ${value}\ndataset:\n  _component_: torchtune.datasets.alpaca_dataset\nbatch_size: 2\noptimizer:\n  _component_: torch.optim.AdamW\n`,
    'batch.sequence',
    '4096',
  ],
  [
    'NeMo-RL',
    'grpo.yaml',
    (value) =>
      `grpo:\n  num_prompts_per_step: 8\npolicy:\n  model_name: Qwen/Qwen2.5-7B\n  train_micro_batch_size: ${value}\n  train_global_batch_size: 64\n  max_total_sequence_length: 4096\n  dtensor_cfg:\n    enabled: true\ncluster:\n  gpus_per_node: 8\n  num_nodes: 1\n`,
    'batch.micro',
    '2',
  ],
];
const OPEN = ['"${oc.env:NOT_HERE}"', '"${NOT_HERE}"', '"{{ not_here }}"', '"<NOT_HERE>"', '$NOT_HERE'];

describe('values that a template leaves open', () => {
  for (const [family, name, config, field, example] of CASES)
    it(`of ${family} are reported, and decide nothing: no default of ${field}, no problem`, () => {
      const stated = reading(name, config(example));
      assert.ok(
        stated.facts.some((fact) => fact.field === field),
        `${field} is stated by ${example}`,
      );
      for (const value of OPEN) {
        const left = reading(name, config(value));
        assert.ok(fieldsLeft(left).has(field), `${value} is reported`);
        assert.deepEqual(
          left.facts.filter((fact) => fact.field === field),
          [],
          `${field} is not assumed where ${value} stands`,
        );
        assert.deepEqual(
          serious(left).map(({ message }) => message),
          serious(stated).map(({ message }) => message),
          `nothing is wrong with ${value}`,
        );
      }
    });

  it('without quotes are what YAML takes for a mapping of a mapping', () => {
    const left = reading(
      'axolotl.yml',
      'base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: x\nmicro_batch_size: {{ micro }}\nsequence_len: {{ length | int }}\n',
    );
    assert.deepEqual([...fieldsLeft(left)].sort(), ['batch.micro', 'batch.sequence']);
    assert.deepEqual(serious(left), []);
  });

  it('that the file itself fills in are values', () => {
    const filled = reading(
      'tune.yaml',
      'length: 4096\nmodel:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: ${length}\ndataset:\n  _component_: torchtune.datasets.alpaca_dataset\nbatch_size: 2\noptimizer:\n  _component_: torch.optim.AdamW\n',
    );
    assert.equal(fieldsLeft(filled).has('batch.sequence'), false);
    assert.equal(filled.facts.find(({ field }) => field === 'batch.sequence')?.value, 4096);
  });

  it('of keys that cost no memory are left alone', () => {
    const left = reading(
      'axolotl.yml',
      'base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: ${DATA}\nmicro_batch_size: 1\nsequence_len: 4096\noutput_dir: "{{ out }}"\nlearning_rate: ${LR}\nwandb_project: $PROJECT\n',
    );
    assert.deepEqual(left.unread ?? [], []);
  });
});
