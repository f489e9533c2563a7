import { nodeAt } from '../../config/lookup';
import type { ConfigNode, MapNode } from '../../config/node';
import { flagOf, textOf } from '../../config/scalar';
import { say } from '../../wording/say';

/** What kind of run the file describes. */
export interface RunKind {
  /** `distributed_type` as written; unquoted `NO` is read as false by YAML and still means none. */
  readonly type: string;
  readonly node?: ConfigNode;
  /** Runs on NVIDIA or AMD GPUs, so that it can be estimated. */
  readonly gpu: boolean;
  /** Devices of another kind that `distributed_type` asks for, in words. */
  readonly others?: string;
  readonly sagemaker: boolean;
}

export function runKindOf(root: MapNode): RunKind {
  const node = nodeAt(root, 'distributed_type');
  // YAML takes `no` for false, however it is spelled.
  const type = (node && flagOf(node) === false ? undefined : textOf(node)?.toUpperCase()) ?? 'NO';
  const others = otherDevicesOf(type);
  const cpu = flagOf(nodeAt(root, 'use_cpu')) === true;
  const sagemaker = textOf(nodeAt(root, 'compute_environment')) === 'AMAZON_SAGEMAKER';
  return {
    type,
    node,
    gpu: others === undefined && !cpu,
    ...(others === undefined ? {} : { others }),
    sagemaker,
  };
}

function otherDevicesOf(type: string): string | undefined {
  if (type === 'MULTI_CPU') return say('CPUs');
  if (type === 'XLA' || type === 'TPU') return say('TPUs');
  return /^MULTI_(?!GPU$)/.test(type) ? say('accelerators of type {0}', type) : undefined;
}
