import { readFileSync } from 'node:fs';
import path from 'node:path';
import { exportedNames } from './exported-names';
import { allFunctions } from './functions';
import { circle, edgesOf, importsOf, mutualFloors, sourcesOf, upwardImports } from './imports';
import { productComparisons } from './products';
import { typedReads } from './typed-reads';
import { unimported } from './unimported';

/** How straight a checkout is, in numbers by what they count: CONTRIBUTING has them for two commits. */
export function counts(root = '.'): Readonly<Record<string, number>> {
  const edges = edgesOf(importsOf(root));
  const functions = allFunctions(root);
  const lines = (folder: string) =>
    sourcesOf(folder, root).reduce(
      (sum, file) => sum + readFileSync(path.join(root, file), 'utf8').split('\n').length - 1,
      0,
    );
  return {
    'lines of `dialects/` without `python/`':
      lines('server/src/dialects') - lines('server/src/dialects/python'),
    'reads of one key beside its row': typedReads(root).length,
    'comparisons with products and versions in formulas': productComparisons(root).length,
    'imports that lead up': upwardImports(edges).length,
    'pairs of floors that import each other': mutualFloors(edges).length,
    'circles of files, types included': circle(edges) ? 1 : 0,
    'functions over 80 lines': functions.filter((one) => one.lines > 80).length,
    'lines of the longest function': Math.max(...functions.map((one) => one.lines)),
    'names exported from two files': [...exportedNames(root)].filter(([, files]) => files.length > 1).length,
    'exports that nobody imports': unimported(root).length,
  };
}
