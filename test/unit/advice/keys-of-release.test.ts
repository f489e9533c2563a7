import assert from 'node:assert/strict';
import { byHand } from '../../../server/src/advice/by-hand';
import type { decisionsOf } from '../../../server/src/advice/decisions';
import { LEVERS } from '../../../server/src/advice/knobs';
import { loadPython } from '../../../server/src/config/python/grammar';
import { TRL_RELEASES } from '../../../server/src/dialects/hf/model-arguments-keys';
import { TRAINER_RELEASES } from '../../../server/src/dialects/hf/training-arguments-keys';
import type { FieldPath, RunValues } from '../../../server/src/run/fields';
import { isAtLeast } from '../../../server/src/terms/version';
import { aRun } from '../memory/a-run';
import { smallWorkspace } from '../workspace/small-workspace';

const SUPPLIED: RunValues = {
  'hardware.gpu': 'A100-SXM4-80GB',
  'hardware.gpus': 1,
  'batch.sequence': 1024,
  'loss.implementation': 'full',
};

async function grouped(trl: string) {
  const text = `# %%
!pip install trl==${trl}
# %%
from trl import GRPOConfig, GRPOTrainer
trainer = GRPOTrainer(model="Qwen/Qwen2.5-0.5B", reward_funcs=f, args=GRPOConfig(per_device_train_batch_size=8, max_prompt_length=512, max_completion_length=512))
trainer.train()
`;
  const { analyze } = smallWorkspace({ 'train.py': text }, { settings: () => SUPPLIED });
  return analyze('train.py');
}

describe('keys that advice names', () => {
  before(loadPython);

  it("bring Liger's loss to groups of completions in the releases of TRL that have one", async () => {
    const on = async (trl: string) => {
      const analysis = await grouped(trl);
      assert.ok(analysis.estimate);
      const lever = LEVERS.find(({ field }) => field === 'kernels.liger');
      const settings = lever?.settings(analysis as Parameters<typeof decisionsOf>[0] & never) ?? [];
      return settings.at(-1)?.changes['loss.implementation'];
    };
    assert.deepEqual(
      [await on('0.14.0'), await on('0.17.0'), await on('1.12.0'), await on('1.13.0')],
      [undefined, 'liger', 'liger', undefined],
    );
  });

  it('are arguments that the release of transformers has', () => {
    const tables = [TRAINER_RELEASES[0].table('Seq2SeqTrainingArguments')];
    assert.ok(TRL_RELEASES.versions.length > 0);
    const changes: readonly (readonly [FieldPath, RunValues])[] = LEVERS.flatMap(({ field }) =>
      [true, false, 'full', 'none', 4, 'adafactor', 'adamw-8bit'].map(
        (value) => [field, { [field]: value } as RunValues] as const,
      ),
    );
    for (const release of TRAINER_RELEASES[0].versions)
      for (const [field, wanted] of changes) {
        const run = aRun({ 'version.transformers': release });
        const line = byHand(field, wanted, run, []) ?? '';
        const named = [...line.matchAll(/`--(\w+) /g)].map(([, key = '']) => key);
        for (const key of named) {
          const entry = tables.flatMap((table) => table.get(key) ?? [])[0];
          assert.ok(entry, key);
          assert.ok(entry.since === undefined || isAtLeast(release, entry.since), `${key} in ${release}`);
          assert.ok(
            entry.until === undefined || isAtLeast(release, entry.until) === false,
            `${key} in ${release}`,
          );
        }
      }
  });

  it('are no new spellings that the release does not know yet', async () => {
    const text = (release: string) => `# %%
!pip install transformers==${release}
# %%
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
Trainer(model=model, args=TrainingArguments(evaluation_strategy="epoch")).train()
`;
    const hints = async (release: string) => {
      const { analyze } = smallWorkspace({ 'train.py': text(release) }, { settings: () => SUPPLIED });
      return (await analyze('train.py')).problems.filter(({ code }) => code === 'deprecated-key').length;
    };
    assert.deepEqual([await hints('4.38.2'), await hints('4.45.2')], [0, 1]);
  });
});
