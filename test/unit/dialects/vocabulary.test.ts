import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parseConfig } from '../../../server/src/config/parse';
import { detectDialect } from '../../../server/src/dialects/registry';
import { compile } from '../../../server/src/dialects/vocabulary/expression';
import { inHouse } from '../../../server/src/dialects/vocabulary/in-house';
import { readVocabulary } from '../../../server/src/dialects/vocabulary/read-vocabulary';
import { compileShorthand, compileTemplate } from '../../../server/src/dialects/vocabulary/template';
import { vocabularyDialect } from '../../../server/src/dialects/vocabulary/vocabulary-dialect';
import builtIn from '../../../server/vocabularies/in-house.yaml' with { type: 'text' };

function readingOf(name: string, text: string) {
  const document = parseConfig(`file:///w/${name}`, text);
  const dialect = detectDialect(document);
  assert.equal(dialect?.id, 'in-house', `${name} is read as ${dialect?.id}`);
  return { document, reading: inHouse.read(document, { known: {} }) };
}

/** What a file states, origins and places left out. */
function runOf(name: string, text: string): Record<string, unknown> {
  const { reading } = readingOf(name, text);
  return Object.fromEntries(
    [...reading.facts].sort((a, b) => (a.field < b.field ? -1 : 1)).map(({ field, value }) => [field, value]),
  );
}

const codes = (name: string, text: string) => readingOf(name, text).reading.problems.map(({ code }) => code);

const FLAGS = `# xxlarge
l=48,h=3072
--bs 8            # per GPU
seq_len=512
--nodes=6
gac=16 fp16=true xla=true
--optimizer FusedLAMB
ln_ytf_impl=1 attn_softmax_ytf_impl=1 \\
  ytf_gelu=on
split_opt_state=true split_grad_accum=yes
state_split_strategy=greedy:8
grad_accum_dtype=fp16
hvd_fp16_compression=true
`;
const YAML = `arch: l=48,h=3072
bs: 8
seq_len: 512
nodes: 6
gac: 16
fp16: true
xla: true
optimizer: FusedLAMB
ln_ytf_impl: true
attn_softmax_ytf_impl: yes
ytf_gelu: on
custom_memory_optimization:
  split_opt_state: true
  split_grad_accum: true
  state_split_strategy: greedy:8
grad_accum_dtype: fp16
hvd_fp16_compression: true
`;
const JSON_TEXT = JSON.stringify({
  l: 48,
  h: 3072,
  bs: 8,
  seq_len: 512,
  nodes: 6,
  gac: 16,
  fp16: true,
  xla: true,
  optimizer: 'FusedLAMB',
  ln_ytf_impl: true,
  attn_softmax_ytf_impl: true,
  ytf_gelu: true,
  split_opt_state: true,
  split_grad_accum: true,
  state_split_strategy: 'greedy:8',
  grad_accum_dtype: 'fp16',
  hvd_fp16_compression: true,
});
const SHELL = `#!/bin/bash
BS=8
mpirun -np 48 python pretrain.py --arch l=48,h=3072 --bs $BS --seq-len 512 --nodes 6 --gac=16 --fp16 --xla \\
  --optimizer FusedLAMB --ln_ytf_impl --attn_softmax_ytf_impl --ytf_gelu=true \\
  --split_opt_state --split-grad-accum --state_split_strategy greedy:8 --grad_accum_dtype fp16 \\
  --hvd_fp16_compression
`;

