import { spotAt } from '../config/lookup';
import { type Causation, causation, heldBy, leversOf, shapeable } from '../memory/causes';
import type { Category, Estimate, Part } from '../results/estimate';
import { categoryLabel } from '../results/labels';
import { FIELD_PATHS, type FieldPath } from '../run/fields';
import { linesOf } from '../text/lines';
import type { Location, Position } from '../text/place';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { before } from './ranges';
import { shareBar } from './share-bar';

/** Which keys get a hint. */
export type Shown = 'off' | 'heaviest' | 'all';

/** What a key weighs. */
export interface KeyHint {
  readonly position: Position;
  /** Behind the value of its key, wherever it is drawn. */
  readonly place: Position;
  /** At most `LABEL_ROOM` characters, the figure whole; before it a bar of its share of the GPU's memory, where there is room. */
  readonly label: string;
  /** What the label words: names of parts, the largest first, and their figure. */
  readonly words: LabelWords;
  /** Name of the key, as the file spells it. */
  readonly key: string;
  /** What the key states, for whoever asks for more. */
  readonly fields: readonly FieldPath[];
}

/** Words of a label before they are fitted to its room. */
interface LabelWords {
  readonly names: readonly string[];
  readonly figure: string;
  /** Of the figure. */
  readonly bytes: number;
  /** Whether that lies on a GPU; else in the memory of a node. */
  readonly onGpu: boolean;
}

/**
 * Characters that VS Code draws of all hints of a line before it cuts them off, from the end, where the figure stands:
 * `editor.inlayHints.maximumLength`, 43 unless set.
 */
export const LABEL_ROOM = 43;

/** The heaviest keys are few, or they would say nothing. */
const FEW = 4;
/** Parts that a hint names. */
const NAMED = 2;
/** Of the peak: what is lighter is no reason to look at a key. */
const LEAST_SHARE = 0.02;

/** Parts that go by one name together. Model states: what ZeRO shards (arXiv 1910.02054). */
const TOGETHER: readonly { readonly name: () => string; readonly categories: ReadonlySet<Category> }[] = [
  {
    name: () => say('model states'),
    categories: new Set<Category>(['weights', 'master-weights', 'gradients', 'optimizer-states']),
  },
  {
    name: () => say('activations and logits'),
    categories: new Set<Category>(['activations', 'checkpoints', 'logits-and-loss']),
  },
];

/** A key of the file at hand and the fields that it decides. */
interface Stated {
  readonly location: Location;
  readonly fields: FieldPath[];
}

/** Hints behind the keys of this file that decide what weighs, in file order. None while there is no estimate. */
export function inlayHints(analysis: Analysis, shown: Shown): readonly KeyHint[] {
  const { estimate } = analysis;
  if (shown === 'off' || !estimate) return [];
  const stated = statedHere(analysis);
  const chosen = shown === 'all' ? stated : heaviest(analysis, stated);
  return chosen
    .flatMap((key) => hintOf(analysis, key) ?? [])
    .sort((a, b) => (before(a.position, b.position) ? -1 : before(b.position, a.position) ? 1 : 0));
}

/**
 * The same hints at the ends of their lines: behind a value they would read as a part of it. Where a line holds several keys, each
 * hint names its own, and they share the room: those that weigh most are drawn.
 */
export function atLineEnds(hints: readonly KeyHint[], text: string): KeyHint[] {
  const lines = linesOf(text);
  return hints.flatMap((hint) => {
    const { line } = hint.position;
    const position = { line, character: lines[line]?.length ?? hint.position.character };
    const together = hints.filter((other) => other.position.line === line);
    const label = together.length > 1 ? sharedLabels(together).get(hint) : hint.label;
    return label === undefined ? [] : [{ ...hint, position, label }];
  });
}

/** Labels of hints that share a line: those that find no room have none. */
function sharedLabels(together: readonly KeyHint[]): ReadonlyMap<KeyHint, string> {
  const labels = new Map<KeyHint, string>();
  let room = LABEL_ROOM;
  for (const hint of [...together].sort((a, b) => b.words.bytes - a.words.bytes)) {
    const label = fitted(hint.words, room, `${hint.key}: `);
    if (label === undefined) continue;
    labels.set(hint, label);
    room -= label.length;
  }
  return labels;
}

/** A label with its share of the memory of a GPU as a bar; without it where both have no room. */
function withBar(label: string, bytes: number, capacityBytes: number): string {
  // A bar that touched the value would read as a part of it, and a thin one as the cursor.
  const drawn = ` ${shareBar(bytes, capacityBytes)} ${label}`;
  return drawn.length <= LABEL_ROOM ? drawn : label;
}

