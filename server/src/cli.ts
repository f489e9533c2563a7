import nodeModule from 'node:module';
import { runCli } from './cli/program';
import { terminalLanguage } from './cli/terminal-language';
import { speakLanguage } from './wording/language';

// Node 22.8 and later keep what they compiled, unless NODE_DISABLE_COMPILE_CACHE is set: most of a start.
(nodeModule as { readonly enableCompileCache?: () => unknown }).enableCompileCache?.();

// Writing ends after the process states it: an exit code set here lets pipes drain.
speakLanguage(terminalLanguage(process.env))
  .then(() => runCli(process.argv.slice(2)))
  .then((code) => {
    process.exitCode = code;
  });
