/** An index of PyTorch's own wheels, and the last release that was built for it. */
export interface PytorchIndex {
  readonly name: string;
  readonly newest: string;
}

/**
 * The last release of PyTorch for each platform that newer ones are not built for (`CUDA_ARCHES` and `ROCM_ARCHES`,
 * https://github.com/pytorch/pytorch/blob/v2.9.1/.github/scripts/generate_binary_build_matrix.py, over the releases; commands in
 * https://pytorch.org/get-started/previous-versions/). Indices that are not here may have the newest.
 */
const NEWEST: Readonly<Record<string, string>> = {
  cu116: '1.13.1',
  cu117: '2.0.1',
  cu118: '2.7.1',
  cu121: '2.5.1',
  cu124: '2.6.0',
  'rocm5.2': '1.13.1',
  'rocm5.4.2': '2.0.1',
  'rocm5.6': '2.2.2',
  'rocm5.7': '2.3.1',
  'rocm6.0': '2.4.1',
  'rocm6.1': '2.6.0',
  'rocm6.2': '2.5.1',
  'rocm6.2.4': '2.7.1',
  'rocm6.3': '2.9.1',
  'rocm6.4': '2.9.1',
};

/** Options for where packages are looked for, of pip and of uv. */
const OPTION =
  /(?:^|\s)(-i|-f|--(?:index-url|default-index|index|extra-index-url|find-links))[ =]["']?([^\s"']+)/g;
/** Those that leave PyPI, or what stands in its place, among what is asked. */
const BESIDE = /^(?:--index|--extra-index-url|-f|--find-links)$/;
/** Indexes that have builds of PyTorch and not each release of it, and one whose name only the run knows. */
const BUILDS = /\bdownload\.pytorch\.org\/whl\b|\brepo\.radeon\.com\b|^\$|^\{/;

/** An index of builds that words for pip name; `only`: what it does not have is not taken from another. */
interface AskedIndex {
  readonly address: string;
  readonly only: boolean;
}

/**
 * Where words for pip send it for PyTorch. pip takes the newest release of all that it asks; uv stops at the first index that has the
 * package, and asks those beside PyPI first (https://docs.astral.sh/uv/concepts/indexes/#searching-across-multiple-indexes).
 */
export function askedIndex(words: string, byUv = false): AskedIndex | undefined {
  const asked = [...words.matchAll(OPTION)].map(([, option = '', address = '']) => ({
    option,
    address: address.replace(/\/$/, ''),
  }));
  const builds = asked.find(({ address }) => BUILDS.test(address));
  if (!builds) return undefined;
  const beside = asked.filter(({ option }) => BESIDE.test(option));
  const stopsAtFirst =
    byUv &&
    !/\s--index-strategy[ =]/.test(` ${words}`) &&
    beside.every(({ option }) => /index/.test(option)) &&
    (beside[0] ?? builds) === builds;
  return { address: builds.address, only: stopsAtFirst || beside.length === 0 };
}

/** The index of PyTorch that words for pip ask alone, where the newest release is not on it. */
export function pytorchIndex(words: string, byUv?: boolean): PytorchIndex | undefined {
  const { address = '', only } = askedIndex(words, byUv) ?? {};
  const name = /^https:\/\/download\.pytorch\.org\/whl\/([\w.]+)$/.exec(address)?.[1];
  const newest = only && name !== undefined && Object.hasOwn(NEWEST, name) ? NEWEST[name] : undefined;
  return newest === undefined || name === undefined ? undefined : { name, newest };
}

/** A name that a shell or IPython puts the value of: `$CU`, `${CU}`, `{cu}`. */
const NAMED = /\$(\w+)|\$?\{(\w+)\}/g;

/** Words of a command with the names in them that a text binds once, outside of any block, to words alone or with names in them; others stay. */
export function withBound(words: string, text: string): string {
  return words.replace(
    NAMED,
    (whole, bare?: string, braced?: string) => boundOnce(text, bare ?? braced ?? '') ?? whole,
  );
}

function boundOnce(text: string, name: string): string | undefined {
  const start = String.raw`(?:^|[\n;])([ \t]*)(?:export[ \t]+)?${name}[ \t]*=(?!=)`;
  const [first, ...others] = text.matchAll(new RegExp(start, 'g'));
  // An indented one is that of a block, unless it follows another on its line.
  if (!first || others.length > 0 || (first[1] !== '' && !first[0].startsWith(';'))) return undefined;
  const value = /^[ \t]*(["']?)([\w.:/${}-]+)\1[ \t]*(?=$|[\r\n;#&])/.exec(
    text.slice(first.index + first[0].length),
  );
  return value?.[2];
}

/** What may be installed of an index: what is asked for, and none that is newer than its last. */
export const specifierWithin = (specifier: string, index: PytorchIndex | undefined): string =>
  index === undefined || specifier.startsWith('==')
    ? specifier
    : [...(specifier === '' ? [] : [specifier]), `<=${index.newest}`].join(',');
