import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Lines } from '../../../server/src/config/lines';
import type { ScalarNode } from '../../../server/src/config/node';
import { parseConfig } from '../../../server/src/config/parse';
import { loadPython } from '../../../server/src/config/python/grammar';
import { installsIn, withoutMagics } from '../../../server/src/config/python/magics';
import { onCard } from '../../../server/src/config/python/on-card';
import type { PyValue } from '../../../server/src/config/python/value';
import { processorMs } from '../processor-time';

/** A value in short: what it is, `a | b` where a condition decides, `?` where it is not known. */
function short(value: PyValue | undefined): unknown {
  if (!value) return undefined;
  if (value.kind === 'scalar') return value.value;
  if (value.kind === 'list') return value.items.map(short);
  if (value.kind === 'dict')
    return Object.fromEntries(value.entries.map((entry) => [entry.key, short(entry.value)]));
  if (value.kind === 'either')
    return `${value.options.map(short).join(' | ')}${value.probe ? (value.probe === 'bf16' ? ' by bf16' : 'emulatedBy' in value.probe ? ` by ${value.probe.emulatedBy}` : ' by memory') : ''}`;
  if (value.kind === 'name') return value.name;
  return '?';
}

const programOf = (text: string) => {
  const { program } = parseConfig('file:///train.py', text);
  assert.ok(program);
  return program;
};

/** What `f(...)` is passed, by name, where the text calls it once. */
function passed(text: string): Record<string, unknown> {
  const call = programOf(`from lib import f\n${text}`).calls.find(({ callee }) => callee === 'lib.f');
  return Object.fromEntries((call?.named ?? []).map(({ key, value }) => [key, short(value)]));
}

/** The single argument `x` of `f(x=...)`. */
const x = (text: string) => passed(text).x;

