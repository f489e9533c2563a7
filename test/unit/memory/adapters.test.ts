import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { estimate, tracedEstimate } from '../../../server/src/estimate';
import { findModel } from '../../../server/src/model/catalog';
import { FIELDS, type RunValues } from '../../../server/src/run/fields';
import { runs } from '../long';
import { aModel, aRun, CARD, SMALL_LLAMA } from './a-run';

const model = aModel({ ...SMALL_LLAMA, num_key_value_heads: 8 });

function of(values: RunValues) {
  return estimate({ run: aRun({ 'method.kind': 'lora', ...values }), model, accelerator: CARD });
}

/** Trainable elements of this model under `get_peft_model` (peft 0.21.2, transformers 5.23, on the meta device). */
const PEFT: readonly (readonly [string, number, RunValues])[] = [
  ['LoRA, all-linear', 4_653_056, { 'lora.rank': 16, 'lora.targets': ['all-linear'] }],
  ['LoRA, targets of the architecture', 425_984, {}],
  ['DoRA', 446_464, { 'lora.dora': true }],
  ['LoRA with lora_bias', 446_464, { 'lora.ownBias': true }],
  // All but what `create_lorafa_optimizer` freezes.
  ['LoRA-FA', 163_840, { 'lora.frozenFirst': true }],
  [
    'rank_pattern',
    2_375_680,
    {
      'lora.targets': ['q_proj', 'v_proj', 'down_proj'],
      'lora.rankPattern': { down_proj: 32, 'layers.1.self_attn.q_proj': 4 },
    },
  ],
  ['layers_to_transform', 159_744, { 'lora.targets': ['q_proj', 'v_proj'], 'lora.layers': ['0', '1', '6'] }],
  [
    'a pattern that names layers',
    491_520,
    { 'lora.targetPattern': '.*\\.layers\\.[0-3]\\.mlp\\.(gate|up)_proj' },
  ],
  // The same model as the text of another: each class of transformers has a name for it.
  ...['model.language_model', 'language_model.model', 'model.text_model', 'thinker.model', 'llm.model'].map(
    (prefix): readonly [string, number, RunValues] => [
      `a pattern behind ${prefix}`,
      491_520,
      { 'lora.targetPattern': `${prefix}.layers.[0-3].mlp.(gate|up)_proj` },
    ],
  ),
  [
    'a pattern for all layers',
    1_015_808,
    { 'lora.targetPattern': '.*(self_attn|mlp).*(q_proj|o_proj|down_proj)$' },
  ],
  ['exclude_modules', 1_835_008, { 'lora.targets': ['all-linear'], 'lora.exclude': ['down_proj'] }],
  [
    'modules_to_save',
    131_334_144,
    { 'lora.targets': ['q_proj'], 'lora.modulesToSave': ['lm_head', 'embed_tokens'] },
  ],
  ['LoRA of the embedding', 534_528, { 'lora.targets': ['q_proj', 'embed_tokens'] }],
  ['LoRA of the head', 534_528, { 'lora.targets': ['q_proj', 'lm_head'] }],
  ['trainable_token_indices', 268_288, { 'lora.targets': ['q_proj'], 'lora.tokens': 3 }],
  ['AdaLoRA', 639_168, { 'lora.kind': 'adalora', 'lora.rank': 12, 'lora.targets': ['q_proj', 'v_proj'] }],
  ['LoHa', 1_507_328, { 'lora.kind': 'loha', 'lora.targets': ['q_proj', 'down_proj'] }],
  ['LoKr', 52_736, { 'lora.kind': 'lokr', 'lora.targets': ['q_proj', 'v_proj', 'down_proj'] }],
  [
    'LoKr, factor 16',
    63_488,
    { 'lora.kind': 'lokr', 'lora.blockSize': 16, 'lora.targets': ['q_proj', 'v_proj', 'down_proj'] },
  ],
  [
    'LoKr, rank 4, factor 8',
    58_880,
    {
      'lora.kind': 'lokr',
      'lora.rank': 4,
      'lora.blockSize': 8,
      'lora.targets': ['q_proj', 'v_proj', 'down_proj'],
    },
  ],
  ['OFT', 952_320, { 'lora.kind': 'oft', 'lora.targets': ['q_proj', 'down_proj'] }],
  [
    'OFT, blocks of 64',
    1_935_360,
    { 'lora.kind': 'oft', 'lora.blockSize': 64, 'lora.targets': ['q_proj', 'down_proj'] },
  ],
  ['MiSS', 2_097_152, { 'lora.kind': 'miss', 'lora.rank': 64, 'lora.targets': ['q_proj', 'down_proj'] }],
  ['IA3', 53_248, { 'lora.kind': 'ia3' }],
  ['IA3 that scales no input', 24_576, { 'lora.kind': 'ia3', 'lora.feedForward': [] }],
  [
    'IA3 that scales the input of keys',
    32_768,
    { 'lora.kind': 'ia3', 'lora.targets': ['k_proj', 'down_proj'], 'lora.feedForward': ['k_proj'] },
  ],
  [
    'FourierFT',
    16_000,
    { 'lora.kind': 'fourierft', 'lora.rank': 1000, 'lora.targets': ['q_proj', 'v_proj'] },
  ],
  [
    'VB-LoRA',
    524_288,
    { 'lora.kind': 'vblora', 'lora.rank': 4, 'lora.targets': ['q_proj', 'v_proj', 'down_proj'] },
  ],
  [
    'VB-LoRA, a bank of 90 vectors of 128',
    334_080,
    {
      'lora.kind': 'vblora',
      'lora.rank': 4,
      'lora.vectors': 90,
      'lora.vectorLength': 128,
      'lora.targets': ['q_proj', 'v_proj', 'down_proj'],
    },
  ],
  [
    'OFT, blocks that do not divide the width',
    3_000_320,
    { 'lora.kind': 'oft', 'lora.blockSize': 100, 'lora.targets': ['q_proj', 'down_proj'] },
  ],
  ['VeRA', 24_576, { 'lora.kind': 'vera', 'lora.rank': 256, 'lora.targets': ['q_proj', 'v_proj'] }],
  ['prompt tuning', 40_960, { 'lora.kind': 'prompt-tuning' }],
  ['prefix tuning', 163_840, { 'lora.kind': 'prefix-tuning' }],
  [
    'prefix tuning with projection',
    4_475_392,
    { 'lora.kind': 'prefix-tuning', 'lora.prefixProjection': true, 'lora.encoderSize': 512 },
  ],
  ['p-tuning', 12_630_016, { 'lora.kind': 'p-tuning' }],
  ['p-tuning, encoder of 128', 583_936, { 'lora.kind': 'p-tuning', 'lora.encoderSize': 128 }],
  ['LN tuning', 34_816, { 'lora.kind': 'ln-tuning' }],
];

