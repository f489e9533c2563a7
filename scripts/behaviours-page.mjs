// Writes docs/behaviours.md from the table of behaviours: node scripts/behaviours-page.mjs
import { runBundled } from './run-bundled.mjs';

await runBundled('test/docs/write-behaviours-page.ts');
