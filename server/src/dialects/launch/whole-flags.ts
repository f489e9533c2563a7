import { flagsBegunBy } from '../../config/begun-flag';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { KeyTable } from '../key-table';
import type { Launch } from './launch';

/** A parser of `argparse` all of whose flags are known. */
export interface KnownParser {
  readonly table: KeyTable;
  /** Flags that the table lacks, since nothing of the run hangs on them. */
  readonly others?: readonly string[];
  /** Flags have dashes, too. */
  readonly dashes: boolean;
}

/** A launch with whole flags in place of those that it begins to write. What begins several of them stops the program, and states nothing. */
export function withWholeFlags(
  launch: Launch,
  { table, others = [], dashes }: KnownParser,
  draft: Draft,
): Launch {
  const { released } = table;
  const names = new Set([...table.names(''), ...(released?.names() ?? []), ...others]);
  const versionOf = (source: string) => draft.statedVersion(source)?.version;
  const entries = launch.arguments.entries.map((entry) => {
    const begun = flagsBegunBy(entry.key, names, dashes);
    const there = begun.filter((name) => !released?.isLacking(name.replaceAll('-', '_'), versionOf));
    const [first] = there;
    if (first !== undefined && there.length === 1) return { ...entry, key: first };
    const fields = there.flatMap((name) => table.find(name)?.fields ?? []);
    if (fields.length > 0) {
      const [flag, list] = [`--${entry.key}`, there.map((name) => `--${name}`).join(', ')];
      const message = say('`{0}` begins several flags, where `argparse` stops: {1}.', flag, list);
      draft.leave('flag', { range: entry.keyRange }, flag, message, fields);
    }
    return entry;
  });
  return { ...launch, arguments: { ...launch.arguments, entries } };
}
