import assert from 'node:assert/strict';
import type { Problem } from '../../../server/src/text/problem';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { LONG } from '../../unit/long';
import { processorMs } from '../../unit/processor-time';

/**
 * Texts that a pattern, a parser or an expansion could take ages over: each is analysed in a second or two of CPU, also where it is only a
 * neighbour of the config at hand. They are made, not random: random text finds no such place. What grows with the square takes
 * minutes; the most that is allowed leaves room for a busy machine. Milliseconds of CPU.
 */
const MOST = 2500;
const ROOT = 'file:///repo';

const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n');

const AXOLOTL = `base_model: meta-llama/Llama-3.1-8B
sequence_len: 512
micro_batch_size: 1
adapter: lora
datasets: []
hardware: 1
`;

const TEXTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a pattern that backtracks': {
    'run.yaml': `${AXOLOTL}lora_target_modules: "([a-z_.0-9]+)+!"\n# oomlint: gpu=H100 gpus=1\n`,
    'rank.yaml': `${AXOLOTL}lora_target_modules: [q_proj]\npeft:\n  rank_pattern: {"([a-z_.0-9]+)+!": 4}\n# oomlint: gpu=H100 gpus=1\n`,
    'optimizer.yaml': `${AXOLOTL}optim_target_modules: ["([a-z_.0-9]+)+!"]\noptimizer: galore_adamw\n# oomlint: gpu=H100 gpus=1\n`,
    'unfrozen.yaml': `${AXOLOTL}unfrozen_parameters: ["([a-z_.0-9]+)+!"]\n# oomlint: gpu=H100 gpus=1\n`,
  },
  'variables that double': {
    'run.sh': `a=x\n${'a=$a$a\n'.repeat(26)}torchrun train.py --x $a\n`,
    'default.sh': `a=x\n${`a=\${a:-b}\${a:-b}\n`.repeat(26)}torchrun train.py --x $a\n`,
    'array.sh': `a=(x)\n${`a=("\${a[@]}" "\${a[@]}")\n`.repeat(26)}torchrun train.py "\${a[@]}"\n`,
    'heredoc.sh': `a=x\n${'read -r a <<E\n$a$a\nE\n'.repeat(26)}torchrun train.py --x $a\n`,
  },
  'variables beside commands': {
    'run.sh': lines(17_900, (i) => (i % 9 === 0 ? `c${i} x` : `v${i}=1`)),
    'array.sh': `a=(${'x '.repeat(5000)})\n${`torchrun a.py "\${a[@]}"\n`.repeat(1900)}`,
    'word.sh': `a=xy\n${'a=$a$a\n'.repeat(12)}torchrun train.py --x ${'$a'.repeat(40_000)}\n`,
  },
  'scripts that ask much': {
    'pattern.sh': `a=${'a'.repeat(1900)}\n${`b=\${a%%${'*a'.repeat(40)}b}\n`.repeat(2000)}torchrun train.py --x $b\n`,
    'replace.sh': `a=${'a'.repeat(1900)}\n${`b=\${a//${'*a'.repeat(40)}b/x}\n`.repeat(2000)}torchrun train.py --x $b\n`,
    'case.sh': `a=${'a'.repeat(1900)}\ncase $a in\n${`${'*a'.repeat(40)}b) x=1;;\n`.repeat(2000)}esac\ntorchrun train.py --x $x\n`,
    'loops.sh': `${'for i in {1..900}; do\n'.repeat(8)}torchrun train.py --x $i\n${'done\n'.repeat(8)}`,
    'braces.sh': `torchrun train.py ${'{a,b}'.repeat(40)}\n${'torchrun train.py {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}\n'.repeat(500)}`,
    'branches.sh': `${lines(3000, (i) => `v${i}=1`)}\n${lines(3000, (i) => `if x${i}; then w${i}=2; fi`)}\ntorchrun train.py\n`,
    'nested.sh': `${'if x; then\n'.repeat(3000)}torchrun train.py\n${'fi\n'.repeat(3000)}`,
    'functions.sh': `${lines(60, (i) => `f${i}() { f${i + 1}; f${i + 1}; }`)}\nf60() { torchrun train.py; }\nf0\n`,
    'self.sh': 'f() { f; f; }\nf\nwhile true; do f; done\n',
    'eval.sh': `a='eval "$a"; eval "$a"'\neval "$a"\nbash -c "$a"\n`,
    'files.sh': lines(3000, (i) => `echo a > f${i}.sh\nbash f${i}.sh`),
    'captures.sh': `a=x\n${'a=$(echo $a $a)\n'.repeat(3000)}torchrun train.py --x $a\n`,
    'arrays.sh': `a=()\n${'a+=(x)\n'.repeat(9000)}torchrun train.py "\${a[@]}"\n`,
    'append.sh': `a=\n${'a+=x\n'.repeat(18_000)}torchrun train.py "$a"\n`,
    'spaces.sh': `a="${'x '.repeat(40_000)}"\n${'torchrun train.py $a\n'.repeat(900)}`,
  },
  'a list that is not closed': {
    'run.sh': `torchrun pretrain_gpt.py --num-layers 4 --moe-layer-freq "[${'1'.repeat(60_000)}x" --num-experts 4\n`,
    'megatron.yaml': `language_model:\n  num_layers: 4\n  moe_layer_freq: "[${'1'.repeat(60_000)}x"\n`,
  },
  'blank lines': Object.fromEntries(
    ['yaml', 'json', 'toml', 'sh', 'flags'].flatMap((ending) => [
      [`blank.${ending}`, '\n'.repeat(300_000)],
      [`less.${ending}`, `${'\n'.repeat(19_000)}x`],
    ]),
  ),
  'words of families again and again': Object.fromEntries(
    ['stage', 'model_name_or_path', 'run', '"run"', 'composer a', 'trl', 'defaults:', '#'].flatMap(
      (word, i) =>
        [
          [`word-${i}.yaml`, `${word} `.repeat(8000)],
          [`line-${i}.yaml`, `${word}\n`.repeat(19_000)],
          [`word-${i}.sh`, `${word} `.repeat(8000)],
        ].filter((_, kind) => LONG || kind === i % 3),
    ),
  ),
  'comments whose lines end as those of another system': {
    'cells.ipynb': JSON.stringify({
      cells: ['# a\r\n'.repeat(60), `${'# a\r\n'.repeat(60)}%%writefile a.py\r\n`].map((source) => ({
        cell_type: 'code',
        source: `${source}import trl, SFTTrainer`,
      })),
    }),
    'head.py': `${'# a\r\n'.repeat(60)}import trl\r\nSFTTrainer()\r\n`,
  },
  'long numbers': {
    'oomlint.yaml': `defaults:\n  gpus: "${'0'.repeat(30_000)}${'\\t'.repeat(30_000)}!"\n`,
    'run.yaml': AXOLOTL,
    'directive.yaml': `${AXOLOTL}# oomlint: gpus=${'1'.repeat(90_000)}!\n`,
    'quoted.yaml': `${AXOLOTL}sample_packing: "${'1'.repeat(90_000)}_"\ngradient_accumulation_steps: "${'1'.repeat(90_000)}_"\n`,
  },
  'long names': {
    'model.yaml': `${AXOLOTL}base_model_config: "${'/'.repeat(90_000)}x"\n# oomlint: model=${'/'.repeat(9000)}x\n`,
    'targets.yaml': `${AXOLOTL}lora_target_modules: "${'A'.repeat(90_000)}"\n# oomlint: gpu=H100 gpus=1\n`,
    'gpu.yaml': `${AXOLOTL}# oomlint: gpu=${'a x'.repeat(20_000)}1\n`,
    'deepspeed.yaml': `${AXOLOTL}deepspeed: "${'/'.repeat(90_000)}x"\n`,
    'slash.json': `{"train_batch_size": 1, "zero_optimization": {}, "deepspeed": "${'../'.repeat(30_000)}"}`,
  },
  'unknown keys': {
    'many.yaml': AXOLOTL + lines(19_000, (i) => `unknown_kee_${i}: ${i}`),
    'many.json': `{"zero_optimization": {"stage": 2},\n${lines(19_000, (i) => `"unknown_kee_${i}": ${i},`)}\n"z": 1}`,
    'many.toml': `[training]\nlocal_batch_size = 1\n${lines(19_000, (i) => `unknown_kee_${i} = ${i}`)}`,
    'many.flags': lines(19_000, (i) => `--unknown_kee_${i}=${i}`),
    'many.sh': `torchrun train.py ${lines(9000, (i) => `--unknown_kee_${i}=${i} \\`)}\n --model_name_or_path x\n`,
    'oomlint.yaml': `defaults:\n${lines(9000, (i) => `  unknown_kee_${i}: ${i}`)}\n`,
    'directive.yaml': `${AXOLOTL}# oomlint: ${lines(9000, (i) => `kee${i}=1`).replaceAll('\n', ' ')}\n`,
  },
  nesting: {
    'toml.toml': lines(19_000, (i) => `[training.${'a.'.repeat(20)}b${i}]`),
    'deep.toml': lines(2000, (i) => `[training.${'a.'.repeat(400)}b${i}]`),
    'quotes.sh': '`'.repeat(99_000),
    'braces.json': '{'.repeat(99_000),
    'lists.yaml': '['.repeat(99_000),
    'opens.sh': '$('.repeat(49_000),
    'comment.json': `{"zero_optimization": ${'/*'.repeat(49_000)}`,
  },
  'long lists': {
    'defaults.yaml': `trainer: {}\ndefaults:\n${lines(5000, (i) => `  - base_${i}`)}\n`,
    'datasets.yaml': `${AXOLOTL.replace('datasets: []\n', '')}datasets:\n${lines(15_000, (i) => `  - path: d${i}`)}\n`,
    'rules.oomlint-vocabulary.yaml': `keys:\n${lines(4000, (i) => `  k${i}: integer`)}\nrules:\n${lines(4000, (i) => `  - when: = x${i} > 1\n    message: m`)}\n`,
    'oomlint-flags.yaml': `keys:\n${lines(2000, (i) => `  k${i}:\n    field: batch.micro`)}\n`,
  },
};

