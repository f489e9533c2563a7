import type { ConfigDocument } from '../config/node';
import { dropsOutOfStacks } from '../memory/expert-dropout';
import { refusedOfMamba } from '../memory/mamba-targets';
import type { Model } from '../model/model';
import { behaviours } from '../run/behaviours';
import type { FieldPath, TrainingRun } from '../run/fields';
import type { ResolvedRun } from '../run/resolved-run';
import { fileIn, PEFT, TRANSFORMERS } from '../sources/repositories';
import { isAtLeast } from '../terms/version';
import { say } from '../wording/say';
import { type RefusedRun, refusedRun } from './refused-run';
import { bringsCode } from './verdict';

/** Releases that decide whether experts are stacked, and are found by their old names. */
const RELEASES = ['version.peft', 'version.transformers'] as const satisfies readonly FieldPath[];

/** Frameworks that name to PEFT the linear layers that they find, which stacked experts are none of (`find_all_linears`). */
const FINDS_LINEAR: ReadonlySet<string> = new Set(['ms-swift']);

/** Layers that a release named anew: targets of the old names are found by none from then on (`models/vit/modeling_vit.py`). */
const RENAMED: Readonly<Record<string, { readonly since: string; readonly names: readonly string[] }>> = {
  vit: {
    since: '5.9.0',
    names: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'fc1', 'fc2', 'classifier', 'all-linear'],
  },
};

/**
 * Adapters that PEFT does not build: of stacked experts, with dropout. Where releases are assumed, the run may have others, in which the
 * experts get none: neither is estimated.
 */
export function refusedAdapters(
  run: TrainingRun,
  model: Model,
  resolved: Pick<ResolvedRun, 'origins'>,
  document: ConfigDocument,
): RefusedRun | undefined {
  if (run['model.code'] !== 'transformers' || FINDS_LINEAR.has(run.framework ?? '')) return undefined;
  if (!dropsOutOfStacks(run, model)) return undefined;
  const stops = say(
    'PEFT {0} stops: adapters of stacked experts, which the names of modules reach, have no dropout (`lora_dropout` is {1}).',
    run['version.peft'],
    run['lora.dropout'],
  );
  return refusedBy(resolved, document, {
    code: 'experts-dropout',
    field: 'lora.dropout',
    releases: RELEASES,
    example: '0.18',
    stops,
    unless: say('The releases of PEFT and transformers are assumed: others may give experts no adapters.'),
    source: fileIn(PEFT, 'src/peft/tuners/lora/layer.py'),
  });
}

interface AdapterRefusal {
  readonly code: 'experts-dropout' | 'no-lora-targets' | 'mamba-targets';
  /** What the run states and PEFT stops on. */
  readonly field: FieldPath;
  /** Releases that decide it; of the first one another is an example under which PEFT goes on. */
  readonly releases: readonly [FieldPath, ...FieldPath[]];
  readonly example: string;
  readonly stops: string;
  /** The type of the model decides, so that code of its own repository changes nothing. */
  readonly byType?: boolean;
  /** For people, where a release is assumed. */
  readonly unless: string;
  readonly source: string;
}

/** An error where the releases are named, else a warning: the run may have others. */
function refusedBy(
  resolved: Pick<ResolvedRun, 'origins'>,
  document: ConfigDocument,
  { code, field, releases, example, stops, byType, unless, source }: AdapterRefusal,
): RefusedRun {
  const isNamed = releases.every((release) => (resolved.origins[release]?.kind ?? 'default') !== 'default');
  const isCertain = isNamed && (byType === true || !bringsCode(document));
  const message = isCertain ? stops : `${stops} ${unless}`;
  const asked = isCertain ? undefined : { field: releases[0], example };
  return refusedRun(resolved, document, { code, field, isCertain, message, source, asked });
}

/** Adapters of what the kernels of Mamba read themselves. */
export function mambaTargets(
  run: TrainingRun,
  model: Model,
  resolved: Pick<ResolvedRun, 'origins'>,
  document: ConfigDocument,
): RefusedRun | undefined {
  // ms-swift takes such names out of its lists (`pipelines/train/tuner.py`, `_drop_mamba_incompatible_targets`).
  if (run['model.code'] !== 'transformers' || FINDS_LINEAR.has(run.framework ?? '')) return undefined;
  const module = refusedOfMamba(run, model);
  if (!module) return undefined;
  return refusedBy(resolved, document, {
    code: 'mamba-targets',
    field: 'lora.targets',
    releases: ['version.peft'],
    example: takesMamba(run, model),
    stops: say(
      'PEFT {0} stops: `{1}` of this model gets no adapter, as the kernels of Mamba read its weight themselves (`{2}`).',
      run['version.peft'],
      module,
      model.modelType,
    ),
    byType: true,
    unless: say('The release of PEFT is assumed: older ones may take it.'),
    source: fileIn(PEFT, 'src/peft/tuners/tuners_utils.py'),
  });
}

/** The newest release of PEFT that does not look at a model of the type: each began with some (`refusesMambaTargets`). */
function takesMamba(run: TrainingRun, { modelType }: Model): string {
  const takes = (peft: string) =>
    !behaviours({ ...run, 'version.peft': peft }).refusesMambaTargets.includes(modelType);
  return ['0.19', '0.15'].find(takes) ?? '0.15';
}

/** Adapters of layers by names that the release of transformers has no more: PEFT stops, as none of them is found. */
export function renamedTargets(
  run: TrainingRun,
  model: Model,
  resolved: Pick<ResolvedRun, 'origins'>,
  document: ConfigDocument,
): RefusedRun | undefined {
  const renamed = RENAMED[String(model.config.model_type)];
  const targets = run['lora.targets'];
  const version = run['version.transformers'];
  if (!renamed || run['model.code'] !== 'transformers' || run['method.kind'] !== 'lora') return undefined;
  if (targets.length === 0 || targets.some((name) => renamed.names.includes(name.split('.').at(-1) ?? '')))
    return undefined;
  if (isAtLeast(version, renamed.since) !== true) return undefined;
  const stops = say(
    'PEFT stops: transformers names the layers of this model `{0}` since {1}, and none of the names is one of them.',
    renamed.names.slice(0, 3).join('`, `'),
    renamed.since,
  );
  return refusedBy(resolved, document, {
    code: 'no-lora-targets',
    field: 'lora.targets',
    releases: ['version.transformers'],
    example: '5.8',
    stops,
    unless: say('The release of transformers is assumed.'),
    source: fileIn(TRANSFORMERS, 'src/transformers/models/vit/modeling_vit.py'),
  });
}
