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
  draft.infer('hardware.gpus', 1, say('one process, whose loop shares nothing with others'), {
    range: backward.calleeRange,
  });
}

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
