import { writeFileSync } from 'node:fs';
import { rulesPage } from './rules-page';

writeFileSync('docs/rules.md', rulesPage());
