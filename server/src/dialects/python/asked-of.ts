import type { PyCall, PyValue } from '../../config/python/value';
import { argumentOf, type Calls } from './call-block';

/**
 * The `ModelConfig` that a function of TRL makes a value of: `get_peft_config(asked)`, `get_quantization_config(asked)`
 * (`trl/trainer/utils.py`). Undefined where another function makes it, or another object is passed.
 */
export function askedOf(
  { program }: Pick<Calls, 'program'>,
  value: PyValue,
  maker: 'get_peft_config' | 'get_quantization_config',
): PyCall | undefined {
  const call = value.kind === 'object' ? program.calls[value.id] : undefined;
  if (!call || !/^trl\./.test(call.callee) || !call.callee.endsWith(`.${maker}`)) return undefined;
  const given = argumentOf(call, 'model_args', 0) ?? argumentOf(call, 'model_config', 0);
  const config = given?.kind === 'object' && given.item === undefined ? program.calls[given.id] : undefined;
  return config && /^trl\.(?:\w+\.)*ModelConfig$/.test(config.callee) ? config : undefined;
}
