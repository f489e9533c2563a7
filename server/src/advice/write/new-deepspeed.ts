import type { Written } from '../../dialects/words';
import type { FieldPath, RunValues, TrainingRun } from '../../run/fields';
import { parentUri, relativePath } from '../../text/uri';
import type { Analysis } from '../../workspace/analysis';
import type { World } from '../world';

/** A DeepSpeed config that a run can be given, where it has none: by the name under which its files would find it. */
export interface NewDeepspeed {
  /** Of the folder that paths of the run start from. */
  readonly root: string;
  /** Folder of the new file below it, `configs/`; empty where it is the same. */
  readonly below: string;
  /** Names that are taken there. */
  readonly taken: ReadonlySet<string>;
}

/** What the new file states: nobody else needs words for it. */
const STATED: readonly FieldPath[] = ['zero.stage', 'offload.optimizer', 'offload.parameters'];
const NAMES = ['ds_zero1', 'ds_zero2', 'ds_zero3'].flatMap((name) => [name, `${name}_offload`]);

/** Where a DeepSpeed config would lie: beside the file at hand, named from the folder that is open: tools are started in the root of a repository. */
export async function newDeepspeedOf(analysis: Analysis, world: World): Promise<NewDeepspeed | undefined> {
  if (analysis.resolved.values['parallel.data'] === 'zero') return undefined;
  const folder = parentUri(analysis.uri);
  if (folder === undefined) return undefined;
  const root = world.folders.find((one) => relativePath(one, analysis.uri)) ?? folder;
  const path = relativePath(root, `${folder}/x`);
  if (path === undefined) return undefined;
  const below = path.slice(0, -1);
  const names = NAMES.map((name) => `${name}.json`);
  const exist = await Promise.all(names.map((name) => world.exists(`${root}/${below}${name}`)));
  return { root, below, taken: new Set(names.filter((_, index) => exist[index])) };
}

/** What is written beside the changes of other files, and what it is called there. */
interface MadeDeepspeed {
  readonly uri: string;
  readonly text: string;
  readonly path: string;
  /** Fields that need no words elsewhere. */
  readonly states: readonly FieldPath[];
}

/** The DeepSpeed config that changes ask for; undefined where they ask for none, or its name is taken. */
export function madeDeepspeed(
  place: NewDeepspeed | undefined,
  run: TrainingRun,
  changes: RunValues,
): MadeDeepspeed | undefined {
  const stage = changes['zero.stage'];
  if (!place || changes['parallel.data'] !== 'zero' || run['parallel.data'] === 'zero') return undefined;
  if (stage === undefined || stage < 1) return undefined;
  const optimizer = changes['offload.optimizer'] === 'cpu';
  const parameters = changes['offload.parameters'] === 'cpu';
  const name = `ds_zero${stage}${optimizer || parameters ? '_offload' : ''}.json`;
  if (place.taken.has(name)) return undefined;
  const path = `${place.below}${name}`;
  const text = `${JSON.stringify(deepspeedConfig(stage, optimizer, parameters), undefined, 2)}\n`;
  return {
    path,
    states: STATED,
    uri: `${place.root}/${path}`,
    text,
  };
}

/**
 * As the guide of transformers has it: what the Trainer knows is `auto`, so that it is stated once
 * (https://github.com/huggingface/transformers/blob/v4.57.1/docs/source/en/deepspeed.md). An optimizer of the Trainer beside offload has to
 * be allowed (`zero_allow_untested_optimizer`, https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/engine.py).
 */
function deepspeedConfig(stage: number, optimizer: boolean, parameters: boolean): Written {
  const toHost = { device: 'cpu', pin_memory: true };
  return {
    train_batch_size: 'auto',
    train_micro_batch_size_per_gpu: 'auto',
    gradient_accumulation_steps: 'auto',
    gradient_clipping: 'auto',
    zero_allow_untested_optimizer: true,
    bf16: { enabled: 'auto' },
    fp16: { enabled: 'auto' },
    zero_optimization: {
      stage,
      ...(optimizer && { offload_optimizer: toHost }),
      ...(parameters && { offload_param: toHost }),
      overlap_comm: true,
      contiguous_gradients: true,
      ...(stage === 3 && {
        reduce_bucket_size: 'auto',
        stage3_prefetch_bucket_size: 'auto',
        stage3_param_persistence_threshold: 'auto',
        stage3_gather_16bit_weights_on_model_save: true,
      }),
    },
  };
}
