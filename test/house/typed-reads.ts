import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sourcesOf } from './imports';

const FOLDER = 'server/src/dialects';

/** A read of one key by its type that names the field itself, whether or not a row does. */
const TYPED = /\.state(?:Integer|Number|Flag|Text|Texts)\(\s*(?:'(?<field>[^']+)'|(?<variable>\w+))/g;

/** All of the families', as `file: field`. */
export function typedReads(root = '.'): string[] {
  return sourcesOf(FOLDER, root)
    .filter((file) => path.basename(file) !== 'section.ts')
    .flatMap((file) =>
      [...readFileSync(path.join(root, file), 'utf8').matchAll(TYPED)].map(
        ({ groups }) =>
          `${path.relative(FOLDER, file).replaceAll('\\', '/')}: ${groups?.field ?? groups?.variable}`,
      ),
    );
}
