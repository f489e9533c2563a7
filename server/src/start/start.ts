import path from 'node:path';
import { keptCodeFolder, runKept } from './kept-code';

/** Which of the doors of the bundle beside this file is opened, and what tells that bundle from others; both are put in by the build. */
declare const DOOR: 'cli' | 'server' | 'engine';
declare const BUNDLE: string;
declare const BUILD: string;

/** Commands run different parts of the bundle: what one of them compiled is kept for that one. */
const asked = /^[a-z][a-z-]{1,14}$/.exec(process.argv[2] ?? '')?.[0] ?? 'other';
const name = [BUILD, DOOR, ...(DOOR === 'cli' ? [asked] : [])].join('-');
const doors = runKept(
  path.join(__dirname, BUNDLE),
  name,
  keptCodeFolder(process.env, process.platform),
  require,
) as Readonly<Record<typeof DOOR, () => Promise<unknown>>>;
export const opened = doors[DOOR]();