describe('adapters', () => {
  for (const [name, trainable, values] of PEFT) {
    it(`${name}: ${trainable} trainable parameters, as peft counts them`, () => {
      const e = of(values);
      assert.equal(e.model.trainableParameters, trainable);
      assert.ok(Number.isFinite(e.peak.allocatedBytes));
    });
  }

  const tiny = [
    aModel({ ...SMALL_LLAMA, num_hidden_layers: 2, hidden_size: 96, intermediate_size: 130, vocab_size: 50 }),
    aModel({ model_type: 'gpt2', n_embd: 64, n_layer: 2, n_head: 4, vocab_size: 50, n_positions: 64 }),
    aModel({
      model_type: 't5',
      d_model: 64,
      d_ff: 128,
      d_kv: 16,
      num_heads: 4,
      num_layers: 2,
      vocab_size: 50,
    }),
    aModel({ model_type: 'mamba', hidden_size: 64, num_hidden_layers: 2, state_size: 8, vocab_size: 50 }),
  ];

  it('any kind on any model with odd values: a finite figure, never an exception', () => {
    const names = fc.constantFrom(
      'q_proj',
      'c_attn',
      'q',
      'in_proj',
      'all-linear',
      'wte',
      'lm_head',
      '',
      '(',
      'x',
    );
    const values = fc.record({
      'lora.kind': fc.constantFrom(...FIELDS['lora.kind'].values),
      'lora.rank': fc.integer({ min: 1, max: 500 }),
      'lora.targets': fc.array(names, { maxLength: 3 }),
      'lora.targetPattern': fc.constantFrom(undefined, '.*q.*', '(', '.*\\.[01]\\..*', '(?P<n>a)(?P=n)'),
      'lora.rankPattern': fc.constantFrom({}, { q_proj: 3 }, { '(': 4 }, { '^h.0': 'x' }),
      'lora.layers': fc.array(fc.constantFrom('0', '1', '-1', 'x', '99'), { maxLength: 2 }),
      'lora.blockSize': fc.constantFrom(undefined, -1, 0, 1, 7, 64, 100_000),
      'lora.modulesToSave': fc.array(names, { maxLength: 2 }),
      'lora.bias': fc.constantFrom('none' as const, 'all' as const, 'lora-only' as const),
      'lora.dora': fc.boolean(),
      'lora.tokens': fc.integer({ min: 0, max: 5 }),
      'lora.encoderSize': fc.constantFrom(undefined, 1, 32),
      'quantization.kind': fc.constantFrom(...FIELDS['quantization.kind'].values),
      'precision.scheme': fc.constantFrom('native' as const, 'autocast' as const),
      'precision.compute': fc.constantFrom('fp32' as const, 'bf16' as const),
    });
    fc.assert(
      fc.property(fc.constantFrom(...tiny), values, (architecture, odd) => {
        const run = aRun({ 'method.kind': 'lora', 'batch.sequence': 16, ...odd });
        const e = estimate({ run, model: architecture, accelerator: CARD });
        assert.ok(Number.isFinite(e.peak.processBytes) && e.peak.processBytes > 0);
        assert.ok(Number.isFinite(e.model.trainableParameters) && e.model.trainableParameters >= 0);
      }),
      { numRuns: runs(120, 600) },
    );
  });

  const part = (e: ReturnType<typeof of>, category: string) =>
    e.timeline.at(-1)?.parts.find((p) => p.category === category)?.bytes ?? 0;

  it('a module trained beside the adapters is a second copy', () => {
    const plain = of({ 'lora.targets': ['q_proj'] });
    const saved = of({ 'lora.targets': ['q_proj'], 'lora.modulesToSave': ['lm_head'] });
    assert.equal(part(saved, 'weights') - part(plain, 'weights'), 4 * 32000 * 2048);
    assert.equal(part(saved, 'optimizer-states') - part(plain, 'optimizer-states'), 8 * 32000 * 2048);
  });

  it('of tied embedding and head each gets a copy of its own', () => {
    // Qwen2.5-0.5B under `get_peft_model` (peft 0.21.2): trained elements, and distinct elements in all.
    const qwen = findModel('Qwen/Qwen2.5-0.5B');
    assert.ok(qwen);
    for (const [modules, trained, all] of [
      [[], 344_064, 494_376_832],
      [['embed_tokens'], 136_478_720, 630_511_488],
      [['lm_head'], 136_478_720, 630_511_488],
      [['embed_tokens', 'lm_head'], 272_613_376, 766_646_144],
    ] as const) {
      const values = { 'lora.rank': 8, 'lora.targets': ['q_proj'], 'lora.modulesToSave': modules };
      const run = aRun({ 'method.kind': 'lora', 'precision.scheme': 'native', ...values });
      const e = estimate({ run, model: qwen, accelerator: CARD });
      assert.equal(e.model.trainableParameters, trained);
      const weights = part(e, 'weights') + part(e, 'adapters');
      const width = weights / all;
      assert.ok(width === 4 || width === 2, `${weights} bytes of ${all} elements`);
    }
  });

  it('of both there is one copy where PEFT keeps them tied', () => {
    // Qwen2.5-0.5B under `get_peft_model(..., ensure_weight_tying=True)` (peft 0.21.2).
    const qwen = findModel('Qwen/Qwen2.5-0.5B');
    assert.ok(qwen);
    for (const modules of [['embed_tokens', 'lm_head'], ['embed_tokens'], ['lm_head']]) {
      const values = {
        'lora.rank': 8,
        'lora.targets': ['q_proj'],
        'lora.modulesToSave': modules,
        'lora.tiesCopies': true,
      };
      const run = aRun({ 'method.kind': 'lora', 'precision.scheme': 'native', ...values });
      const e = estimate({ run, model: qwen, accelerator: CARD });
      assert.equal(e.model.trainableParameters, 136_478_720, modules.join());
      assert.equal(e.model.totalParameters, 630_511_488, modules.join());
    }
  });

  it('LoHa and LoKr make the change of the weight whole and keep it', () => {
    const targets = { 'lora.targets': ['q_proj'] };
    const lora = of(targets).peak.allocatedBytes;
    const loha = of({ ...targets, 'lora.kind': 'loha' }).peak.allocatedBytes;
    // Eight layers keep a 2048 x 2048 change in fp32, less the low-rank results.
    assert.ok(loha - lora > 7 * 4 * 2048 * 2048 && loha - lora < 11 * 4 * 2048 * 2048, `${loha - lora}`);
  });

  // `boft_P` is a buffer that PEFT leaves in host memory: Accelerate moves it with the model, but no quantized model (`prepare_model`).
  it('BOFT holds the permutation of each module where the model is moved, and has no verdict', () => {
    const boft = { 'lora.kind': 'boft', 'lora.targets': ['q_proj', 'down_proj'] } as const;
    const adaptersOf = (values: RunValues) =>
      of(values).parts.find(({ category }) => category === 'adapters')?.bytes ?? 0;
    const { hidden_size: hidden, intermediate_size: inner, num_hidden_layers: layers } = SMALL_LLAMA;
    const permutations = 4 * layers * (hidden ** 2 + inner ** 2);
    assert.ok(adaptersOf(boft) >= permutations, `${adaptersOf(boft)} of ${permutations}`);
    assert.ok(adaptersOf({ ...boft, 'quantization.kind': 'nf4' }) < permutations / 100);
    // Before peft 0.20 the weight was rotated, not its input; and a documented run took far less.
    for (const values of [boft, { ...boft, 'batch.sequence': 1_000_000 }] as const)
      assert.deepEqual([of(values).verdict, of(values).unmodelled], ['unknown', ['boft-rotation']]);
    assert.equal(of({ 'lora.kind': 'oft', 'lora.targets': ['q_proj'] }).unmodelled, undefined);
  });

  it('layers without adapters below the first adapted one keep nothing', () => {
    const all = of({ 'lora.targets': ['all-linear'] });
    const last = of({ 'lora.targets': ['all-linear'], 'lora.layers': ['7'] });
    const kept = (e: typeof all) =>
      e.timeline.find((p) => p.moment === 'loss')?.parts.find((p) => p.category === 'activations')?.bytes ??
      0;
    assert.ok(kept(last) < 0.2 * kept(all), `${kept(last)} of ${kept(all)}`);
  });
});

