import assert from 'node:assert/strict';
import { estimate as estimateOf } from '../../../server/src/estimate';
import { ABOVE_OF_OWN_CODE } from '../../../server/src/memory/bands';
import { smallWorkspace } from './small-workspace';

const MEGATRON =
  'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 8 --bf16 --vocab-size 50257 --tokenizer-type NullTokenizer';

async function looked(script: string) {
  const { analyze } = smallWorkspace({
    'a.sh': `${script}\n`,
    'oomlint.yaml': 'targets: {gpu: H100-SXM5-80GB}\n',
  });
  const { estimate, problems } = await analyze('a.sh');
  const judged = problems.filter(({ code }) => /not-fit|tight|modelled/.test(code));
  return { verdict: estimate?.verdict, judged, estimate };
}

const tensor = (lines: string) => `${lines}\n${MEGATRON} --tensor-model-parallel-size $TP`;

describe('a condition that a script does not settle', () => {
  it('leaves the verdict open where it is another on another way, towards fits too', async () => {
    for (const script of [
      tensor('if [ "$MODE" = big ]; then TP=1; else TP=8; fi'),
      tensor('if [ "$MODE" = big ]; then TP=8; else TP=1; fi'),
      tensor('case "$1" in a) TP=8;; b) TP=4;; *) TP=1;; esac'),
      `EXTRA=""\nif [ "$MODE" = big ]; then EXTRA="--tensor-model-parallel-size 8"; fi\n${MEGATRON} $EXTRA`,
      `ARGS=(--tensor-model-parallel-size 1)\nif [ "$MODE" = big ]; then ARGS=(--tensor-model-parallel-size 8); fi\n${MEGATRON} "\${ARGS[@]}"`,
      `if [ "$MODE" = long ]; then LENGTH=32768; else LENGTH=512; fi\n${MEGATRON} --tensor-model-parallel-size 8 --seq-length $LENGTH --max-position-embeddings 32768`,
    ]) {
      const { verdict, judged } = await looked(script);
      assert.equal(verdict, 'unknown', script);
      assert.deepEqual(
        judged.map(({ code, severity }) => [code, severity]),
        [['feature-not-modelled', 'information']],
        script,
      );
      assert.match(
        judged[0]?.message ?? '',
        /^Needs about .*, and .* GiB where `.*` turns out otherwise/,
        script,
      );
    }
  });

  it('states both ends', async () => {
    const { estimate } = await looked(tensor('if [ "$MODE" = big ]; then TP=1; else TP=8; fi'));
    assert.ok(estimate);
    const gib = (bytes: number) => bytes / 2 ** 30;
    assert.ok(gib(estimate.peak.lowerBytes) < 40);
    assert.ok(gib(estimate.peak.upperBytes) > 220);
  });

  it('keeps a verdict on which all ways agree', async () => {
    assert.equal((await looked(tensor('if [ "$MODE" = big ]; then TP=4; else TP=8; fi'))).verdict, 'fits');
    assert.equal((await looked(tensor('if [ "$MODE" = big ]; then TP=2; else TP=1; fi'))).verdict, 'exceeds');
    assert.equal(
      (
        await looked(
          `if [ "$DEBUG" = 1 ]; then OUT=/a; else OUT=/b; fi\n${MEGATRON} --tensor-model-parallel-size 8 --save $OUT`,
        )
      ).verdict,
      'fits',
    );
  });

  it('keeps one that the script settles', async () => {
    assert.equal(
      (await looked(tensor('MODE=small\nif [ "$MODE" = big ]; then TP=1; else TP=8; fi'))).verdict,
      'fits',
    );
  });
});

describe('words of a launch that are not known', () => {
  const split = `${MEGATRON} --tensor-model-parallel-size 8`;

  it('leave the verdict open where they are there for certain', async () => {
    for (const script of [`${split} $(cat extra.txt)`, `source config.sh\n${split} $PARALLEL_ARGS`]) {
      const { verdict, judged } = await looked(script);
      assert.equal(verdict, 'unknown', script);
      assert.match(judged[0]?.message ?? '', /^Needs about .* without what `\$.*` holds/, script);
    }
  });

  it('leave it where whoever starts the script may give some', async () => {
    for (const script of [`${split} "$@"`, `${split} $EXTRA_ARGS`])
      assert.equal((await looked(script)).verdict, 'fits', script);
  });
});

