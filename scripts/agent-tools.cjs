// Writes the tools of agents into package.json, where VS Code reads them: names, schemas and descriptions as the engine has them.
'use strict';
require('./typescript.cjs');
const { readFileSync, writeFileSync } = require('node:fs');
const { contributedTools } = require('../test/docs/contributed-tools.ts');

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
manifest.contributes.languageModelTools = contributedTools();
writeFileSync('package.json', `${JSON.stringify(manifest, null, 2)}\n`);
