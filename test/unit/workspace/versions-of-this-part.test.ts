import assert from 'node:assert/strict';
import { smallWorkspace } from './small-workspace';

const SCRIPT = `from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model=model, args=TrainingArguments(output_dir="x", per_device_train_batch_size=2), train_dataset=data).train()
`;
const versionsOf = async (path: string, files: Record<string, string>) => {
  const { analyze } = smallWorkspace({
    'oomlint.yaml': 'targets: {gpu: H100, gpus: 1}\n',
    [path]: SCRIPT,
    ...files,
  });
  const { values } = (await analyze(path)).resolved;
  return [values['version.torch'], values['version.transformers']];
};

describe('versions', () => {
  const book = {
    'requirements-chapter7.txt': 'torch==1.8.1\ntransformers==4.11.0\n',
    'requirements.txt': 'transformers==4.16.2\n',
  };

  it('are not those of a list that is named for another part', async () => {
    const [torch, transformers] = await versionsOf('chapter2/train.py', book);
    assert.notEqual(torch, '1.8.1');
    assert.equal(transformers, '4.16.2');
    assert.notEqual((await versionsOf('02_classification.py', book))[0], '1.8.1');
  });

  it('are those of the list of this part', async () => {
    assert.equal((await versionsOf('07_question-answering.py', book))[0], '1.8.1');
    assert.equal((await versionsOf('chapter_07/train.py', book))[0], '1.8.1');
  });

  it('are not those of a setup.py that lists several, or of a build for CPUs', async () => {
    const [torch, transformers] = await versionsOf('examples/train.py', {
      'setup.py':
        'cpu = ["torch==2.1.2+cpu"]\nxpu = ["torch==2.1.0", "x==1"]\nnew = ["torch==2.6.0"]\nsetup(install_requires=["transformers==4.37.0"])\n',
    });
    assert.ok(!['2.1.2', '2.1.0', '2.6.0', '2.1.2+cpu'].includes(String(torch)), String(torch));
    assert.equal(transformers, '4.37.0');
    const [other] = await versionsOf('examples/train.py', { 'setup.py': 'cpu = ["torch==2.1.2+cpu"]\n' });
    assert.doesNotMatch(String(other), /2\.1\.2/);
  });

  it('are those that the text beside the script installs, before those of a folder above', async () => {
    const files = { 'setup.py': 'setup(install_requires=["transformers==4.37.0"])\n' };
    const readme = '# Example\n\n```bash\npip install transformers==4.36.1\n```\n';
    assert.equal(
      (await versionsOf('examples/qlora/train.py', { ...files, 'examples/qlora/README.md': readme }))[1],
      '4.36.1',
    );
    const own = { 'examples/qlora/requirements.txt': 'transformers==4.40.0\n' };
    assert.equal(
      (
        await versionsOf('examples/qlora/train.py', { ...files, ...own, 'examples/qlora/README.md': readme })
      )[1],
      '4.40.0',
    );
    assert.equal(
      (await versionsOf('examples/qlora/train.py', { ...files, 'README.md': readme }))[1],
      '4.37.0',
    );
  });
});