/** peft's modules under the oracle's tracker; bytes (`test/oracle/adapters.py`). */
interface Recording {
  readonly model: Record<string, unknown>;
  readonly run: RunValues;
  readonly cases: readonly {
    readonly adapter: string;
    readonly model?: Record<string, unknown>;
    readonly run: RunValues;
    readonly trainable: number;
    readonly forward: number;
    readonly backward: number;
    readonly peak: number;
  }[];
}

describe('adapters against peft under PyTorch', () => {
  const recording = JSON.parse(readFileSync('test/oracle/adapters.json', 'utf8')) as Recording;
  const small = aModel(recording.model);
  for (const { adapter, run: values, model: own, ...recorded } of recording.cases) {
    // Encoders lack one hidden state at the end of their forward pass.
    const tolerance = own ? 0.02 : 0.01;
    it(`${adapter}, ${values['precision.scheme']}: phases within ${100 * tolerance} %`, () => {
      const { walk, estimate: e } = tracedEstimate({
        run: aRun({ ...recording.run, ...values }),
        model: own ? aModel(own) : small,
        accelerator: CARD,
      });
      assert.equal(e.model.trainableParameters, recorded.trainable);
      const workspace =
        e.timeline.at(-1)?.parts.find(({ category }) => category === 'workspaces')?.bytes ?? 0;
      const highest = (...moments: string[]) =>
        Math.max(...walk.points.filter((p) => moments.includes(p.moment)).map((p) => p.bytes)) - workspace;
      const within = (found: number, expected: number, what: string) =>
        assert.ok(Math.abs(found - expected) <= tolerance * expected, `${what}: ${found} for ${expected}`);
      within(highest('forward', 'loss'), recorded.forward, 'forward');
      within(highest('backward'), recorded.backward, 'backward');
      within(e.peak.allocatedBytes - workspace, recorded.peak, 'peak');
    });
  }
});

