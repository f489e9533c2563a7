import { nodeAt } from '../../config/lookup';
import type { ConfigNode } from '../../config/node';
import { flagOf, numberOf, textOf } from '../../config/scalar';
import { DEEPSPEED, fileIn } from '../../sources/repositories';
import { closest, suggested } from '../../wording/closest';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import {
  DEEPSPEED_OPTIMIZERS,
  type OptimizerOptions,
  type OptimizerValues,
  optimizerIn,
  optimizerStatements,
  TORCH_OPTIMIZERS,
  torchOptimizer,
} from '../optimizer-names';
import { forbid } from '../refusal';

/** Optimizers that DeepSpeed tested with ZeRO; others need `zero_allow_untested_optimizer`. */
const ZERO_TESTED = new Set(['adam', 'adamw', 'adagrad', 'lion', 'muon']);

const NOTES = {
  get fused() {
    return say('DeepSpeed builds its fused kernel');
  },
  get 'for-loop'() {
    return say('DeepSpeed steps weight by weight');
  },
  get foreach() {
    return say('torch steps by foreach unless told otherwise');
  },
};

export interface DeepspeedOptimizer {
  /** As written. */
  readonly type: string;
  readonly node: ConfigNode;
  /** What it states of the run; undefined where the vocabulary has no such optimizer. */
  readonly values?: OptimizerValues;
  readonly own: boolean;
  /** DeepSpeed or torch know the name. */
  readonly known: boolean;
  readonly testedWithZero: boolean;
  readonly oneBit: boolean;
}

export function optimizerOf(root: ConfigNode): DeepspeedOptimizer | undefined {
  const node = nodeAt(root, 'optimizer.type');
  const type = textOf(node);
  if (!node || type === undefined) return undefined;
  const lower = type.toLowerCase();
  const own = Object.hasOwn(DEEPSPEED_OPTIMIZERS, lower);
  const options = optionsOf(root);
  const values = own ? optimizerIn(DEEPSPEED_OPTIMIZERS, lower, options) : torchOptimizer(type, options);
  // `Adam` decouples weight decay unless it is set not to; its states are the same.
  const plain = lower === 'adam' && flagOf(nodeAt(root, 'optimizer.params.adam_w_mode')) === false;
  return {
    type,
    node,
    values: values && plain ? { ...values, 'optimizer.name': 'adam' } : values,
    own,
    known: own || Object.hasOwn(TORCH_OPTIMIZERS, type),
    testedWithZero: ZERO_TESTED.has(lower),
    oneBit: /^(onebit|zeroone)/.test(lower),
  };
}

/** Options of `optimizer.params` that change what the optimizer keeps. */
function optionsOf(root: ConfigNode): OptimizerOptions {
  const options: Record<string, unknown> = {};
  for (const key of ['momentum', 'amsgrad', 'centered', 'foreach', 'fused']) {
    const node = nodeAt(root, `optimizer.params.${key}`);
    if (node) options[key] = flagOf(node) ?? numberOf(node);
  }
  return options;
}

/** States the optimizer; DeepSpeed's own kernels are fused, `torch_adam` and torch classes step by foreach. */
export function readOptimizer(
  root: ConfigNode,
  optimizer: DeepspeedOptimizer,
  offloaded: boolean,
  draft: Draft,
): void {
  const { node, values, own, type } = optimizer;
  const key = 'optimizer.type';
  if (!optimizer.known) {
    const near = closest(
      type,
      [...Object.keys(TORCH_OPTIMIZERS), 'OneBitAdam', 'ZeroOneAdam', 'OneBitLamb', 'Lamb', 'Lion'],
      2,
    );
    forbid(true, node, draft, {
      code: 'unknown-optimizer',
      message: say(
        'DeepSpeed knows no optimizer "{0}", and `torch.optim` has no class of that name.{1}',
        type,
        suggested(near, '"'),
      ),
      data: { replacement: near[0] },
      source: fileIn(DEEPSPEED, 'deepspeed/runtime/engine.py'),
      releases: {},
    });
  }
  if (!values) {
    draft.leaveWord(['optimizer.name', 'optimizer.implementation'], node, key);
    return;
  }
  const torchAdam = flagOf(nodeAt(root, 'optimizer.params.torch_adam')) === true;
  for (const { field, value } of optimizerStatements(values)) {
    if (field !== 'optimizer.implementation') draft.state(field, value, node, key);
  }
  // The CPU optimizer steps in host memory: how it is fused costs no GPU memory.
  if (offloaded && !torchAdam) return;
  const implementation = own && torchAdam ? 'foreach' : (values['optimizer.implementation'] ?? 'foreach');
  draft.assume('optimizer.implementation', implementation, NOTES[implementation], undefined, key);
}
