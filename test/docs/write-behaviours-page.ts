import { readFileSync, writeFileSync } from 'node:fs';
import { behavioursPage } from './behaviours-page';

writeFileSync(
  'docs/behaviours.md',
  behavioursPage(readFileSync('server/src/behaviours/behaviours.ts', 'utf8')),
);
