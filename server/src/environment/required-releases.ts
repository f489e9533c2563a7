import { maxSatisfying, minSatisfying, valid } from '@renovatebot/pep440';
import tables from '../../data/vllm-requirements.json';
import { pinOf, type VersionedPackage } from './versions';

type Rows = Readonly<Record<string, Readonly<Partial<Record<string, string>>>>>;

const VLLM: Rows = tables.vllm;
const XFORMERS: Rows = tables.xformers;

/** Packages whose release decides over those of others, in the order in which they are asked. */
export const PROVIDERS = ['vllm', 'xformers', 'unsloth'] as const;
type Provider = (typeof PROVIDERS)[number];

/** Of vLLM the last release of a minor version is known, and the last before a patch that requires another PyTorch. */
function rowOf(release: string): string | undefined {
  const minor = /^\d+\.\d+/.exec(release)?.[0];
  const rows = Object.keys(VLLM);
  return minor === undefined
    ? undefined
    : (minSatisfying(rows, `==${minor}.*,>=${release}`) ?? maxSatisfying(rows, `==${minor}.*`) ?? undefined);
}

/**
 * What a release requires of a package (`Requires-Dist` of its wheel), where that ends above: what only begins somewhere leaves the
 * release that is installed open. Undefined of releases that are not known.
 */
export function requiredSpecifier(
  provider: Provider,
  release: string,
  name: VersionedPackage,
): string | undefined {
  if (valid(release) === null) return undefined;
  const row = provider === 'vllm' ? rowOf(release) : release;
  const found =
    provider === 'unsloth'
      ? pinOf('unsloth', name, release)?.specifier
      : row === undefined
        ? undefined
        : (provider === 'vllm' ? VLLM : XFORMERS)[row]?.[name];
  return found !== undefined && /(?:^|,)(?:<|==)/.test(found) ? found : undefined;
}