describe('the in-house flags', () => {
  const golden = runOf('xxlarge.flags', FLAGS);

  it('mean what the notes say', () => {
    const expected = {
      'batch.micro': 8,
      'batch.sequence': 512,
      'batch.accumulation': 16,
      'hardware.nodes': 6,
      'hardware.gpus': 48,
      'hardware.gpuMemory': 75e9,
      'optimizer.name': 'lamb',
      'optimizer.implementation': 'fused',
      'precision.scheme': 'apex-o2',
      'precision.compute': 'fp16',
      'precision.gradientAccumulation': 'fp16',
      'precision.reduce': 'fp16',
      'kernels.xla': true,
      'kernels.fusedLayerNorm': true,
      'kernels.fusedSoftmax': true,
      'kernels.fusedGelu': true,
      'parallel.data': 'horovod',
      'parallel.variableSplit': 'greedy',
      'parallel.variableGroups': 8,
      'zero.stage': 2,
      'model.code': 'tensorflow',
    };
    for (const [field, value] of Object.entries(expected)) assert.deepEqual(golden[field], value, field);
    const model = golden['model.config'] as Record<string, unknown>;
    assert.equal(model.num_hidden_layers, 48);
    assert.equal(model.hidden_size, 3072);
    assert.equal(model.num_attention_heads, 48);
    assert.equal(model.intermediate_size, 12288);
    assert.equal(model.hidden_act, 'gelu');
  });

  for (const [form, name, text] of [
    ['YAML', 'run.yaml', YAML],
    ['JSON', 'run.json', JSON_TEXT],
    ['a command line', 'run.sh', SHELL],
  ] as const) {
    it(`say the same in ${form}`, () => assert.deepEqual(runOf(name, text), golden));
  }

  it('are placed where they are written', () => {
    const { reading } = readingOf('xxlarge.flags', FLAGS);
    const place = (field: string) => {
      const { origin } = reading.facts.find((known) => known.field === field) ?? {};
      const range = origin?.location?.range;
      return (
        range && (FLAGS.split('\n')[range.start.line] ?? '').slice(range.start.character, range.end.character)
      );
    };
    assert.equal(place('batch.micro'), '8');
    assert.equal(place('model.config'), '48');
    assert.equal(place('parallel.variableGroups'), 'greedy:8');
  });

  it('know what a file does not state as defaults', () => {
    const { reading } = readingOf('a.flags', 'gac=2\nytf_gelu=1');
    const fact = reading.facts.find(({ field }) => field === 'optimizer.name');
    assert.equal(fact?.value, 'adamw');
    assert.equal(fact?.origin.kind, 'default');
    assert.equal(
      reading.facts.some(({ field }) => field === 'model.config'),
      false,
    );
  });

  it('hold the constraints of the notes', () => {
    const base = 'gac=2\nyt_readers=4\n';
    assert.deepEqual(codes('a.flags', base), []);
    assert.deepEqual(codes('a.flags', `${base}tensor_parallel_size=2 ln_ytf_impl=1 ytf_gelu=1`), [
      'tensor-parallel-fused',
    ]);
    assert.deepEqual(codes('a.flags', `${base}tensor_parallel_size=2 attn_softmax_ytf_impl=1`), [
      'tensor-parallel-fused',
    ]);
    assert.deepEqual(codes('a.flags', `${base}tensor_parallel_size=2 mpi_runners=8`), [
      'tensor-parallel-runners',
    ]);
    assert.deepEqual(codes('a.flags', `${base}tensor_parallel_size=2 mpi_runners=4`), []);
    assert.deepEqual(codes('a.flags', `${base}ln_ytf_impl=1`), ['fused-layer-norm-alone']);
    assert.deepEqual(codes('a.flags', `${base}ln_ytf_impl=1 attn_softmax_ytf_impl=1`), []);
    assert.deepEqual(codes('a.flags', `${base}ytf_gelu=1 memory_optimization=recomputation`), [
      'memory-optimization-idle',
    ]);
    assert.deepEqual(codes('a.flags', `${base}memory_optimization=recomputation`), []);
    assert.deepEqual(codes('a.flags', `${base}hidden=2560`), ['hidden-2560']);
    assert.deepEqual(codes('a.flags', `${base}l=24,h=2560`), ['hidden-2560']);
  });

  it('report values that a flag does not take, and slips', () => {
    const { reading } = readingOf(
      'a.flags',
      'gac=two\nyt_readers=4\nytf_gleu=1\nunrelated=5\nmemory_optimization=all',
    );
    assert.deepEqual(reading.problems.map(({ code, range }) => [code, range.start.line]).sort(), [
      ['unknown-key', 2],
      ['wrong-type', 0],
      ['wrong-type', 4],
    ]);
  });

  it('name included files', () => {
    const { reading } = readingOf('a.flags', 'include base.flags\ngac=2\nytf_gelu=1');
    assert.deepEqual(
      reading.links.map(({ path, role }) => [path, role]),
      [['base.flags', 'include']],
    );
  });

  it('are known by one flag of their own, in a flag file by two of any', () => {
    const idOf = (name: string, text: string) => detectDialect(parseConfig(`file:///w/${name}`, text))?.id;
    assert.equal(idOf('a.yaml', 'arch: l=24,h=1024\nhvd_fp16_compression: true\n'), 'in-house');
    assert.equal(idOf('xxlarge.flags', 'l=48,h=3072\nbs=8 seq_len=512 gac=16 nodes=24\n'), 'in-house');
    assert.equal(idOf('a.txt', 'l=48,h=3072\nbs=8 seq_len=512 gac=16 nodes=24\n'), undefined);
  });

  it('leave files of others alone', () => {
    for (const [name, text] of [
      ['a.yaml', 'bs: 8\nseq_len: 512\n'],
      ['b.flags', 'lr=1\nbs=2'],
      ['c.json', '{"fp16": true, "xla": true}'],
    ] as const) {
      assert.notEqual(detectDialect(parseConfig(`file:///w/${name}`, text))?.id, 'in-house', name);
    }
  });
});

