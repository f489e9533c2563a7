// Reads real configs, family by family: node scripts/corpus.mjs [--family NAME] [--misses] [--problems]
// [--warnings] [--json] [--scripts FOLDER]
import { runBundled } from './run-bundled.mjs';

await runBundled('test/corpus/index.ts');
