import type { ConfigDocument } from '../../config/node';
import { submodule } from '../../config/python/imports';
import { LOADS } from '../../config/python/made-of';
import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { packagingOf } from '../../model/repackaged';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { leaveTrainer } from '../launch/one-process-launch';
import { argumentOf, type Calls } from './call-block';
import { PLACES_ITSELF } from './placed-models';
import { spreadsModel } from './python-model';

/** Modules of which some start processes, and some share a model among those that are there. */
const SHARES =
  /^(?:torch\.(?:distributed|multiprocessing|nn\.parallel)|multiprocessing|accelerate|deepspeed|horovod|fairscale|colossalai|torch_xla|ray|apex|megatron|ignite|lightning|pytorch_lightning|lightning_fabric|composer|bagua|byteps|bmtrain|hivemind|mpi4py|smdistributed|torchft)(?:\.|$)/;
/** A GPU other than the first one. */
const OTHER_GPU = /^(?:cuda|xpu):[1-9]/;
/** What a launcher tells each of its processes (`torch/distributed/run.py`), and what they talk by. */
const OF_PROCESSES = /^(?:nccl|(?:LOCAL_)?RANK|WORLD_SIZE)$/;

/**
 * A loop of one's own that nothing gives to other processes, and no part of whose model lies on another GPU: however many a machine has, it
 * runs on one.
 */
export function inferOneGpu(
  { program, draft }: Calls,
  backward: PyCall,
  { known, model }: ReadContext,
): void {
  if (draft.knows('hardware.gpus') || program.truncated || mayShare(program)) return;
  const kind = known['quantization.kind'] ?? draft.valueOf('quantization.kind') ?? 'none';
  const isWhole = kind === 'none' && model?.config?.quantization_config === undefined;
  const note =
    isWhole && reachesNoGpu(program)
      ? say('nothing that is read puts the model on a GPU: one is assumed')
      : say('one process, whose loop shares nothing with others');
  draft.infer('hardware.gpus', 1, note, { range: backward.calleeRange });
}

/** What starts processes out of a notebook, each of which has a GPU. */
const STARTS_PROCESSES = /(?:^|\.)(?:notebook_launcher|spawn)$/;

/**
 * Whether a notebook trains with Unsloth in its own process. There Unsloth takes the GPUs of the trainer back to one, so that it makes no
 * replicas: of TRL's trainers (`rl.py`, `args._n_gpu = 1`) as of transformers' own (`_utils.py`, `_keep_unsloth_models_off_data_parallel`;
 * releases before refuse several GPUs). A map may have the model lie on more.
 */
export function isUnslothAlone(
  { inNotebook }: ConfigDocument,
  { program }: Calls,
  load: PyCall | undefined,
): boolean {
  if (!inNotebook || !load || load.open) return false;
  if (program.calls.some(({ callee }) => STARTS_PROCESSES.test(callee))) return false;
  const map = argumentOf(load, 'device_map');
  return map === undefined || (map.kind === 'scalar' && !spreadsModel(map));
}

/** What hands a function of a notebook to other processes. */
const HANDS_OUT =
  /^(?:torch\.(?:distributed|multiprocessing)|multiprocessing|horovod|torch_xla|ray|pyspark|sparkdl|modal|metaflow|kubeflow|sagemaker|azure|google\.cloud)(?:\.|$)/;

/** A notebook whose Trainer runs in its own process, whatever GPUs that sees. */
export function leaveNotebookTrainer(
  { inNotebook }: ConfigDocument,
  { program, draft }: Calls,
  { calleeRange, callee }: PyCall,
  { known }: ReadContext,
): void {
  const starts =
    program.calls.some((call) => STARTS_PROCESSES.test(call.callee) || HANDS_OUT.test(call.callee)) ||
    [...program.modules, ...program.imports.map(({ module }) => module)].some((one) => HANDS_OUT.test(one));
  if (inNotebook && !starts && !program.truncated) leaveTrainer(draft, { range: calleeRange }, callee, known);
}

/** The one GPU that Unsloth trains on where nothing else states how many the run uses. */
export function inferUnslothGpu({ draft }: Calls, load: PyCall): void {
  if (draft.knows('hardware.gpus')) return;
  draft.infer('hardware.gpus', 1, say('a notebook is one process, in which Unsloth trains on one GPU'), {
    range: load.calleeRange,
  });
}

/** What puts a model on a device, makes one, or chooses where tensors are made. */
const PLACES =
  /(?:^|\.)(?:to|cuda|to_empty|dispatch_model|load_checkpoint_and_dispatch|set_default_device|set_default_tensor_type)$|^torch\.(?:device|cuda|accelerator)\b|(?:^|\.)Fast\w*Model\./;
const NAMES_PLACE = /^(?:device|device_map|run_opts|quantization_config|load_in_[48]bit)$/;
const GPU_WORD = /^(?:cuda|xpu|npu|mps|hip|gpu)(?::\d+)?$/;

/**
 * Whether nothing of a program puts what it trains on a GPU: `from_pretrained` leaves a model on the CPU (`modeling_utils.py`,
 * `device_map=None`), and so does PyTorch. Weights that are stored quantized transformers places itself (`quantizers/quantizer_bnb_4bit.py`,
 * `update_device_map`): which are, their names tell, and what was read of them.
 */
export const reachesNoGpu = (program: PyProgram): boolean =>
  !program.truncated &&
  !mayShare(program) &&
  ![...program.words()].some((word) => GPU_WORD.test(word)) &&
  !program.calls.some(
    (call) =>
      PLACES.test(call.callee) ||
      PLACES_ITSELF.test(call.callee) ||
      (LOADS.test(call.callee) && (call.open !== undefined || namesQuantized(call))) ||
      call.named.some(({ key }) => NAMES_PLACE.test(key)),
  );

/** Whether what a call loads has a name that ends as those of quantized weights do. */
const namesQuantized = ({ positional: [first], named }: PyCall): boolean =>
  [first, ...named.map(({ value }) => value)].some(
    (value) =>
      value?.kind === 'scalar' && packagingOf(String(value.value))?.['quantization.kind'] !== undefined,
  );

function mayShare({ imports, modules, calls, words }: PyProgram): boolean {
  const imported = imports.flatMap(({ module, names }) => [
    module,
    ...names.map((name) => submodule(module, name)),
  ]);
  if ([...modules, ...imported].some((name) => SHARES.test(name))) return true;
  if ([...words()].some((word) => OTHER_GPU.test(word) || OF_PROCESSES.test(word))) return true;
  return calls.some(
    (call) =>
      SHARES.test(call.callee) ||
      /(?:DataParallel|fully_shard|parallelize_module|init_process_group)$/.test(call.callee) ||
      namesOtherGpu(call) ||
      (LOADS.test(call.callee) && spreads(argumentOf(call, 'device_map'))),
  );
}

/** Whether a call names another GPU by its number: `.to(1)`, `.cuda(1)`, `torch.device("cuda", 1)`. */
function namesOtherGpu(call: PyCall): boolean {
  const given = /(?:^|\.)(?:to|cuda|set_device)$/.test(call.callee)
    ? [call.positional[0], argumentOf(call, 'device')]
    : call.callee === 'torch.device'
      ? [...call.positional, argumentOf(call, 'index')]
      : [argumentOf(call, 'device'), argumentOf(call, 'device_map')];
  return given.some((one) => one?.kind === 'scalar' && typeof one.value === 'number' && one.value >= 1);
}

/** A map of devices that may be more than one. */
const spreads = (map: PyValue | undefined): boolean =>
  map !== undefined && (map.kind !== 'scalar' || spreadsModel(map));
