import { entryOf } from '../../config/lookup';
import { flagOf } from '../../config/scalar';
import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import { rejectMisfits } from '../key-check';
import type { Program } from '../launch/program';
import { Section } from '../section';
import { readMegatronArguments } from './megatron-arguments';
import { MEGATRON_KEYS, MEGATRON_TABLE } from './megatron-keys';
import { MEGATRON_DEEPSPEED } from './megatron-repository';
import { checkMegatron } from './megatron-rules';
import { megatronWords } from './megatron-words';

const SCRIPT =
  /(^|\/)(pretrain|finetune|train)_(gpt|gpt2|bert|t5|llama|mamba|hybrid|moe|mixtral|vlm|retro)\w*\.py$/;
/** Scripts that take the same flags and train nothing. */
const SERVES = /inference|generat|text_gen|server|eval|zeroshot|prompting|convert/;
/** Scripts that take the same flags for other models: two encoders (`pretrain_ict.py`), neighbours that are retrieved (`pretrain_retro.py`), images (`pretrain_vision_*.py`), a classifier (`tasks/main.py`). */
const OTHER_MODEL = /(^|\/)(?:pretrain_(?:ict|biencoder|realm|retro|vision_\w+)|tasks\/(?:\w+\/)?main)\.py$/;
/**
 * Flags of the forks alone, and of Megatron-LM from before its core, which they are made from: those that 0.4 has no more, whose layers are
 * Megatron's own unless Transformer Engine's are asked for (https://github.com/NVIDIA/Megatron-LM/blob/v2.6/megatron/arguments.py; the
 * default of later releases is in `framework-keys/megatron.jsonl`).
 */
const OF_FORKS = [
  'DDP_impl',
  'activations_checkpoint_method',
  'data_impl',
  'distribute_checkpointed_activations',
  'checkpoint_activations',
  'checkpoint_num_layers',
  'deepspeed_activation_checkpointing',
  'zero_stage',
  'no_pipeline_parallel',
];
const ENGINE = fileIn(MEGATRON_DEEPSPEED, 'megatron/training.py');

/** Megatron-LM's `pretrain_*.py`, and forks that run DeepSpeed beneath. */
export const megatronProgram: Program = {
  name: 'Megatron-LM',
  refusesOthers: true,
  vocabulary: MEGATRON_TABLE.released,
  keys: MEGATRON_KEYS,
  words: megatronWords,
  match(launch) {
    const has = (key: string) => entryOf(launch.arguments, key) !== undefined;
    if (['swift', 'megatron'].includes(launch.program[0] ?? '')) return 0;
    if (!has('num_layers') && !has('hidden_size') && !has('encoder_num_layers') && !has('yaml_cfg')) return 0;
    if (SCRIPT.test(launch.script ?? '')) return 1;
    return (has('micro_batch_size') || has('batch_size')) && has('num_attention_heads') ? 0.95 : 0;
  },
  read(launch, draft, context) {
    const path = `${launch.path}.arguments`;
    const args = new Section(launch.arguments, draft, path, MEGATRON_TABLE);
    const yaml = args.link('yaml_cfg', 'include');
    const deepspeed = flagOf(args.find('deepspeed')?.node) === true || args.has('deepspeed_config');
    if (deepspeed) readDeepspeed(args);
    if (yaml) return;
    const script = launch.script ?? '';
    if (OTHER_MODEL.test(script) && launch.scriptNode) draft.refuseTask(launch.scriptNode, script);
    const fork = deepspeed || OF_FORKS.some((key) => args.has(key));
    readMegatronArguments(args, draft, {
      fork,
      bert: /bert/.test(script),
      sees: /vlm/.test(script),
      flags: true,
      infers: SERVES.test(script),
    });
    // Forks have words of their own.
    if (!fork) rejectMisfits(launch.arguments, MEGATRON_TABLE, draft);
    checkMegatron(args, context, draft, {
      modern: !fork,
      complete: true,
      flags: true,
      shown: (name) => `\`--${name.replaceAll('_', '-')}\``,
    });
  },
};

/** DeepSpeed beneath Megatron: its JSON, and the flags that repeat it. */
function readDeepspeed(args: Section): void {
  args.link('deepspeed_config', 'deepspeed');
  const flag = args.find(['deepspeed', 'deepspeed_config']);
  if (!flag) return;
  args.take('zero_stage');
  args.state('parallel.data', 'zero', flag, say('DeepSpeed shards data-parallel state'));
  const low = args.flag('bf16') === true || args.flag('fp16') === true;
  if (low) args.state('precision.scheme', 'deepspeed', flag, say('DeepSpeed keeps the masters'));
  const offload = args.find('cpu_optimizer');
  if (offload && flagOf(offload.node) === true) args.state('offload.optimizer', 'cpu', offload);
  const small = args.find('use_bnb_optimizer');
  if (small && flagOf(small.node) === true) args.state('optimizer.name', 'adamw-8bit', small);
  const split = args.find('partition_activations');
  if (split && flagOf(split.node) === true) args.state('activations.distributed', true, split);
  const away = args.find('checkpoint_in_cpu');
  if (away && flagOf(away.node) === true) args.state('activations.offload', true, away);
  args.assume('framework', { value: 'megatron-deepspeed', note: 'Megatron-DeepSpeed', source: ENGINE });
}