describe('vocabulary files', () => {
  const read = (text: string) => readVocabulary(parseConfig('file:///w/oomlint-flags.yaml', text));
  const complaints = (text: string) => {
    const lines = text.split('\n');
    return read(text).problems.map(({ range, message }) => ({
      at: (lines[range.start.line] ?? '').slice(
        range.start.character,
        range.start.line === range.end.line ? range.end.character : undefined,
      ),
      message,
    }));
  };

  it('the built-in one has nothing to complain about', () => {
    assert.deepEqual(read(builtIn).problems, []);
    assert.ok(inHouse.keys.length > 30);
    const { vocabulary } = read(builtIn);
    assert.ok(vocabulary);
    assert.equal(vocabulary.id, inHouse.id);
    assert.equal(vocabulary.name, inHouse.name);
    for (const marker of vocabulary.markers) assert.ok(inHouse.markers.test(`${marker}=1`), marker);
    assert.ok(inHouse.markers.test('--ytf-gelu=1'));
    assert.ok(!inHouse.markers.test('my_ytf_gelu_x'));
  });

  it('teach flags of any team', () => {
    const text = `
id: ads
name: Ads trainer
keys:
  samples: { type: integer, aliases: [n-samples], doc: Samples per GPU., sets: batch.micro }
  tokens_per_sample: { type: integer, sets: batch.sequence }
  cards: { type: integer, default: 4 }
  kind: { type: choice, values: [small, large], sets: { model.id: { small: gpt2, large: gpt2-xl } } }
  mode: { values: ["zero:{n}", plain], sets: { zero.stage: { "zero:{n}": = n, plain: 0 } } }
derived:
  hardware.gpus: = 2 * cards
rules:
  - when: samples > 64
    message: "{samples} samples are too many."
    severity: error
`;
    const { vocabulary, problems } = read(text);
    assert.deepEqual(problems, []);
    assert.ok(vocabulary);
    const dialect = vocabularyDialect(vocabulary);
    const document = parseConfig(
      'file:///w/x.yaml',
      'n_samples: 65\ntokens-per-sample: 128\nkind: large\nmode: zero:3\n',
    );
    assert.equal(detectDialect(document, [dialect])?.id, 'ads');
    const reading = dialect.read(document, { known: {} });
    const values = Object.fromEntries(reading.facts.map(({ field, value }) => [field, value]));
    assert.deepEqual(values, {
      'batch.micro': 65,
      'batch.sequence': 128,
      'hardware.gpus': 8,
      'model.id': 'gpt2-xl',
      'zero.stage': 3,
    });
    assert.deepEqual(
      reading.problems.map(({ message, severity }) => [message, severity]),
      [['65 samples are too many.', 'error']],
    );
  });

  it('have what is wrong reported, at its place', () => {
    const text = `
keys:
  bs: { type: integre, sets: batch.micr, dock: x }
  gpus: { type: integer, sets: { hardware.gpus: = 8 * nods, batch.micro: many } }
  kind: { type: choice }
  depth: { type: integer, default: deep }
derived:
  zero.stage: = bs +
shorthands: ["l={l}{h}", "q={queue}"]
detect: { markers: [bz] }
rules:
  - when: bs > 8
  - { when: bs > 8, message: too much, key: bss, severity: fatal }
other: 1
`;
    const found = complaints(text);
    const stated = (at: string, pattern: RegExp) =>
      assert.ok(
        found.some((problem) => problem.at === at && pattern.test(problem.message)),
        `${at} ${pattern}: ${JSON.stringify(found, null, 1)}`,
      );
    stated('integre', /integer/);
    stated('batch.micr', /batch\.micro/);
    stated('dock', /doc/);
    stated('= 8 * nods', /no key "nods"/);
    stated('many', /whole number/);
    stated('choice', /values/);
    stated('deep', /whole number/);
    stated('= bs +', /no expression/);
    stated('"l={l}{h}"', /between two groups/);
    stated('"q={queue}"', /none "queue"/);
    stated('bz', /marker/);
    stated('when', /message/);
    stated('bss', /blames/);
    stated('fatal', /error/);
    stated('other', /nothing here/);
  });

  it('are as their documentation shows one', () => {
    const [, example = ''] =
      /```yaml\n(id: ads[\s\S]*?)```/.exec(readFileSync('docs/vocabulary.md', 'utf8')) ?? [];
    const { vocabulary, problems } = read(example);
    assert.deepEqual(problems, []);
    assert.ok(vocabulary);
    const flags = parseConfig('file:///w/a.flags', 'ads_samples=65\nl=24,h=1024\nads_mode=zero:3');
    const { facts, problems: broken } = vocabularyDialect(vocabulary).read(flags, { known: {} });
    assert.equal(facts.find(({ field }) => field === 'zero.stage')?.value, 3);
    assert.equal(facts.find(({ field }) => field === 'hardware.gpus')?.value, 64);
    assert.deepEqual(
      broken.map(({ message }) => message),
      ['65 samples need `half`.'],
    );
  });

  it('need keys', () => {
    assert.equal(read('name: x').vocabulary, undefined);
    assert.equal(read('- a').problems[0]?.severity, 'error');
    assert.equal(read('').problems.length, 1);
  });

  it('never throw', () => {
    const pieces = fc.constantFrom(
      'keys:\n',
      '  a: ',
      '{type: integer}',
      '\n',
      '  b:\n    sets: ',
      '= a',
      'rules:\n  - ',
      'when: a',
      '[',
      '{',
      ': ',
      'defaults:\n',
      '  zero.stage: 3\n',
      'model: x\n',
      '"',
      '*x',
      '&x ',
      'null',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 25 }), (parts) => {
        const { vocabulary } = read(parts.join(''));
        if (vocabulary)
          vocabularyDialect(vocabulary).read(parseConfig('file:///a.flags', 'a=1'), { known: {} });
      }),
      { numRuns: 200 },
    );
  });
});

