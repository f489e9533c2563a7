import type { ConfigDocument } from '../config/node';
import { dropsOutOfStacks } from '../memory/expert-dropout';
import type { Model } from '../model/model';
import type { FieldPath, TrainingRun } from '../run/fields';
import type { ResolvedRun } from '../run/resolved-run';
import { fileIn, PEFT, TRANSFORMERS } from '../sources/repositories';
import { isAtLeast } from '../terms/version';
import type { Problem } from '../text/problem';
import { say } from '../wording/say';
import { bringsCode, firstKey, keyRange } from './verdict';

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

interface RefusedAdapters {
  readonly problem: Problem;
  readonly missing: ResolvedRun['unknown'];
}

/**
 * Adapters that PEFT does not build: of stacked experts, with dropout. Where releases are assumed, the run may have others, in which the
 * experts get none: neither is estimated.
 */
export function refusedAdapters(
  run: TrainingRun,
  model: Model,
  { origins }: Pick<ResolvedRun, 'origins'>,
  document: ConfigDocument,
): RefusedAdapters | undefined {
  if (run['model.code'] !== 'transformers' || FINDS_LINEAR.has(run.framework ?? '')) return undefined;
  if (!dropsOutOfStacks(run, model)) return undefined;
  const isNamed = RELEASES.every((field) => (origins[field]?.kind ?? 'default') !== 'default');
  const isCertain = isNamed && !bringsCode(document);
  const stops = say(
    'PEFT {0} stops: adapters of stacked experts, which the names of modules reach, have no dropout (`lora_dropout` is {1}).',
    run['version.peft'],
    run['lora.dropout'],
  );
  const message = isCertain
    ? stops
    : `${stops} ${say('The releases of PEFT and transformers are assumed: others may give experts no adapters.')}`;
  const { 'lora.dropout': origin } = origins;
  const own = origin?.location?.uri === document.uri && origin.kind === 'file' ? origin : undefined;
  const missing = isCertain
    ? ({ field: 'lora.dropout', reason: message, stated: true } as const)
    : { field: 'version.peft' as const, reason: message, example: '0.18' };
  return {
    missing: [missing],
    problem: {
      code: 'experts-dropout',
      severity: isCertain ? 'error' : 'warning',
      message,
      range: (own && keyRange(own, document)) ?? firstKey(document),
      source: fileIn(PEFT, 'src/peft/tuners/lora/layer.py'),
    },
  };
}

/** Adapters of layers by names that the release of transformers has no more: PEFT stops, as none of them is found. */
export function renamedTargets(
  run: TrainingRun,
  model: Model,
  { origins }: Pick<ResolvedRun, 'origins'>,
  document: ConfigDocument,
): RefusedAdapters | undefined {
  const renamed = RENAMED[String(model.config.model_type)];
  const targets = run['lora.targets'];
  const version = run['version.transformers'];
  if (!renamed || run['model.code'] !== 'transformers' || run['method.kind'] !== 'lora') return undefined;
  if (targets.length === 0 || targets.some((name) => renamed.names.includes(name.split('.').at(-1) ?? '')))
    return undefined;
  if (isAtLeast(version, renamed.since) !== true) return undefined;
  const isCertain =
    (origins['version.transformers']?.kind ?? 'default') !== 'default' && !bringsCode(document);
  const stops = say(
    'PEFT stops: transformers names the layers of this model `{0}` since {1}, and none of the names is one of them.',
    renamed.names.slice(0, 3).join('`, `'),
    renamed.since,
  );
  const message = isCertain ? stops : `${stops} ${say('The release of transformers is assumed.')}`;
  const { 'lora.targets': origin } = origins;
  const own = origin?.location?.uri === document.uri && origin.kind === 'file' ? origin : undefined;
  const missing = isCertain
    ? ({ field: 'lora.targets', reason: message, stated: true } as const)
    : { field: 'version.transformers' as const, reason: message, example: '5.8' };
  return {
    missing: [missing],
    problem: {
      code: 'no-lora-targets',
      severity: isCertain ? 'error' : 'warning',
      message,
      range: (own && keyRange(own, document)) ?? firstKey(document),
      source: fileIn(TRANSFORMERS, 'src/transformers/models/vit/modeling_vit.py'),
    },
  };
}