describe('texts that are made to take long', function () {
  this.timeout(60_000);
  for (const [name, files] of Object.entries(TEXTS))
    for (const file of Object.keys(files))
      it(`${name}: ${file}`, async () => {
        const texts = Object.fromEntries(
          Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text]),
        );
        const uri = `${ROOT}/${file}`;
        const alone = new Workspace(new MemoryHost({ [uri]: texts[uri] ?? '' }, { folders: [ROOT] }));
        let problems: readonly Problem[] | undefined;
        const took = await processorMs(async () => {
          Workspace.mayBeConfig(uri, texts[uri] ?? '');
          await alone.checkProjectFile(uri);
          // Problems are made when they are asked for.
          problems = (await alone.analyze(uri))?.problems;
        });
        assert.deepEqual(
          problems?.filter(({ code }) => code === 'internal-error'),
          problems && [],
        );
        assert.ok(took < MOST, `${Math.round(took)} ms`);
      });

  it('files beside a config', async () => {
    const texts: Record<string, string> = {
      [`${ROOT}/ds_config.json`]: '{"zero_optimization": {"stage": 2}}',
    };
    for (const files of Object.values(TEXTS)) {
      const [first] = Object.entries(files);
      if (first && !first[0].startsWith('oomlint'))
        texts[`${ROOT}/${Object.keys(texts).length}-${first[0]}`] = `${first[1]}\n# ds_config.json\n`;
    }
    const workspace = new Workspace(new MemoryHost(texts, { folders: [ROOT] }));
    const took = await processorMs(async () => assert.ok(await workspace.analyze(`${ROOT}/ds_config.json`)));
    assert.ok(took < 2 * MOST, `${Math.round(took)} ms`);
  });
});
