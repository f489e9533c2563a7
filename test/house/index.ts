import { counts } from './counts';

/* `npm run counts`: how straight the house is, in numbers; `-- --folder DIR` counts another checkout, such as one of an older commit. */
const at = process.argv.indexOf('--folder');
const found = counts(at < 0 ? '.' : process.argv[at + 1]);
for (const [what, count] of Object.entries(found)) console.log(`${String(count).padStart(6)}  ${what}`);
