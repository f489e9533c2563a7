import { fieldLabel } from '../run/field-labels';
import type { FieldPath, RunValues } from '../run/fields';
import { ORIGIN_KINDS, type Origin, type OriginKind } from '../run/origin';
import { sameValue } from '../run/resolve';
import { canonicalUri, pathOfUri } from '../text/uri';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { byHand } from './by-hand';
import { freshProblems } from './fresh-problems';
import { noteForFile } from './project-note';
import { sourcesOf } from './run-sources';
import { trainingTakes } from './training-takes';
import type { World } from './world';
import { newConfigsOf } from './write/new-config';
import { fieldsOf, type WrittenFile, writeChanges } from './write/write';

/** Why a value is not written, for people. */
interface Unwritten {
  readonly field: FieldPath;
  readonly reason: string;
}

/** Edits after which the files of a run were read again and stated what was meant. */
export interface ApplyPlan {
  /** Files of the run, changed in their own words. */
  readonly files: readonly WrittenFile[];
  /** The project file, where something is noted there that Oomlint alone reads. */
  readonly note?: WrittenFile;
  /** What a person has to change by hand, as sentences: the training does not read the note. */
  readonly byHand: readonly string[];
  readonly left: readonly Unwritten[];
  /** The run as the changed files say it. */
  readonly after?: Analysis;
}

/** Statements that a note in the project file overrules. */
const WEAKER: readonly OriginKind[] = ORIGIN_KINDS.slice(ORIGIN_KINDS.indexOf('project'));

/**
 * Finds the edits after which a config's run has these values, and proves them: the changed texts are read as if they were
 * saved. What a file states is written where its family has a word for it. What no file states is noted for this config alone
 * in the project file, with what has to be done beside. What comes out otherwise, or brings a problem, is left.
 */
export async function planValues(analysis: Analysis, values: RunValues, world: World): Promise<ApplyPlan> {
  const { resolved } = analysis;
  const { run, origins } = resolved;
  const changed = fieldsOf(values).filter((field) => !sameValue(values[field], resolved.values[field]));
  if (!run || changed.length === 0) return { files: [], byHand: [], left: [] };
  const sources = await sourcesOf(analysis, world);
  const files = sources.filter(({ uri }) => !isProjectOf(uri, analysis));
  const left: Unwritten[] = [];
  const leave = (field: FieldPath, reason: string) => left.push({ field, reason });
  const newConfigs = await newConfigsOf(analysis, world);
  const write = (fields: readonly FieldPath[]) =>
    writeChanges({ files, run, origins, changes: values, fields, newConfigs });
  let spoken = changed.filter((field) => (write([field])?.length ?? 0) > 0);
  let noted: FieldPath[] = [];
  for (const field of changed.filter((one) => !spoken.includes(one))) {
    // A note changes no training that has no word for it.
    if (isWeak(origins[field]) && trainingTakes(analysis, values, [field])) noted.push(field);
    else leave(field, noWord(analysis, field, values));
  }
  // Each round leaves a value out that did not hold.
  while (spoken.length + noted.length > 0) {
    const written = spoken.length > 0 ? write(spoken) : [];
    if (!written) {
      for (const field of spoken) leave(field, noWord(analysis, field, values));
      spoken = [];
      continue;
    }
    const note = noted.length > 0 ? await noteOf(analysis, pick(values, noted), world) : undefined;
    if (noted.length > 0 && !note) {
      for (const field of noted) leave(field, say('no file has a place for {0}', fieldLabel(field)));
      noted = [];
      continue;
    }
    const texts = new Map([...written, ...(note ? [note] : [])].map(({ uri, after }) => [uri, after]));
    const after = await world.preview(analysis.uri, texts);
    const wrong = [...spoken, ...noted].filter(
      (field) => !sameValue(after?.resolved.values[field], values[field]),
    );
    if (after && wrong.length === 0) {
      const [fresh] = freshProblems(analysis, after);
      if (!fresh) {
        const lines = noted.flatMap((field) => byHand(field, values, run, files) ?? []);
        // What follows from the written values needs no words: the precision of who shards the model.
        const open = left.filter(({ field }) => !sameValue(after.resolved.values[field], values[field]));
        return { files: written, note, byHand: [...new Set(lines)], left: open, after };
      }
      for (const field of [...spoken, ...noted]) leave(field, fresh.message);
      break;
    }
    const dropped = wrong.length > 0 ? wrong : [...spoken, ...noted];
    for (const field of dropped) leave(field, noWord(analysis, field, values));
    spoken = spoken.filter((field) => !dropped.includes(field));
    noted = noted.filter((field) => !dropped.includes(field));
  }
  return { files: [], byHand: [], left };
}

/** Whether a note in the project file would overrule who states a value now. */
export function isWeak(origin: Origin | undefined): boolean {
  return origin === undefined || WEAKER.includes(origin.kind);
}

const isProjectOf = (uri: string, analysis: Analysis) =>
  canonicalUri(uri) !== canonicalUri(analysis.uri) && /\/oomlint\.ya?ml$/.test(canonicalUri(uri));

function pick(values: RunValues, fields: readonly FieldPath[]): RunValues {
  return Object.fromEntries(fields.map((field) => [field, values[field]])) as RunValues;
}

/** Values as the project file's entry for this config alone. */
async function noteOf(analysis: Analysis, values: RunValues, world: World): Promise<WrittenFile | undefined> {
  const project = await world.project(analysis);
  const after = project && noteForFile(project, analysis.uri, values);
  if (!project || after === undefined) return undefined;
  const { uri, text } = project;
  return { uri, before: text ?? '', after, note: true, ...(text === undefined ? { create: true } : {}) };
}

function noWord({ dialect, resolved }: Analysis, field: FieldPath, values: RunValues): string {
  const { location } = resolved.origins[field] ?? {};
  const place = location ? pathOfUri(location.uri).replace(/^.*\//, '') : dialect.name;
  return say('{0} has no word for {1} {2}', place, fieldLabel(field), String(values[field]));
}