describe('adapters of experts', () => {
  const moe = aModel({
    model_type: 'qwen3_moe',
    hidden_size: 256,
    num_hidden_layers: 4,
    num_attention_heads: 8,
    num_key_value_heads: 2,
    head_dim: 32,
    moe_intermediate_size: 96,
    intermediate_size: 512,
    num_experts: 8,
    num_experts_per_tok: 2,
    vocab_size: 1000,
    tie_word_embeddings: false,
    decoder_sparse_step: 1,
    mlp_only_layers: [],
  });
  const trained = (values: RunValues) =>
    estimate({
      run: aRun({ 'method.kind': 'lora', 'version.transformers': '5.23', ...values }),
      model: moe,
      accelerator: CARD,
    }).model.trainableParameters;

  it('target_parameters, as peft 0.21.2 counts them', () => {
    const both = ['mlp.experts.gate_up_proj', 'mlp.experts.down_proj'];
    // Nothing else is a target there.
    const none = { 'lora.targets': ['no_such_module'] };
    assert.equal(trained({ ...none, 'lora.targetParameters': both }), 204_800);
    assert.equal(trained({ ...none, 'lora.targetParameters': both.slice(0, 1) }), 114_688);
  });

  it('a token passes the adapters of the experts that it is sent to, and no others', () => {
    const active = (values: RunValues) =>
      estimate({
        run: aRun({ 'method.kind': 'lora', 'version.transformers': '5.23', ...values }),
        model: moe,
        accelerator: CARD,
      }).model.activeParameters;
    const none = active({ 'lora.targets': ['no_such_module'] });
    const both = ['mlp.experts.gate_up_proj', 'mlp.experts.down_proj'];
    // Two experts of eight.
    const stacked = { 'lora.targets': ['no_such_module'], 'lora.targetParameters': both };
    assert.equal(active(stacked) - none, 204_800 / 4);
    const modules = { 'lora.targets': ['down_proj'], 'version.transformers': '4.57' };
    assert.equal(active(modules) - none, trained(modules) / 4);
  });

  // The count that `print_trainable_parameters` prints in OpenAI's cookbook, "Fine-tuning with gpt-oss and Hugging Face Transformers".
  it('parameters that name some layers are adapted in these alone', () => {
    const gptOss = findModel('openai/gpt-oss-20b') ?? assert.fail();
    const count = (layers: readonly number[], more: RunValues = {}) =>
      estimate({
        run: aRun({
          'method.kind': 'lora',
          'lora.rank': 8,
          'lora.targets': ['all-linear'],
          'lora.targetParameters': layers.flatMap((index) =>
            ['gate_up_proj', 'down_proj'].map((name) => `${index}.mlp.experts.${name}`),
          ),
          ...more,
        }),
        model: gptOss,
        accelerator: CARD,
      }).model.trainableParameters;
    assert.equal(count([7, 15, 23]), 15_040_512);
    assert.equal(count([]), 3_981_312);
    // Modules that are spared in some layers: one output projection of 8 x (4096 + 2880) less.
    assert.equal(count([], { 'lora.exclude': ['layers.11.self_attn.o_proj'] }), 3_981_312 - 8 * 6_976);
  });

  it('all-linear includes routers, and experts with twice the rank where gate and up are joined', () => {
    assert.equal(trained({ 'lora.targets': ['all-linear'] }), 381_184);
  });

  /**
   * peft 0.21.2, `transformers_weight_conversion.py`: `_MODEL_TO_CONVERSION_PATTERN` of transformers 5.6 on has neither `qwen2_moe` nor `nemotron_h`. What TRL
   * measured of its Nemotron 3 notebook, 2.98 GiB of training in 61.9, leaves no room for 23 layers of experts with adapters.
   */
  it('names of modules reach stacked experts only of types that PEFT converts', () => {
    const sparse = {
      model_type: 'qwen2_moe',
      hidden_size: 256,
      num_hidden_layers: 4,
      num_attention_heads: 8,
      num_key_value_heads: 2,
      moe_intermediate_size: 96,
      intermediate_size: 512,
      shared_expert_intermediate_size: 128,
      num_experts: 8,
      num_experts_per_tok: 2,
      vocab_size: 1000,
      tie_word_embeddings: false,
    };
    const names = { 'method.kind': 'lora', 'lora.targets': ['gate_proj', 'up_proj', 'down_proj'] } as const;
    const of = (version: string) =>
      estimate({
        run: aRun({ ...names, 'version.transformers': version }),
        model: aModel(sparse),
        accelerator: CARD,
      }).model.trainableParameters;
    const shared = 4 * 3 * 8 * (256 + 128);
    assert.equal(of('5.23'), shared);
    assert.equal(of('5.6.0'), shared);
    // Before, it was among them: gate and up of twice the rank, and nothing for shared experts.
    const stacks = 4 * 8 * (16 * (256 + 192) + 8 * (96 + 256));
    assert.equal(of('5.5.0'), stacks);
    assert.equal(of('5.2.0'), stacks);
    assert.equal(of('4.57'), shared + 4 * 8 * 3 * 8 * (256 + 96));
  });

  // The counts are those of peft 0.21.2 with transformers 5.24, on the meta device.
  it('patterns are tried on the names that experts had, and what PEFT takes for the stack is no linear layer', () => {
    const mlp = { 'lora.targetPattern': '.*\\.mlp\\..*?(?:gate_proj|up_proj|down_proj)', 'lora.targets': [] };
    const queries = { 'lora.targetPattern': '.*self_attn\\.q_proj', 'lora.targets': [] };
    assert.equal(trained(mlp), 319_488);
    assert.equal(trained(queries), 16_384);
    // peft 0.19 has names alone.
    assert.equal(trained({ ...mlp, 'version.peft': '0.19.1' }), 0);
    const glm = aModel({
      model_type: 'glm4_moe',
      hidden_size: 256,
      num_hidden_layers: 4,
      num_attention_heads: 8,
      num_key_value_heads: 2,
      head_dim: 32,
      moe_intermediate_size: 96,
      intermediate_size: 512,
      n_routed_experts: 8,
      n_shared_experts: 1,
      num_experts_per_tok: 2,
      first_k_dense_replace: 1,
      vocab_size: 1000,
    });
    const run = aRun({
      'method.kind': 'lora',
      'version.transformers': '5.23',
      'lora.targets': ['q_proj', 'gate_proj', 'up_proj', 'down_proj'],
    });
    assert.equal(estimate({ run, model: glm, accelerator: CARD }).model.trainableParameters, 256_000);
  });

  // The notebook of Unsloth that trains it prints 714,752,000 with transformers 5.2.0.
  it('experts whose parameters and names are both given have twice the rank, too', () => {
    const qwen = findModel('Qwen/Qwen3.5-35B-A3B') ?? assert.fail();
    const of = (version: string) =>
      estimate({
        run: aRun({
          'method.kind': 'lora',
          'lora.rank': 8,
          'kernels.unsloth': true,
          'lora.targetParameters': ['experts.gate_up_proj', 'experts.down_proj'],
          'lora.targetPattern':
            '(?:.*?(?:self_attn|mlp).*?\\.(?:q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj))',
          'version.transformers': version,
        }),
        model: qwen,
        accelerator: CARD,
      }).model.trainableParameters;
    assert.equal(of('5.2.0'), 714_752_000);
    assert.ok(of('5.4.0') < 470_000_000);
  });

  // peft 0.18.1 has no `utils/transformers_weight_conversion.py`, 0.19.0 has it.
  it('names of modules reach stacked experts only of releases of PEFT that convert', () => {
    const of = (target: string, version: string) =>
      trained({ 'lora.targets': [target], 'version.peft': version });
    const stacked = 4 * 8 * 8 * (256 + 96);
    assert.equal(of('down_proj', '0.19.0'), stacked);
    assert.equal(of('down_proj', '0.18.1'), 0);
    // Attention and routers, which are linear layers of any release.
    assert.equal(of('all-linear', '0.18.1'), 13_312 * 4 + 8 * (256 + 8) * 4);
  });

  it('transformers 4 has a linear layer for every expert', () => {
    const attention = 13_312 * 4;
    const routers = 8 * (256 + 8) * 4;
    const experts = 4 * 8 * 3 * 8 * (256 + 96);
    const values = { 'lora.targets': ['all-linear'], 'version.transformers': '4.57' };
    assert.equal(trained(values), attention + routers + experts);
    const some = { 'lora.targets': ['down_proj'], 'version.transformers': '4.57' };
    assert.equal(trained(some), experts / 3);
  });
});

