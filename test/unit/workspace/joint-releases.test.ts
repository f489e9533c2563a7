import assert from 'node:assert/strict';
import { satisfies, validRange } from '@renovatebot/pep440';
import RELEASES from '../../../server/data/releases.json';
import REQUIREMENTS from '../../../server/data/trl-requirements.json';
import { smallWorkspace } from './small-workspace';

const HEAD = 'from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments\n';
const MODEL = 'model = AutoModelForCausalLM.from_pretrained("gpt2")\n';

const script = (trainer: string, config: string, own = '', more = '') => {
  const args = config.slice(0, config.indexOf('('));
  return `${HEAD}from trl import ${trainer}, ${args}\n${more}${MODEL}${trainer}(model=model, args=${config}${own}).train()\n`;
};
const sft = (config: string, own = '', more = '') =>
  script('SFTTrainer', `SFTConfig("o"${config})`, own, more);

async function found(text: string, requirements?: string, config = 'train.py') {
  const around: Record<string, string> =
    requirements === undefined ? {} : { 'requirements.txt': requirements };
  const { resolved } = await smallWorkspace({ [config]: text, ...around }).analyze(config);
  const of = (name: 'trl' | 'transformers' | 'accelerate') =>
    `${resolved.values[`version.${name}`]} ${resolved.origins[`version.${name}`]?.note}`;
  return { trl: of('trl'), transformers: of('transformers'), accelerate: of('accelerate'), resolved };
}

const DROPPED = sft(', warmup_ratio=0.1', ', max_seq_length=512');

describe('releases of TRL and transformers', () => {
  it('stand together where each is inferred by itself: transformers is the newest that TRL takes', async () => {
    const { trl, transformers, resolved } = await found(DROPPED);
    assert.match(trl, /^0\.12\.2 `SFTTrainer` takes `max_seq_length`/);
    assert.equal(transformers, '4.46.3 the newest that trl 0.12.2 takes');
    assert.equal(resolved.values['precision.weights'], 'fp32');
    const limits = resolved.overruled.filter(({ field }) => field === 'version.transformers');
    assert.ok(limits.some(({ origin }) => /warmup_ratio/.test(origin.note ?? '')));
  });

  it('limit TRL by what transformers is', async () => {
    const text = sft(', evaluation_strategy="no"', '', 'from trl import setup_chat_format\n');
    const { trl, transformers, accelerate } = await found(text);
    assert.match(transformers, /^4\.50\.3 `SFTConfig` takes `evaluation_strategy`/);
    assert.equal(trl, '0.18.2 the newest that takes transformers 4.50.3');
    assert.match(accelerate, /trl 0\.18\.2 requires accelerate >=0\.34/);
    // Where no argument limits TRL itself.
    assert.match((await found(sft(', evaluation_strategy="no"'))).trl, /^0\.18\.2 /);
  });

  it('end where a later transformers lacks what the trainer asks of it', async () => {
    const dpo = script('DPOTrainer', 'DPOConfig("o")', ', tokenizer=t');
    const { trl, transformers } = await found(dpo);
    assert.match(trl, /^0\.15\.2 `DPOTrainer` takes `tokenizer`/);
    assert.equal(transformers, '4.57.6 the newest that trl 0.15.2 takes');
    // It sets something in an attribute that models have no more since 5.1.
    const orpo = script('ORPOTrainer', 'ORPOConfig("o")', ', tokenizer=t');
    assert.equal((await found(orpo)).transformers, '5.0.0 the newest that trl 0.14.0 takes');
    // The trainer of supervised fine-tuning imports nothing that is gone.
    assert.match((await found(sft('', ', tokenizer=t'))).transformers, /^5\.24/);
  });

  it('follow from the tokenizer that a trainer takes', async () => {
    for (const [trainer, release] of [
      ['GKD', '0.12.2'],
      ['KTO', '0.13.0'],
      ['CPO', '0.13.0'],
      ['ORPO', '0.14.0'],
      ['Reward', '0.14.0'],
      ['SFT', '0.15.2'],
    ] as const) {
      const text = script(`${trainer}Trainer`, `${trainer}Config("o")`, ', tokenizer=t');
      assert.ok((await found(text)).trl.startsWith(`${release} `), trainer);
    }
  });

  it('follow from the release that a file names', async () => {
    const plain = sft('');
    const older = await found(plain, 'trl==0.12.2\n');
    assert.equal(older.transformers, '4.46.3 the newest that trl 0.12.2 takes');
    const other = await found(plain, 'transformers==4.50.3\n');
    assert.equal(other.trl, '0.18.2 the newest that takes transformers 4.50.3');
    const range = await found(plain, 'transformers>=4.40\ntrl==0.12.2\n');
    assert.equal(range.transformers, '4.46.3 the newest that trl 0.12.2 takes');
    assert.equal(range.resolved.origins['version.transformers']?.kind, 'environment');
    assert.equal(range.resolved.origins['version.transformers']?.orElse, '4.40.2');
    const accelerated = await found(plain, 'accelerate==1.0.1\n');
    assert.equal(accelerated.trl, '0.18.2 the newest that takes accelerate 1.0.1');
    assert.match(accelerated.transformers, /trl 0\.18\.2 requires transformers >=4\.50/);
    const recipe =
      'model_name_or_path: gpt2\nlearning_rate: 1.0e-5\ndataset_name: d\nmax_length: 1024\nuse_peft: true\n';
    assert.match((await found(recipe, 'trl==0.12.2\n', 'recipes/sft.yaml')).transformers, /^4\.46\.3 /);
    assert.match((await found(recipe, 'transformers==4.46.3\n', 'recipes/sft.yaml')).trl, /^0\.17\.0 /);
  });

  it('stay as they are stated where they contradict, and as each is limited where none go together', async () => {
    const pinned = await found(sft(''), 'transformers==5.0.0\ntrl==0.12.2\n');
    assert.match(pinned.trl, /^0\.12\.2 trl 0\.12\.2 in/);
    assert.match(pinned.transformers, /^5\.0\.0 transformers 5\.0\.0 in/);
    const none = await found(DROPPED, 'transformers==4.57.6\n');
    assert.match(none.trl, /^0\.12\.2 `SFTTrainer`/);
    assert.match(none.transformers, /^4\.57\.6 transformers 4\.57\.6 in/);
  });

  it('leave transformers alone where no TRL takes part', async () => {
    const plain = `${HEAD}${MODEL}Trainer(model=model, args=TrainingArguments("o", evaluation_strategy="no")).train()\n`;
    const { trl, transformers } = await found(plain);
    assert.match(transformers, /^4\.50\.3 /);
    assert.match(trl, /^1\.16 /);
  });

  it('have requirements that are understood, of the last patch of every minor version since 0.7', () => {
    const rows: Readonly<Record<string, { transformers?: string; accelerate?: string }>> = REQUIREMENTS.trl;
    for (const [release, { transformers = '', accelerate = '' }] of Object.entries(rows)) {
      for (const specifier of [transformers, accelerate])
        assert.ok(specifier === '' || validRange(specifier), `${release}: ${specifier}`);
      assert.ok(
        RELEASES.releases.transformers.some((one) => satisfies(one, transformers)),
        release,
      );
    }
    const since = RELEASES.releases.trl.slice(RELEASES.releases.trl.indexOf('0.7.11'));
    assert.deepEqual(
      since.filter((release) => !(release in rows)),
      [],
    );
  });
});
