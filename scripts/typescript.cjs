// Lets Node load TypeScript as it stands: node --require ./scripts/typescript.cjs FILE.ts
// Each file is transpiled once and kept in out/transpiled, so that every test shares the engine's modules. No bundler stands
// between a test and its source: a stack trace or a breakpoint is at the line that was written. Types are checked by tsc.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const path = require('node:path');

const root = path.dirname(__dirname);
const OPTIONS = {
  loader: 'ts',
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  sourcemap: 'inline',
  // `import()` becomes `require`, which finds files without their ending as the bundler does.
  supported: { 'dynamic-import': false },
};
let esbuild;

require.extensions['.ts'] = (module, file) => {
  const source = readFileSync(file, 'utf8');
  // The name is the content, so a file that changed is another one, and two processes cannot mix up versions.
  const hash = createHash('sha256').update(JSON.stringify(OPTIONS)).update(source).digest('hex').slice(0, 16);
  const kept = path.join(root, 'out', 'transpiled', path.relative(root, file), `${hash}.js`);
  module._compile(read(kept) ?? transpiled(source, file, kept), file);
};

/** As the bundler's `with { type: 'text' }`. */
for (const ending of ['.yaml', '.jsonl'])
  require.extensions[ending] = (module, file) => {
    module.exports = { __esModule: true, default: readFileSync(file, 'utf8') };
  };

/** A thread of a source that stands as it is loads it the same way. */
const threads = require('node:worker_threads');
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, String(file).endsWith('.ts') ? { ...options, execArgv: ['--require', __filename] } : options);
  }
};

/** esbuild starts its process in the folder in which it is loaded: not in that of a test, which goes. */
function loadedInRoot() {
  if (!threads.isMainThread) return require('esbuild');
  const here = process.cwd();
  process.chdir(root);
  try {
    return require('esbuild');
  } finally {
    process.chdir(here);
  }
}

function transpiled(source, file, kept) {
  esbuild ??= loadedInRoot();
  const { code } = esbuild.transformSync(source, { ...OPTIONS, sourcefile: file });
  mkdirSync(path.dirname(kept), { recursive: true });
  const unfinished = `${kept}.${process.pid}`;
  writeFileSync(unfinished, code);
  renameSync(unfinished, kept);
  return code;
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