/**
 * Trained and all parameters as `get_nb_trainable_parameters` counts them (peft 0.21.2, transformers 5.23, on the meta device).
 */
describe('parameters of a run with adapters', () => {
  const SIZES = {
    hidden_size: 128,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 4,
    intermediate_size: 256,
    vocab_size: 1000,
    max_position_embeddings: 130,
    tie_word_embeddings: false,
  };
  const roberta = aModel({ ...SIZES, model_type: 'roberta', type_vocab_size: 1 });
  const bert = aModel({ ...SIZES, model_type: 'bert', type_vocab_size: 2, tie_word_embeddings: true });
  const llama = aModel({ ...SIZES, model_type: 'llama' });
  const tied = aModel({ ...SIZES, model_type: 'llama', tie_word_embeddings: true });
  const distilbert = aModel({
    model_type: 'distilbert',
    dim: 128,
    hidden_dim: 256,
    n_layers: 2,
    n_heads: 4,
    vocab_size: 1000,
    max_position_embeddings: 130,
  });
  const classifies = { 'method.objective': 'classification' } as const;
  const labels = { 'method.objective': 'token-classification' } as const;
  const answers = { 'method.objective': 'question-answering' } as const;
  const classifying = { 'lora.task': 'classification' } as const;
  const answering = { 'lora.task': 'question-answering' } as const;
  const few = { 'lora.targets': ['query', 'value', 'q_proj', 'v_proj'] };
  const every = { 'lora.targets': ['all-linear'] };
  const lin = { 'lora.targets': ['q_lin', 'v_lin'] };
  const frozen = { 'lora.task': 'other' } as const;
  const query = { 'lora.targets': ['q_proj', 'query'] };
  const cases = [
    ['RoBERTa, SEQ_CLS', roberta, { ...classifies, ...few }, 24_962, 451_716],
    ['RoBERTa, SEQ_CLS, all-linear', roberta, { ...classifies, ...every }, 45_442, 472_196],
    ['RoBERTa, no task', roberta, { ...classifies, ...few, ...frozen }, 8_192, 434_946],
    ['BERT, SEQ_CLS', bert, { ...classifies, ...few }, 8_450, 435_332],
    ['Llama, SEQ_CLS', llama, { ...classifies, ...few }, 8_448, 465_024],
    ['Llama, SEQ_CLS, all-linear', llama, { ...classifies, ...every }, 35_072, 491_648],
    ['RoBERTa, QUESTION_ANS to classify', roberta, { ...classifies, ...few, ...answering }, 8_192, 434_946],
    ['BERT, TOKEN_CLS', bert, { ...labels, ...few, ...classifying }, 8_450, 418_820],
    ['BERT, tokens and no task', bert, { ...labels, ...few, ...frozen }, 8_192, 418_562],
    ['BERT, QUESTION_ANS', bert, { ...answers, ...few, ...answering }, 8_450, 418_820],
    ['BERT, SEQ_CLS to answer', bert, { ...answers, ...few, ...classifying }, 8_192, 418_562],
    ['DistilBERT, SEQ_CLS', distilbert, { ...classifies, ...lin, ...classifying }, 24_962, 451_588],
    ['DistilBERT, QUESTION_ANS', distilbert, { ...answers, ...lin, ...answering }, 8_450, 418_564],
    ['Llama', llama, query, 4_096, 588_416],
    ['Llama, modules_to_save', llama, { ...query, 'lora.modulesToSave': ['lm_head'] }, 132_096, 716_416],
    ['Llama, tied', tied, { ...query, 'lora.modulesToSave': ['embed_tokens'] }, 132_096, 588_416],
    ['BERT for masked words', bert, query, 4_096, 431_976],
  ] as const;
  for (const [name, architecture, values, trained, all] of cases) {
    it(name, () => {
      const run = aRun({ 'method.kind': 'lora', 'lora.rank': 8, 'batch.sequence': 64, ...values });
      const { trainableParameters, totalParameters } = estimate({
        run,
        model: architecture,
        accelerator: CARD,
      }).model;
      assert.deepEqual([trainableParameters, totalParameters], [trained, all]);
    });
  }

  it('one token passes through all of a dense one', () => {
    const run = aRun({ 'method.kind': 'lora', 'batch.sequence': 64 });
    const e = estimate({ run, model: llama, accelerator: CARD });
    assert.equal(e.model.activeParameters, e.model.totalParameters);
  });
});

