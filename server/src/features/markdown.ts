import type { Location } from '../text/place';
import { say } from '../wording/say';

/** User text as it reads, whatever Markdown or HTML it contains. */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[\\`*_{}[\]|<>~&]/g, '\\$&')
    .replace(/^([#+-]|\d+(?=[.)]))/, '\\$1')
    .replace(LIKE_A_LINK, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** What Markdown makes links of without brackets, and VS Code icons (`$(zap)`). */
const LIKE_A_LINK = /:(?=\/\/)|(?<=\bwww)\.|@|\$(?=\()/gi;

/** Inline code with a fence longer than any run of backticks inside. Long values are cut. */
export function code(text: string, limit = 120): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const shown = line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
  const longest = Math.max(0, ...(shown.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  const pad = shown.startsWith('`') || shown.endsWith('`') || shown === '' ? ' ' : '';
  return `${fence}${pad}${shown}${pad}${fence}`;
}

/** An https address that Markdown cannot break out of, or undefined for anything else. */
export function httpsUrl(address: string | undefined): string | undefined {
  if (!address?.startsWith('https://')) {
    return undefined;
  }
  try {
    return new URL(address).href.replace(/[()<>\s]/g, (c) =>
      encodeURIComponent(c).replace('(', '%28').replace(')', '%29'),
    );
  } catch {
    return undefined;
  }
}

/** A link to a source, or nothing where the source is not an https address. */
export function sourceLink(label: string, address: string | undefined): string | undefined {
  const url = httpsUrl(address);
  return url && `[${label}](${url})`;
}

/** `name.yaml:12`, linked to that line where the place is a file that an editor can open. */
export function placeLink(location: Location): string {
  return linkTo(location, `${baseName(location.uri)}:${location.range.start.line + 1}`);
}

/** `line 12`, for a place in the file at hand. */
export function lineLink(location: Location): string {
  return linkTo(location, say('line {0}', String(location.range.start.line + 1)));
}

function linkTo({ uri, range }: Location, text: string): string {
  const label = escapeMarkdown(text);
  if (!uri.startsWith('file:')) {
    return label;
  }
  const target = uri.replace(/[()<>\s]/g, (c) =>
    c === '(' ? '%28' : c === ')' ? '%29' : encodeURIComponent(c),
  );
  return `[${label}](${target}#L${range.start.line + 1})`;
}

/** Last segment of a URI, decoded where it can be. */
export function baseName(uri: string): string {
  const name = uri.slice(uri.lastIndexOf('/') + 1) || uri;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
