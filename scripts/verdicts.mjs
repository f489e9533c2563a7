// What Oomlint reports of documented runs, beside what became of them: node scripts/verdicts.mjs [--all]
import { runBundled } from './run-bundled.mjs';

await runBundled('test/verdicts/index.ts');
