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
  /** `use_cpu`, where it counts. */
  readonly cpu?: ConfigNode;
  /** Devices of another kind that `distributed_type` asks for, in words. */
  readonly others?: string;
  readonly sagemaker: boolean;
}

/**
 * The launcher hands `use_cpu` of a file on where it starts the script itself (accelerate 0.20 to 1.15, `utils/launch.py`,
 * `prepare_simple_launcher_cmd_env`): those that it starts several processes by never see it, unlike its flag `--cpu`.
 */
export function runKindOf(root: MapNode): RunKind {
  const node = nodeAt(root, 'distributed_type');
  // YAML takes `no` for false, however it is spelled.
  const type = (node && flagOf(node) === false ? undefined : textOf(node)?.toUpperCase()) ?? 'NO';
  const others = otherDevicesOf(type);
  const cpu = nodeAt(root, 'use_cpu');
  const sagemaker = textOf(nodeAt(root, 'compute_environment')) === 'AMAZON_SAGEMAKER';
  const onCpu = !sagemaker && /^(?:NO|MULTI_CPU)$/.test(type) && flagOf(cpu) === true;
  return {
    type,
    node,
    gpu: others === undefined && !onCpu,
    ...(onCpu ? { cpu } : {}),
    ...(others === undefined ? {} : { others }),
    sagemaker,
  };
}

function otherDevicesOf(type: string): string | undefined {
  if (type === 'MULTI_CPU') return say('CPUs');
  if (type === 'XLA' || type === 'TPU') return say('TPUs');
  return /^MULTI_(?!GPU$)/.test(type) ? say('accelerators of type {0}', type) : undefined;
}
