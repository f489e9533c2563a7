import { DIALECTS } from '../../dialects/registry';
import type { Model } from '../../model/model';
import type { RunValues } from '../../run/fields';
import type { Fact } from '../../run/origin';
import type { Unread } from '../../run/unread';
import type { ConfigReading } from '../config-reading';
import { unreadOf } from '../doubt';
import type { Member } from '../member';
import { documentRead, statedByTheirFile } from '../overrides';
import { readKnowing } from '../read-knowing';
import type { Collected } from './collect';
import type { Known } from './know';
import { type Statements, statementsOf } from './statements';

/** The files of a run, read with what is known of it. */
export interface Read extends Statements {
  readonly members: readonly Member[];
  /** The file at hand among them. */
  readonly self: ConfigReading;
  /** What follows from values written as `auto`. */
  readonly autos: readonly Fact[];
  /** What of the files was not understood. */
  readonly unread: readonly Unread[];
  /** The file of the run that a trainer reads which is not modelled. */
  readonly notModelled?: ConfigReading;
}

/** What is known, with how the name of the model states that its weights are stored, where no file quantizes them itself. */
function withStored({ values, finding }: Known): RunValues {
  const stored = finding.values?.['quantization.kind'];
  if (stored === undefined || (values['quantization.kind'] ?? 'none') !== 'none') return values;
  return Object.assign(Object.create(values) as RunValues, { 'quantization.kind': stored });
}

/**
 * A file's reading made with what is known by now: rules about world size can speak, and what a key means may depend on
 * the other files of the run.
 */
function readAgain<C extends ConfigReading>(config: C, known: Known): C {
  const { versions, finding } = known;
  const context = { known: withStored(known), versions, model: finding.model };
  return { ...config, reading: readKnowing(config.dialect, documentRead(config), context) };
}

/** What Accelerate and the Trainer put in the place of `auto`, in any file of the run. */
function autoFacts(configs: readonly ConfigReading[], known: RunValues, model: Model | undefined): Fact[] {
  return configs.flatMap(({ uri, dialect, reading }) =>
    reading.autos.flatMap((auto) => {
      const family = auto.family === undefined ? dialect : DIALECTS.find(({ id }) => id === auto.family);
      return family?.joins?.fillAutos?.([auto], { known, hiddenSize: model?.hiddenSize, uri }) ?? [];
    }),
  );
}

/** Whether files that were read again state what they stated before. Each holds its statements as it was read. */
function isAlike(again: readonly Member[], { members }: Read): boolean {
  return again.every(
    ({ config: { reading } }, index) =>
      reading.autos.length === 0 && reading.facts === members[index]?.config.reading.facts,
  );
}

/**
 * Reads each file of the run once more, with what is known by now. `before` is what came of it with something else known: the
 * same, where no file asked for that.
 */
export function read({ config, members: alone }: Collected, known: Known, before?: Read): Read {
  const { values, finding } = known;
  const again = alone.map((member) => ({ ...member, config: readAgain(member.config, known) }));
  if (before && isAlike(again, before)) return before;
  const members = statedByTheirFile(again);
  const configs = members.map((member) => member.config);
  const notModelled = configs.find(({ reading }) => reading.notModelled);
  return {
    ...statementsOf(members),
    members,
    self: members.find(({ relation }) => relation === 'self')?.config ?? config,
    autos: autoFacts(configs, values, finding.model),
    unread: notModelled ? [] : unreadOf(configs),
    ...(notModelled ? { notModelled } : {}),
  };
}
