import { readdirSync } from 'node:fs';
import path from 'node:path';
import * as shared from '../../server/src/sources/repositories';

const DIALECTS = path.resolve('server/src/dialects');

/** Those that one family alone describes: they stand in its folder. */
export const REPOSITORIES_OF_FAMILIES: readonly shared.Repository[] = readdirSync(DIALECTS, {
  recursive: true,
  encoding: 'utf8',
})
  .filter((file) => file.endsWith('-repository.ts'))
  .flatMap((file): shared.Repository[] => Object.values(require(path.join(DIALECTS, file))));

/** Every repository that addresses lead to. */
export const REPOSITORIES: readonly shared.Repository[] = [
  ...Object.values(shared).filter((one) => typeof one === 'object'),
  ...REPOSITORIES_OF_FAMILIES,
];