describe('expressions', () => {
  const value = (text: string, scope: Record<string, number | string | boolean>) => {
    const compiled = compile(text, [...Object.keys(scope), 'missing']);
    assert.ok('expression' in compiled, 'error' in compiled ? compiled.error : '');
    return compiled.expression.evaluate(new Map(Object.entries(scope)));
  };
  it('compute', () => {
    assert.equal(value('2 * a + max(b, 1)', { a: 3, b: 0 }), 7);
    assert.equal(value('a and not b ? "x" : "y"', { a: true, b: false }), 'x');
    assert.equal(value('a == "no" or a != "yes"', { a: 'no' }), true);
    assert.equal(value('floor(a / 64)', { a: 3072 }), 48);
  });
  it('are unknown where a value is', () => {
    assert.equal(value('missing * 2', { a: 1 }), undefined);
    assert.equal(value('given("missing")', { a: 1 }), false);
    assert.equal(value('given("a")', { a: 1 }), true);
    assert.equal(value('a / 0', { a: 1 }), undefined);
  });
  it('run nothing', () => {
    for (const text of [
      'a.constructor',
      'a = 2',
      'f(x) = x',
      'constructor("x")',
      '__proto__',
      'random()',
      'import("fs")',
    ]) {
      const compiled = compile(text, ['a', 'x']);
      const result = 'expression' in compiled ? compiled.expression.evaluate(new Map([['a', 1]])) : undefined;
      assert.equal(result, undefined, text);
    }
  });
});

describe('templates', () => {
  it('capture what stands between their words', () => {
    const compiled = compileTemplate('greedy:{n}');
    assert.ok('template' in compiled);
    assert.deepEqual([...(compiled.template.match('greedy:16') ?? [])], [['n', '16']]);
    assert.equal(compiled.template.match('greedy:'), undefined);
    assert.equal(compiled.template.match('naive'), undefined);
  });
  it('of several parts take them in any order', () => {
    const compiled = compileShorthand('l={l},h={h}');
    assert.ok('shorthand' in compiled);
    const match = compiled.shorthand.match('h=3072,l=48');
    assert.deepEqual(match?.get('l'), { text: '48', offset: 9 });
    assert.deepEqual(match?.get('h'), { text: '3072', offset: 2 });
    assert.equal(compiled.shorthand.match('l=48,x=1'), undefined);
  });
});
