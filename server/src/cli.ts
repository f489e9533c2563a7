import { runCli } from './cli/program';

// Writing ends after the process says so: an exit code set here lets pipes drain.
runCli(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
