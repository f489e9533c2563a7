// Checks clones of public repositories and compares with how their findings were classed:
// node scripts/precision.mjs --folder DIR
import { runBundled } from './run-bundled.mjs';

await runBundled('test/precision/index.ts');
