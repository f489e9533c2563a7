import { attributesOf, callFunction, methodIn } from './functions';
import type { Machine } from './machine';
import { isNone } from './node-of-value';
import type { SyntaxNode } from './syntax-node';
import {
  argumentAt,
  type Passed,
  type PyArgument,
  type PyCall,
  type PyClass,
  type PyObject,
  type PyValue,
} from './value';

const TRAINER = /^(?:pytorch_lightning|lightning(?:\.pytorch)?)\.(?:trainer\.){0,2}Trainer$/;
const MODULE = /(?:^|\.)Lightning(?:Data)?Module$/;
const DATA_MODULE = /(?:^|\.)LightningDataModule$/;

/** A trainer of Lightning. */
export const isLightningTrainer = (call: PyCall | undefined): boolean =>
  call !== undefined && call.of === undefined && TRAINER.test(call.callee);

/**
 * `fit` calls hooks that prepare the data, of the data module and of the module, and takes the loader of `train_dataloader` where it is
 * given none itself (`trainer/trainer.py`, `fit`; `connectors/data_connector.py`, `attach_data`). What it trains on is passed with the call.
 */
export function followFit(machine: Machine, passed: Passed, node: SyntaxNode): Passed {
  const given = (key: string, place: number) =>
    passed.named.find((argument) => argument.key === key)?.value ?? passed.positional[place];
  const loaders = given('train_dataloaders', 1) ?? given('train_dataloader', 1);
  // A data module may stand in the place of loaders.
  const isData = loaders !== undefined && DATA_MODULE.test(calleeOf(machine, loaders) ?? '');
  const data = given('datamodule', 3) ?? (isData ? loaders : undefined);
  const module = given('model', 0);
  for (const owner of [data, module]) {
    hook(machine, owner, 'prepare_data', [], node);
    hook(machine, owner, 'setup', [machine.scalar('fit', node)], node);
  }
  if (loaders && !isData && !isNone(loaders)) return passed;
  const value = hook(machine, data ?? module, 'train_dataloader', [], node);
  if (!value) return passed;
  const range = machine.rangeOf(node);
  const loader: PyArgument = {
    key: 'train_dataloaders',
    keyRange: range,
    value,
    used: range,
    text: 'train_dataloader()',
  };
  const others = passed.named.filter(({ key }) => !/^train_dataloaders?$/.test(key));
  return { ...passed, positional: passed.positional.slice(0, 1), named: [...others, loader] };
}

const calleeOf = (machine: Machine, value: PyValue): string | undefined =>
  value.kind === 'object' && value.item === undefined ? machine.calls[value.id]?.callee : undefined;

/** What a hook of an object of the file's own class gives; undefined where it has none. */
function hook(
  machine: Machine,
  owner: PyValue | undefined,
  name: string,
  positional: readonly PyValue[],
  node: SyntaxNode,
): PyValue | undefined {
  const made =
    owner?.kind === 'object' && owner.item === undefined ? machine.instances.get(owner.id) : undefined;
  const own = made && methodIn(made, name);
  return own && callFunction(machine, own, { positional, named: [] }, node, owner);
}

/**
 * `self.save_hyperparameters()` keeps what `__init__` was given under `self.hparams` (`core/mixins/hparams_mixin.py`): all of it, what is
 * named, or what a dictionary or a namespace that is given holds. False where the method is another's.
 */
export function saveHyperparameters(
  machine: Machine,
  owner: PyObject,
  made: PyClass,
  passed: Passed,
): boolean {
  if (!MODULE.test(machine.calls[owner.id]?.callee ?? '') || methodIn(made, 'save_hyperparameters'))
    return false;
  const [first] = passed.positional;
  const isWhole = first !== undefined && (first.kind === 'object' || first.kind === 'dict');
  if (isWhole) {
    attributesOf(machine, owner.id).set(
      'hparams',
      first.kind === 'dict' ? { ...first, attributes: true } : first,
    );
    return true;
  }
  const named = passed.positional.map((value) => (value.kind === 'scalar' ? String(value.value) : undefined));
  const { values } = machine.scope;
  const entries = [...values].flatMap(([key, value]): PyArgument[] => {
    if (value === owner || (named.length > 0 && !named.includes(key))) return [];
    return [argumentAt(key, value)];
  });
  attributesOf(machine, owner.id).set('hparams', {
    kind: 'dict',
    entries,
    range: machine.calls[owner.id]?.range ?? owner.range,
    attributes: true,
  });
  return true;
}
