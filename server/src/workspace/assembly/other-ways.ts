import { nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import type { EstimateInput } from '../../estimate';
import { evenDataParallelSize } from '../../run/derive';
import type { FieldPath, RunValues } from '../../run/fields';
import { type Resolution, sameValue } from '../../run/resolve';
import type { Unread } from '../../run/unread';
import { beginTogether } from '../../text/place';
import { canonicalUri } from '../../text/uri';
import type { Member } from '../member';
import { documentRead } from '../overrides';
import { readKnowing } from '../read-knowing';
import type { Assembled } from './assembled';
import type { Collected } from './collect';
import type { Known } from './know';
import { read } from './read';
import { resolve } from './resolve';
import { settle } from './settle';

/** Conditions whose other ways are looked at: of a script with more of them the first decide. */
const MOST_CONDITIONS = 4;

/** The run as it is where its script goes another way than the likely one. */
export interface OtherWay {
  readonly condition: Unread;
  readonly input: EstimateInput;
}

/** Looks up what the files of a run settle by themselves. */
type Knowing = (resolution: Resolution, collected: Collected) => Promise<Known>;

/** A run of another model is another run, which its own name tells apart. */
const NAMES_MODEL: readonly FieldPath[] = ['model.id', 'model.path'];

/**
 * The runs that a script starts where conditions that it does not settle, and that decide its words, turn out otherwise. Each is joined
 * as the likely one is: what a model is may hang on how it is split.
 */
export async function otherWays(
  { collected, read: { unread }, resolved }: Assembled,
  knowOf: Knowing,
): Promise<OtherWay[]> {
  const ways: OtherWay[] = [];
  const open = unread.filter(({ kind }) => kind === 'branch');
  for (const condition of open.slice(0, MOST_CONDITIONS)) {
    const { uri, range } = condition.location;
    const script = collected.members.find(({ config }) => canonicalUri(config.uri) === canonicalUri(uri));
    for (const root of script?.config.document.otherWays?.(range) ?? []) {
      const turned = script && onWay(collected, script, root);
      const input = turned && (await runOf(turned, resolved.resolution.values, knowOf));
      if (input) ways.push({ condition, input });
    }
  }
  return ways;
}

/** The files of a run with another tree of its script. */
function onWay(collected: Collected, script: Member, root: MapNode): Collected {
  const document = turnedTo(documentRead(script.config), root);
  const { whole: _, ...rest } = script.config;
  const config = { ...rest, document, reading: readKnowing(rest.dialect, document, { known: {} }) };
  const members = collected.members.map((member) => (member === script ? { ...member, config } : member));
  return { ...collected, members };
}

/** The run that the files make, joined; undefined where they make none. */
async function runOf(
  collected: Collected,
  likely: RunValues,
  knowOf: Knowing,
): Promise<EstimateInput | undefined> {
  const settled = settle(collected);
  const { values } = settled.joined.resolution;
  if (NAMES_MODEL.some((field) => !sameValue(values[field], likely[field]))) return undefined;
  const known = await knowOf(settled.joined.resolution, collected);
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
  const found = commandsOf(root).findIndex(({ range }) => beginTogether(range, wanted.range));
  return found < 0 ? command : found;
}

function commandsOf(root: ConfigNode | null): readonly ConfigNode[] {
  const commands = nodeAt(root, ['commands']);
  return commands?.kind === 'list' ? commands.items : [];
}
