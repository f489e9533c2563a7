/** What pip installs from a repository: `git+https://github.com/huggingface/transformers.git@v4.49.0`. */
interface RepositoryPackage {
  readonly name: string;
  /** The release that its tag or its branch is of, as pip is asked for one: `==4.49.0`, `==4.57.*`. */
  readonly specifier: string;
  /** Without a release: the head of what its makers publish from, or a commit, a branch or a fork, of which nobody can tell the release. */
  readonly state?: RepositoryState;
}
export type RepositoryState = 'head' | 'commit';

/** `git+https://github.com/OWNER/NAME.git@REF#egg=NAME`, and archives: `https://github.com/OWNER/NAME/archive/refs/tags/v1.0.zip`. */
export const REPOSITORY =
  /(?:git\+(?:https|ssh|git):\/\/(?:git@)?|https:\/\/(?=[^\s"']*\/archive\/))(?:www\.)?github\.com\/(?<owner>[\w.-]+)\/(?<repository>[\w-]+?)(?:\.git)?\/?(?:(?:@|archive\/(?:refs\/(?:tags|heads)\/)?)(?<ref>[\w./-]+?))?(?:\.zip|\.tar\.gz)?(?:#[^\s"']*)?(?=$|[\s"',;])/g;

/** A wheel by its address, whose file states the package and the release (https://packaging.python.org/en/latest/specifications/binary-distribution-format/#file-name-convention). */
export const WHEEL =
  /https?:\/\/[^\s"',;#]*\/([A-Za-z0-9][\w.]*)-(\d[\w.]*)(?:(?:\+|%2B)[\w.]+)?(?:-\d\w*)?-[\w.]+-[\w.]+-[\w.]+\.whl(?:#[^\s"']*)?(?=$|[\s"',;])/gi;

/** The package of an address that `WHEEL` found; builds of one release (`+cu129`) are that release. */
export const wheelPackage = ([, name = '', release = '']: RegExpExecArray): {
  readonly name: string;
  readonly specifier: string;
} => ({ name: name.toLowerCase().replace(/_/g, '-'), specifier: `==${release}` });

/** What repositories install where it is not called as they are. */
const NAMES: Readonly<Record<string, string>> = { mamba: 'mamba-ssm', 'flash-attention': 'flash-attn' };
/** Who releases a package; what others keep under its name is a fork. */
const MAKERS: Readonly<Record<string, RegExp>> = {
  transformers: /^huggingface$/i,
  trl: /^(?:huggingface|lvwerra)$/i,
  peft: /^huggingface$/i,
  accelerate: /^huggingface$/i,
  deepspeed: /^(?:microsoft|deepspeedai)$/i,
  bitsandbytes: /^(?:bitsandbytes-foundation|timdettmers)$/i,
  'liger-kernel': /^linkedin$/i,
  torch: /^pytorch$/i,
};

/** The package of an address: the groups of `REPOSITORY`. */
export function repositoryPackage({
  owner = '',
  repository = '',
  ref,
}: Readonly<Partial<Record<'owner' | 'repository' | 'ref', string>>>): RepositoryPackage {
  const name = NAMES[repository.toLowerCase()] ?? repository.toLowerCase();
  const tag = /^(?:refs\/tags\/)?v?(\d+(?:\.\d+){1,3})$/.exec(ref ?? '')?.[1];
  if (tag !== undefined) return { name, specifier: `==${tag}` };
  const branch = /^v(\d+\.\d+)-release$/.exec(ref ?? '')?.[1];
  if (branch !== undefined) return { name, specifier: `==${branch}.*` };
  const preview = /^v(\d+)\.(\d+)\.(\d+)-[A-Za-z]/.exec(ref ?? '');
  if (preview) {
    // A model is published on top of a release, before the next one has it: https://github.com/huggingface/transformers/releases/tag/v4.49.0-Gemma-3.
    const [, major, minor, patch] = preview;
    return { name, specifier: `>=${major}.${minor}.${patch},<${major}.${Number(minor) + 2}` };
  }
  const isHead = ref === undefined || /^(?:main|master|HEAD)$/.test(ref);
  return { name, specifier: '', state: isHead && MAKERS[name]?.test(owner) !== false ? 'head' : 'commit' };
}
