import { nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import type { EstimateInput } from '../../estimate';
import { evenDataParallelSize } from '../../run/derive';
import type { FieldPath } from '../../run/fields';
import { sameValue } from '../../run/resolve';
import type { Unread } from '../../run/unread';
import { beginTogether, type Range } from '../../text/place';
import { canonicalUri } from '../../text/uri';
import type { ConfigReading } from '../config-reading';
import type { Member } from '../member';
import { documentRead } from '../overrides';
import { readKnowing } from '../read-knowing';
import type { Assembled } from './assembled';
import type { Collected } from './collect';
import type { Known } from './know';
import { read } from './read';
import { resolve } from './resolve';
import { type SettledRun, settle } from './settle';

/** Conditions whose other ways are looked at: of a script with more of them the first decide. */
const MOST_CONDITIONS = 4;

/** The run as it is where its script goes another way than the likely one. */
export interface OtherWay {
  readonly condition: Unread;
  readonly input: EstimateInput;
}

/** The files of a run whose script goes another way, and what they settle. */
interface TurnedFiles {
  readonly condition: Unread;
  readonly collected: Collected;
  readonly settled: SettledRun;
}

/** A run of another model is another run, which its own name tells apart. */
const NAMES_MODEL: readonly FieldPath[] = ['model.id', 'model.path'];

/** The files of the run where conditions that a script does not settle, and that decide its words, turn out otherwise. */
export function otherWays({ collected, read: { unread }, resolved }: Assembled): TurnedFiles[] {
  const likely = resolved.resolution.values;
  const open = unread.filter(({ kind }) => kind === 'branch');
  return open.slice(0, MOST_CONDITIONS).flatMap((condition) => {
    const { uri, range } = condition.location;
    const own = collected.members.find(({ config }) => canonicalUri(config.uri) === canonicalUri(uri));
    // A script that another one runs is followed in that one.
    const script = own ?? collected.members.find(({ config }) => isFollowed(uri, config));
    const at = own ? range : { ...range, uri: canonicalUri(uri) };
    const roots = script?.config.document.otherWays?.(at) ?? [];
    return roots.flatMap((root) => {
      if (!script) return [];
      const turned = onWay(collected, script, root);
      const settled = settle(turned);
      const { values } = settled.joined.resolution;
      const isOther = NAMES_MODEL.some((field) => !sameValue(values[field], likely[field]));
      return isOther ? [] : [{ condition, collected: turned, settled }];
    });
  });
}

const isFollowed = (uri: string, { document, whole }: ConfigReading): boolean =>
  document.follows === true && whole?.parts.some((part) => part.uri === canonicalUri(uri)) === true;

/** The files of a run with another tree of its script. */
function onWay(collected: Collected, script: Member, root: MapNode): Collected {
  const document = turnedTo(documentRead(script.config), root);
  const { whole: _, ...rest } = script.config;
  const config = { ...rest, document, reading: readKnowing(rest.dialect, document, { known: {} }) };
  const members = collected.members.map((member) => (member === script ? { ...member, config } : member));
  return { ...collected, members };
}

/** The run that the files make, joined as the likely one is; undefined where they make none. */
export function runOnWay({ collected, settled }: TurnedFiles, known: Known): EstimateInput | undefined {
  const { resolution, accelerator } = resolve(collected, known, read(collected, known), settled);
  const { run } = resolution;
  const { model } = known.finding;
  if (!run || !model || !accelerator || evenDataParallelSize(run) === undefined) return undefined;
  return { run, model, accelerator };
}

/** A script with another tree of its commands; what was found around it stays. */
function turnedTo(document: ConfigDocument, root: MapNode): ConfigDocument {
  const before = document.root?.kind === 'map' ? document.root.entries : [];
  const own = new Set(root.entries.map(({ key }) => key));
  const entries = [...root.entries, ...before.filter(({ key }) => !own.has(key))];
  const command = placeIn(root, document);
  return { ...document, root: { ...root, entries }, ...(command === undefined ? {} : { command }) };
}

/** The place of the command that counts, which other ways may put elsewhere in the list. */
function placeIn(root: MapNode, { root: before, command }: ConfigDocument): number | undefined {
  const wanted = command === undefined ? undefined : commandsOf(before)[command];
  if (!wanted) return command;
  const there = commandsOf(root);
  const isAt = ({ range }: ConfigNode) => beginTogether(range, wanted.range);
  // One command may run another script that starts several.
  const same = there.findIndex((node) => isAt(node) && beginTogether(programOf(node), programOf(wanted)));
  const found = same < 0 ? there.findIndex(isAt) : same;
  return found < 0 ? command : found;
}

function programOf(command: ConfigNode): Range {
  const program = nodeAt(command, ['program']);
  return (program?.kind === 'list' ? program.items[0]?.range : undefined) ?? command.range;
}

function commandsOf(root: ConfigNode | null): readonly ConfigNode[] {
  const commands = nodeAt(root, ['commands']);
  return commands?.kind === 'list' ? commands.items : [];
}
