import { stringOf } from '../config/python/node-of-value';
import { unnamed } from '../model/name-suggestions';
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
  for (const use of uses) if (!isShown(use) || (await startsAsItStands(config, use, files))) kept.push(use);
  return kept;
}

const isShown = ({ config }: Use): boolean => config.document.isShown === true;

async function startsAsItStands(config: ConfigReading, use: Use, files: ParentSearch): Promise<boolean> {
  const started = await under(config, use, files);
  return started !== undefined && !isVariant(use, started) && !isTemplate(config, started);
}

const modelOf = ({ reading }: ConfigReading): string | undefined =>
  reading.facts.flatMap(({ field, value }) => (field === 'model.id' ? [String(value)] : []))[0];

/** A launch that leaves the model to whoever fills it in, of a file that names one, is how it may be started, and no run. */
function isTemplate(config: ConfigReading, started: ConfigReading): boolean {
  const [own, given] = [modelOf(config), modelOf(started)];
  return (
    own !== undefined && given !== undefined && unnamed(own) === undefined && unnamed(given) !== undefined
  );
}

/** Names of the flags that a program adds to a parser of its own. */
const ownFlags = ({ document: { program } }: ConfigReading): ReadonlySet<string> =>
  new Set(
    (program?.calls ?? []).flatMap(({ callee, positional }) =>
      callee === 'add_argument'
        ? positional.flatMap((value) => stringOf(value)?.replace(/^-+/, '').replaceAll('-', '_') ?? [])
        : [],
    ),
  );

/** What a flag of the program's own means the program tells: `--max_source_length` may be half of a row. */
function isVariant({ config: launch }: Use, started: ConfigReading): boolean {
  const { reading } = started;
  const flags = ownFlags(started);
  const own = new Map(
    reading.facts.flatMap(({ field, value, origin }) => (origin.kind === 'file' ? [[field, value]] : [])),
  );
  return launch.reading.facts.some(
    ({ field, value, origin }) =>
      origin.kind === 'file' &&
      !field.startsWith('hardware.') &&
      !flags.has(origin.key?.split('.').at(-1) ?? '') &&
      own.has(field) &&
      !sameValue(value, own.get(field)),
  );
}

/**
 * A program of Python as it is with what a launch gives it: its own values of flags are no more than defaults. Undefined where it
 * trains with them no longer, as it does without.
 */
async function under(
  config: ConfigReading,
  { link }: Use,
  files: ParentSearch,
): Promise<ConfigReading | undefined> {
  const choices = link.overrides?.choices;
  if (config.document.format !== 'python' || !choices) return config;
  const started = await files.read(config.uri, config.dialect.id, choices);
  if (config.reading.joinsOnly) return started ?? config;
  return started?.reading.joinsOnly === true ? undefined : started;
}
