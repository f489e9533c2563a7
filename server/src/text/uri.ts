/**
 * Paths in URIs, without a platform: the engine runs in Node and in browsers, and Windows drives, spaces and the
 * several ways to escape them must not make two files out of one.
 */

interface Split {
  /** `file://` and the like, with the authority. */
  readonly prefix: string;
  /** Decoded, with `/` between segments. */
  readonly path: string;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function split(uri: string): Split | undefined {
  const match = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)([^?#]*)/i.exec(uri);
  if (!match) return undefined;
  const [, prefix = '', path = ''] = match;
  // Most addresses have nothing to decode, and there are thousands of them in a tree.
  return { prefix, path: path.includes('%') ? path.split('/').map(decode).join('/') : path };
}

/** Halves of characters, which JSON can spell, have no bytes. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const encoded = (segment: string) => encodeURIComponent(segment.replace(HALF, '\ufffd'));

function join({ prefix, path }: Split): string {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') {
      segments.pop();
    } else if (segment !== '.' && segment !== '') {
      segments.push(segments.length === 0 && /^[a-z]:$/i.test(segment) ? segment.toLowerCase() : segment);
    }
  }
  return `${prefix}/${segments.map(encoded).join('/')}`;
}

/** Spellings asked for before: a search over a workspace asks for the same few again and again. */
const canonical = new Map<string, string>();
const MOST_REMEMBERED = 8192;

/** Addresses that have one spelling: nothing to decode, no empty segments, and none that leads up or stays. */
const PLAIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(?:\/[\w-][\w.-]*)+$/i;

/** One spelling for each file: the key under which a file is remembered. */
export function canonicalUri(uri: string): string {
  if (PLAIN.test(uri)) return uri;
  const known = canonical.get(uri);
  if (known !== undefined) return known;
  const parts = split(uri);
  const spelling = parts ? join(parts) : uri;
  if (canonical.size >= MOST_REMEMBERED) canonical.clear();
  canonical.set(uri, spelling);
  return spelling;
}

/** Folder that holds a file; undefined at the top and for documents without a place (`untitled:`). */
export function parentUri(uri: string): string | undefined {
  const parts = split(uri);
  if (!parts) {
    return undefined;
  }
  const path = parts.path.replace(/(?<!\/)\/+$/, '');
  const cut = path.lastIndexOf('/');
  return cut < 0 || path === '' ? undefined : join({ prefix: parts.prefix, path: path.slice(0, cut) });
}

/** Last segment, decoded. */
export function fileName(uri: string): string {
  const path = split(uri)?.path ?? decode(uri);
  return (
    path
      .replace(/(?<!\/)\/+$/, '')
      .split(/[/:]/)
      .at(-1) ?? ''
  );
}

/** Path of a URI for people: decoded, without the scheme. */
export function pathOfUri(uri: string): string {
  return split(uri)?.path.replace(/^\/(?=[a-z]:)/i, '') ?? uri;
}

/** True where a path names a place by itself: from the root, a drive or the home folder. */
export function isAbsolutePath(path: string): boolean {
  return /^(?:\/|\\|~(?:[\\/]|$)|[a-z]:[\\/])/i.test(path);
}

/** A written path, seen from a folder. `home` is needed for `~`. */
export function resolvePath(folder: string, path: string, home?: string): string | undefined {
  const base = split(folder);
  if (!base || path.includes('\0')) {
    return undefined;
  }
  const slashed = path.replaceAll('\\', '/');
  if (/^~(?:\/|$)/.test(slashed)) {
    const start = home === undefined ? undefined : split(home);
    return start && join({ prefix: start.prefix, path: `${start.path}/${slashed.slice(1)}` });
  }
  if (slashed.startsWith('/')) {
    return join({ prefix: base.prefix, path: slashed });
  }
  if (/^[a-z]:\//i.test(slashed)) {
    return join({ prefix: base.prefix, path: `/${slashed}` });
  }
  return join({ prefix: base.prefix, path: `${base.path}/${slashed}` });
}

/** The topmost folder of an address in its canonical spelling: scheme, authority and a slash. */
function topOf(canonicalAddress: string): string {
  return `${split(canonicalAddress)?.prefix ?? ''}/`;
}

/** Folders from the one that holds the file upward, nearest first, at most `limit`. */
export function foldersUpward(uri: string, limit = 40): string[] {
  const folders: string[] = [];
  const nearest = parentUri(uri);
  const top = nearest === undefined ? undefined : topOf(nearest);
  for (let folder = nearest; folder !== undefined && folders.length < limit; ) {
    folders.push(folder);
    // A canonical spelling: what stands before the last slash is that of the folder above.
    folder =
      folder === top ? undefined : folder.slice(0, Math.max(folder.lastIndexOf('/'), top?.length ?? 0));
  }
  return folders;
}

/** Path of a file inside a folder, with `/`; undefined where it lies outside. */
export function relativePath(folder: string, uri: string): string | undefined {
  const base = `${canonicalUri(folder).replace(/\/$/, '')}/`;
  const file = canonicalUri(uri);
  return file.startsWith(base) ? decode(file.slice(base.length)) : undefined;
}

/** Whether a file or folder is one of these folders or lies in one. */
export function isInside(uri: string, folders: readonly string[]): boolean {
  return folders.some(
    (folder) =>
      relativePath(folder, uri) !== undefined ||
      canonicalUri(folder).replace(/\/$/, '') === canonicalUri(uri).replace(/\/$/, ''),
  );
}
