import { isBlank, textOf } from '../../config/scalar';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import { say } from '../../wording/say';
import { BITSANDBYTES_OPTIMIZERS, bitsandbytesRelease } from '../bitsandbytes-releases';
import type { Draft } from '../draft';
import { forbid } from '../refusal';
import type { Section } from '../section';

/** The first release of transformers with each member, where releases since 4.22 differ (`OptimizerNames`, `training_args.py`). */
const OPTIMIZERS_SINCE: Readonly<Record<string, string>> = {
  '4.25': 'adamw_anyprecision',
  '4.27': 'adamw_torch_fused',
  '4.30':
    'adamw_8bit lion_32bit lion_8bit paged_adamw_32bit paged_adamw_8bit paged_lion_32bit paged_lion_8bit',
  '4.34': 'rmsprop',
  '4.35': 'adamw_torch_npu_fused',
  '4.38': 'rmsprop_bnb rmsprop_bnb_32bit rmsprop_bnb_8bit',
  '4.39':
    'galore_adafactor galore_adafactor_layerwise galore_adamw galore_adamw_8bit galore_adamw_8bit_layerwise galore_adamw_layerwise',
  '4.42': 'adalomo|lomo',
  '4.45':
    'adamw_torch_4bit ademamix ademamix_8bit grokadamw paged_ademamix_32bit paged_ademamix_8bit schedule_free_adamw schedule_free_sgd',
  '4.49': 'adamw_torch_8bit apollo_adamw apollo_adamw_layerwise schedule_free_radam',
  '4.54': 'stable_adamw',
};

/** The same of `SchedulerType` (`trainer_utils.py`). */
const SCHEDULERS_SINCE: Readonly<Record<string, string>> = {
  '4.27': 'inverse_sqrt',
  '4.29': 'reduce_lr_on_plateau',
  '4.40': 'cosine_with_min_lr',
  '4.41': 'warmup_stable_decay',
  '4.54': 'cosine_warmup_with_min_lr',
  '5.4': 'greedy',
};

/** Optimizers that transformers removed, the first release without each and what is as it was; configs of their time still name them. */
export const REMOVED_OPTIMIZERS: Readonly<Record<string, { readonly from: string; readonly other: string }>> =
  {
    // `OptimizerNames` of v4.49.0 has it, that of v4.50.3 has not.
    adamw_hf: { from: '4.50', other: 'adamw_torch' },
    // v5.7.0 has it, v5.8.1 has not.
    adamw_apex_fused: { from: '5.8', other: 'adamw_torch_fused' },
  };

const AT = { trainer: 'src/transformers/training_args.py', schedulers: 'src/transformers/trainer_utils.py' };

function firstWith(table: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.entries(table).find(([, names]) => names.split(/[ |]/).includes(name))?.[0];
}

/** The first release of transformers that has the value of an argument; undefined where the oldest has it, or none. */
export function releaseOfValue(key: string, value: string): string | undefined {
  if (key === 'optim') return firstWith(OPTIMIZERS_SINCE, value);
  return key === 'lr_scheduler_type' ? firstWith(SCHEDULERS_SINCE, value) : undefined;
}

/** Optimizers and schedulers that a release which is named does not have yet: the Trainer's arguments stop with a `ValueError`. */
export function checkNamedValues(section: Section, draft: Draft): void {
  for (const [key, file] of [
    ['optim', AT.trainer],
    ['lr_scheduler_type', AT.schedulers],
  ] as const) {
    const found = section.find(key);
    const name = textOf(found?.node);
    const since = name === undefined ? undefined : releaseOfValue(key, name);
    if (!found || isBlank(found.node) || name === undefined || since === undefined) continue;
    const source = fileIn(TRANSFORMERS, file);
    if (!draft.isRefusedByNamed(source, { until: since })) continue;
    const message =
      key === 'optim'
        ? say('transformers knows the optimizer "{0}" since version {1}.', name, since)
        : say('transformers knows the scheduler "{0}" since version {1}.', name, since);
    const code = key === 'optim' ? 'unknown-optimizer' : 'argument-release';
    forbid(true, found.node, draft, { code, message, source, releases: { until: since } });
  }
  checkBehind(section, draft);
}

/** The Trainer imports the classes of bitsandbytes that a name stands for, unless it is handed another optimizer. */
function checkBehind(section: Section, draft: Draft): void {
  const found = section.find('optim');
  const name = textOf(found?.node);
  const since = name === undefined ? undefined : bitsandbytesRelease(name);
  if (!found || name === undefined || since === undefined) return;
  const { start } = found.node.range;
  const counts = draft.facts.some(({ field, origin }) => {
    const at = origin.location?.range.start;
    return field === 'optimizer.name' && at?.line === start.line && at.character === start.character;
  });
  if (!counts) return;
  const source = BITSANDBYTES_OPTIMIZERS;
  if (!draft.isRefusedByNamed(source, { until: since })) return;
  const message = say('bitsandbytes has what the optimizer "{0}" needs since version {1}.', name, since);
  forbid(true, found.node, draft, { code: 'unknown-optimizer', message, source, releases: { until: since } });
}
