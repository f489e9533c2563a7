import assert from 'node:assert/strict';
import { catalogEntries, findModel, modelFromConfig } from '../../../server/src/model/catalog';

describe('model catalog', () => {
  it('counts the parameters of every entry exactly', () => {
    const wrong: string[] = [];
    for (const entry of catalogEntries()) {
      const model = findModel(entry.id);
      if (model?.parameters.total !== entry.params.total) {
        wrong.push(
          `${entry.id} (${entry.model_type}): ${model?.parameters.total}, not ${entry.params.total}`,
        );
      }
    }
    const entries = catalogEntries().length;
    console.log(`      ${entries - wrong.length} of ${entries} catalog entries match`);
    assert.deepEqual(wrong, []);
  });

  it('counts the active parameters of every sparse entry exactly', () => {
    const wrong: string[] = [];
    for (const entry of catalogEntries()) {
      const expected = entry.params.active ?? entry.params.total;
      const active = findModel(entry.id)?.parameters.active;
      if (active !== expected) wrong.push(`${entry.id}: ${active}, not ${expected}`);
    }
    assert.deepEqual(wrong, []);
  });

  it('explains every published count that differs', () => {
    for (const { id, params } of catalogEntries()) {
      if (params.published !== undefined) {
        assert.notEqual(params.published, params.total, id);
        assert.ok(params.difference, `${id} differs from its published count without a reason`);
      }
    }
  });

  it('finds models by alias, in any case, with and without the organisation', () => {
    const full = findModel('meta-llama/Llama-3.1-8B');
    assert.equal(full?.parameters.total, 8_030_261_248);
    assert.equal(findModel('META-LLAMA/llama-3.1-8b')?.parameters.total, full.parameters.total);
    assert.equal(findModel('Llama-3.1-8B')?.parameters.total, full.parameters.total);
    assert.equal(findModel('NousResearch/Hermes-3-Llama-3.1-8B')?.parameters.total, full.parameters.total);
    assert.equal(findModel('nobody/Llama-3.1-8B'), undefined);
    assert.equal(findModel('no such model'), undefined);
  });

  it('returns the same object for the same name', () => {
    assert.equal(findModel('gpt2'), findModel('gpt2'));
  });

  it('applies the fields in which an alias differs', () => {
    const base = findModel('meta-llama/Llama-2-7b-hf');
    const variant = findModel('microsoft/Orca-2-7b');
    assert.equal(variant?.vocabulary, 32003);
    assert.equal(variant?.parameters.total, (base?.parameters.total ?? 0) + 2 * 3 * 4096);
  });

  it('knows checkpoints of a training, copies and fine-tuned models by the sizes of what they go on from', () => {
    const parameters = (name: string) => findModel(name)?.parameters.total;
    assert.equal(parameters('TinyLlama/TinyLlama-1.1B-intermediate-step-955k-token-2T'), 1_100_048_384);
    assert.equal(parameters('LiquidAI/LFM2.5-350M'), 354_483_968);
    assert.equal(parameters('mosaicml/mpt-7b-8k'), parameters('mosaicml/mpt-7b'));
    assert.equal(findModel('mosaicml/mpt-7b-8k')?.config.max_seq_len, 8192);
    assert.equal(parameters('microsoft/tapex-base'), parameters('facebook/bart-base'));
    // Tokens that a fine-tuned model adds are rows of the embedding and the head.
    const added = (parameters('WizardLM/WizardLM-7B-V1.0') ?? 0) - (parameters('huggyllama/llama-7b') ?? 0);
    assert.equal(added, 2 * 4096);
    for (const [name, labels] of [
      ['nvidia/segformer-b0-finetuned-ade-512-512', 150],
      ['nvidia/segformer-b5-finetuned-cityscapes-1024-1024', 19],
    ] as const)
      assert.equal(findModel(name)?.config.num_labels, labels, name);
  });

  it('states what no count shows: the relations that are scored, and dropout that is not the class default', () => {
    const relative = catalogEntries().filter(({ config }) => config.relative_attention === true);
    assert.ok(relative.length >= 5);
    for (const { id, config } of relative) assert.equal(config.pos_att_type, 'p2c|c2p', id);
    const of = (name: string, field: string) => findModel(name)?.config[field];
    for (const name of ['facebook/bart-base', 'facebook/bart-large', 'facebook/bart-large-mnli'])
      assert.deepEqual([of(name, 'attention_dropout'), of(name, 'activation_dropout')], [0.1, 0.1], name);
    assert.deepEqual(
      [of('facebook/bart-large-cnn', 'attention_dropout'), of('microsoft/tapex-large', 'activation_dropout')],
      [0, 0],
    );
    assert.equal(of('microsoft/phi-2', 'resid_pdrop'), 0.1);
    assert.equal(of('bigcode/starcoder2-7b', 'residual_dropout'), 0.1);
  });

  it('counts models as their publishers do', () => {
    const billions = (name: string) => ((findModel(name)?.parameters.total ?? 0) / 1e9).toFixed(2);
    for (const [name, published] of [
      ['mistralai/Mistral-Medium-3.5-128B', '127.70'],
      ['mistralai/Devstral-Small-2-24B-Instruct-2512', '24.01'],
      ['tencent/Hunyuan-A13B-Pretrain', '80.39'],
      ['tiiuae/Falcon-H1-1.5B-Deep-Base', '1.55'],
      ['inclusionAI/Ling-1T', '999.71'],
      ['sarvamai/sarvam-m', '23.57'],
    ] as const)
      assert.equal(billions(name), published, name);
    for (const [name, published] of [
      // EleutherAI's card of Polyglot-Ko.
      ['EleutherAI/polyglot-ko-5.8b', 5_885_059_072],
      // Pages of the Hugging Face hub: 484M, 615M, 256M, 507M, 8.46B.
      ['facebook/m2m100_418M', 483_905_536],
      ['facebook/nllb-200-distilled-600M', 615_073_792],
      ['HuggingFaceTB/SmolVLM2-256M-Video-Instruct', 256_484_928],
      ['HuggingFaceTB/SmolVLM2-500M-Video-Instruct', 507_482_304],
      ['HuggingFaceM4/Idefics3-8B-Llama3', 8_462_086_384],
    ] as const)
      assert.equal(findModel(name)?.parameters.total, published, name);
  });

  it('reports where an entry is not confirmed', () => {
    const unconfirmed = catalogEntries().filter((e) => e.verified === false);
    assert.equal(unconfirmed.length, 46);
    for (const entry of unconfirmed) {
      assert.ok(
        findModel(entry.id)?.notes.some((note) => note.includes('not confirmed')),
        entry.id,
      );
    }
  });

  it('builds the same model from a config.json', () => {
    const entry = catalogEntries().find((e) => e.id === 'Qwen/Qwen2.5-7B');
    assert.ok(entry);
    const model = modelFromConfig(
      { ...entry.config, model_type: entry.model_type },
      './config.json',
      'config.json',
    );
    assert.ok(!('error' in model));
    assert.equal(model.parameters.total, entry.params.total);
    assert.equal(model.origin, 'config.json');
  });
});
