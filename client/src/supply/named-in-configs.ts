import type { KnownConfig } from '../../../server/src/shared/protocol';

/** What configs train, or what they train on: by how many of them it is named, the most first. */
export interface Named {
  readonly name: string;
  readonly configs: number;
}

/** Folders of models lie elsewhere for other files. */
const isFolder = (name: string) => /^(?:[./~]|[a-z]:|.*\$)/i.test(name);

/** A model that the catalog knows by several names counts once. */
export function namedIn(
  configs: readonly Pick<KnownConfig, 'model' | 'gpu'>[],
  of: 'model' | 'gpu',
): readonly Named[] {
  const times = new Map<string, number>();
  for (const { [of]: name } of configs)
    if (name !== undefined && !isFolder(name)) times.set(name, (times.get(name) ?? 0) + 1);
  return [...times]
    .map(([name, configs]) => ({ name, configs }))
    .sort((a, b) => b.configs - a.configs || a.name.localeCompare(b.name));
}