/** The longest label within so many characters: names give way, the figure stays. Undefined where not even that has room. */
function fitted({ names, figure }: LabelWords, room: number, key = ''): string | undefined {
  const [first = ''] = names;
  const others = names.length - 1;
  const forms = [
    ...(names.length <= NAMED ? [`${names.join(', ')} ${figure}`] : []),
    ...(others > 0
      ? [say('{0} and {1} more: {2}', first, others, figure), `${first} +${others}: ${figure}`]
      : []),
    `${first} ${figure}`,
    figure,
  ];
  return forms.map((form) => key + form).find((form) => form.length <= room);
}

/** Keys whose statement counts: what a stronger one overrules costs nothing. */
function statedHere({ uri, resolved }: Analysis): Stated[] {
  const byPlace = new Map<string, Stated>();
  for (const field of FIELD_PATHS) {
    const origin = resolved.origins[field];
    const location = origin?.location;
    // A directive states several fields in one comment: a hint could not say which it is about.
    if (!location || location.uri !== uri || origin.kind !== 'file') continue;
    const { start, end } = location.range;
    const place = `${start.line}:${start.character}-${end.line}:${end.character}`;
    const known = byPlace.get(place);
    if (known) known.fields.push(field);
    else byPlace.set(place, { location, fields: [field] });
  }
  return [...byPlace.values()];
}

/** For each part that weighs, the key to look at first: the one that the verdict names, too. */
function heaviest({ estimate }: Analysis, stated: readonly Stated[]): readonly Stated[] {
  if (!estimate) return [];
  const found = new Set<Stated>();
  for (const part of shapeable(estimate.parts)) {
    if (found.size >= FEW || part.bytes < LEAST_SHARE * estimate.peak.processBytes) break;
    const lever = leversOf(part.category)
      .map((field) => stated.find(({ fields }) => fields.includes(field)))
      .find((key) => key && causation(key.fields, estimate)?.categories.has(part.category));
    if (lever) found.add(lever);
  }
  return [...found];
}

function hintOf(analysis: Analysis, { location, fields }: Stated): KeyHint | undefined {
  const { estimate } = analysis;
  const caused = causation(fields, estimate);
  const words = caused && estimate && wordsOf(caused, estimate);
  if (!words) return undefined;
  const position = behind(analysis, location);
  const path = fields.flatMap((field) => analysis.resolved.origins[field]?.key ?? [])[0] ?? '';
  const key = path.slice(path.lastIndexOf('.') + 1);
  const longest = fitted(words, LABEL_ROOM) ?? words.figure;
  const label = words.onGpu ? withBar(longest, words.bytes, estimate.capacityBytes) : longest;
  return { position, place: position, label, words, key, fields };
}

/** What a key causes at the peak, else in the memory of the node; undefined where that is nothing. */
function wordsOf(caused: Causation, estimate: Estimate): LabelWords | undefined {
  const parts = heldBy(caused.categories, estimate);
  if (parts.length > 0) {
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    return { names: partNames(parts), figure: formatBytes(bytes), bytes, onGpu: true };
  }
  const { bytesPerNode } = estimate.host;
  if (!caused.host || bytesPerNode <= 0) return undefined;
  return {
    names: [say('host memory')],
    figure: say('{0} per node', formatBytes(bytesPerNode)),
    bytes: bytesPerNode,
    onGpu: false,
  };
}

/** Names of the parts, the largest first: one for several where they have one. */
function partNames(parts: readonly Part[]): readonly string[] {
  const groups = new Map<unknown, { readonly names: string[]; bytes: number; together?: () => string }>();
  for (const { category, bytes } of parts) {
    const together = TOGETHER.find(({ categories }) => categories.has(category));
    const group = groups.get(together ?? category) ?? { names: [], bytes: 0, together: together?.name };
    group.names.push(categoryLabel(category));
    group.bytes += bytes;
    groups.set(together ?? category, group);
  }
  return [...groups.values()]
    .sort((a, b) => b.bytes - a.bytes)
    .map((group) => (group.names.length > 1 && group.together ? group.together() : (group.names[0] ?? '')));
}

/** Behind the value; behind the colon where the value goes over several lines. */
function behind({ document }: Analysis, { range }: Location): Position {
  if (range.start.line === range.end.line) return range.end;
  const key = /^(shell|python)$/.test(document.format)
    ? undefined
    : spotAt(document.root, range.start)?.entry?.keyRange;
  return key ? { line: key.end.line, character: key.end.character + 1 } : range.start;
}
