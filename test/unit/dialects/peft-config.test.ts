import assert from 'node:assert/strict';
import type { FieldPath } from '../../../server/src/run/fields';
import { problemsOf, read, stated } from './reading';

const ARGUMENTS = 'per_device_train_batch_size: 1\noutput_dir: o\nlearning_rate: 1e-4\n';
const hf = (peft: string) =>
  read('hf-training-arguments', 'file:///w/peft.yaml', `${ARGUMENTS}peft_config:\n${peft}`);

/** Kind, its own keys, and what they state; the defaults are those of peft 0.21. */
const KINDS: readonly (readonly [peft: string, expected: Partial<Record<FieldPath, string>>])[] = [
  ['  r: 8\n', { 'method.kind': 'lora file', 'lora.rank': '8 file', 'lora.dropout': '0 default' }],
  ['  task_type: SEQ_CLS\n', { 'lora.task': 'classification file' }],
  ['  task_type: TaskType.TOKEN_CLS\n', { 'lora.task': 'classification file' }],
  ['  task_type: QUESTION_ANS\n', { 'lora.task': 'question-answering file' }],
  ['  task_type: CAUSAL_LM\n', { 'lora.task': 'other file' }],
  ['  task_type: FEATURE_EXTRACTION\n', { 'lora.task': 'other file' }],
  ['  r: 4\n', { 'lora.task': 'other default' }],
  [
    '  peft_type: VERA\n  vera_dropout: 0.1\n  target_modules: [q_proj, v_proj]\n',
    {
      'lora.kind': 'vera file',
      'lora.rank': '256 default',
      'lora.dropout': '0.1 file',
      'lora.targets': 'q_proj,v_proj file',
    },
  ],
  ['  peft_type: PeftType.ADALORA\n  init_r: 6\n', { 'lora.kind': 'adalora file', 'lora.rank': '6 file' }],
  [
    '  peft_type: ADALORA\n  lora_alpha: 32\n  bias: all\n',
    { 'lora.alpha': '32 file', 'lora.bias': 'all file' },
  ],
  ['  peft_type: ADALORA\n', { 'lora.alpha': '8 default' }],
  ['  peft_type: LOHA\n  alpha: 32\n', { 'lora.alpha': '32 file' }],
  [
    '  peft_type: LOKR\n  alpha: 4\n  exclude_modules: [lm_head]\n',
    { 'lora.alpha': '4 file', 'lora.exclude': 'lm_head file' },
  ],
  [
    '  peft_type: BOFT\n  bias: boft_only\n  layers_to_transform: [0]\n',
    { 'lora.bias': 'lora-only file', 'lora.layers': '0 file' },
  ],
  ['  peft_type: FOURIERFT\n', { 'lora.kind': 'fourierft file', 'lora.rank': '1000 default' }],
  [
    '  peft_type: VBLORA\n  num_vectors: 90\n',
    {
      'lora.kind': 'vblora file',
      'lora.rank': '4 default',
      'lora.vectors': '90 file',
      'lora.vectorLength': '256 default',
    },
  ],
  ['  peft_type: LOKR\n  decompose_factor: 8\n', { 'lora.kind': 'lokr file', 'lora.blockSize': '8 file' }],
  ['  peft_type: OFT\n', { 'lora.kind': 'oft file', 'lora.blockSize': '32 default' }],
  ['  peft_type: BOFT\n', { 'lora.kind': 'boft file', 'lora.blockSize': '4 default' }],
  [
    '  peft_type: MISS\n  miss_dropout: 0.1\n',
    { 'lora.kind': 'miss file', 'lora.rank': '64 default', 'lora.dropout': '0.1 file' },
  ],
  ['  peft_type: BONE\n  r: 32\n', { 'lora.kind': 'miss file', 'lora.rank': '32 file' }],
  ['  peft_type: IA3\n', { 'lora.kind': 'ia3 file' }],
  ['  peft_type: LN_TUNING\n', { 'lora.kind': 'ln-tuning file' }],
  [
    '  peft_type: PREFIX_TUNING\n  num_virtual_tokens: 30\n  encoder_hidden_size: 512\n',
    { 'lora.kind': 'prefix-tuning file', 'lora.virtualTokens': '30 file', 'lora.encoderSize': '' },
  ],
  [
    '  peft_type: PREFIX_TUNING\n  prefix_projection: true\n  encoder_hidden_size: 512\n',
    { 'lora.prefixProjection': 'true file', 'lora.encoderSize': '512 file' },
  ],
  [
    '  peft_type: PREFIX_TUNING\n  prefix_projection: true\n',
    { 'lora.prefixProjection': 'true file', 'lora.encoderSize': '' },
  ],
  [
    '  peft_type: P_TUNING\n  encoder_hidden_size: 128\n',
    { 'lora.kind': 'p-tuning file', 'lora.encoderSize': '128 file' },
  ],
  [
    '  target_parameters: [mlp.experts.gate_up_proj]\n',
    { 'lora.targetParameters': 'mlp.experts.gate_up_proj file', 'lora.targets': '' },
  ],
  // An empty list names no module; PEFT's list for the type counts only where nothing is named.
  ['  target_parameters: [a.b]\n  target_modules: []\n', { 'lora.targets': 'a.b file' }],
  [
    '  exclude_modules: [lm_head]\n  layers_to_transform: [0, 3]\n  lora_bias: true\n  bias: lora_only\n',
    {
      'lora.exclude': 'lm_head file',
      'lora.layers': '0,3 file',
      'lora.ownBias': 'true file',
      'lora.bias': 'lora-only file',
    },
  ],
  ['  layers_to_transform: 5\n', { 'lora.layers': '5 file' }],
  ['  trainable_token_indices: [1, 2, 3]\n', { 'lora.tokens': '3 file' }],
  ['  trainable_token_indices: {embed_tokens: [1, 2], lm_head: [1]}\n', { 'lora.tokens': '3 file' }],
];

