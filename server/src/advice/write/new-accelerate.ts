import { stringify } from 'yaml';
import { fsdpBlock } from '../../dialects/accelerate/accelerate-words';
import type { FieldPath, RunValues, TrainingRun } from '../../run/fields';
import { isFsdp } from '../../terms/data-parallel';
import { isAtLeast } from '../../terms/version';
import { type MadeConfig, madeConfig, type NewConfigs } from './new-config';

/** What the new file states: nobody else needs words for it. */
const STATED: readonly FieldPath[] = [
  'parallel.data',
  'fsdp.strategy',
  'offload.optimizer',
  'offload.parameters',
  'loading.hostCopies',
];

interface MadeAccelerate {
  readonly config: MadeConfig;
  /** Fields that need no words elsewhere. */
  readonly states: readonly FieldPath[];
}

/**
 * The config of Accelerate that changes ask for: replicas that are to be sharded by FSDP; undefined where they ask for none, or its name
 * is taken. `isSpoken` tells whether a file of the run states a field itself.
 */
export function madeAccelerate(
  place: NewConfigs | undefined,
  run: TrainingRun,
  changes: RunValues,
  isSpoken: (field: FieldPath) => boolean,
): MadeAccelerate | undefined {
  const data = changes['parallel.data'];
  if (!place || run['parallel.data'] !== 'ddp' || data === undefined || !isFsdp(data)) return undefined;
  const precision = mixedPrecisionOf(run);
  if (precision === undefined) return undefined;
  // `FSDP2_PYTORCH_VERSION` of `utils/constants.py`; `fsdp_version` is a setting from Accelerate 1.6 on.
  const second = data === 'fsdp2';
  const tooOld =
    isAtLeast(run['version.torch'], '2.6') === false || isAtLeast(run['version.accelerate'], '1.6') === false;
  if (second && tooOld) return undefined;
  const offload = changes['offload.parameters'] === 'cpu';
  // FSDP steps weights that are offloaded on the CPU, and keeps no states there without them.
  if (!offload && changes['offload.optimizer'] === 'cpu') return undefined;
  const checkpoints =
    changes['activations.checkpointing'] === 'full' && !isSpoken('activations.checkpointing');
  const { 'activations.checkpointing': _, ...others } = changes;
  const settings = {
    compute_environment: 'LOCAL_MACHINE',
    distributed_type: 'FSDP',
    fsdp_config: fsdpBlock(data, checkpoints ? changes : others),
    machine_rank: 0,
    main_training_function: 'main',
    mixed_precision: precision,
    num_machines: run['hardware.nodes'],
    num_processes: run['hardware.gpus'],
  };
  // PyYAML reads YAML 1.1: a bare `no` would be false, which Accelerate fails on.
  const text = stringify(settings, { version: '1.1' });
  const name = `accelerate_fsdp${second ? '2' : ''}${offload ? '_offload' : ''}.yaml`;
  const config = madeConfig(place, name, text);
  return config && { config, states: checkpoints ? [...STATED, 'activations.checkpointing'] : STATED };
}

/** `mixed_precision` as it is now; undefined where that is no word of Accelerate's. */
function mixedPrecisionOf(run: TrainingRun): string | undefined {
  const compute = run['precision.compute'];
  if (run['precision.fp8'] !== undefined && run['precision.fp8'] !== 'none') return undefined;
  if (run['precision.scheme'] === 'native') return 'no';
  return run['precision.scheme'] === 'autocast' && (compute === 'bf16' || compute === 'fp16')
    ? compute
    : undefined;
}
