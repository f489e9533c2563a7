import assert from 'node:assert/strict';
import { ROOT, smallWorkspace } from './small-workspace';

const CODE = `from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser, get_peft_config
def main(script_args, training_args, model_args):
    trainer = SFTTrainer(model=model_args.model_name_or_path, args=training_args, train_dataset=load(script_args), peft_config=get_peft_config(model_args))
    trainer.train()
if __name__ == "__main__":
    parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig))
    main(*parser.parse_args_and_config())
`;
const COMMAND = `torchrun --nproc_per_node 8 scripts/sft.py \\
    --model_name_or_path Qwen/Qwen2.5-7B \\
    --per_device_train_batch_size 16
`;
const LORA = COMMAND.replace('size 16', 'size 2 --use_peft --lora_r 32');

async function analyzed(head: string, more: Readonly<Record<string, string>> = {}) {
  return smallWorkspace({ 'scripts/sft.py': `${head}${CODE}`, ...more }).workspace.analyze(
    `${ROOT}/scripts/sft.py`,
  );
}

describe('commands that a program shows at its head', () => {
  it('start it, each as a run of its own', async () => {
    for (const head of [
      `"""\n# Full\n\`\`\`\n${COMMAND}\`\`\`\n# LoRA\n\`\`\`bash\n${LORA}\`\`\`\n"""\n`,
      `# Copyright\n\nr'''\nFull training:\n${COMMAND}\nLoRA:\n${LORA}'''\n`,
      `#!/usr/bin/env python\n#\n${`${COMMAND}\n${LORA}`.replace(/^/gm, '# ')}\n`,
    ]) {
      const analysis = await analyzed(head);
      assert.equal(analysis?.runs?.length, 2, head);
      assert.equal(analysis?.resolved.values['model.id'], 'Qwen/Qwen2.5-7B');
      assert.equal(analysis?.resolved.values['hardware.gpus'], 8);
      const at = analysis?.resolved.origins['model.id']?.location;
      assert.ok(at && at.range.start.line < head.split('\n').length, head);
    }
  });

  it('are an example: what does not fit as they stand is no error', async () => {
    const analysis = await analyzed(`# oomlint: gpu=T4 sequence=8192\n"""\n${COMMAND}"""\n`);
    assert.equal(analysis?.estimate?.verdict, 'exceeds');
    const found = analysis?.problems.find(({ code }) => code === 'does-not-fit');
    assert.equal(found?.severity, 'warning');
    assert.match(found?.message ?? '', /started here as sft\.py shows/);
  });

  it('do not count where something starts the program, nor where they start another one or none', async () => {
    const head = `"""\n${COMMAND}"""\n`;
    const started = await analyzed(head, {
      'run.sh': 'python scripts/sft.py --model_name_or_path Qwen/Qwen2.5-0.5B\n',
    });
    assert.equal(started?.resolved.values['model.id'], 'Qwen/Qwen2.5-0.5B');
    for (const other of [
      `"""\n${COMMAND.replace('sft.py', 'dpo.py')}"""\n`,
      '"""python is a fine language, torchrun too.\n"""\n',
      `import os\n"""\n${COMMAND}"""\n`,
    ])
      assert.equal(
        await smallWorkspace({ 'scripts/sft.py': `${other}${CODE}` }).workspace.analyze(
          `${ROOT}/scripts/sft.py`,
        ),
        undefined,
        other,
      );
  });

  it('leave open what they leave to whoever starts it', async () => {
    const analysis = await analyzed(`"""\n${COMMAND.replace('size 16', 'size $2')}"""\n`);
    assert.equal(analysis?.resolved.values['batch.micro'], undefined);
    assert.ok(analysis?.unread?.some(({ message }) => message.includes('$2')));
  });
});
