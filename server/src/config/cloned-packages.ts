import { repositoryPackage } from './repository-address';

/** What pip is asked for by a folder: `.`, `-e .[dev]`, `./trl`, `trl/`, `-e trl`. */
const FOLDER =
  /(?:^|\s)(?:(?:-e|--editable)[ =]["']?((?!git\+)[\w.~/-]+)|["']?(\.{1,2}(?:\/[\w./-]*)?|[\w.~-]*\/[\w./-]*))(?:\[[\w,-]*\])?["']?(?=$|\s)/g;
/** `git clone --depth 1 -b v0.9.6 https://github.com/huggingface/trl.git folder` */
const CLONE =
  /\bgit[ \t]+clone((?:[ \t]+-{1,2}[\w-]+(?:=\S+|[ \t]+(?!-|\S*github\.com)\S+)?)*)[ \t]+["']?(?:https:\/\/|git@|ssh:\/\/git@)?github\.com[/:]([\w.-]+)\/([\w-]+?)(?:\.git)?\/?["']?(?:[ \t]+["']?([\w./~-]+))?((?:[ \t]+-{1,2}[\w-]+(?:[= ][\w./-]+)?)*)[ \t]*(?=$|[\n;&|\r])/g;
const BRANCH = /(?:^|\s)(?:-b|--branch)[ =]([\w./-]+)/;
const CHECKOUT =
  /\bgit[ \t]+(?:-C[ \t]+\S+[ \t]+)?(?:checkout|switch|reset[ \t]+--hard)[ \t]+(?:-\S+[ \t]+)*([\w./-]+)/g;
const ENTERED = /(?:^|[\n;&!%(])[ \t]*(?:cd|pushd)[ \t]+["']?([^\s"';&|)]+)/g;

const lastOf = (path: string) => path.replace(/\/+$/, '').split('/').at(-1) ?? '';

/** The folder that a command stands in, as far as the last change of it tells; undefined where that leads out of one. */
function folderAt(before: string): string | undefined {
  const [, path] = [...before.matchAll(ENTERED)].at(-1) ?? [];
  const name = path === undefined ? undefined : lastOf(path);
  return name === undefined || /^(?:\.\.|-|~)?$|[$`{]/.test(name) ? undefined : name;
}

/** A package that pip installs from a folder, into which commands before it cloned a repository of GitHub. */
export function clonedPackages(
  words: string,
  before: string,
): (ReturnType<typeof repositoryPackage> & { readonly index: number; readonly length: number })[] {
  if (!before.includes('git')) return [];
  const clones = [...before.matchAll(CLONE)];
  return [...words.matchAll(FOLDER)].flatMap((asked) => {
    const path = asked[1] ?? asked[2] ?? '';
    const folder = /^\.\/?$/.test(path) ? folderAt(before) : lastOf(path);
    const clone = clones.findLast(([, , , repository = '', into]) => lastOf(into ?? repository) === folder);
    if (!clone || folder === undefined) return [];
    const [all, first = '', owner, repository, , last = ''] = clone;
    const since = before.slice(clone.index + all.length);
    const moved = [...since.matchAll(CHECKOUT)].at(-1)?.[1];
    const ref = moved ?? BRANCH.exec(`${first} ${last}`)?.[1];
    return [
      { ...repositoryPackage({ owner, repository, ref }), index: asked.index, length: asked[0].length },
    ];
  });
}
