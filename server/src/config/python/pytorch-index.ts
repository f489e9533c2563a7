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

/** An index beside PyPI's leaves the newest release to pip, which takes it from there; one in its place does not. */
const ASKED =
  /(?:^|\s)(?:-i|--index-url|--default-index)[ =]["']?https:\/\/download\.pytorch\.org\/whl\/([\w.]+)\/?["']?(?=$|\s)/;

/** Another index that is asked, too, which may have a newer release. */
const ASKED_TOO = /(?:^|\s)--(?:extra-index-url|index)[ =]/;

/** The index of PyTorch that words for pip ask alone, where the newest release is not on it. */
export function pytorchIndex(words: string): PytorchIndex | undefined {
  const name = ASKED_TOO.test(words) ? '' : (ASKED.exec(words)?.[1] ?? '');
  const newest = Object.hasOwn(NEWEST, name) ? NEWEST[name] : undefined;
  return newest === undefined ? undefined : { name, newest };
}

/** A name that a shell or IPython puts the value of: `$CU`, `${CU}`, `{cu}`. */
const NAMED = /\$(\w+)|\$?\{(\w+)\}/g;

/** Words of a command with the names in them that a text binds once, outside of any block, to words alone; others stay. */
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
  const value = /^[ \t]*(["']?)([\w.:/-]+)\1[ \t]*(?=$|[\r\n;#&])/.exec(
    text.slice(first.index + first[0].length),
  );
  return value?.[2];
}

/** What may be installed of an index: what is asked for, and none that is newer than its last. */
export const specifierWithin = (specifier: string, index: PytorchIndex | undefined): string =>
  index === undefined || specifier.startsWith('==')
    ? specifier
    : [...(specifier === '' ? [] : [specifier]), `<=${index.newest}`].join(',');
