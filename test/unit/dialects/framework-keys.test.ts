import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { KeySpec } from '../../../server/src/dialects/dialect';
import { type FrameworkKey, FrameworkKeys, ReleasedKeys } from '../../../server/src/dialects/framework-keys';
import { releasedBlock } from '../../../server/src/dialects/key-rows';
import { DIALECTS } from '../../../server/src/dialects/registry';

const frameworks = (name: string) =>
  new FrameworkKeys(() => readFileSync(`server/data/framework-keys/${name}.jsonl`, 'utf8'));

const [TRANSFORMERS, AXOLOTL] = [frameworks('transformers'), frameworks('axolotl')];

/** Families whose frameworks' releases were read. */
const FAMILIES = DIALECTS.flatMap(({ id, keys, released }) => (released ? [{ id, keys, released }] : []));

/** Rows that differ from the newest release on purpose, each with its reason. */
const ON_PURPOSE: Readonly<Record<string, string>> = {
  'deepspeed zero_optimization.stage': 'an enum of whole numbers, which the framework annotates as such',
  'accelerate gpu_ids': 'null means all',
  'axolotl lora_alpha': 'fractions are taken: PEFT divides it by the rank',
  'axolotl cut_cross_entropy': 'true where its plugin is named, else there is no such key',
  'litgpt lora_alpha': 'fractions are taken: it is divided by the rank',
  'axolotl tensor_parallel_size': 'null means 1',
  'axolotl context_parallel_size': 'null means 1',
  'axolotl fsdp_config.reshard_after_forward': "null is left to Accelerate's plugin, which reshards",
  'axolotl fsdp_config.offload_params': "null is left to Accelerate's plugin, which does not offload",
  'axolotl fsdp_config.activation_checkpointing': "null is left to Accelerate's plugin, which does not",
  'axolotl fsdp_config.fsdp_version': 'null means 1',
  'torchtitan compile.components': 'absent before there were components',
  'megatron no_position_embedding': 'the field it is made of is true where the switch is absent',
  'megatron data_parallel_sharding_strategy': "the default of the releases that Megatron's YAML files are of",
  'megatron cp_comm_type': 'one word for a list of one',
  'megatron recompute_modules': 'null means the attention core (`TransformerConfig.__post_init__`)',
  'llm-foundry device_eval_batch_size': 'samples are whole',
  'ms-swift freeze_parameters': 'an empty list is written as nothing',
  'ms-swift trainable_parameters': 'an empty list is written as nothing',
  'ms-swift modules_to_save': 'an empty list is written as nothing',
  'ms-swift val_dataset': 'an empty list is written as nothing',
  'ms-swift target_modules': 'one word for a list of one',
  'ms-swift recompute_modules': 'one word for a list of one',
  'ms-swift task_type': 'null means a causal language model',
  'ms-swift vllm_server_host': 'one word for a list of one',
  'ms-swift vllm_server_port': 'one word for a list of one',
  'ms-swift top_k': 'fractions do no harm',
  'ms-swift move_model_batches': 'no memory hangs on its type',
  'nemo-rl policy.dtensor_cfg.lora_cfg.alpha': 'fractions are taken: it is divided by the rank',
  'nemo-rl policy.megatron_cfg.peft.alpha': 'fractions are taken: it is divided by the rank',
  'verl actor_rollout_ref.model.lora_alpha': 'fractions are taken: PEFT divides it by the rank',
  'verl critic.model.lora_alpha': 'fractions are taken: PEFT divides it by the rank',
  'verl model.lora_alpha': 'fractions are taken: PEFT divides it by the rank',
  'verl actor_rollout_ref.actor.entropy_coeff': 'a coefficient: 0 stands for 0.0',
  'trl max_seq_length': 'gone; the default that it had',
  'trl lora_alpha': 'fractions are taken: PEFT divides it by the rank',
  'trl reference_free': 'gone; the default that it had',
  'trl use_liger_loss': 'gone; the default that it had',
  'trl use_logits_to_keep': 'gone; the default that it had',
  'trl dtype': 'float32 from 0.27 on: read by the version of the run',
  'trl loss_type': 'each trainer has its own',
  'llama-factory use_cache': "LLaMA-Factory's own argument is gone; the Trainer's is another",
  'llama-factory gradient_checkpointing': 'null is false',
  'trl gradient_checkpointing': "TRL's own default; the Trainer's is null",
  'hf-training-arguments gradient_checkpointing': 'null is false',
  'hf-training-arguments use_cache': 'false and null keep no cache while training',
  'trl use_cache': 'false and null keep no cache while training',
  'ms-swift use_cache': 'false and null keep no cache while training',
};
/** Taken as text by the Trainer, whatever its annotation is. */
const ANYWHERE = new Set(['tpu_metrics_debug']);

function known(id: string, path: string): readonly FrameworkKey[] {
  return FAMILIES.find((each) => each.id === id)?.released.all(path) ?? [];
}

/** How a row differs from the framework's tables; undefined where one of them has the same. */
function difference(row: KeySpec, keys: readonly FrameworkKey[]): string | undefined {
  const type = keys.some((key) => key.type === 'any' || row.type === 'any' || key.type === row.type);
  if (!type) return `is ${row.type}, the framework has ${keys.map((key) => key.type).join(' or ')}`;
  const stated = keys.filter((key) => key.default !== undefined);
  if (row.default === undefined || stated.length === 0) return undefined;
  const same = stated.some((key) => JSON.stringify(key.default) === JSON.stringify(row.default));
  return same
    ? undefined
    : `has the default ${JSON.stringify(row.default)}, the framework ${stated.map((key) => JSON.stringify(key.default)).join(' or ')}`;
}

