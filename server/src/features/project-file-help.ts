import { spotAt } from '../config/lookup';
import type { ConfigNode } from '../config/node';
import { parseConfig } from '../config/parse';
import type { Dialect } from '../dialects/dialect';
import type { Position } from '../text/place';
import { fileName } from '../text/uri';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { plainValue } from '../workspace/project-file';
import { projectKeys, projectRow } from '../workspace/project-keys';
import { outcomeWords } from './code-lens';
import { type Completion, completions } from './completion/completion';
import type { HoverText } from './hover-text';
import { keyDocumentation } from './key-documentation';
import { baseName, code, escapeMarkdown } from './markdown';

/** More than this is no line. */
const MOST_USERS = 5;

/** What can be typed at a place of an `oomlint.yaml`: sections, fields and rules, and what they take. */
export function projectCompletions(
  uri: string,
  text: string,
  position: Position,
): Promise<readonly Completion[]> {
  const dialect: Dialect = {
    id: 'project-file',
    name: fileName(uri),
    keys: projectKeys(),
    takesFieldValues: true,
    markers: /(?!)/,
    detect: () => 0,
    read: () => NOTHING,
  };
  const document = parseConfig(uri, text);
  return completions({ text, position, document, dialect, reading: NOTHING });
}

const NOTHING = { facts: [], links: [], problems: [], autos: [] };

/** A key of an `oomlint.yaml`: what it means, what it takes, and on its first key which of the analysed configs read the file. */
export function projectHover(
  uri: string,
  text: string,
  position: Position,
  users: readonly Analysis[],
): HoverText | undefined {
  const { root } = parseConfig(uri, text);
  const spot = spotAt(root, position);
  const row = spot?.entry && projectRow(spot.path);
  if (!spot?.entry || !row) return undefined;
  const { key, keyRange, value } = spot.entry;
  const isFirst = root?.kind === 'map' && root.entries[0] === spot.entry;
  const sections = [
    `**${code(key)}**${shown(value)} · ${escapeMarkdown(baseName(uri))}`,
    keyDocumentation(row),
    row.values && say('One of {0}.', row.values.map((one) => code(String(one))).join(', ')),
    isFirst ? usersSentence(users) : undefined,
  ];
  return {
    markdown: sections.filter((section) => section).join('\n\n'),
    range: spot.onKey ? keyRange : spot.node.range,
  };
}

/** Above an `oomlint.yaml`: how many of the analysed configs read it, how many of their runs do not fit, and their names. */
export function projectLens(
  users: readonly Analysis[],
): { readonly title: string; readonly tooltip: string } | undefined {
  if (users.length === 0) return undefined;
  const count = say('Used by {0} {0|config|configs}', users.length);
  const exceeding = users.filter(({ estimate }) => estimate?.verdict === 'exceeds').length;
  const named = users.map((user) => {
    const { uri, estimate } = user;
    const name = baseName(uri);
    return estimate ? `${name}: ${outcomeWords(estimate, user)}` : name;
  });
  return {
    title: exceeding > 0 ? say('{0}, {1} {1|does|do} not fit', count, exceeding) : count,
    tooltip: named.sort().join('\n'),
  };
}

function shown(node: ConfigNode): string {
  const value = node.kind === 'scalar' ? plainValue(node) : null;
  return value === null || value === undefined ? '' : ` ${code(String(value))}`;
}

/** `Read by 2 open configs: a.yaml (Fits: 31.3 of 79.1 GiB), b.json (...)`. */
function usersSentence(users: readonly Analysis[]): string | undefined {
  if (users.length === 0) return undefined;
  const named = users.slice(0, MOST_USERS).map((user) => {
    const { uri, estimate } = user;
    const name = escapeMarkdown(baseName(uri));
    return estimate ? `${name} (${outcomeWords(estimate, user)})` : name;
  });
  const names = named.join(', ') + (users.length > MOST_USERS ? ', …' : '');
  return say('Read by {0} {0|config|configs} that {0|is|are} open: {1}.', users.length, names);
}
