import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const script = (release: string, made: string, trainer: string) => `# oomlint: ${release} gpu=H100 gpus=1
import os
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer, SFTConfig, SFTTrainer
adapters = LoraConfig(r=8, target_modules=["c_attn"])
more = LoraConfig(r=64, target_modules=["c_attn"])
model = AutoModelForCausalLM.from_pretrained("gpt2")
${made}
${trainer}.train()
`;
const WRAPPED = 'model = get_peft_model(model, adapters)';
const SFT =
  'SFTTrainer(model=model, args=SFTConfig(max_length=512), train_dataset=rows, peft_config=adapters)';
const NEW = 'version.trl=1.16';

const analysisOf = (text: string) => smallWorkspace({ 'train.py': text }).analyze('train.py');
const severityOf = async (text: string) =>
  (await analysisOf(text)).problems.find(({ code }) => code === 'adapters-twice')?.severity;

describe('a trainer that is given adapters twice', () => {
  it('stops, of the releases that look', async () => {
    assert.equal(await severityOf(script(NEW, WRAPPED, SFT)), 'error');
    assert.equal(await severityOf(script('version.trl=0.27.0', WRAPPED, SFT)), 'error');
    assert.equal(await severityOf(script('version.trl=0.26.2', WRAPPED, SFT)), undefined);
    const loaded = 'model = PeftModel.from_pretrained(model, "me/adapters")';
    assert.equal(await severityOf(script(NEW, loaded, SFT)), 'error');
    const kto = SFT.replaceAll('SFT', 'KTO');
    assert.equal(await severityOf(script('version.trl=1.8.0', WRAPPED, kto)), 'error');
    assert.equal(await severityOf(script('version.trl=1.7.0', WRAPPED, kto)), undefined);
  });

  it('does not where the text is for releases before, whatever is the newest', async () => {
    const older = SFT.replace('max_length=512', 'max_seq_length=512');
    assert.equal(await severityOf(script('sequence=512', WRAPPED, older)), undefined);
    assert.equal(await severityOf(script('sequence=512', WRAPPED, SFT)), 'warning');
  });

  it('does not where the model has none any more, or that is not sure', async () => {
    for (const [made, trainer] of [
      ['', SFT],
      [WRAPPED, SFT.replace('=adapters', '=None')],
      [WRAPPED, SFT.replace('=adapters', '=given')],
      [`${WRAPPED}\nmodel = model.merge_and_unload()`, SFT],
      [`${WRAPPED}\nmodel = model.get_base_model()`, SFT],
      [`if os.path.exists("x"):\n    ${WRAPPED}`, SFT],
    ] as const)
      assert.equal(await severityOf(script(NEW, made, trainer)), undefined, made);
  });
});

describe('adapters of a model that had others before', () => {
  const rankOf = async (made: string, trainer: string, release = 'version.trl=0.26.0') => {
    const { resolved, unread = [] } = await analysisOf(script(release, made, trainer));
    const isOpen = unread.some(({ fields }) => fields?.includes('lora.rank'));
    return isOpen ? 'open' : resolved.values['lora.rank'];
  };

  it('are those that come after the merge', async () => {
    const merged = `${WRAPPED}\nmodel = model.merge_and_unload()`;
    const more = SFT.replace('=adapters', '=more');
    assert.equal(await rankOf(merged, more), 64);
    assert.equal(
      await rankOf(`${merged}\nmodel = get_peft_model(model, more)`, SFT.replace('adapters', 'None')),
      64,
    );
    const loaded = 'model = PeftModel.from_pretrained(model, "me/adapters").merge_and_unload()';
    assert.equal(await rankOf(loaded, more), 64);
    assert.equal(await rankOf(merged, SFT.replace('adapters', 'None')), 'open');
    assert.equal(
      await rankOf(`${WRAPPED}\nif os.path.exists("x"):\n    model = model.merge_and_unload()`, more),
      'open',
    );
  });

  it('are not known where a trainer is given others', async () => {
    assert.equal(await rankOf(WRAPPED, SFT), 8);
    assert.equal(await rankOf(WRAPPED, SFT.replace('=adapters', '=more')), 'open');
  });
});
