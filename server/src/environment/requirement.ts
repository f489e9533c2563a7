import {
  REPOSITORY,
  type RepositoryState,
  repositoryPackage,
  WHEEL,
  wheelPackage,
} from '../config/repository-address';
import type { Range } from '../text/place';

/** A package and the versions of it that a file asks for, or holds. */
export interface Requirement {
  /** Normalised name (PEP 503): lower case, single dashes. */
  readonly name: string;
  /** PEP 440 specifiers, joined by commas; empty where any version will do. */
  readonly specifier: string;
  /** The one version that is installed or locked. */
  readonly exact?: string;
  /** Of an extra, which nobody need have asked for: it states which release goes with the project, not that one is installed. */
  readonly optional?: true;
  /** It comes from a repository, and no tag tells which release it is. */
  readonly repository?: RepositoryState;
  /** The image whose name states it. */
  readonly of?: string;
  /** An image of a container holds it: what is pinned for the run is installed over it. */
  readonly image?: true;
  /** The index of PyTorch that it is installed from, whose last release is the newest that the specifier allows. */
  readonly builtFor?: string;
  /** It is installed without what it requires (`--no-deps`). */
  readonly alone?: true;
  /** Where the requirement stands in its file. */
  readonly range: Range;
}

/** PEP 503: runs of `-`, `_` and `.` are one dash, letters are small. */
export const normalName = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, '-');

/** Longer lines hold no requirement that people wrote. */
const LONGEST = 500;
const NAMED = /^([A-Za-z0-9][A-Za-z0-9._-]{0,80})(?:\[[^\]]{0,200}\])?/;

/** `git+https://...@ref`, or `name @ git+https://...@ref`; undefined where the text names no repository that is known how to read. */
function fromRepository(text: string, range: Range): Requirement | undefined {
  const [address] = text.matchAll(REPOSITORY);
  const before = address && text.slice(0, address.index).trim();
  if (!address || !/^(?:-e|[\w.-]+(?:\[[^\]]*\])?\s*@)?$/.test(before ?? '')) return undefined;
  const { name: ofRepository, specifier, state } = repositoryPackage(address.groups ?? {});
  const name = normalName(NAMED.exec(before ?? '')?.[1] ?? ofRepository);
  const exact = /^==([^*]+)$/.exec(specifier)?.[1];
  return {
    name,
    specifier,
    ...(exact === undefined ? {} : { exact }),
    ...(state ? { repository: state } : {}),
    range,
  };
}

/** A wheel by its address, with a name before it or without. */
function fromWheel(text: string, range: Range): Requirement | undefined {
  const [address] = text.matchAll(WHEEL);
  if (!address || !/^(?:[\w.-]+(?:\[[^\]]*\])?\s*@\s*)?$/.test(text.slice(0, address.index)))
    return undefined;
  const { name, specifier } = wheelPackage(address);
  return { name: normalName(name), specifier, exact: specifier.slice('=='.length), range };
}

/**
 * One requirement as pip takes it (PEP 508): `trl[peft]>=0.12,<1 ; python_version > "3.9"`, or a tagged archive or repository
 * (`transformers @ git+https://...@v4.57.1`). Undefined where the text is none.
 */
export function parseRequirement(text: string, range: Range): Requirement | undefined {
  if (text.length > LONGEST) return undefined;
  const address = fromRepository(text, range) ?? fromWheel(text, range);
  if (address) return address;
  const match = NAMED.exec(text);
  if (!match?.[1]) return undefined;
  const name = normalName(match[1]);
  const rest = text.slice(match[0].length).trim();
  if (rest.startsWith('@')) {
    const tag = /@v?(\d+(?:\.\d+){1,3})(?:$|[#\s])/.exec(rest.slice(1));
    return tag?.[1] ? { name, specifier: `==${tag[1]}`, exact: tag[1], range } : undefined;
  }
  const specifier = (rest.split(/[;#]/, 1)[0] ?? '').replace(/[\s()]+/g, '');
  if (specifier !== '' && !/^(?:[<>]=?|[!~=]=)/.test(specifier)) return undefined;
  const exact = /^===?([^,*]+)$/.exec(specifier)?.[1];
  return { name, specifier, ...(exact === undefined ? {} : { exact }), range };
}
