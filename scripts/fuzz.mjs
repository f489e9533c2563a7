// Looks for texts and messages that something is not ready for: node scripts/fuzz.mjs [--minutes N] [--seed N] [--family NAME]
import { execFileSync } from 'node:child_process';
import { runBundled } from './run-bundled.mjs';

execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
await runBundled('test/fuzz/index.ts');
