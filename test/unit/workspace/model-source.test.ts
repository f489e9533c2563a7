import assert from 'node:assert/strict';
import type { RunValues } from '../../../server/src/run/fields';
import { FileCache, TrackedFiles } from '../../../server/src/workspace/file-cache';
import { hubCache } from '../../../server/src/workspace/hub-cache';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { findModelOf } from '../../../server/src/workspace/model-source';

const FROM = 'file:///repo/configs/a.json';
const CONFIG = JSON.stringify({
  model_type: 'llama',
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 1000,
});

function find(files: Record<string, string>, values: RunValues, environment: Record<string, string> = {}) {
  const host = new MemoryHost(files, { folders: ['file:///repo'], environment, home: 'file:///home/me' });
  return findModelOf(values, {}, FROM, new TrackedFiles(new FileCache(host), []));
}

describe('finding the model of a run', () => {
  it('tells by what of a name it knows how a copy is stored', async () => {
    const { note, because } = await find({}, { 'model.id': 'unsloth/qwen3-14b-unsloth-bnb-4bit' });
    assert.match(note ?? '', /^taken as a copy of/);
    for (const field of ['quantization.kind', 'quantization.partial'] as const)
      assert.equal(because?.[field], 'the name ends in `-unsloth-bnb-4bit`');
    assert.equal(because?.['quantization.checkpointBytes'], 'the files of `qwen3-14b-unsloth-bnb-4bit`');
  });

  // Counted on the meta device with transformers 5.23.0.
  for (const [loads, id, total, type] of [
    ['AutoModelForCausalLM', 'Qwen/Qwen3.5-0.8B', 752_393_024, 'qwen3_5_text'],
    ['AutoModelForCausalLM', 'Qwen/Qwen3.5-2B', 1_881_825_088, 'qwen3_5_text'],
    ['Qwen3_5ForCausalLM', 'Qwen/Qwen3.5-27B', 26_895_998_464, 'qwen3_5_text'],
    ['AutoModelForCausalLM', 'Qwen/Qwen3.5-35B-A3B', 34_660_610_688, 'qwen3_5_moe_text'],
    ['AutoModelForCausalLM', 'meta-llama/Llama-4-Scout-17B-16E', 107_769_861_120, 'llama4_text'],
    ['AutoModelForCausalLM', 'google/gemma-3-4b-it', 4_300_079_472, 'gemma3'],
    ['Gemma3ForCausalLM', 'google/gemma-3-4b-it', 3_880_263_168, 'gemma3_text'],
    ['AutoModelForImageTextToText', 'Qwen/Qwen3.5-0.8B', 852_985_920, 'qwen3_5'],
  ] as const)
    it(`${id} as ${loads} makes it: ${type}`, async () => {
      const { model } = await find({}, { 'model.id': id, 'model.class': loads });
      assert.deepEqual([model?.parameters.total, model?.modelType], [total, type]);
    });

  it('does not know the text model of Llama 3.2 Vision by itself', async () => {
    const values = {
      'model.id': 'meta-llama/Llama-3.2-11B-Vision',
      'model.class': 'AutoModelForCausalLM',
    } as const;
    const { model, reason } = await find({}, values);
    assert.equal(model, undefined);
    assert.match(reason ?? '', /mllama_text_model/);
  });

  describe('the type of weights that config.json does not name', () => {
    const folder = 'file:///repo/configs/m';
    const header = (...types: string[]) =>
      JSON.stringify({
        __metadata__: { format: 'pt' },
        ...Object.fromEntries(types.map((dtype, index) => [`${index}.weight`, { dtype, shape: [1] }])),
      });
    const typeOf = async (files: Record<string, string>, config = CONFIG) => {
      const here = Object.entries({ 'config.json': config, ...files });
      const all = Object.fromEntries(here.map(([name, text]) => [`${folder}/${name}`, text]));
      return (await find(all, { 'model.path': './m' })).model?.publishedDtype;
    };
    const index = (bytes: number) =>
      JSON.stringify({
        metadata: { total_size: bytes },
        weight_map: { a: 'model-00001-of-00002.safetensors' },
      });
    // 2 layers of 64 by 128 with 4 heads of 16, 2 of keys, and 1000 rows at both ends.
    const weights = 2 * 1000 * 64 + 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64);

    it('is that of the first tensor with a fraction in the header of its file', async () => {
      assert.equal(await typeOf({ 'model.safetensors': header('F32') }), 'fp32');
      assert.equal(await typeOf({ 'model.safetensors': header('I64', 'F8_E4M3', 'BF16', 'F32') }), 'bf16');
      assert.equal(await typeOf({ 'model.safetensors': header('F16') }), 'fp16');
      assert.equal(await typeOf({ 'model.safetensors': header('U8') }), undefined);
      assert.equal(await typeOf({ 'model.safetensors': '{"broken' }), undefined);
    });

    it('is that of the first shard that the index names, or what its bytes say of each weight', async () => {
      const shard = { 'model-00001-of-00002.safetensors': header('F16') };
      const named = (bytes: number) => ({ 'model.safetensors.index.json': index(bytes) });
      assert.equal(await typeOf({ ...named(2 * weights), ...shard }), 'fp16');
      assert.equal(await typeOf(named(4 * weights)), 'fp32');
      assert.equal(await typeOf(named(2 * weights)), 'bf16');
      assert.equal(await typeOf(named(3 * weights)), undefined);
      assert.equal(await typeOf({ 'model.safetensors.index.json': '[]' }), undefined);
    });

    it('stands back where the config names it, or how the weights are quantized', async () => {
      const files = { 'model.safetensors': header('F32') };
      const config = (more: object) => JSON.stringify({ ...JSON.parse(CONFIG), ...more });
      assert.equal(await typeOf(files, config({ torch_dtype: 'bfloat16' })), 'bf16');
      assert.equal(await typeOf(files, config({ quantization_config: { quant_method: 'gptq' } })), undefined);
      assert.equal(await typeOf({}), undefined);
    });
  });

  it('looks into the catalog', async () => {
    const { model, reason } = await find({}, { 'model.id': 'meta-llama/Llama-3.1-8B' });
    assert.equal(reason, undefined);
    assert.equal(model?.parameters.total, 8_030_261_248);
  });

  it('reads a config.json in a folder beside the file, above it, or named itself', async () => {
    for (const path of ['./m', 'm', './m/config.json']) {
      const beside = await find({ 'file:///repo/configs/m/config.json': CONFIG }, { 'model.path': path });
      assert.equal(beside.model?.hiddenSize, 64, path);
      assert.equal(beside.uri, 'file:///repo/configs/m/config.json');
    }
    const above = await find({ 'file:///repo/m/config.json': CONFIG }, { 'model.path': 'm' });
    assert.equal(above.model?.hiddenSize, 64);
    const asId = await find({ 'file:///repo/m/config.json': CONFIG }, { 'model.id': 'm' });
    assert.equal(asId.model?.hiddenSize, 64);
  });

  it('reads the Hugging Face cache', async () => {
    const at = (cache: string) => ({
      [`${cache}/models--org--name/refs/main`]: 'abc123\n',
      [`${cache}/models--org--name/snapshots/abc123/config.json`]: CONFIG,
    });
    const places: [string, Record<string, string>][] = [
      ['file:///home/me/.cache/huggingface/hub', {}],
      ['file:///data/hub', { HF_HUB_CACHE: '/data/hub' }],
      ['file:///data/hf/hub', { HF_HOME: '/data/hf' }],
      ['file:///cache/huggingface/hub', { XDG_CACHE_HOME: '/cache' }],
    ];
    for (const [cache, environment] of places) {
      const { model } = await find(at(cache), { 'model.id': 'org/name' }, environment);
      assert.equal(model?.id, 'org/name', cache);
      assert.equal(hubCache(environment, 'file:///home/me'), cache);
    }
  });

  it('does not leave the cache through a crafted name or revision', async () => {
    const evil = {
      'file:///home/me/.cache/huggingface/hub/models--org--name/refs/main': '../../../../secret',
    };
    const { model, reason } = await find(
      { ...evil, 'file:///home/me/secret/config.json': CONFIG },
      { 'model.id': 'org/name' },
    );
    assert.equal(model, undefined);
    assert.ok(reason);
  });

  it('takes a path that is not here by the name of its folder, and reports it', async () => {
    const { model, note } = await find({}, { 'model.path': '/cluster/models/Llama-3.1-8B' });
    assert.equal(model?.parameters.total, 8_030_261_248);
    assert.match(note ?? '', /not on this machine/);
  });

  it('reads a config.json with the infinite numbers that Python writes', async () => {
    const text = JSON.stringify({
      model_type: 'mamba2',
      hidden_size: 64,
      num_hidden_layers: 2,
      num_heads: 4,
      head_dim: 32,
      state_size: 16,
      vocab_size: 100,
      time_step_limit: 'LIMIT',
    }).replace('"LIMIT"', '[0.0, Infinity]');
    const { model, reason } = await find({ 'file:///repo/m/config.json': text }, { 'model.path': 'm' });
    assert.equal(reason, undefined);
    assert.equal(model?.hiddenSize, 64);
  });

  it('reports why there is no model', async () => {
    const cases: [RunValues, Record<string, string>, RegExp][] = [
      [{ 'model.id': 'no/such-model-anywhere' }, {}, /neither in the catalog/],
      [{ 'model.id': '$2' }, {}, /a variable that is not set here/],
      [
        { 'model.id': '$(find outputs \\\n    | sort -nr | head -n 1)' },
        {},
        /^The model is "\$\(find outputs \| sort -nr \| head -n 1\)", which is known only when the script runs/,
      ],
      [{ 'model.path': `\${RAY_DATA_HOME}/models/x` }, {}, /a variable that is not set here/],
      [{ 'model.id': 'MY_COOL_MODEL' }, {}, /still to be named/],
      [{ 'model.path': '/path/to/model' }, {}, /still to be named/],
      [{ 'model.path': './gone' }, {}, /no model config/],
      [{ 'model.path': 'm' }, { 'file:///repo/m/config.json': '{' }, /not valid JSON/],
      [{ 'model.path': 'm' }, { 'file:///repo/m/config.json': '[]' }, /no model_type/],
      [{ 'model.config': { model_type: 5 } }, {}, /no model_type/],
    ];
    for (const [values, files, expected] of cases) {
      const { model, reason } = await find(files, values);
      assert.equal(model, undefined, JSON.stringify(values));
      assert.match(reason ?? '', expected);
    }
  });
});
