import { sameValue } from '../run/resolve';
import type { ConfigReading } from './config-reading';
import type { ParentSearch, Use } from './parents';

/**
 * Of the launches of a file that texts show, those that start it as it stands. Texts show variants, too: a launch that gives another
 * value to what the file itself states is the run of another file, and one under which a program does something else than train is none.
 */
export async function startingAsItStands(
  config: ConfigReading,
  uses: readonly Use[],
  files: ParentSearch,
): Promise<readonly Use[]> {
  if (!uses.some(isShown)) return uses;
  const kept: Use[] = [];
  for (const use of uses)
    if (!isShown(use) || (!isVariant(use, config) && (await trains(config, use, files)))) kept.push(use);
  return kept;
}

const isShown = ({ config }: Use): boolean => config.document.isShown === true;

function isVariant({ config: launch }: Use, { reading }: ConfigReading): boolean {
  const own = new Map(
    reading.facts.flatMap(({ field, value, origin }) => (origin.kind === 'file' ? [[field, value]] : [])),
  );
  return launch.reading.facts.some(
    ({ field, value, origin }) =>
      origin.kind === 'file' &&
      !field.startsWith('hardware.') &&
      own.has(field) &&
      !sameValue(value, own.get(field)),
  );
}

/** Whether a program of Python trains with what a launch gives it, as far as it does without. */
async function trains(config: ConfigReading, { link }: Use, files: ParentSearch): Promise<boolean> {
  const choices = link.overrides?.choices;
  if (config.document.format !== 'python' || !choices || config.reading.joinsOnly) return true;
  const started = await files.read(config.uri, config.dialect.id, choices);
  return started !== undefined && started.reading.joinsOnly !== true;
}
