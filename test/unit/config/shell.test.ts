import assert from 'node:assert/strict';
import fc from 'fast-check';
import { nodeAt } from '../../../server/src/config/lookup';
import { parseConfig } from '../../../server/src/config/parse';
import { plainOf } from '../../../server/src/config/scalar';
import { evaluateShell } from '../../../server/src/config/shell/evaluate';
import { textOfPieces } from '../../../server/src/config/shell/placed-text';
import { ScriptSource } from '../../../server/src/config/shell/script-source';

const URI = 'file:///w/run.sh';

interface Plain {
  readonly program: unknown;
  readonly script?: unknown;
  readonly launcher: unknown;
  readonly arguments: Record<string, unknown>;
  readonly words: unknown;
  readonly wrapper: unknown;
}

function commands(text: string): Plain[] {
  const { root } = parseConfig(URI, text);
  const node = nodeAt(root, 'commands');
  assert.ok(node);
  return plainOf(node) as Plain[];
}

function flags(text: string): Record<string, unknown> {
  return commands(text).at(-1)?.arguments ?? {};
}

describe('shell scripts', () => {
  it('tells launcher, script and arguments apart over continued lines', () => {
    const [first] = commands(`#!/bin/bash
torchrun --nproc_per_node=8 --nnodes 2 \\
  train.py \\
  --per-device-train-batch-size 4 \\
  --bf16 True --lr=-1e-5 --betas 0.9 0.95 --flag
`);
    assert.deepEqual(first?.program, ['torchrun']);
    assert.equal(first?.script, 'train.py');
    assert.deepEqual(first?.launcher, { nproc_per_node: 8, nnodes: 2 });
    assert.deepEqual(first?.arguments, {
      per_device_train_batch_size: 4,
      bf16: true,
      lr: '-1e-5',
      betas: [0.9, 0.95],
      flag: true,
    });
  });

  it('follows variables, defaults, arithmetic and arrays', () => {
    const text = [
      'GPUS=$' + '{GPUS:-4}',
      'BS=2',
      'GLOBAL=$((GPUS * BS * 8))',
      'ARGS=(--micro $BS --global "$GLOBAL")',
      'ARGS+=(--name "a b")',
      'python -m torch.distributed.run --nproc_per_node $GPUS train.py "$' + '{ARGS[@]}" --out $HOME/x',
    ].join('\n');
    const [run] = commands(text);
    assert.deepEqual(run?.launcher, { m: 'torch.distributed.run', nproc_per_node: 4 });
    assert.deepEqual(run?.arguments, { micro: 2, global: 64, name: 'a b', out: '$HOME/x' });
  });

  it('keeps the module of the launcher where that starts a module, too', () => {
    const [run] = commands('python -m torch.distributed.run --nproc_per_node=2 -m a.train --lr 1e-4');
    assert.deepEqual(run?.launcher, { m: 'torch.distributed.run', nproc_per_node: 2 });
    assert.equal(run?.script, 'a.train');
  });

  it('splits flags that are gathered in one text, and keeps the place of each', () => {
    const text = 'OPTS=" \\\n --num-layers 24 \\\n --bf16 "\npython pretrain_gpt.py $OPTS\n';
    const { root } = parseConfig(URI, text);
    const node = nodeAt(root, ['commands']);
    const first = node?.kind === 'list' ? node.items[0] : undefined;
    const value = nodeAt(first, ['arguments', 'num_layers']);
    assert.equal(value?.kind === 'scalar' && value.value, 24);
    assert.deepEqual(value?.range, { start: { line: 1, character: 14 }, end: { line: 1, character: 16 } });
  });

  it('puts a flag that takes a variable where the variable is set', () => {
    const { root } = parseConfig(URI, 'BS=16\npython train.py --bs $BS\n');
    const list = nodeAt(root, ['commands']);
    const value = nodeAt(list?.kind === 'list' ? list.items[0] : undefined, ['arguments', 'bs']);
    assert.deepEqual(value?.range, { start: { line: 0, character: 3 }, end: { line: 0, character: 5 } });
  });

  it('takes the branch that the script itself settles, and the first where it does not', () => {
    const settled =
      'SIZE=7b\nif [ "$SIZE" = "13b" ]; then L=40; elif [ $SIZE = 7b ]; then L=32; else L=1; fi\n';
    assert.deepEqual(flags(`${settled}python a.py --l $L`), { l: 32 });
    const open = 'if [ -d "$1" ]; then L=40; else L=32; fi\n';
    assert.deepEqual(flags(`${open}python a.py --l $L`), { l: 40 });
    assert.deepEqual(flags('for s in 1 2 3; do python a.py --seed $s; done'), { seed: 1 });
  });

  it('reads here-documents into variables and files', () => {
    const text = `read -r -d '' CMD <<EOF
train.py \\
  --max_len 2048
EOF
cat > ds.json <<EOT
{"train_batch_size": 8}
EOT
deepspeed $CMD
`;
    const { root } = parseConfig(URI, text);
    assert.deepEqual(flags(text), { max_len: 2048 });
    const files = nodeAt(root, ['files']);
    assert.deepEqual(files && plainOf(files), { 'ds.json': { train_batch_size: 8 } });
  });

  it('places every value of JSON that a script writes where it stands', () => {
    const text = `STAGE=3
cat > ds.json <<EOT
{
  "train_batch_size": 8,
  "zero_optimization": { "stage": $STAGE, "overlap_comm": true }
}
EOT
`;
    const { root } = parseConfig(URI, text);
    const at = (...path: string[]) => {
      const range = nodeAt(root, ['files', 'ds.json', ...path])?.range;
      const line = text.split('\n')[range?.start.line ?? 0] ?? '';
      return line.slice(range?.start.character, range?.end.character);
    };
    assert.equal(at('train_batch_size'), '8');
    assert.equal(at('zero_optimization', 'stage'), '$STAGE');
    assert.equal(at('zero_optimization', 'overlap_comm'), 'true');
    assert.deepEqual(plainOf(nodeAt(root, ['files', 'ds.json']) ?? assert.fail()), {
      train_batch_size: 8,
      zero_optimization: { stage: 3, overlap_comm: true },
    });
  });

  it('calculates with expr, and keeps what it cannot know', () => {
    assert.deepEqual(flags('N=2\nswift sft --a $(expr 16 / $N) --b $(expr 2 + 3 \\* 4) --c $(wc -l x)\n'), {
      a: 8,
      b: 14,
      c: '$(wc -l x)',
    });
  });

  it('knows the variables of Slurm', () => {
    const head = '#SBATCH --nodes=4\n#SBATCH --gres=gpu:a100:8\n#SBATCH --ntasks-per-node=1\n';
    assert.deepEqual(
      commands(`${head}torchrun --nnodes $SLURM_NNODES --nproc_per_node \${SLURM_GPUS_ON_NODE:-2} a.py`)[0]
        ?.launcher,
      {
        nnodes: 4,
        nproc_per_node: 8,
      },
    );
  });

  it('takes the command behind the dashes of a submitter', () => {
    const [first] = commands('python mason.py --gpus 8 -- accelerate launch --num_processes 8 a.py --x 1\n');
    assert.deepEqual(first?.program, ['accelerate', 'launch']);
    assert.deepEqual(first?.wrapper, { gpus: 8 });
    assert.deepEqual(first?.arguments, { x: 1 });
    const [own] = commands('axolotl train x.yaml --launcher torchrun -- --nproc_per_node=4\n');
    assert.deepEqual(own?.program, ['axolotl', 'train', 'x.yaml']);
  });

  it('reads what Slurm is asked for', () => {
    const head = '#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gres=gpu:8\n';
    const { root } = parseConfig(URI, `${head}srun -n 4 python a.py --x 1\n`);
    const sbatch = nodeAt(root, ['sbatch']);
    assert.deepEqual(sbatch && plainOf(sbatch), { nodes: 4, gres: 'gpu:8' });
    const [run] = commands('srun -n 4 python a.py --x 1\n');
    assert.deepEqual(run?.wrapper, { n: 4 });
    assert.deepEqual(run?.arguments, { x: 1 });
  });

  it('takes no command for a launch that only prints its words', () => {
    const text = 'ARGS="--a 1"\necho python train.py $ARGS\nprintf "%s" train.py\ncat train.py\n';
    assert.deepEqual(commands(text), []);
    assert.deepEqual(commands(`${text}torchrun train.py $ARGS\n`)[0]?.program, ['torchrun']);
  });

  it('reads the script that a shell is given, with the variables that it sees', () => {
    const text = "export CMD='train.py --a 1'\nN=3\nexport L='torchrun --nproc_per_node 8'\n";
    const [single] = commands(
      `${text}srun --jobid 5 bash -c '$L --node_rank $R $CMD --n "$N"' 2>&1 | tee x\n`,
    );
    assert.deepEqual(single?.wrapper, { jobid: 5 });
    assert.deepEqual(single?.launcher, { nproc_per_node: 8, node_rank: '$R' });
    assert.deepEqual(single?.arguments, { a: 1, n: null });
    const [, two, three] = commands('bash -lc "cd x && python a.py --n 1; python b.py"\n');
    assert.equal(two?.script, 'a.py');
    assert.equal(three?.script, 'b.py');
    assert.equal(commands("ssh -p 22 host 'cd x; torchrun a.py --n 1'\n")[1]?.script, 'a.py');
    assert.equal(commands('docker run --gpus all img bash -c "torchrun a.py"\n')[0]?.script, 'a.py');
    assert.equal(commands("tmux new -d -s x 'torchrun a.py'\n")[0]?.script, 'a.py');
  });

  it('reads what eval reads once more', () => {
    const text = 'A=(--x 1 "--y 2")\ncmd="torchrun ${A[@]} t.py ${A[@]}"\necho $cmd\neval $cmd\n';
    const [run, ...others] = commands(text);
    assert.equal(others.length, 0);
    assert.deepEqual(run?.launcher, { x: 1, y: 2 });
    assert.deepEqual(run?.arguments, { x: 1, y: 2 });
  });

  it('leaves open which item an index names that is not known', () => {
    const text = (index: string) => `A=(a b)\nI=$1\nE=\ntorchrun t.py --x \${A[${index}]} --y 1\n`;
    for (const index of [
      '$I',
      '$1',
      '$SLURM_ARRAY_TASK_ID',
      'SLURM_ARRAY_TASK_ID',
      '$((SLURM_ARRAY_TASK_ID % 2))',
      'I + 1',
    ]) {
      const [command] = evaluateShell(ScriptSource.ofScript(text(index))).commands;
      const words = command?.words ?? [];
      assert.equal(words.length, 6, index);
      assert.ok(
        words[3]?.some(({ opaque }) => opaque),
        index,
      );
    }
    for (const [index, words] of [
      ['1', ['b']],
      ['$E', ['a']],
      ['7', []],
    ] as const) {
      const [command] = evaluateShell(ScriptSource.ofScript(text(index))).commands;
      assert.deepEqual(command?.words.map(textOfPieces).slice(3, -2), words, index);
    }
  });

  it('splits items of arrays at their blanks where they are not quoted', () => {
    const text = 'D=("--mock-data" "--vocab-size 128256")\n';
    assert.deepEqual(flags(`${text}torchrun a.py \${D[@]}\n`), { mock_data: true, vocab_size: 128256 });
    const [quoted] = commands(`${text}torchrun a.py --z "\${D[@]}"\n`);
    assert.deepEqual(quoted?.arguments, { z: true, mock_data: true, 'vocab_size 128256': true });
  });

  it('ends a word at the blank that a command prints last, and drops only its newlines', () => {
    const argued = (text: string) => commands(text).at(-1)?.words;
    assert.deepEqual(argued('A=b\npython t.py $(echo "a ")$A\n'), ['a', 'b']);
    assert.deepEqual(argued('E=\nA=\npython t.py x$E" y"\n'), ['x y']);
  });

  it('keeps what eval is handed where a command stood in the text of a variable', () => {
    const text = 'D="d d"\nA=/\nA+=\'`\'\nA+=$D\nA+=\'`\'\nCMD="python t.py $A --n 1"\neval $CMD\n';
    assert.deepEqual(flags(text), { n: 1 });
  });

  it('adds to a variable what its own assignment has set first', () => {
    assert.deepEqual(flags('C=\nC+="${C:=/}"\npython t.py --c $C\n'), { c: '//' });
  });

  it('makes no word of an empty array with nothing beside it', () => {
    assert.deepEqual(flags('R=()\nB=\npython t.py --a "${R[@]}$B" --b "${R[@]}x"\n'), { a: true, b: 'x' });
  });

  it('takes comments in backticks for nothing', () => {
    assert.deepEqual(flags('python a.py --n 1 `# fits` \\\n  --m 2 `# too` \\\n'), { n: 1, m: 2 });
  });

  it('takes the default of an argument that nobody gives', () => {
    const text = 'X=$2\nif [ "$X" == "" ]; then\n  X=3\nfi\n';
    assert.deepEqual(flags(`${text}python a.py --x $X --y \${1:-4} --z \${14}\n`), {
      x: 3,
      y: 4,
      z: '${14}',
    });
    const usage = 'if [ -z "$1" ]; then echo usage; exit 1; fi\nM=$1\n[ $# -eq 2 ] || exit 1\n';
    assert.deepEqual(flags(`${usage}python a.py --m $M\n`), { m: '$1' });
  });

  it('marks what hangs on a condition that the script does not settle', () => {
    const text = 'AC=${14}\nif [ $AC = full ]; then A="--r full"; elif [ $AC = sel ]; then A="--r sel"; fi\n';
    const { root } = parseConfig(URI, `${text}python a.py $A --b 1\n`);
    const list = nodeAt(root, ['commands']);
    const first = list?.kind === 'list' ? list.items[0] : undefined;
    const guessed = (key: string) => {
      const node = nodeAt(first, ['arguments', key]);
      return node?.kind === 'scalar' ? node.guessed : undefined;
    };
    assert.equal(guessed('r')?.start.line, 1);
    assert.equal(guessed('b'), undefined);
  });

  it('reads scripts that it hands to sbatch', () => {
    const job =
      '#!/bin/bash\n#SBATCH --nodes=$N\n#SBATCH --gres=gpu:a100:8\nsrun torchrun --nnodes \\$SLURM_NNODES a.py --x $X\n';
    for (const text of [
      `N=4 X=2\nsbatch <<EOT\n${job}EOT\n`,
      `N=4\nX=2\ncat > job.sh <<EOT\n${job}EOT\nsbatch job.sh\n`,
      `N=4\nX=2\ncat <<EOT | sbatch\n${job}EOT\n`,
    ]) {
      const script = text.replace('N=4 X=2', 'N=4\nX=2');
      const { root } = parseConfig(URI, script);
      const sbatch = nodeAt(root, ['sbatch']);
      assert.deepEqual(sbatch && plainOf(sbatch), { nodes: 4, gres: 'gpu:a100:8' });
      assert.deepEqual(commands(script)[0]?.launcher, { nnodes: 4 });
      assert.deepEqual(commands(script)[0]?.arguments, { x: 2 });
    }
  });

  it('follows functions with their arguments, loops and what a script prints to itself', () => {
    const text = `run() {
  local bs=$1
  shift
  torchrun a.py --bs $bs "$@"
}
for x in a b; do ARGS="$ARGS --$x 1"; done
run 4 $ARGS --n $(basename m/n.json .json)
`;
    assert.deepEqual(flags(text.replace('$ARGS --$x', '${ARGS:-} --$x')), { bs: 4, a: 1, b: 1, n: 'n' });
  });

  it('takes for the text of a command what it prints to its output, on one way', () => {
    const given = (body: string) => {
      const { root } = parseConfig(URI, `pick() {\n${body}\n}\nM=$(pick $1)\npython a.py --m "$M"\n`);
      const list = nodeAt(root, ['commands']);
      const node = nodeAt(list?.kind === 'list' ? list.items[0] : undefined, ['arguments', 'm']);
      return node?.kind === 'scalar' ? [node.text, node.guessed?.start.line] : [];
    };
    assert.deepEqual(given('echo log >&2; echo note 1>&2; echo all >> log.txt; { echo x; } &> y\necho big'), [
      'big',
      undefined,
    ]);
    assert.deepEqual(given('echo big >&1 2>/dev/null'), ['big', undefined]);
    const either = (first: string, then: string) => given(`if [ -d $X/y ]; then ${first}; else ${then}; fi`);
    assert.deepEqual(either('echo big', 'echo small'), ['big', 1]);
    assert.deepEqual(either('echo big; return', 'echo small; return'), ['big', 1]);
    assert.deepEqual(either('echo "no such thing" >&2', 'true'), ['', undefined]);
    const early = 'if [ -f $X/y ]; then echo big; return 0; fi\necho "falling back" >&2\necho small';
    assert.deepEqual(given(early), ['small', 1]);
    const checked = 'local c\nc=$(find x)\nif [[ -z $c ]]; then echo none >&2; return 1; fi\necho "$c"';
    assert.deepEqual(given(checked), ['$(find x)', undefined]);
  });

  it('gives the command the variables of env', () => {
    const [run] = commands(
      'env -u X CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft --a 1\n',
    ) as (Plain & {
      environment: Record<string, unknown>;
    })[];
    assert.deepEqual(run?.program, ['swift', 'sft']);
    assert.equal(run?.environment.NPROC_PER_NODE, 2);
  });

  it('never throws, whatever the text', () => {
    const pieces = ['a', '--b', '$C', '$' + '{D:-', '}', '"', "'", '$(', ')', '<<EOF', 'EOF', '\n', '\\\n'];
    const piece = fc.constantFrom(...pieces, 'if', 'fi', '=', ';', '((', '))', '|', '`', '[', ']', '+=');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (words) => {
        parseConfig(URI, words.join(' '));
        parseConfig(URI, words.join(''));
      }),
    );
  });
});