describe('peft_config', () => {
  for (const [peft, expected] of KINDS) {
    it(peft.trim().replaceAll(/\s+/g, ' '), () => {
      const reading = hf(peft);
      for (const [field, value] of Object.entries(expected))
        assert.equal(stated(reading, field as FieldPath) ?? '', value, field);
      assert.deepEqual(problemsOf(reading), []);
    });
  }

  it('a text is a pattern of paths, but for all-linear', () => {
    const pattern = hf("  target_modules: '.*self_attn.*'\n");
    assert.equal(stated(pattern, 'lora.targetPattern'), '.*self_attn.* file');
    assert.equal(stated(hf('  target_modules: all-linear\n'), 'lora.targets'), 'all-linear file');
  });

  it('ranks of some modules are read, a pattern of modules to spare is left', () => {
    const ranks = hf('  rank_pattern: {q_proj: 4}\n');
    assert.deepEqual(ranks.facts.find(({ field }) => field === 'lora.rankPattern')?.value, { q_proj: 4 });
    const pattern = hf("  exclude_modules: '.*mlp.*'\n");
    assert.equal(stated(pattern, 'lora.exclude'), undefined);
    assert.ok(pattern.unread?.some(({ text }) => text === 'exclude_modules'));
  });

  it('forms of MiSS that compute another way are named too', () => {
    const reading = hf('  peft_type: MISS\n  init_weights: bat\n');
    assert.deepEqual(
      reading.problems.map(({ code }) => code),
      ['adapter-not-modelled'],
    );
    assert.equal(stated(reading, 'lora.kind'), undefined);
  });

  it('kinds that are not known are named, and counted as full training', () => {
    const reading = hf('  peft_type: XLORA\n  r: 8\n');
    assert.deepEqual(
      reading.problems.map(({ code }) => code),
      ['adapter-not-modelled'],
    );
    assert.match(reading.problems[0]?.message ?? '', /XLORA/);
    assert.equal(stated(reading, 'method.kind'), 'full default');
  });
});
