import { nodeOf } from '../../config/python/node-of-value';
import type { PyArgument, PyCall } from '../../config/python/value';
import { readDeepspeedSettings } from '../deepspeed/deepspeed';
import { DEEPSPEED_TABLE } from '../deepspeed/deepspeed-keys';
import type { ReadContext } from '../dialect';
import { Section } from '../section';
import { type Calls, leaveUnknownIn, worst } from './call-block';
import { asWritten } from './written-files';

/**
 * An argument that takes DeepSpeed's settings or the file that holds them: `deepspeed.initialize(config=...)`,
 * `DeepSpeedPlugin(hf_ds_config=...)`. False where only the running script knows them; nothing is stated then.
 */
export function readDeepspeedArgument(
  { program, draft, bf16 }: Calls,
  call: PyCall,
  argument: PyArgument,
  context: ReadContext,
): boolean {
  const { key, keyRange, used } = argument;
  const value = asWritten(program, argument.value);
  if (value.kind === 'dict' && !value.open) {
    leaveUnknownIn(draft, { ...argument, value }, DEEPSPEED_TABLE, '', []);
    const node = nodeOf(value, { bf16, choose: worst });
    if (node.kind === 'map') readDeepspeedSettings(node, draft, context);
    return true;
  }
  if (value.kind !== 'scalar' || typeof value.value !== 'string') return false;
  const entries = [{ key, keyRange, value: nodeOf(value, { used }) }];
  const name = call.callee.split('.').at(-1) ?? call.callee;
  new Section({ kind: 'map', entries, range: call.argumentsRange }, draft, name).link(key, 'deepspeed');
  draft.state('parallel.data', 'zero', { range: used }, key);
  return true;
}
