import { LOADS } from '../../config/python/made-of';
import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { say } from '../../wording/say';
import { argumentOf, type Calls } from './call-block';
import { SPREADS } from './python-model';

/** Modules of which some start processes, and some share a model among those that are there. */
const SHARES =
  /^(?:torch\.(?:distributed|multiprocessing|nn\.parallel)|multiprocessing|accelerate|deepspeed|horovod|fairscale|colossalai|torch_xla|ray|apex|megatron|ignite|lightning|pytorch_lightning|lightning_fabric)(?:\.|$)/;
/** A GPU other than the first one. */
const OTHER_GPU = /^(?:cuda|xpu):[1-9]/;

/**
 * A loop of one's own that nothing gives to other processes, and no part of whose model lies on another GPU: however many a machine has, it
 * runs on one.
 */
export function inferOneGpu({ program, draft }: Calls, backward: PyCall): void {
  if (draft.knows('hardware.gpus') || program.truncated || mayShare(program)) return;
  const note = reachesNoGpu(program)
    ? say('nothing that is read puts the model on a GPU: one is assumed')
    : say('one process, whose loop shares nothing with others');
  draft.infer('hardware.gpus', 1, note, { range: backward.calleeRange });
}

/** What puts a model on a device, makes one, or chooses where tensors are made. */
const PLACES =
  /(?:^|\.)(?:to|cuda|to_empty|dispatch_model|load_checkpoint_and_dispatch|set_default_device|set_default_tensor_type)$|^torch\.(?:device|cuda|accelerator)\b|(?:^|\.)Fast\w*Model\./;
const NAMES_PLACE = /^(?:device|device_map|run_opts|quantization_config|load_in_[48]bit)$/;
const GPU_WORD = /^(?:cuda|xpu|npu|mps|hip|gpu)(?::\d+)?$/;

/**
 * Whether nothing of a program puts what it trains on a GPU: `from_pretrained` leaves a model on the CPU (`modeling_utils.py`,
 * `device_map=None`), and so does PyTorch.
 */
export const reachesNoGpu = (program: PyProgram): boolean =>
  !program.truncated &&
  !mayShare(program) &&
  ![...program.words()].some((word) => GPU_WORD.test(word)) &&
  !program.calls.some(
    ({ callee, named, open }) =>
      PLACES.test(callee) || (LOADS.test(callee) && open) || named.some(({ key }) => NAMES_PLACE.test(key)),
  );

function mayShare({ imports, modules, calls, words }: PyProgram): boolean {
  if ([...modules, ...imports.map(({ module }) => module)].some((name) => SHARES.test(name))) return true;
  if ([...words()].some((word) => OTHER_GPU.test(word))) return true;
  return calls.some(
    (call) =>
      /(?:DataParallel|fully_shard|parallelize_module)$/.test(call.callee) ||
      (LOADS.test(call.callee) && spreads(argumentOf(call, 'device_map'))),
  );
}

/** A map of devices that may be more than one. */
const spreads = (map: PyValue | undefined): boolean =>
  map !== undefined && (map.kind !== 'scalar' || SPREADS.test(String(map.value)));
