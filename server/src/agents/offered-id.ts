import type { OfferedChange } from './desk';

/** An id that stands for the texts before and after: the same change of the same texts has the same one. 64 bits of FNV-1a. */
export function idOf({ uri, files, stated }: OfferedChange): string {
  const texts = files.flatMap((file) => [file.uri, file.before, file.after]);
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode([uri, JSON.stringify(stated), ...texts].join('\0')))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return `fit-${hash.toString(16).padStart(16, '0')}`;
}
