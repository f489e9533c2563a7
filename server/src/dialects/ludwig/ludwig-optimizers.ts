import { classOptimizer, type OptimizerOptions, type OptimizerValues } from '../optimizer-names';

/** Class by its name in Ludwig (`schema/optimizers.py`); names with bits or pages are those of bitsandbytes. */
const CLASSES: Readonly<Record<string, string>> = {
  adam: 'torch.optim.Adam',
  adamw: 'torch.optim.AdamW',
  sgd: 'torch.optim.SGD',
  lbfgs: 'torch.optim.LBFGS',
  adadelta: 'torch.optim.Adadelta',
  adagrad: 'torch.optim.Adagrad',
  adamax: 'torch.optim.Adamax',
  nadam: 'torch.optim.NAdam',
  rmsprop: 'torch.optim.RMSprop',
  adam_8bit: 'bitsandbytes.optim.Adam8bit',
  adamw_8bit: 'bitsandbytes.optim.AdamW8bit',
  paged_adam: 'bitsandbytes.optim.PagedAdam',
  paged_adam_8bit: 'bitsandbytes.optim.PagedAdam8bit',
  paged_adamw: 'bitsandbytes.optim.PagedAdamW',
  paged_adamw_8bit: 'bitsandbytes.optim.PagedAdamW8bit',
  sgd_8bit: 'bitsandbytes.optim.SGD8bit',
  adagrad_8bit: 'bitsandbytes.optim.Adagrad8bit',
  rmsprop_8bit: 'bitsandbytes.optim.RMSprop8bit',
  lamb: 'bitsandbytes.optim.LAMB',
  lamb_8bit: 'bitsandbytes.optim.LAMB8bit',
  lars: 'bitsandbytes.optim.LARS',
  lion: 'bitsandbytes.optim.Lion',
  lion_8bit: 'bitsandbytes.optim.Lion8bit',
  paged_lion: 'bitsandbytes.optim.PagedLion',
  paged_lion_8bit: 'bitsandbytes.optim.PagedLion8bit',
};

/** Names that `trainer.optimizer.type` takes. */
export const LUDWIG_OPTIMIZERS: readonly string[] = Object.keys(CLASSES);

/** What a name states with the options beside it; undefined where it is none of Ludwig's. */
export function ludwigOptimizer(name: string, options: OptimizerOptions = {}): OptimizerValues | undefined {
  const path = Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined;
  return path === undefined ? undefined : classOptimizer(path, options);
}

/** The first name that means an optimizer. */
export function ludwigSpelling(optimizer: OptimizerValues['optimizer.name']): string | undefined {
  return LUDWIG_OPTIMIZERS.find((name) => ludwigOptimizer(name)?.['optimizer.name'] === optimizer);
}