describe('Python texts, followed without running them', () => {
  it('take parts of lists and texts', () => {
    const values = passed(
      'items = (1, 2, 3, 4)\nf(a=items[:2], b=items[1:-1], c="a/b"[2:], d=items[:], e=items[:n], g=items[::2])',
    );
    assert.deepEqual(values, { a: [1, 2], b: [2, 3], c: 'b', d: [1, 2, 3, 4], e: '?', g: '?' });
  });

  before(loadPython);

  it('take a list that grows in place for longer by every name, and for unknown where a loop adds to it', () => {
    assert.deepEqual(passed('a = [1]\nb = {"c": a}\na += [2]\nf(a=a, b=b)'), { a: [1, 2], b: { c: [1, 2] } });
    assert.equal(x('a = [1]\nfor i in range(n):\n    a += [2]\nf(x=a)'), '?');
    assert.equal(x('a = [1]\nif n:\n    a += [2]\nf(x=a)'), '1,2 | 1');
  });

  it('take a dictionary that is made of one that is not known for open', () => {
    const isOpen = (text: string) => {
      const call = programOf(`from lib import f\n${text}`).calls.find(({ callee }) => callee === 'lib.f');
      const value = call?.named[0]?.value;
      return value?.kind === 'dict' && value.open === true;
    };
    assert.equal(isOpen('f(x=dict(a=1, **n))'), true);
    assert.equal(isOpen('d = dict(**n)\nf(x=dict(d, a=1))'), true);
    assert.equal(isOpen('d = dict(b=1)\nf(x=dict(a=1, **d))'), false);
  });

  describe('constants of a class', () => {
    const CLASS = 'class CFG:\n    batch = 4\n    total = batch * 2\n';

    it('are those of its body, whose names come before the ones around it', () => {
      assert.equal(x(`${CLASS}f(x=CFG.batch)`), 4);
      assert.equal(x(`batch = 100\n${CLASS}f(x=CFG.total)`), 8);
      assert.equal(x(`${CLASS}class Mine(CFG):\n    lr = 1\nf(x=Mine.batch)`), 4);
      assert.equal(x(`${CLASS}from lib import B\nclass Mine(B, CFG):\n    lr = 1\nf(x=Mine.batch)`), '?');
    });

    it('are what is set later, by whatever name', () => {
      assert.equal(x(`${CLASS}CFG.batch = 8\nf(x=CFG.batch)`), 8);
      assert.equal(x(`${CLASS}C = CFG\nC.batch = 8\nf(x=CFG.batch)`), 8);
      assert.equal(x(`${CLASS}setattr(CFG, "batch", 8)\nf(x=CFG.batch)`), 8);
      assert.equal(x(`${CLASS}def mend(c):\n    c.batch = 8\nmend(CFG)\nf(x=CFG.batch)`), 8);
      assert.equal(x(`${CLASS}if unclear():\n    CFG.batch = 8\nf(x=CFG.batch)`), '4 | 8');
    });

    it('are not known where a name is, a condition decides, or other code had the class', () => {
      assert.equal(x(`${CLASS}for k in names():\n    setattr(CFG, k, 1)\nf(x=CFG.batch)`), '?');
      assert.equal(x('class CFG:\n    batch = 4\n    if unclear():\n        batch = 8\nf(x=CFG.batch)'), '?');
      assert.equal(x('class CFG:\n    batch = 4\n    batch += 4\nf(x=CFG.batch)'), '?');
      assert.equal(x(`${CLASS}from lib import mend\nmend(CFG)\nf(x=CFG.batch)`), '?');
    });
  });

  it('objects are set by name, too', () => {
    const made = 'from lib import Args\nargs = Args(batch=4)\n';
    assert.equal(x(`${made}setattr(args, "batch", 8)\nf(x=args.batch)`), 8);
  });

  it('knows literals, arithmetic as Python does it, and text', () => {
    assert.deepEqual(
      [
        'f(x=2e-4)',
        'f(x=1_000)',
        'f(x=-7 // 2)',
        'f(x=-7 % 3)',
        'f(x=2 ** 10)',
        'f(x=0x10)',
        'f(x=7 / 2)',
        'f(x="a" \'b\')',
        'n = 3\nf(x=f"m-{n}-{n * 2}b")',
        'f(x=r"a\\nb")',
        'f(x="a\\tb")',
        'f(x=not True)',
        'f(x=None)',
        'f(x=[1, (2, 3)])',
        'f(x=min(4, 2))',
        'f(x=int("8") * 2)',
        'f(x=1 / 0)',
        'f(x=f"{n:02d}")',
      ].map(x),
      [
        2e-4,
        1000,
        -4,
        2,
        1024,
        16,
        3.5,
        'ab',
        'm-3-6b',
        'a\\nb',
        'a\tb',
        false,
        null,
        [1, [2, 3]],
        2,
        16,
        '?',
        '?',
      ],
    );
  });

  it('follows names in order: the last binding counts', () => {
    assert.equal(x('a = 1\na = a + 1\nf(x=a)\na = 9'), 2);
    assert.equal(x('a, (b, c) = 1, (2, 3)\nf(x=c)'), 3);
    assert.equal(x('a = b = 4\nf(x=a + b)'), 8);
    assert.equal(x('a = 2\na *= 3\nf(x=a)'), 6);
    assert.deepEqual(x('d = {"r": 8}\nd["alpha"] = 2 * d["r"]\nf(x=d)'), { r: 8, alpha: 16 });
    assert.deepEqual(passed('d = dict(a=1)\nf(**d, **{"b": 2})'), { a: 1, b: 2 });
  });

  it('takes a branch that is known, and tells several values of one that is not', () => {
    assert.equal(x('big = False\nif big:\n    n = 1\nelif 2 > 1:\n    n = 2\nelse:\n    n = 3\nf(x=n)'), 2);
    assert.equal(x('if ask():\n    n = 1\nelse:\n    n = 2\nf(x=n)'), '1 | 2');
    assert.equal(x('n = 1\nif ask():\n    n = 2\nf(x=n * 10)'), '20 | 10');
    assert.equal(x('if ask():\n    raise ValueError\nelse:\n    n = 2\nf(x=n)'), 2);
    assert.equal(x('n = 4 if ask() else 8\nf(x=n)'), '4 | 8');
  });

  it('leaves what asks for bf16 to the GPU', () => {
    const probe = 'import torch\nbf16 = torch.cuda.is_bf16_supported()\n';
    assert.equal(x(`${probe}f(x=not bf16)`), 'false | true by torch');
    assert.equal(
      x(`${probe}f(x=torch.bfloat16 if bf16 else torch.float16)`),
      'torch.bfloat16 | torch.float16 by torch',
    );
    assert.equal(x(`${probe}if not bf16:\n    d = 1\nelse:\n    d = 2\nf(x=d)`), '2 | 1 by torch');
    assert.equal(x('import torch\nf(x=torch.cuda.get_device_capability()[0] >= 8)'), 'true | false by bf16');
  });

  it('leaves what asks how much memory the GPU has to the GPU', () => {
    const asked = `import torch
from lib import f
gib = torch.cuda.get_device_properties(0).total_memory / 1024 ** 3
all = min(torch.cuda.get_device_properties(i).total_memory for i in range(4)) / 2**30
if gib >= 150:
    n = 64
elif gib > 30:
    n = 8
else:
    n = 2
f(n=n, small=4 if all < 39 else 16, of=[n, 1], other={"n": n})`;
    const program = programOf(asked);
    const on = (gib: number) => {
      const call = onCard(program, { bytes: gib * 2 ** 30 }).calls.find(({ callee }) => callee === 'lib.f');
      return (call?.named ?? []).map(({ value }) => short(value));
    };
    assert.deepEqual(on(16), [2, 4, [2, 1], { n: 2 }]);
    assert.deepEqual(on(80), [8, 16, [8, 1], { n: 8 }]);
    assert.deepEqual(on(192), [64, 16, [64, 1], { n: 64 }]);
    // Unsettled, it is one of several, and a program that does not ask stays as it is.
    assert.equal(short(program.calls.at(-1)?.named[1]?.value), '16 | 4 by memory');
    const other = programOf('from lib import f\nf(x=1)');
    assert.equal(onCard(other, { bytes: 1 }), other);
  });

  it('hang on the type that a model is published in', () => {
    const program = programOf(`import lib, torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("a/b", dtype="auto")
asked = model.dtype
lib.f(bf16=asked == torch.bfloat16, fp16=True if asked == torch.float16 else False)`);
    const given = (id: string, type: string | undefined) => {
      const call = onCard(program, { published: { id, type } }).calls.find(
        ({ callee }) => callee === 'lib.f',
      );
      return call?.named.map(({ value }) => (value.kind === 'scalar' ? value.value : value.kind));
    };
    assert.deepEqual(given('a/b', 'bf16'), [true, false]);
    assert.deepEqual(given('a/b', 'fp16'), [false, true]);
    assert.deepEqual(given('a/b', 'fp32'), [false, false]);
    for (const [id, type] of [
      ['a/b', undefined],
      ['a/b', 'fp8'],
      ['c/d', 'bf16'],
    ] as const)
      assert.deepEqual(given(id, type), ['either', 'either']);
  });

  it('follows functions of the file with what they are given', () => {
    assert.equal(x('def g(a, b=2, *, c=3):\n    return a * b + c\nf(x=g(5, c=1))'), 11);
    assert.deepEqual(passed('def main(n=4):\n    f(x=n)\nif __name__ == "__main__":\n    main()'), { x: 4 });
    assert.deepEqual(passed('import fire\ndef main(n=4):\n    f(x=n)\nfire.Fire(main)'), { x: 4 });
    assert.deepEqual(passed('import tyro\ndef main(n=4):\n    f(x=n)\ntyro.cli(main)'), { x: 4 });
    const config = 'from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int = 4\n';
    assert.equal(x(`import tyro\n${config}c = tyro.cli(C)\nf(x=c.n)`), 4);
    assert.equal(x(`import draccus\n${config}f(x=draccus.parse(config_class=C).n)`), 4);
    assert.equal(x(`import draccus\n${config}@draccus.wrap()\ndef main(c: C):\n    f(x=c.n)\nmain()`), 4);
    const click = (option: string) =>
      passed(`import click\n@click.command()\n@click.option(${option})\ndef main(n):\n    f(x=n)\nmain()`);
    assert.deepEqual(click('"--n", default=4'), { x: 4 });
    assert.deepEqual(click('"--number", "n", default=4'), { x: 4 });
    assert.deepEqual(click('"--n", is_flag=True'), { x: false });
    assert.deepEqual(click('"--n", required=True'), { x: '?' });
    assert.equal(x('def g(n):\n    return g(n)\nf(x=g(1))'), '?');
    assert.equal(x('def g():\n    if ask():\n        return 1\n    return 2\nf(x=g())'), '1 | 2');
  });

  it('follows classes of the file: what they begin with, and methods that are called', () => {
    const tuner = `class Base:
    def go(self, n):
        return f(x=self.size * n)
class Tuner(Base):
    kind = "a"
    def __init__(self, size, twice=False):
        self.size = size * 2 if twice else size
`;
    assert.deepEqual(passed(`${tuner}Tuner(4, twice=True).go(3)`), { x: 24 });
    assert.deepEqual(passed(`${tuner}t = Tuner(size=5)\nt.go(1)`), { x: 5 });
    assert.deepEqual(passed('class A:\n    def __init__(self):\n        A()\nf(x=A())'), { x: '?' });
  });

  it('follows functions that somebody else is given, whoever that is', () => {
    const g = 'def g(row, n=3):\n    return f(x=n)\n';
    assert.deepEqual(passed(`${g}load()["train"].map(g)`), { x: 3 });
    assert.deepEqual(passed('n = 4\ndata["train"].map(lambda row: f(x=n), batched=True)'), { x: 4 });
    assert.equal(x('g = lambda a, b=2: a * b\nf(x=g(4))'), 8);
  });

  it('knows that what a class made is something', () => {
    assert.equal(x('from lib import Thing\nt = Thing()\nf(x=1 if t is None else 2)'), 2);
    assert.equal(x('from lib import find\nt = find()\nf(x=1 if t is None else 2)'), '1 | 2');
  });

  it('knows what parts text, and types by their names', () => {
    assert.deepEqual(x('f(x="q,v".split(","))'), ['q', 'v']);
    assert.equal(x('f(x="a b".split())'), '?');
    assert.equal(x('f(x="org/model".replace("org/", ""))'), 'model');
    assert.equal(x('f(x=" a ".strip())'), 'a');
    assert.equal(x('f(x="--a--".strip("-"))'), '?');
    assert.equal(x('f(x="bf16" if "Qwen/x".startswith("Qwen") else "fp16")'), 'bf16');
    assert.equal(x('import torch\nf(x=getattr(torch, "float16"))'), 'torch.float16');
    assert.equal(x('from typing import cast\nf(x=cast(int, 3))'), 3);
  });

  it('takes what is broken among arguments for any argument', () => {
    const call = (text: string) => programOf(`from lib import f\n${text}`).calls[0];
    assert.ok(call('f(a=1, b=, c=3)')?.open);
    assert.equal(call('f(a=1, c=3)\nprint "two"')?.open, undefined);
  });

  it('knows the defaults of argparse and of dataclasses, and what comes with the launch', () => {
    const parser = 'import argparse\np = argparse.ArgumentParser()\n';
    const asked = `${parser}p.add_argument("--micro-batch", type=int, default=4)\np.add_argument("--fast", action="store_true")\na = p.parse_args()\n`;
    assert.equal(x(`${asked}f(x=a.micro_batch)`), 4);
    assert.equal(x(`${asked}f(x=a.fast)`), false);
    assert.equal(x(`${parser}p.add_argument("--n", required=True)\na = p.parse_args()\nf(x=a.n)`), '?');
    const fields =
      'from dataclasses import dataclass, field\n@dataclass\nclass A:\n    n: int = field(default=3, metadata={})\n    m: str = "b"\n    o: int\n';
    assert.equal(x(`${fields}f(x=A(m="c").m)`), 'c');
    assert.equal(
      x(
        `from transformers import HfArgumentParser\n${fields}a, = HfArgumentParser((A,)).parse_args_into_dataclasses()\nf(x=a.n)`,
      ),
      3,
    );
  });

  it('knows nothing that changes from round to round', () => {
    assert.equal(x('n = 1\nfor i in range(3):\n    n = n * 2\nf(x=n)'), '?');
    assert.equal(x('for n in [8, 16]:\n    f(x=n)'), '8 | 16');
    assert.equal(x('a = [1]\na = a + [a]\nwhile True:\n    a += a\nf(x=a)'), '?');
  });

  it('keeps what is set on an object, and where', () => {
    const { calls, attributes } = programOf(
      'from trl import SFTConfig as C\nc = C(bf16=True)\nc.max_length = 7',
    );
    assert.equal(calls[0]?.callee, 'trl.SFTConfig');
    assert.equal(short(attributes.get(0)?.get('max_length')), 7);
  });

  it('lays calls out as blocks whose values stand where they are written', () => {
    const text = 'from trl import SFTConfig\nLENGTH = 512\nSFTConfig(\n    max_length=LENGTH,\n)\n';
    const { root } = parseConfig('file:///train.py', text);
    assert.equal(root?.kind, 'map');
    const block =
      root.kind === 'map' ? root.entries.find(({ key }) => key === 'SFTConfig')?.value : undefined;
    const entry = block?.kind === 'map' ? block.entries[0] : undefined;
    const value = entry?.value as ScalarNode;
    assert.deepEqual(
      [entry?.key, value.value, value.range.start.line, value.used?.start.line],
      ['max_length', 512, 1, 3],
    );
  });

  it('blanks what is for IPython, at the same offsets', () => {
    const cell = '%%capture\n!pip install trl \\\n  peft\nif a:\n    %pip install b\nx = !ls -la\nimport trl';
    const python = withoutMagics(cell);
    assert.equal(python.length, cell.length);
    assert.match(python, /if a:\n {4}pass +\nx = \.\.\. +\nimport trl$/);
    assert.equal(withoutMagics('%%bash\nls').trim(), '');
    assert.equal(withoutMagics('x = 5 % 3'), 'x = 5 % 3');
  });

  it('take the packages that the metadata of a script names', () => {
    const text = `# Copyright
# /// script
# requires-python = ">=3.10"
# dependencies = [
#     "trl[peft]>=1.2,<1.5",
#     'transformers==4.57.1',  "kernels",
#     "peft @ git+https://github.com/huggingface/peft.git@v0.17.0",
# ]
#
# [tool.uv]
# prerelease = "allow"
# ///
import trl
`;
    const found = installsIn(text, new Lines(text));
    assert.deepEqual(
      found.map(({ name, specifier }) => name + specifier),
      ['trl>=1.2,<1.5', 'transformers==4.57.1', 'kernels', 'peft', 'peft==0.17.0'],
    );
    assert.deepEqual(found[0]?.range.start, { line: 4, character: 7 });
    assert.deepEqual(found[1]?.range.end, { line: 5, character: 27 });
    const other = text.replace('# /// script', '# /// other');
    assert.deepEqual(installsIn(other, new Lines(other)), []);
  });

  it('reads what is installed', () => {
    const text = '!pip install -q "transformers==4.56.2" trl[vllm]==0.22.2 --index-url https://x peft';
    assert.deepEqual(
      installsIn(text, new Lines(text)).map(({ name, specifier }) => name + specifier),
      ['transformers==4.56.2', 'trl==0.22.2', 'peft'],
    );
  });

  it('takes nothing for the newest release that comes from an index of builds', () => {
    const newest = (words: string) =>
      installsIn(`!pip install ${words}`, new Lines('')).some(({ upgraded }) => upgraded === true);
    const whl = 'https://download.pytorch.org/whl';
    assert.ok(newest('-U torch'));
    assert.ok(newest('-U torch -i https://mirrors.example.org/simple'));
    assert.ok(!newest(`-U torch --index-url ${whl}/cu121`));
    assert.ok(!newest(`-U torch --index-url=${whl}/rocm6.4`));
    // PyPI is asked as well.
    assert.ok(newest(`-U torch --extra-index-url ${whl}/cu121`));
    assert.ok(newest(`-U torch --index-url ${whl}/cu121 --extra-index-url https://pypi.org/simple`));
    // Which of two it is, only the run knows: either may end before the newest.
    const branches = `%%bash\nINDEX=${whl}/rocm6.4\nif [ -n "$CUDA" ]; then INDEX=${whl}/cu126; fi\n`;
    const chosen = `${branches}pip install -U torch --index-url $INDEX\n`;
    assert.ok(installsIn(chosen, new Lines(chosen)).every(({ upgraded }) => upgraded !== true));
  });

  it('holds PyTorch to the last release of an index whose name a variable holds, where the text binds it once', () => {
    const built = (text: string) => {
      const installs = installsIn(text, new Lines(text));
      return installs.find(({ name }) => name === 'torch')?.builtFor?.name;
    };
    const command = (platform: string) =>
      `pip install torch --index-url https://download.pytorch.org/whl/${platform}\n`;
    assert.equal(built(`!${command('cu118')}`), 'cu118');
    assert.equal(built(`cu = "cu118"\n!${command('{cu}')}`), 'cu118');
    assert.equal(built(`cu = "cu118"\n!${command('$cu')}`), 'cu118');
    assert.equal(built(`# %%\n%%bash\nexport CU=cu118\n${command('$' + '{CU}')}`), 'cu118');
    assert.equal(built(`# %%\n%%bash\nCU="cu118"; INDEX="whl/$CU"\n${command('$CU')}`), 'cu118');
    // uv takes a package from the first index that has it, those beside PyPI first; pip the newest of all.
    const beside = (program: string, option: string) =>
      built(`!${program} install torch ${option} https://download.pytorch.org/whl/cu118`);
    for (const option of ['--extra-index-url', '--index']) assert.equal(beside('uv pip', option), 'cu118');
    assert.equal(beside('uv pip', '--index-strategy unsafe-best-match --extra-index-url'), undefined);
    assert.equal(beside('pip', '--extra-index-url'), undefined);
    for (const open of [
      `!${command('{cu}')}`,
      `cu = "cu118"\nif new:\n    cu = "cu126"\n!${command('{cu}')}`,
      `if old:\n    cu = "cu118"\n!${command('{cu}')}`,
      `cu = "cu" + release\n!${command('{cu}')}`,
      `# %%\n%%bash\nCU=cu$RELEASE\n${command('$CU')}`,
    ])
      assert.equal(built(open), undefined, open);
  });

  it('reads what a converted notebook installs, also where the conversion comments it out', () => {
    const text = String.raw`x = 1
# get_ipython().run_cell_magic('capture', '', 'import os\n_conv = "causal_conv1d==1.5.2"\n!pip install a==1 {_conv}\n# don\'t\n')
    get_ipython().system('uv pip install -qqq "b>=2"')
get_ipython().run_line_magic('pip', 'install c==3')
get_ipython().run_cell_magic('bash', '', 'echo d')
get_ipython().system('ls -la'); # pip install e
`;
    assert.deepEqual(
      installsIn(text, new Lines(text)).map(
        ({ name, specifier, open, commented, range }) =>
          `${name}${specifier}${open ? ' open' : ''}${commented ? ' commented' : ''} ${range.start.line}`,
      ),
      ['a==1 commented 1', 'causal_conv1d open commented 1', 'b>=2 2', 'c==3 3'],
    );
  });

  it('reads what is installed by a name in braces and from a repository, whose version nobody knows', () => {
    const names = (text: string) =>
      installsIn(text, new Lines(text)).map(
        ({ name, specifier, open }) => name + specifier + (open ? ' open' : ''),
      );
    const bound = 'a, _conv = "torch==2.7.1", "causal_conv1d==1.5.2"\n';
    assert.deepEqual(names(`${bound}!pip install {_conv} x==1`), ['x==1', 'causal_conv1d open']);
    // Two packages by one name, and a name that nothing binds.
    assert.deepEqual(names(`${bound}_conv = "other"\n!pip install {_conv} {who}`), []);
    assert.deepEqual(names('!pip install git+https://github.com/state-spaces/mamba.git@main'), [
      'mamba-ssm open',
    ]);
    const states = (ref: string) =>
      installsIn(`!pip install git+https://github.com/${ref}`, new Lines('')).map(
        ({ name, specifier, upgraded, repository }) =>
          [name + specifier, upgraded ? 'newest' : '', repository ?? ''].join(' ').trim(),
      );
    for (const head of ['huggingface/transformers', 'huggingface/transformers.git@main#egg=transformers'])
      assert.deepEqual(states(head), ['transformers newest head'], head);
    assert.deepEqual(states('huggingface/transformers.git@v4.49.0'), ['transformers==4.49.0']);
    assert.deepEqual(states('huggingface/transformers@v4.57-release'), ['transformers==4.57.*']);
    const preview = ['transformers>=4.49.0,<4.51'];
    assert.deepEqual(states('huggingface/transformers@v4.49.0-Gemma-3'), preview);
    for (const of of ['huggingface/transformers@2ab75add', 'someone/transformers'])
      assert.deepEqual(states(of), ['transformers  commit'], of);
  });

  it('repeats a list, as long as it can be followed', () => {
    assert.deepEqual(passed('f(a=[1, 2] * 2, b=[] * 10 ** 9, c=[1] * 5000, d=[1] * -1, e=[1] * n)'), {
      a: [1, 2, 1, 2],
      b: '?',
      c: '?',
      d: [],
      e: '?',
    });
  });

  it('knows the words of a text, followed or not', () => {
    const words = programOf('def f(x):\n    return {"type": "image", \'image\': x["two words"]}').words();
    assert.deepEqual([...words].sort(), ['image', 'type']);
  });

  it('reads on behind what is broken, and never throws', () => {
    assert.deepEqual(passed('f(a=1, b=, c=3)\nprint "two"'), { a: 1, c: 3 });
    for (const text of [
      '',
      'f(',
      '(((((((',
      'def',
      'x = "',
      `f(x=${'['.repeat(5000)}`,
      'class A(A): pass\nA()',
      `a = ${'1+'.repeat(3000)}1`,
    ])
      assert.doesNotThrow(() => parseConfig('file:///train.py', text), text.slice(0, 20));
  });

  it('reports nothing of Python 2, of a megabyte on one line, and of what contains itself', async () => {
    const two = 'from trl import SFTConfig\nprint "two"\nexec "x" in d\nSFTConfig(max_length=4)\n';
    assert.equal(programOf(two).calls.find(({ callee }) => callee === 'trl.SFTConfig')?.named.length, 1);
    const long = `x = [${'1, '.repeat(350_000)}]\nfrom lib import f\nf(x=len(x))`;
    assert.ok(long.length > 1_000_000);
    const took = await processorMs(() => parseConfig('file:///train.py', long));
    assert.ok(took < 20_000, `${took} ms`);
    assert.equal(x('a = [1]\na = a + [a]\na.append(a)\nf(x=a[1][1])'), '?');
    assert.equal(x('d = {}\nd["d"] = d\nf(x=d["d"]["d"])'), '?');
  });

  it('never throws on a text that was changed at random', () => {
    const text =
      'from trl import SFTConfig, SFTTrainer\nif ask():\n    n = 1\nelse:\n    n = 2\nfor i in [1, 2]:\n    d = {"a": n, **e}\nargs = SFTConfig(max_length=n * 512, **d)\nargs.bf16 = not True\n@dataclass\nclass A(B):\n    x: int = field(default=3)\ndef g(a, *b, c=1, **d):\n    return g(a) if a else (yield b)\nSFTTrainer(model=g(A()), args=args).train()\n';
    const words = fc.constantFrom(
      '(',
      ')',
      '[',
      '{',
      '"',
      "'''",
      ':',
      '=',
      '**',
      '\n',
      '    ',
      'if ',
      'lambda ',
      'f"{',
      '\u0000',
      'async ',
      ',',
      '.',
    );
    fc.assert(
      fc.property(fc.nat(text.length), fc.nat(12), words, (at, length, word) => {
        parseConfig('file:///train.py', text.slice(0, at) + word + text.slice(at + length));
      }),
      { numRuns: 150 },
    );
  });
});
