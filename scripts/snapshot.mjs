// What people would see of every config at hand, for restructurings that change nothing of it:
// node scripts/snapshot.mjs OUT.jsonl [--against BEFORE.jsonl]
import { runBundled } from './run-bundled.mjs';

await runBundled('test/snapshot/index.ts');
