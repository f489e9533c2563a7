// Scores the estimates against published measurements: node scripts/accuracy.mjs [--rows FILE] [--estimates OUT] [--misses]
import { runBundled } from './run-bundled.mjs';

await runBundled('test/accuracy/index.ts');
