import { nodeAt } from '../../config/lookup';
import type { ConfigNode, MapNode } from '../../config/node';
import { flagOf, textOf } from '../../config/scalar';

/** What kind of run the file describes. */
export interface RunKind {
  /** `distributed_type` as written; unquoted `NO` is read as false by YAML and still means none. */
  readonly type: string;
  readonly node?: ConfigNode;
  /** Runs on NVIDIA or AMD GPUs, so that it can be estimated. */
  readonly gpu: boolean;
  readonly sagemaker: boolean;
}

export function runKindOf(root: MapNode): RunKind {
  const node = nodeAt(root, 'distributed_type');
  // YAML takes `no` for false, however it is spelled.
  const type = (node && flagOf(node) === false ? undefined : textOf(node)?.toUpperCase()) ?? 'NO';
  const other = /^(XLA|TPU|MULTI_(?!GPU$).*)$/.test(type);
  const cpu = flagOf(nodeAt(root, 'use_cpu')) === true;
  const sagemaker = textOf(nodeAt(root, 'compute_environment')) === 'AMAZON_SAGEMAKER';
  return { type, node, gpu: !other && !cpu, sagemaker };
}
