import { DIALECTS } from '../../dialects/registry';
import type { EstimateInput } from '../../estimate';
import type { DetectedGpus } from '../../hardware/detect';
import type { Estimate } from '../../results/estimate';
import { FIELD_PATHS, type RunValues } from '../../run/fields';
import { type Fact, fact } from '../../run/origin';
import { strongest } from '../../run/resolve';
import type { Versions } from '../../run/versions';
import { say } from '../../wording/say';
import { wordsOfSource } from '../changed-framework';
import { environmentOf } from '../environment';
import type { FullReading, TrackedFiles } from '../file-cache';
import type { FollowedLinks } from '../links';
import { measuredOf } from '../measured-facts';
import type { Member } from '../member';
import { nearestProject } from '../nearest-project';
import { statedByTheirFile } from '../overrides';
import { type MeasuredEntry, type ProjectFile, projectFacts } from '../project-file';
import { membersOf, type RunFiles } from '../runs';
import type { UnseenFile } from '../unreadable-file';
import { statementsOf } from './statements';

/** What an analysis knows from outside the files. */
export interface AssemblyOptions {
  readonly settings?: (uri: string) => RunValues | Promise<RunValues>;
  readonly commandLine?: readonly Fact[];
  readonly given?: readonly Fact[];
  readonly detect?: (uri: string) => Promise<DetectedGpus | undefined>;
  /** Root of the run that the user wants a file to be shown in. */
  readonly chosenRun?: (uri: string) => string | undefined;
  readonly estimate: (input: EstimateInput) => Estimate;
}

/** All that is there about a run: its files, each read alone, and what is stated around them. */
export interface Collected {
  /** The file at hand. */
  readonly config: FullReading;
  /** Files of the run in reading order, the one at hand among them. */
  readonly members: readonly Member[];
  readonly followed: FollowedLinks;
  /** Files of the run that may shard it and of which nothing counts. */
  readonly unseen: readonly UnseenFile[];
  readonly project?: ProjectFile;
  readonly commandLine: readonly Fact[];
  /** What runs measured that had a file of this one. */
  readonly measured: readonly MeasuredEntry[];
  /** Of the project file, the editor's settings, and what lies around the files: versions in lock files and the like. */
  readonly around: readonly Fact[];
  /** Versions of frameworks that no field holds. */
  readonly frameworks: Versions;
  /** Words that the framework's own source around the file defines. */
  readonly defined: ReadonlySet<string>;
}

/** Values as facts of the editor's settings. */
export function factsOfValues(values: RunValues): Fact[] {
  const facts: Fact[] = [];
  if (Object.keys(values).length === 0) return facts;
  for (const field of FIELD_PATHS) {
    const value = values[field];
    if (value === undefined) continue;
    facts.push(fact(field, value as never, { kind: 'setting', note: say('setting of the editor') }));
  }
  return facts;
}

/** Reads what belongs to the run of a config. The only phase that looks for files. */
export async function collect(
  config: FullReading,
  runFiles: RunFiles,
  followed: FollowedLinks,
  files: TrackedFiles,
  options: AssemblyOptions,
): Promise<Collected> {
  const { uri } = config;
  const { members, unseen } = await membersOf(config, followed, runFiles, files);
  const project = await nearestProject(uri, files);
  const settings = factsOfValues((await options.settings?.(uri)) ?? {});
  const commandLine = options.commandLine ?? [];
  const stated = [...(project ? projectFacts(project, uri) : []), ...settings];
  const { facts } = statementsOf(statedByTheirFile(members));
  const framework = strongest([...commandLine, ...facts, ...stated], 'framework')?.value;
  const scripts = members.flatMap((member) =>
    member.config.document.format === 'shell' ? [member.config.uri] : [],
  );
  const recorded = members.flatMap(({ config: { dialect, document, uri: from } }) =>
    (dialect.releases?.(document) ?? []).map((release) => ({ ...release, uri: from })),
  );
  const family = String(framework ?? config.dialect.id);
  const shown = members.flatMap((member) => (member.config.document.isShown ? [member.config.uri] : []));
  const own = [...commandLine, ...facts, ...stated];
  const environment = await environmentOf(uri, family, files, scripts, recorded, own, shown);
  const definitions = [config.dialect, ...DIALECTS.filter(({ id }) => id === family)].flatMap(
    (dialect) => dialect.definitions ?? [],
  );
  return {
    config,
    members,
    followed,
    unseen,
    project,
    commandLine,
    measured: measuredOf(project, members),
    around: [...stated, ...(options.given ?? []), ...environment.facts],
    frameworks: environment.frameworks,
    defined: await wordsOfSource(uri, [...new Set(definitions)], files),
  };
}