describe('code of the run that is not read', () => {
  const SCRIPT = 'train.py';
  const FLAGS =
    '--model_name_or_path Qwen/Qwen2.5-3B --bf16 true --model_max_length 4096 --gradient_checkpointing true --learning_rate 1e-5 --output_dir out';
  const VERSIONS = 'transformers==5.0.0\ntorch==2.9.0\naccelerate==1.12.0\n';

  async function judged(flags: string, script = SCRIPT, versions = VERSIONS) {
    const { analyze } = smallWorkspace({
      'a.sh': `torchrun --nproc_per_node 1 ${script} ${FLAGS} ${flags}\n`,
      'requirements.txt': versions,
      'oomlint.yaml': 'targets: {gpu: A100-SXM4-80GB}\n',
    });
    const { estimate, problems, alternative } = await analyze('a.sh');
    return {
      estimate,
      alternative,
      verdict: estimate?.verdict,
      messages: problems
        .filter(({ code }) => /not-fit|tight|modelled/.test(code))
        .map(({ message }) => message),
    };
  }

  it('makes no run that fits of one that would not with what its code may answer and nobody states', async () => {
    const unnamed = await judged('--per_device_train_batch_size 6', SCRIPT, '');
    assert.equal(unnamed.verdict, 'unknown');
    assert.match(
      unnamed.messages.join(),
      /^Needs about 7\d\.\d of 79\.3 GiB on \S+, as far as `train\.py` does what is usual\. No file names the versions of .* With versions of a year ago .* it would need 1\d\d\.\d GiB\.$/,
    );
    const untyped = await judged('--per_device_train_batch_size 6');
    assert.equal(untyped.verdict, 'unknown');
    assert.match(
      untyped.messages.join(),
      /In which type its code loads the weights is not read\. With weights in fp32 it would need 1\d\d/,
    );
  });

  it('leaves room for what it does beyond its flags', async () => {
    const { verdict, messages, estimate, alternative } = await judged(
      '--per_device_train_batch_size 6 --torch_dtype bfloat16',
    );
    assert.equal(verdict, 'unknown');
    assert.match(
      messages.join(),
      /does what is usual\. `train\.py` is a script of the project: what it does beyond its flags is not read\.$/,
    );
    const input = alternative?.({});
    assert.ok(input && estimate);
    const { peak, bands } = estimateOf(input);
    const more = Math.round(peak.allocatedBytes * (ABOVE_OF_OWN_CODE - bands.allocated.above));
    assert.equal(estimate.peak.upperBytes, peak.upperBytes + more);
    // The whisker reaches over the card, which the run alone does not.
    assert.ok(peak.upperBytes < estimate.capacityBytes && estimate.peak.upperBytes > estimate.capacityBytes);
  });

  it('leaves a run that fits with room to spare as it is, and one that does not', async () => {
    assert.equal((await judged('--per_device_train_batch_size 1', SCRIPT, '')).verdict, 'fits');
    assert.equal((await judged('--per_device_train_batch_size 12')).verdict, 'exceeds');
  });

  it('asks nothing of logits that no kernel makes', async () => {
    const flags = '--per_device_train_batch_size 6 --torch_dtype bfloat16 --use_liger_kernel true';
    assert.equal((await judged(flags)).verdict, 'fits');
  });

  it('leaves the same room for a flag whose effect is not counted', async () => {
    const batch = MEGATRON.replace('--micro-batch-size 1', '--micro-batch-size 2');
    const split = `${batch} --tensor-model-parallel-size 4 --seq-length 2304 --use-flash-attn`;
    assert.equal((await looked(split)).verdict, 'fits');
    const { verdict, judged: found } = await looked(`${split} --own-norm 2`);
    assert.equal(verdict, 'unknown');
    assert.match(
      found.map(({ message }) => message).join(),
      /^Needs about 71\.\d of 79\.1 GiB on \S+ without what `--own_norm` changes\. `--own_norm` is a flag of the script itself/,
    );
  });
});
