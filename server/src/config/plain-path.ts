/** `..` and `.` taken out, as far as the path shows what they stand for. A dot in front stays: it distinguishes a folder from a name. */
export function plainPath(path: string): string {
  const steps: string[] = [];
  for (const step of path.split(/[/\\]+/)) {
    if (steps.length > 0 && (step === '.' || step === '')) continue;
    if (step === '..' && steps.length > 0 && !/^\.{0,2}$/.test(steps.at(-1) ?? '')) steps.pop();
    else steps.push(step);
  }
  return steps.join('/');
}

/** A file by its path: `./ds.json` is `ds.json`. */
export const sameFile = (path: string): string => plainPath(path).replace(/^\.\//, '');
