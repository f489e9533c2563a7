import assert from 'node:assert/strict';
import { withEdits } from '../../../server/src/advice/write/text-edits';
import { parseConfig } from '../../../server/src/config/parse';
import { codeActions } from '../../../server/src/features/code-actions';
import { smallWorkspace } from './small-workspace';

/*
 * What a review of robustness found by odd texts, each as the smallest file that shows it: names that every object of JavaScript has,
 * halves of characters, figures that are none, and corrections that break a file.
 */

const CARD = '# oomlint: gpu=H100 gpus=8\n';
/** What `{}` answers to, and so do tables that are looked up without care. */
const INHERITED = ['constructor', '__proto__', 'hasOwnProperty', 'toString', 'valueOf'];

async function look(file: string, text: string) {
  const analysis = await smallWorkspace({ [file]: text }).workspace.analyze(`file:///repo/${file}`);
  const messages = (analysis?.problems ?? []).map(({ code, message }) => `${code}: ${message}`);
  return { analysis, messages };
}

describe('names that every object has', () => {
  const written = (name: string): readonly (readonly [what: string, file: string, text: string])[] => [
    [
      'the type of a model',
      'run.oomlint.json',
      JSON.stringify({
        run: {
          model: {
            config: {
              model_type: name,
              hidden_size: 64,
              num_attention_heads: 4,
              num_hidden_layers: 2,
              vocab_size: 100,
            },
          },
          batch: { micro: 1, sequence: 128 },
          hardware: { gpu: 'H100', gpus: 1 },
        },
      }),
    ],
    [
      'a component of torchtune',
      'torchtune.yaml',
      `${CARD}model:\n  _component_: ${name}\ntokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: 512\noptimizer:\n  _component_: ${name}\nloss:\n  _component_: ${name}\nbatch_size: 1\ndtype: ${name}\n`,
    ],
    [
      'a tokenizer of GPT-NeoX',
      'neox.yml',
      `${CARD}pipe_parallel_size: 1\nmodel_parallel_size: 1\nnum_layers: 2\nhidden_size: 64\nnum_attention_heads: 4\nseq_length: 128\nmax_position_embeddings: 128\ntrain_micro_batch_size_per_gpu: 1\ntokenizer_type: ${name}\n`,
    ],
    [
      'an interpolation',
      'verl.yaml',
      `${CARD}actor_rollout_ref:\n  model:\n    path: Qwen/Qwen2.5-7B\n  actor:\n    ppo_micro_batch_size_per_gpu: "\${${name}:1}"\n    ppo_mini_batch_size: "\${${name}:1,2}"\n`,
    ],
    [
      'values of Axolotl',
      'axolotl.yaml',
      `${CARD}base_model: gpt2\nadapter: ${name}\noptimizer: ${name}\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: []\n${name}: 1\n`,
    ],
    [
      'keys and values of DeepSpeed',
      'ds.json',
      `{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2, "${name}": 1}, "optimizer": {"type": "${name}"}}`,
    ],
    [
      'flags',
      'run.sh',
      `${CARD}torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 --${name} 1 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --tokenizer-type ${name}\n`,
    ],
  ];
  for (const name of INHERITED)
    it(`\`${name}\` is a name that nobody knows, wherever it stands`, async () => {
      for (const [what, file, text] of written(name)) {
        const { analysis, messages } = await look(file, text);
        assert.ok(analysis, what);
        const odd = messages.filter((line) => /internal-error|NaN|native code|\[object/.test(line));
        assert.deepEqual(odd, [], what);
        // A model of this name is none.
        if (/model|component/.test(what)) assert.equal(analysis.estimate, undefined, what);
      }
    });
});

describe('half of a character', () => {
  for (const [file, text] of [
    ['run.json', '{"train_batch_size": 8, "zero_optimization": {"stage": 2}, "deepspeed": "\\udfff"}'],
    [
      'axolotl.yaml',
      `${CARD}base_model: "\\udfff"\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: []\ndeepspeed: "\\ud800/\\udfff.json"\n`,
    ],
    [
      'sft.yaml',
      `${CARD}model_name_or_path: gpt2\nfsdp_config: "\\udfff"\nfsdp: full_shard\nper_device_train_batch_size: 1\ndataset_name: d\nlearning_rate: 1.0e-5\nmax_length: 8\n`,
    ],
  ] as const)
    it(`in ${file} names no file and breaks nothing`, async () => {
      const { analysis, messages } = await look(file, text);
      assert.ok(analysis);
      assert.deepEqual(
        messages.filter((line) => line.startsWith('internal-error')),
        [],
      );
    });
});

describe('figures that are none', () => {
  const GPT =
    '--num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --bf16 --vocab-size 50257';
  for (const [name, text] of [
    [
      'a share of rotary positions of 1e308',
      `torchrun --nproc_per_node 8 pretrain_gpt.py ${GPT} --use-rotary-position-embeddings --rotary-percent 1e308\n`,
    ],
    [
      'samples of 10^15 tokens',
      'torchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 1 --block_size 1000000000000000 --do_train\n',
    ],
    [
      'samples of 10^15 tokens, as FastChat names them',
      'torchrun --nproc_per_node 8 fastchat/train/train_mem.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --model_max_length 1000000000000000 --bf16 True\n',
    ],
  ] as const)
    it(`${name}: no estimate, and why`, async () => {
      const { analysis, messages } = await look('run.sh', CARD + text);
      assert.ok(analysis);
      assert.equal(analysis.estimate, undefined);
      assert.ok(
        messages.some((line) => /^(?:no-figure|unknown-fields|bad-value)/.test(line)),
        messages.join('\n'),
      );
    });
});

describe('a correction of a word that begins with a variable', () => {
  it('leaves a script that parses', async () => {
    const text = `${CARD}ROOT=meta-lama\npython run_clm.py --model_name_or_path $ROOT"/Llama-3.1-8B" --per_device_train_batch_size 1 --block_size 512 --do_train --optm adamw_torch\n`;
    const { analysis } = await look('run.sh', text);
    assert.ok(analysis);
    const range = { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } };
    const offered = codeActions(analysis, { text, range }).filter(({ edits }) => edits.length > 0);
    assert.ok(offered.length > 0);
    for (const { title, edits } of offered) {
      const own = edits.filter(({ uri }) => uri === undefined || uri === 'file:///repo/run.sh');
      const after = withEdits(text, own);
      assert.deepEqual(
        parseConfig('file:///repo/run.sh', after).problems.filter(({ code }) => code === 'syntax'),
        [],
        `${title}: ${after}`,
      );
      assert.equal((after.match(/"/g) ?? []).length % 2, 0, `${title}: ${after}`);
    }
  });
});

describe('a run that Oomlint itself fails on', () => {
  const fails = () => {
    throw new Error('boom');
  };
  const RUN = `base_model: gpt2\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: []\n${CARD}`;

  it('is reported as unread, and not at all where the file is switched off', async () => {
    const of = async (text: string) =>
      smallWorkspace({ 'a.yaml': text }, { estimate: fails }).workspace.analyze('file:///repo/a.yaml');
    assert.deepEqual(
      (await of(RUN))?.problems.map(({ code, severity }) => [code, severity]),
      [['internal-error', 'warning']],
    );
    assert.equal(await of(`# oomlint: off\n${RUN}`), undefined);
  });
});
