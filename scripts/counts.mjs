// How straight the house is, in numbers: node scripts/counts.mjs [--folder DIR]
import { runBundled } from './run-bundled.mjs';

await runBundled('test/house/index.ts');