describe('frozen layers', () => {
  const frozen = (values: RunValues) =>
    estimate({ run: aRun({ 'method.kind': 'freeze', ...values }), model, accelerator: CARD });
  const LAYER = 2 * 2048 * 2048 + 2 * 2048 * 512 + 3 * 2048 * 5632 + 2 * 2048;

  it('last and first layers', () => {
    assert.equal(frozen({ 'method.trainableLayers': 3 }).model.trainableParameters, 3 * LAYER);
    const first = frozen({ 'method.trainableLayers': -3 });
    assert.equal(first.model.trainableParameters, 3 * LAYER);
    const last = frozen({ 'method.trainableLayers': 3 });
    assert.ok(first.peak.allocatedBytes > last.peak.allocatedBytes, 'gradients reach the first layers');
    assert.equal(frozen({ 'method.trainableLayers': 99 }).model.trainableParameters, 8 * LAYER);
  });

  it('by patterns of names', () => {
    const head = frozen({ 'method.trainable': ['^lm_head.weight$'] });
    assert.equal(head.model.trainableParameters, 32000 * 2048);
    const some = frozen({ 'method.trainable': ['model.layers.[56].mlp', 'model.norm'] });
    assert.equal(some.model.trainableParameters, 2 * 3 * 2048 * 5632 + 2048);
    const every = frozen({ 'method.trainable': ['model.layers.*.self_attn.q_proj'] });
    assert.equal(every.model.trainableParameters, 8 * 2048 * 2048);
  });

  it('a block at a time: fp32 copies, gradients and states of the block alone', () => {
    const e = frozen({ 'method.kind': 'block', 'precision.weights': 'bf16', 'precision.compute': 'bf16' });
    const part = (category: string) =>
      e.timeline.find(({ moment }) => moment === 'optimizer-step')?.parts.find((p) => p.category === category)
        ?.bytes ?? 0;
    assert.equal(e.model.trainableParameters, LAYER);
    assert.equal(part('weights'), 2 * model.parameters.total);
    assert.equal(part('master-weights'), 4 * LAYER);
    assert.equal(part('optimizer-states'), 8 * LAYER);
    assert.equal(part('gradients'), 2 * LAYER);
  });

  it('LISA keeps the states of layers that it trained before, as far as the run gets to them', () => {
    const states = (values: RunValues) =>
      frozen({ 'method.kind': 'lisa', 'method.trainableLayers': 1, ...values })
        .timeline.at(-1)
        ?.parts.find(({ category }) => category === 'optimizer-states')?.bytes;
    const ends = 2 * 32000 * 2048 + 2048;
    assert.equal(states({}), 8 * (ends + 8 * LAYER));
    assert.equal(states({ 'schedule.steps': 10, 'method.switchSteps': 20 }), 8 * (ends + 2 * LAYER));
    assert.equal(states({ 'schedule.steps': 1000, 'method.switchSteps': 5 }), 8 * (ends + 8 * LAYER));
    const run = { 'method.kind': 'lisa', 'method.trainableLayers': 3 } as const;
    assert.equal(frozen(run).model.trainableParameters, ends + 3 * LAYER);
  });

  it('a pattern that is none trains nothing and does not throw', () => {
    assert.equal(frozen({ 'method.trainable': ['layers.(['] }).model.trainableParameters, 0);
  });
});

