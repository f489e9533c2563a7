import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const LAUNCH = `accelerate launch --num_processes 4 ../src/train_bash.py \\
    --stage sft --do_train --dataset d --finetuning_type full --output_dir o \\
    --model_name_or_path Qwen/Qwen2.5-0.5B \\
    --per_device_train_batch_size 4 --learning_rate 5e-5 --fp16
`;
const script = (of: string) =>
  `${of}\n\ndef main():\n    run_exp()\n\nif __name__ == "__main__":\n    main()\n`;

async function frameworkOf(text: string | undefined) {
  const files = { 'oomlint.yaml': 'gpu: A100-SXM4-80GB\n', 'examples/sft.sh': LAUNCH };
  const { analyze } = smallWorkspace({
    ...files,
    ...(text === undefined ? {} : { 'src/train_bash.py': text }),
  });
  const { resolved, problems } = await analyze('examples/sft.sh');
  return { framework: resolved.values.framework, length: resolved.values['batch.sequence'], problems };
}

describe('a script whose name is that of a framework', () => {
  it('is the framework’s where it imports its package, or is not here', async () => {
    for (const text of [
      undefined,
      script('from llmtuner import run_exp'),
      script('from llmtuner.tuner import run_exp'),
      script('from llamafactory.train.tuner import run_exp'),
      script('import os\nfrom src.llmtuner import run_exp'),
    ])
      assert.equal((await frameworkOf(text)).framework, 'llama-factory', text);
  });

  it('is another program where it imports another', async () => {
    const { framework, length } = await frameworkOf(
      script('from glmtuner.tuner import get_train_args, run_sft'),
    );
    assert.equal(framework, 'transformers');
    assert.equal(length, undefined);
  });

  it('is looked at anew when it changes', async () => {
    const { host, workspace } = smallWorkspace({
      'examples/sft.sh': LAUNCH,
      'src/train_bash.py': script('from glmtuner import run'),
    });
    const uri = 'file:///repo/examples/sft.sh';
    const framework = async () => (await workspace.analyze(uri))?.resolved.values.framework;
    assert.equal(await framework(), 'transformers');
    const changed = 'file:///repo/src/train_bash.py';
    host.write(changed, script('from llmtuner import run_exp'));
    workspace.invalidate(changed);
    assert.equal(await framework(), 'llama-factory');
  });
});

describe('a model among the words of a launch', () => {
  const recipe =
    'training_args:\n  per_device_train_batch_size: 1\n  output_dir: o\n  learning_rate: 1e-5\n  max_steps: 3\n';
  const modelOf = async (words: string, files: Readonly<Record<string, string>> = {}) => {
    const { analyze } = smallWorkspace({
      'run.sh': `torchrun --nproc_per_node=2 tune.py ${words}\n`,
      'lora.yaml': recipe,
      ...files,
    });
    const { values, origins } = (await analyze('lora.yaml')).resolved;
    return [values['model.id'], origins['model.id']?.kind];
  };

  it('is that of the run where the catalog has it and there is no other', async () => {
    assert.deepEqual(await modelOf('./data THUDM/chatglm3-6b lora.yaml'), ['THUDM/chatglm3-6b', 'inferred']);
    for (const words of [
      'data/train lora.yaml',
      'gpt2/x lora.yaml',
      'THUDM/chatglm3-6b Qwen/Qwen2.5-0.5B lora.yaml',
    ])
      assert.deepEqual(await modelOf(words), [undefined, undefined], words);
  });

  it('gives way to a recipe that names one', async () => {
    const own = recipe.replace('training_args:', 'model_name: Qwen/Qwen2.5-0.5B\ntraining_args:');
    assert.deepEqual(
      (await modelOf('THUDM/chatglm3-6b lora.yaml', { 'lora.yaml': own }))[0],
      'Qwen/Qwen2.5-0.5B',
    );
  });
});
