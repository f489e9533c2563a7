import { readFileSync } from 'node:fs';
import type { DocumentedRun } from './documented';

/*
 * Topologies that BigScience tried on A100-80GB before BLOOM was trained: first in fp16 with ZeRO 1, then with DeepSpeed's
 * BF16_Optimizer, which splits its states at stage 0. `line` is that of the table, `gb` what nvidia-smi showed. Line 957 is left
 * out: it states out of memory where the run of line 939, of which each GPU holds as many parameters (4.25 and 4.32 billion) and
 * tokens, took 67 GB.
 */
const SOURCE =
  'https://github.com/bigscience-workshop/bigscience/blob/9e64edec2ad1fb9263bf39ba616a84ff64b4d947/train/tr11-176B-ml/chronicles-prequel.md';

export function bloomRuns(): DocumentedRun[] {
  const [, ...rows] = readFileSync('test/verdicts/bloom.tsv', 'utf8').trimEnd().split('\n');
  return rows.map((row) => {
    const [line, nodes, hidden, layers, heads, tensor, pipeline, micro, global, stage, precision, outcome] =
      row.split('\t');
    const balanced = precision === 'bf16' ? " --pp-partition-method 'type:transformer|embedding'" : '';
    const script = `#!/bin/bash
# oomlint: gpu=A100-SXM4-80GB
#SBATCH --nodes=${nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
cat <<EOT > ds_config.json
{
  "train_micro_batch_size_per_gpu": ${micro},
  "train_batch_size": ${global},
  "gradient_clipping": 1.0,
  "zero_optimization": {"stage": ${stage}},
  "${precision}": {"enabled": true}
}
EOT
LAUNCHER="python -u -m torch.distributed.run --nproc_per_node 8 --nnodes $SLURM_NNODES"
CMD="pretrain_gpt.py --tensor-model-parallel-size ${tensor} --pipeline-model-parallel-size ${pipeline} \\
  --num-layers ${layers} --hidden-size ${hidden} --num-attention-heads ${heads} --seq-length 2048 \\
  --max-position-embeddings 2048 --micro-batch-size ${micro} --global-batch-size ${global}${balanced} \\
  --optimizer adam --embed-layernorm --position-embedding-type alibi --pad-vocab-size-to 250880 --${precision} \\
  --checkpoint-activations --deepspeed --deepspeed_config ds_config.json --zero-stage ${stage} \\
  --deepspeed-activation-checkpointing"
srun bash -c "$LAUNCHER --node_rank \\$SLURM_PROCID $CMD"
`;
    return {
      source: `${SOURCE}#L${line}`,
      outcome: outcome === 'ran' ? 'ran' : 'out-of-memory',
      file: 'train.slurm',
      files: { 'train.slurm': script },
    };
  });
}
