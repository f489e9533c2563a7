import assert from 'node:assert/strict';
import type { FieldPath } from '../../../server/src/run/fields';
import { problemsOf, read, refused, stated } from './reading';

const recipe = (more: string, known = {}, uri = 'file:///w/recipes/m/sft/config.yaml') =>
  read(
    'trl',
    uri,
    `model_name_or_path: m\nlearning_rate: 1.0e-5\ndataset_name: d\nper_device_train_batch_size: 2\nattn_implementation: sdpa\n${more}`,
    known,
  );

function golden(reading: ReturnType<typeof recipe>, expected: Partial<Record<FieldPath, string>>): void {
  for (const [field, value] of Object.entries(expected)) {
    const first = reading.facts.find((fact) => fact.field === field);
    assert.equal(first && `${String(first.value)} ${first.origin.kind}`, value, field);
  }
}

describe('TRL', () => {
  it('reads supervised fine-tuning with its defaults', () => {
    golden(recipe('max_length: 2048\npacking: true\n'), {
      framework: 'trl default',
      'method.objective': 'lm inferred',
      'batch.sequence': '2048 file',
      'batch.packed': 'true file',
      'activations.checkpointing': 'full default',
      'precision.compute': 'bf16 default',
      'method.kind': 'full default',
    });
    golden(recipe('use_peft: true\n'), {
      'method.kind': 'lora file',
      'lora.rank': '16 default',
      'lora.alpha': '32 default',
      'lora.dropout': '0.05 default',
      'batch.sequence': '1024 default',
    });
  });

  it('reads preference and online methods', () => {
    golden(recipe('beta: 0.1\nloss_type: sigmoid\n', {}, 'file:///w/recipes/m/dpo/config.yaml'), {
      'method.objective': 'dpo inferred',
      'method.referenceModel': 'true default',
    });
    golden(recipe('num_generations: 8\nmax_completion_length: 512\nmax_prompt_length: 512\nbeta: 0.0\n'), {
      'method.objective': 'grpo inferred',
      'batch.sequence': '1024 file',
      'rollout.completion': '512 file',
      'method.referenceModel': 'false file',
      'rollout.engine': 'transformers default',
    });
  });

  it('cuts prompts to its default as long as its version has one, and assumes their length after', () => {
    const length = (version: string, more = '') =>
      recipe(`num_generations: 8\nmax_completion_length: 256\n${more}`, {
        'version.trl': version,
      }).facts.find(({ field }) => field === 'batch.sequence');
    const cut = length('0.17.0');
    assert.equal(cut?.value, 768);
    assert.equal(cut?.origin.note, 'TRL 0.17.0 cuts prompts to 512 tokens; completions have 256');
    assert.equal(cut?.origin.guess, undefined);
    for (const open of [length('0.26.0'), length('0.17.0', 'max_prompt_length: null\n')]) {
      assert.equal(open?.value, 768);
      assert.match(open?.origin.note ?? '', /^assumed prompts of 512 tokens/);
      assert.deepEqual([open?.origin.guess, open?.origin.orElse], [true, '1280']);
    }
  });

  it('loads weights as its version does', () => {
    const unstated = (version: string) =>
      recipe('', { 'version.trl': version, 'version.transformers': '5.1' }).facts.find(
        ({ field }) => field === 'precision.weights',
      );
    assert.equal(unstated('0.27')?.value, 'fp32');
    assert.match(unstated('0.27')?.origin.note ?? '', /0\.27/);
    // Of a model that is not known no published type is taken.
    assert.equal(unstated('0.26.2')?.value, undefined);
    golden(recipe('dtype: bfloat16\n', { 'version.trl': '1.0' }), { 'precision.weights': 'bf16 file' });
  });

  it('checkpoints without reentry since 0.28', () => {
    const known = (version: string) => ({ 'version.trl': version, 'version.transformers': '4.57' });
    golden(recipe('', known('0.27.2')), { 'activations.reentrant': 'true default' });
    golden(recipe('', known('0.28')), { 'activations.reentrant': 'false default' });
    golden(recipe('gradient_checkpointing_kwargs: {use_reentrant: true}\n', known('1.0')), {
      'activations.reentrant': 'true file',
    });
  });

  it('makes no whole logits in supervised fine-tuning since 1.7', () => {
    const loss = (more: string, version: string) =>
      recipe(more, { 'version.trl': version }).facts.find(({ field }) => field === 'loss.implementation')
        ?.value;
    assert.equal(loss('', '1.6'), undefined);
    assert.equal(loss('', '1.7'), 'checkpointed-chunks-fp32');
    assert.equal(loss('', '1.13'), 'checkpointed-chunks');
    assert.equal(loss('loss_type: nll\npacking: true\n', '1.14'), undefined);
    assert.equal(loss('loss_type: nll\npacking: true\n', '1.15'), 'log-probabilities-chunked');
    assert.equal(loss('loss_type: chunked_nll\npacking: true\n', '1.4'), 'checkpointed-chunks-fp32');
    assert.equal(loss('num_generations: 8\n', '1.14'), undefined);
    assert.equal(loss('num_generations: 8\n', '1.15'), 'log-probabilities-chunked');
    assert.equal(loss('gamma_beta_ratio: 0.5\n', '1.15'), undefined);
    assert.equal(loss('use_liger_kernel: true\n', '1.15'), 'log-probabilities-chunked');
    assert.equal(loss('use_liger_kernel: true\n', '1.7'), undefined);
  });

  it("fuses a preference's loss with the head where Liger's is asked for, as the release takes it", () => {
    const stated = (version: string, more = 'beta: 0.1\nrpo_alpha: 1.0\nuse_liger_loss: true\n') => {
      const { facts } = recipe(more, { 'version.trl': version });
      const first = (name: FieldPath) => facts.find(({ field }) => field === name)?.value;
      return [first('loss.implementation'), first('kernels.liger')];
    };
    assert.deepEqual(stated('0.24'), ['liger', false]);
    assert.deepEqual(stated('0.26'), [undefined, true]);
    // Dropped: a release that does not know it does not fuse by it.
    assert.deepEqual(stated('0.28'), [undefined, false]);
    assert.deepEqual(stated('0.24', 'use_liger_loss: true\n'), [undefined, false], 'supervised');
  });

  it('trains a value model with the policy in PPO, and keeps the scores of an update', () => {
    const ppo =
      'reward_model_path: a/r\nkl_coef: 0.05\nper_device_train_batch_size: 4\ngradient_accumulation_steps: 16\n';
    golden(recipe(ppo), {
      'method.objective': 'ppo inferred',
      'method.valueModel': 'true default',
      'method.valueTogether': 'true default',
      'method.frozenModels': '1 file',
      'rollout.engine': 'transformers default',
      'rollout.sequences': '64 default',
      'rollout.batch': '64 default',
      'rollout.completion': '53 default',
      'loss.keptLogits': 'next-step default',
    });
    golden(recipe(`${ppo}num_mini_batches: 16\nlocal_rollout_forward_batch_size: 8\n`), {
      'rollout.batch': '8 file',
      'loss.keptLogits': 'backward default',
    });
  });

  it('generates as many micro batches in one call as its release does', () => {
    const at = (more: string, version: string | undefined, gpus?: number) => {
      const known = {
        ...(version ? { 'version.trl': version } : {}),
        ...(gpus ? { 'hardware.gpus': gpus } : {}),
      };
      const { facts } = recipe(`${more}gradient_accumulation_steps: 4\n`, known);
      const of = (name: FieldPath) => facts.find(({ field }) => field === name)?.value;
      return [of('rollout.steps'), of('rollout.batch')];
    };
    const grpo = 'num_generations: 4\n';
    assert.deepEqual(at(grpo, '0.16.1'), [undefined, undefined]);
    assert.deepEqual(at(`${grpo}steps_per_generation: 2\n`, '0.17.0'), [0, undefined]);
    for (const version of ['0.18.0', '1.16.0', undefined]) {
      assert.deepEqual(at(grpo, version), [0, undefined]);
      assert.deepEqual(at(`${grpo}steps_per_generation: 2\n`, version), [2, undefined]);
      assert.equal(at(`${grpo}generation_batch_size: 64\n`, version, 4)[1], 16);
    }
    assert.deepEqual(at(`${grpo}use_vllm: true\n`, undefined), [undefined, undefined]);
    const rloo = (version: string) => {
      const { facts } = recipe('rloo_k: 2\ngradient_accumulation_steps: 4\nnum_mini_batches: 2\n', {
        'version.trl': version,
      });
      const of = (name: FieldPath) => facts.find(({ field }) => field === name)?.value;
      return [of('rollout.steps'), of('rollout.batch'), of('rollout.sequences')];
    };
    assert.deepEqual(rloo('0.21.0'), [undefined, 16, 16]);
    assert.deepEqual(rloo('0.22.0'), [0, undefined, undefined]);
  });

  it('counts prompts in a micro batch of GRPO until 0.14, and keeps a reference by default until 0.18', () => {
    const grpo = 'num_generations: 4\nmax_prompt_length: 128\n';
    golden(recipe(grpo, { 'version.trl': '0.14.0' }), {
      'batch.micro': '8 inferred',
      'method.referenceModel': 'true default',
    });
    golden(recipe(grpo, { 'version.trl': '0.15.2' }), {
      'batch.micro': '2 file',
      'method.referenceModel': 'true default',
    });
    golden(recipe(grpo, { 'version.trl': '0.19.1' }), { 'method.referenceModel': 'false default' });
    golden(recipe(`${grpo}beta: 0.0\n`, { 'version.trl': '0.18.2' }), {
      'method.referenceModel': 'false file',
    });
  });

  it('puts vLLM where its version does', () => {
    const grpo = 'num_generations: 8\nuse_vllm: true\n';
    golden(recipe(grpo, { 'version.trl': '0.29' }), { 'rollout.engine': 'vllm-server file' });
    golden(recipe(grpo, { 'version.trl': '1.0' }), {
      'rollout.engine': 'vllm-colocate file',
      'hardware.reservedFraction': '0.3 default',
    });
    golden(recipe(`${grpo}vllm_mode: server\n`, { 'version.trl': '1.0' }), {
      'rollout.engine': 'vllm-server file',
    });
  });

  const rules: readonly (readonly [code: string, broken: string, sound: string])[] = [
    [
      'two-quantizations',
      'use_peft: true\nload_in_4bit: true\nload_in_8bit: true',
      'use_peft: true\nload_in_4bit: true',
    ],
    ['packing-without-length', 'packing: true\nmax_length: null', 'packing: true\nmax_length: 512'],
    ['quantized-without-adapter', 'load_in_4bit: true', 'load_in_4bit: true\nuse_peft: true'],
    [
      'too-few-generations',
      'num_generations: 1\nmax_completion_length: 8',
      'num_generations: 2\nmax_completion_length: 8',
    ],
  ];
  // `grpo_config.py`, `grpo_trainer.py` and `rloo_config.py` of the packages 0.16.1 to 1.16.0.
  const since: readonly (readonly [code: string, text: string, first: string, before: string])[] = [
    ['too-few-generations', 'num_generations: 1', '0.17.0', '0.16.1'],
    ['two-generation-sizes', 'generation_batch_size: 64\nsteps_per_generation: 2', '0.18.0', '0.17.0'],
    ['auto-batch-generation', 'auto_find_batch_size: true', '1.9.0', '1.8.0'],
  ];
  for (const [code, text, first, before] of since)
    it(`refuses ${code} from ${first} on, of GRPO and of RLOO`, () => {
      const of = (name: string, version: string) =>
        read(
          'trl',
          `file:///w/recipes/m/${name}/config.yaml`,
          `model_name_or_path: m\nlearning_rate: 1.0e-5\ndataset_name: d\nmax_completion_length: 8\n${text}\n`,
          {},
          { trl: { version, source: 'pinned' } },
        ).problems.flatMap((problem) => (problem.code === code ? [problem.severity] : []));
      assert.deepEqual(of('grpo', first), ['error']);
      assert.deepEqual(of('grpo', before), []);
      assert.deepEqual(of('rloo', '1.16.0'), ['error']);
    });

  for (const [code, broken, sound] of rules)
    it(`refuses ${code}`, () => {
      assert.deepEqual(refused(recipe(`${broken}\n`)), [code]);
      assert.deepEqual(refused(recipe(`${sound}\n`)), []);
    });

  it('warns of LoRA keys that have no effect', () => {
    const codes = (text: string) => problemsOf(recipe(text), 'warning').map(({ code }) => code);
    assert.deepEqual(codes('lora_r: 16\n'), ['dead-key']);
    assert.deepEqual(codes('lora_r: 16\nuse_peft: true\n'), []);
  });

  it('reads the same on a command line, and is held to the same rules', () => {
    const text =
      'trl sft --model_name_or_path m --max_length 4096 --lora_r 8 --load_in_4bit --per_device_train_batch_size 4\n';
    const reading = read('launch-script', 'file:///w/run.sh', text);
    assert.equal(stated(reading, 'batch.sequence'), '4096 file');
    assert.deepEqual(refused(reading), ['quantized-without-adapter']);
    const [dead] = problemsOf(reading, 'warning');
    assert.equal(text.slice(dead?.range.start.character, dead?.range.end.character), '8');
  });
});
