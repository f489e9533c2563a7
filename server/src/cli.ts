import { runCli } from './cli/program';
import { terminalLanguage } from './cli/terminal-language';
import { speakLanguage } from './wording/language';

// Writing ends after the process states it: an exit code set here lets pipes drain.
speakLanguage(terminalLanguage(process.env))
  .then(() => runCli(process.argv.slice(2)))
  .then((code) => {
    process.exitCode = code;
  });
