import type { ConfigDocument } from '../config/node';
import type { TrainingRun } from '../run/fields';
import type { ResolvedRun } from '../run/resolved-run';
import { versionSourceOf } from '../run/versions';
import { fileIn, TRANSFORMERS } from '../sources/repositories';
import { isAtLeast } from '../terms/version';
import { say } from '../wording/say';
import { type RefusedRun, refusedRun } from './refused-run';

/** Frameworks whose trainer is made of transformers' own. */
const OF_TRAINER: ReadonlySet<string | undefined> = new Set([
  'transformers',
  'trl',
  'axolotl',
  'llama-factory',
  'ms-swift',
]);
/** `create_accelerator_and_postprocess` of 4.45.0 has it, that of 4.44.2 has not. */
const SINCE = '4.45.0';

/** A micro batch that is to be looked for under ZeRO stage 3, which the Trainer refuses whoever states the stage: nothing is estimated. */
export function refusedSearch(
  run: TrainingRun,
  { origins }: Pick<ResolvedRun, 'origins'>,
  document: ConfigDocument,
): RefusedRun | undefined {
  if (!run['batch.adaptive'] || run['parallel.data'] !== 'zero' || run['zero.stage'] !== 3) return undefined;
  const version = run['version.transformers'];
  if (!OF_TRAINER.has(run.framework) || isAtLeast(version, SINCE) === false) return undefined;
  const origin = origins['version.transformers'];
  const isNamed = origin !== undefined && versionSourceOf(origin) !== 'assumed';
  const older = origin?.orElse !== undefined && isAtLeast(origin.orElse, SINCE) !== true;
  const isCertain = isNamed && !older;
  const stops = say('The Trainer stops: `auto_find_batch_size` does not work with ZeRO stage 3.');
  return refusedRun({ origins }, document, {
    code: 'search-under-zero3',
    field: 'batch.adaptive',
    isCertain,
    message: isCertain ? stops : `${stops} ${say('transformers before {0} does not look.', SINCE)}`,
    source: fileIn(TRANSFORMERS, 'src/transformers/trainer.py'),
  });
}