describe('LLaMA-Adapter as litgpt has it', () => {
  const llama = findModel('meta-llama/Llama-2-7b-hf');
  assert.ok(llama);
  const counted = (values: RunValues) =>
    estimate({
      run: aRun({ 'method.kind': 'lora', 'model.code': 'litgpt', 'lora.virtualTokens': 10, ...values }),
      model: llama,
      accelerator: CARD,
    }).model.trainableParameters;

  // As litgpt prints them for this model (its `tutorials/resource-tables.md` has the runs).
  for (const loss of ['full', 'head-chunks'] as const)
    it(`trains what litgpt counts, with ${loss} loss`, () => {
      assert.equal(counted({ 'lora.kind': 'llama-adapter', 'loss.implementation': loss }), 1_229_760);
      assert.equal(counted({ 'lora.kind': 'llama-adapter-v2', 'loss.implementation': loss }), 4_279_744);
    });

  it('has a prompt and a gate of every head in the layers that are stated', () => {
    const two = { 'lora.kind': 'llama-adapter', 'lora.layers': ['0', '31'] } as const;
    assert.equal(counted(two), 2 * (10 * 4096 + 32));
  });

  it('keeps the result of every linear layer for its scale, and that of the prompt', () => {
    const batch = {
      'batch.micro': 1,
      'batch.sequence': 512,
      'precision.weights': 'bf16',
      'lora.dtype': 'bf16',
    } as const;
    const kept = (kind: 'llama-adapter' | 'llama-adapter-v2') => {
      const values = {
        'method.kind': 'lora',
        'model.code': 'litgpt',
        'lora.virtualTokens': 10,
        'lora.kind': kind,
      } as const;
      const run = aRun({ ...values, ...batch });
      const { stages } = tracedEstimate({ run, model: llama, accelerator: CARD });
      const layer = stages.filter(({ stage }) => stage.role === 'layer').at(-1);
      const saved = new Set(layer?.tape.operations.flatMap(({ saves }) => saves));
      return [...saved]
        .filter(({ name }) => /adapter/.test(name))
        .reduce((bytes, storage) => bytes + storage.bytes, 0);
    };
    // Keys and values of ten tokens, the kernel's result, log-sum-exps and mask.
    const prompt = 2 * 10 * 2 * 4096 + 2 * 512 * 4096 + 4 * 32 * 512 + 2 * 512 * 16;
    assert.equal(kept('llama-adapter'), prompt);
    // Joint projection, output, two of the MLP and the last: the sums with their biases; the first results of the MLP besides.
    const sums = 2 * 512 * (3 * 4096 + 4096 + 2 * 11008 + 4096);
    assert.ok(kept('llama-adapter-v2') >= prompt + sums);
  });
});

describe('an adapter that nothing goes through', () => {
  it("is there where a kernel reads the layer's own weight: Nemotron 3 Nano as a notebook of Unsloth prints it", () => {
    const model = findModel('unsloth/Nemotron-3-Nano-30B-A3B') ?? assert.fail();
    const targets = 'q_proj k_proj v_proj o_proj gate_proj up_proj down_proj in_proj out_proj'.split(' ');
    const run = aRun({
      'method.kind': 'lora',
      'lora.rank': 8,
      'lora.targets': targets,
      'kernels.unsloth': true,
      framework: 'trl',
      'version.transformers': '4.56.2',
    });
    // nb/Nemotron-3-Nano-30B-A3B_A100.ipynb (unslothai/notebooks, bdda2efc): 23 of them are of `out_proj`, 8 x (4,096 + 2,688) each.
    assert.equal(estimate({ run, model, accelerator: CARD }).model.trainableParameters, 220_968_448);
  });
});
