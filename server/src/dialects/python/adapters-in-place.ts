import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { argumentOf } from './call-block';
import { chainOf, type ModelChain } from './model-chain';

/** Functions and methods that make adapters in the model itself. */
const PUTS = /(?:^|\.)(?:get_peft_model|inject_adapter_in_model|PeftModel\w*\.from_pretrained)$/;
/** The same as methods of transformers' models (`integrations/peft.py`). */
const PUTS_OWN = /^(?:add_adapter|load_adapter)$/;
/** Methods that take them out again, of what PEFT has wrapped and of transformers' models. */
const TAKES_OUT = /^(?:unload|merge_and_unload|delete_adapter|disable_adapters|disable_adapter_layers)$/;

/** Whether PEFT makes adapters in a model without wrapping it: nothing casts them then. */
export const putsBare = ({ callee }: PyCall): boolean =>
  /(?:^|\.)(?:inject_adapter_in_model|add_adapter|load_adapter)$/.test(callee);

/** The config that such a call is given (`inject_adapter_in_model` takes it before the model). */
export function configOfPut(put: PyCall): PyValue | undefined {
  if (put.callee === 'add_adapter') return argumentOf(put, 'adapter_config', 0);
  return argumentOf(put, 'peft_config', /(?:^|\.)inject_adapter_in_model$/.test(put.callee) ? 0 : 1);
}

/**
 * The call that puts adapters into a model that is trained afterwards, where nothing on the model's way shows it: PEFT changes the model in
 * place (`get_peft_model`, "the model will be modified in-place"), whatever name holds what it gives back.
 */
export function adaptersInPlace(program: PyProgram, chain: ModelChain, trainer: PyCall): PyCall | undefined {
  // Adapters that are added to a model of PEFT's are put beside those that are trained.
  if (chain.steps.some(({ callee }) => PUTS.test(callee))) return undefined;
  const isOfChain = (value: PyValue | undefined): boolean => isOneModel(program, value, chain);
  return program.calls.findLast((call) => {
    if (call.id >= trainer.id || chain.ids.has(call.id)) return false;
    if (call.of && PUTS_OWN.test(call.callee)) return isOfChain(call.of);
    if (!PUTS.test(call.callee)) return false;
    const second = /(?:^|\.)inject_adapter_in_model$/.test(call.callee);
    return isOfChain(argumentOf(call, 'model', second ? 1 : 0));
  });
}

/** Whether a value is the model of a chain, or what its methods give back of it: `model.cuda()`. */
function isOneModel(program: PyProgram, value: PyValue | undefined, chain: ModelChain): boolean {
  if (value?.kind !== 'object') return false;
  if (value.item === undefined && chain.ids.has(value.id)) return true;
  const { load } = chainOf(program, value);
  return load !== undefined && load === chain.load;
}

/** Whether what a call has put into a model may be gone when it is trained, or may never have been there. */
export function isUncertain(program: PyProgram, put: PyCall, chain: ModelChain, trainer: PyCall): boolean {
  if (put.conditions.some((condition) => !trainer.conditions.includes(condition))) return true;
  return program.calls.some(
    ({ id, callee, of }) =>
      id > put.id &&
      id < trainer.id &&
      of !== undefined &&
      TAKES_OUT.test(callee) &&
      (of.id === put.id || chain.ids.has(of.id)),
  );
}
