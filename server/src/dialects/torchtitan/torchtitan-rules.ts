import type { MapNode } from '../../config/node';
import { integerOf } from '../../config/scalar';
import { fileIn, TORCHTITAN } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys } from '../key-check';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { TORCHTITAN_TABLE } from './torchtitan-keys';

const SOURCE = fileIn(TORCHTITAN, 'torchtitan/distributed/parallel_dims.py');
const policy = scriptPolicy('torchtitan', true);

const DEGREES = [
  'data_parallel_replicate_degree',
  'data_parallel_shard_degree',
  'tensor_parallel_degree',
  'pipeline_parallel_degree',
  'context_parallel_degree',
] as const;

/** What torchtitan refuses (`parallel_dims.py`, `_validate`). */
export function checkTorchtitan(root: MapNode, section: Section, context: ReadContext, draft: Draft): void {
  checkKeys(root, TORCHTITAN_TABLE, policy, draft);
  const found = (key: string) =>
    section.find([`parallelism.${key}`, `experimental.${key}`, `training.${key}`]);
  const degree = (key: string) =>
    section.integerOrDefault([`parallelism.${key}`, `experimental.${key}`, `training.${key}`]);
  for (const key of DEGREES) {
    const value = degree(key);
    const rest = key === 'data_parallel_shard_degree' && value === -1;
    forbid(value < 1 && !rest, found(key)?.node, draft, {
      code: 'degree-out-of-range',
      message:
        key === 'data_parallel_shard_degree'
          ? say('`{0}` must be at least 1, or -1 for what is left.', key)
          : say('`{0}` must be at least 1.', key),
      source: SOURCE,
    });
  }
  const gpus = context.known['hardware.gpus'];
  const product = DEGREES.reduce((sum, key) => sum * Math.abs(degree(key)), 1);
  const open = degree('data_parallel_shard_degree') === -1;
  const stated = DEGREES.map((key) => found(key)).find((each) => each && (integerOf(each.node) ?? 1) !== 1);
  if (typeof gpus !== 'number' || !stated) return;
  forbid(open ? gpus % product !== 0 : gpus !== product, stated.node, draft, {
    code: 'parallel-sizes',
    message: open
      ? say('{0} GPUs are not a multiple of {1}, the product of all degrees.', String(gpus), String(product))
      : say('The product of all degrees is {0}, but the run has {1} GPUs.', String(product), String(gpus)),
    source: SOURCE,
  });
}
