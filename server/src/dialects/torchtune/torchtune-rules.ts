import { nodeAt } from '../../config/lookup';
import type { MapNode } from '../../config/node';
import { flagOf, isBlank, textOf } from '../../config/scalar';
import type { RuleId } from '../../rules/rule-id';
import { fileIn, TORCHTUNE } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys, type KeyPolicy } from '../key-check';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { TORCHTUNE_TABLE } from './torchtune-keys';

const SOURCE = fileIn(TORCHTUNE, 'recipes/full_finetune_distributed.py');
const slips = scriptPolicy('torchtune', true);
/** Recipes of one's own have words of their own near to components of torchtune, such as `reward_mode` beside `reward_model`. */
const policy: KeyPolicy = {
  ...slips,
  unknown(parent, key, near) {
    const stated = near.filter((name) => {
      const row = TORCHTUNE_TABLE.find(parent === '' ? name : `${parent}.${name}`);
      return row?.type !== 'any' || (row.fields ?? []).length > 0;
    });
    return slips.unknown(parent, key, stated);
  },
};

/** What torchtune's recipes refuse. */
export function checkTorchtune(root: MapNode, section: Section, draft: Draft): void {
  checkKeys(root, TORCHTUNE_TABLE, policy, draft);
  const on = (key: string) => flagOf(section.find(key)?.node) === true;
  // `from`: the first release that refuses, of v0.1.0 to v0.6.1, where others that have the key take it.
  const refuse = (broken: boolean, key: string, code: RuleId, message: string, from?: string) =>
    forbid(broken, section.find(key)?.node, draft, {
      code,
      message,
      source: SOURCE,
      ...(from ? { releases: { from } } : {}),
    });
  refuse(
    textOf(section.find('dtype')?.node) === 'fp16',
    'dtype',
    'fp16-refused',
    say('torchtune trains in bf16 or fp32, not in fp16.'),
  );
  refuse(
    on('enable_activation_offloading') && !on('enable_activation_checkpointing'),
    'enable_activation_offloading',
    'offload-without-checkpointing',
    say('`enable_activation_offloading` needs `enable_activation_checkpointing`.'),
    '0.4.0',
  );
  const accumulation = section.integerOrDefault('gradient_accumulation_steps');
  refuse(
    on('optimizer_in_bwd') && accumulation > 1,
    'optimizer_in_bwd',
    'in-backward-accumulation',
    say('`optimizer_in_bwd` steps at once: it excludes gradient accumulation.'),
  );
  refuse(
    on('optimizer_in_bwd') && section.has('clip_grad_norm'),
    'optimizer_in_bwd',
    'in-backward-clipping',
    say('`optimizer_in_bwd` steps at once: it excludes `clip_grad_norm`.'),
    '0.4.0',
  );
  refuse(
    section.integerOrDefault('tensor_parallel_dim') > 1 && !section.has('tensor_parallel_plan'),
    'tensor_parallel_dim',
    'missing-plan',
    say('Tensor parallelism needs a `tensor_parallel_plan`.'),
  );
  const fused = nodeAt(root, 'optimizer.fused');
  // The check stands in `full_finetune_distributed.py` at v0.6.1 and is gone from 0.7 on.
  if (fused && section.integerOrDefault('tensor_parallel_dim') > 1 && flagOf(fused) === true)
    draft.report(
      'fused-tensor-parallel',
      'warning',
      say('torchtune up to 0.6.1 refuses the fused optimizer beside tensor parallelism.'),
      fused.range,
      { source: SOURCE },
    );
  const length = nodeAt(root, 'tokenizer.max_seq_len');
  const packed = section.flag('dataset.packed') === true;
  forbid(packed && length !== undefined && isBlank(length), length, draft, {
    code: 'packing-without-length',
    message: say('A packed data set needs `max_seq_len`: it is the length of every row.'),
    source: fileIn(TORCHTUNE, 'torchtune/datasets/_alpaca.py'),
  });
}