describe('keys read from the frameworks', () => {
  it('are those of releases, with what changed', () => {
    const trainer = TRANSFORMERS.table('Seq2SeqTrainingArguments');
    assert.deepEqual(trainer.get('use_liger_kernel'), { type: 'boolean', default: false, since: '4.45.2' });
    assert.equal(trainer.get('evaluation_strategy')?.until, '4.51.3');
    assert.deepEqual(
      frameworks('deepspeed')
        .table('zero_optimization.DeepSpeedZeroConfig')
        .get('zero_optimization.offload_optimizer.pin_memory')?.defaults,
      [
        ['0.8.3', false],
        ['0.19.8', true],
      ],
    );
    assert.deepEqual(AXOLOTL.table('AxolotlInputConfig').get('sequence_len'), {
      type: 'integer',
      default: 512,
    });
  });

  it('a table that extends another has its keys but those that it lacks', () => {
    const litgpt = frameworks('litgpt');
    assert.equal(litgpt.table('full').has('lora_r'), false);
    assert.deepEqual(litgpt.table('full').get('precision'), litgpt.table('lora').get('precision'));
    assert.match(
      litgpt.sourceOf('full'),
      /^https:\/\/github\.com\/Lightning-AI\/litgpt\/blob\/v[\d.]+\/litgpt\/finetune\/full\.py$/,
    );
  });

  it('give rows their types and defaults, of the newest release that has the key', () => {
    const release = (value: string) =>
      new ReleasedKeys([
        new FrameworkKeys(() =>
          [
            '{"source":"tool","link":"https://example.org/{version}/","versions":["1.0","2.0"],"tables":{"Config":{"file":"a.py"}}}',
            `{"table":"Config","key":"train.rank","type":"integer","default":${value}}`,
          ].join('\n'),
        ),
      ]);
    const rowOf = (value: string, key = 'rank') =>
      releasedBlock('train', 'https://example.org', release(value), [
        [key, 'Rank.', { sets: 'lora.rank' }],
      ])[0];
    const { type, default: value, fields, path } = rowOf('8') ?? {};
    assert.deepEqual(
      { type, value, fields, path },
      { type: 'integer', value: 8, fields: ['lora.rank'], path: 'train.rank' },
    );
    assert.equal(rowOf('16')?.default, 16);
    assert.throws(() => rowOf('8', 'rnk')?.type, /no release has train\.rnk/);
  });

  it('are known to a release where a row has its type from there', () => {
    for (const { keys } of DIALECTS) for (const row of keys) assert.ok(row.type, row.path);
  });

  it('stand behind the families of their frameworks', () => {
    assert.deepEqual(FAMILIES.map(({ id }) => id).sort(), [
      'accelerate',
      'axolotl',
      'deepspeed',
      'gpt-neox',
      'hf-training-arguments',
      'litgpt',
      'llama-factory',
      'llm-foundry',
      'megatron',
      'ms-swift',
      'nanotron',
      'nemo-rl',
      'open-instruct',
      'torchtitan',
      'trl',
      'trlx',
      'verl',
    ]);
  });

  it('say which release has a key', () => {
    const { released } = FAMILIES.find(({ id }) => id === 'hf-training-arguments') ?? {};
    assert.ok(released);
    // Older than 4.45 has no such key; the releases between those that were looked at may.
    assert.deepEqual(released.presence('use_liger_kernel', '4.40.0'), { since: '4.45.2' });
    assert.equal(released.presence('use_liger_kernel', '4.45.0'), 'present');
    assert.equal(released.presence('use_liger_kernel'), 'present');
    assert.equal(released.presence('evaluation_strategy', '4.40.0'), 'present');
    assert.deepEqual(released.presence('evaluation_strategy', '5.0.0'), { until: '4.51.3' });
    assert.deepEqual(released.presence('evaluation_strategy'), { until: '4.51.3' });
    assert.equal(released.presence('use_ligr_kernel'), undefined);
    assert.equal(released.takesNull('use_liger_kernel'), false);
    assert.equal(released.takesNull('hub_model_id'), true);
  });

  for (const { id, keys, released } of FAMILIES) {
    it(`the rows of ${id} say what the newest release does`, () => {
      const rows = keys
        .map((row) => ({ row, keys: released.all(row.path) }))
        .filter(({ keys: found }) => found.length > 0);
      assert.ok(rows.length > 20, `${rows.length} rows of ${id} are the framework's`);
      const wrong = rows.flatMap(({ row, keys: found }) => {
        const differs = difference(row, found);
        if (differs === undefined || ANYWHERE.has(row.path) || ON_PURPOSE[`${id} ${row.path}`] !== undefined)
          return [];
        return [`${row.path} ${differs}`];
      });
      assert.deepEqual(wrong, []);
    });
  }

  it('every exception is still one', () => {
    const idle = Object.keys(ON_PURPOSE).filter((name) => {
      const [id = '', path = ''] = name.split(' ');
      const row = DIALECTS.find((each) => each.id === id)?.keys.find((each) => each.path === path);
      return !row || difference(row, known(id, path)) === undefined;
    });
    assert.deepEqual(idle, []);
  });
});
