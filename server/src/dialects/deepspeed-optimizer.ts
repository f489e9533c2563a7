import { nodeAt } from '../config/lookup';
import type { ConfigNode } from '../config/node';
import { flagOf, numberOf, textOf } from '../config/scalar';
import { closest } from '../run/closest';
import type { OptimizerName } from '../run/fields';
import type { Draft } from './draft';

/** DeepSpeed's own optimizers, matched without regard to case. */
const OWN: Readonly<Record<string, OptimizerName>> = {
  adam: 'adamw',
  adamw: 'adamw',
  adagrad: 'adagrad',
  lamb: 'lamb',
  lion: 'lion',
  muon: 'muon',
  muadam: 'adam',
  muadamw: 'adamw',
  musgd: 'sgd-momentum',
  onebitadam: 'onebit-adam',
  zerooneadam: 'zero-one-adam',
  onebitlamb: 'onebit-lamb',
};

/** Any other name is looked up in `torch.optim`, exactly as written. */
const TORCH: Readonly<Record<string, OptimizerName | undefined>> = {
  Adadelta: 'adadelta',
  Adafactor: 'adafactor',
  Adagrad: 'adagrad',
  Adam: 'adam',
  Adamax: 'adamax',
  AdamW: 'adamw',
  ASGD: undefined,
  LBFGS: undefined,
  Muon: 'muon',
  NAdam: 'nadam',
  RAdam: 'radam',
  RMSprop: 'rmsprop',
  Rprop: undefined,
  SGD: 'sgd',
  SparseAdam: undefined,
};

/** Optimizers that DeepSpeed tested with ZeRO; others need `zero_allow_untested_optimizer`. */
const ZERO_TESTED = new Set(['adam', 'adamw', 'adagrad', 'lion', 'muon']);

/** Optimizers that DeepSpeed has a fused GPU kernel for. */
const FUSED = new Set(['adam', 'adamw', 'lamb', 'lion']);

/** Optimizers that DeepSpeed steps weight by weight. */
const LOOPED = /^(onebit|zeroone|muon$)/i;

const NOTES = {
  fused: 'DeepSpeed builds its fused kernel',
  'for-loop': 'DeepSpeed steps weight by weight',
  foreach: 'torch steps by foreach unless told otherwise',
} as const;

export interface DeepspeedOptimizer {
  /** As written. */
  readonly type: string;
  readonly node: ConfigNode;
  readonly name?: OptimizerName;
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
  const own = Object.hasOwn(OWN, lower);
  const momentum = numberOf(nodeAt(root, 'optimizer.params.momentum')) ?? 0;
  const torch = TORCH[type] === 'sgd' && momentum > 0 ? 'sgd-momentum' : TORCH[type];
  // `Adam` decouples weight decay unless it is told not to; its states are the same.
  const plain = lower === 'adam' && flagOf(nodeAt(root, 'optimizer.params.adam_w_mode')) === false;
  return {
    type,
    node,
    name: plain ? 'adam' : own ? OWN[lower] : torch,
    own,
    known: own || Object.hasOwn(TORCH, type),
    testedWithZero: ZERO_TESTED.has(lower),
    oneBit: /^(onebit|zeroone)/.test(lower),
  };
}

/** States the optimizer; DeepSpeed's own kernels are fused, `torch_adam` and torch classes step by foreach. */
export function readOptimizer(
  root: ConfigNode,
  optimizer: DeepspeedOptimizer,
  offloaded: boolean,
  draft: Draft,
): void {
  const { node, name, own, type } = optimizer;
  const key = 'optimizer.type';
  if (!optimizer.known) {
    const near = closest(
      type,
      [...Object.keys(TORCH), 'OneBitAdam', 'ZeroOneAdam', 'OneBitLamb', 'Lamb', 'Lion'],
      2,
    );
    draft.report(
      'unknown-optimizer',
      'error',
      `DeepSpeed knows no optimizer "${type}", and \`torch.optim\` has no class of that name.${near.length > 0 ? ` Did you mean "${near.join('" or "')}"?` : ''}`,
      node.range,
      {
        data: { replacement: near[0] },
        source: 'https://www.deepspeed.ai/docs/config-json/#optimizer-parameters',
      },
    );
    return;
  }
  if (name === undefined) return;
  draft.state('optimizer.name', name, node, key);
  const torchAdam = flagOf(nodeAt(root, 'optimizer.params.torch_adam')) ?? false;
  const fusedKernel = own && !torchAdam && FUSED.has(type.toLowerCase());
  // The CPU optimizer steps in host memory: how it is fused costs no GPU memory.
  if (offloaded && !torchAdam) return;
  const implementation = fusedKernel
    ? 'fused'
    : own && LOOPED.test(type) && !torchAdam
      ? 'for-loop'
      : 'foreach';
  draft.assume('optimizer.implementation', implementation, NOTES[implementation], undefined, key);
}
