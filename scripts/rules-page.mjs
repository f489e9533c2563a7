// Writes docs/rules.md from the table of rules: node scripts/rules-page.mjs
import { runBundled } from './run-bundled.mjs';

await runBundled('test/docs/write-rules-page.ts');
