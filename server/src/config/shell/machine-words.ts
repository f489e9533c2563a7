/** They start what stands behind them on the machines and GPUs that they are asked for. */
const ASKER = /^(?:srun|sbatch|salloc|mpirun|mpiexec|flux|ray|aprun|jsrun|docker|podman)$/;
/** They start it as it is: `nice -n 10` is no number of processes, and `numactl -N 1` none of machines. */
const PLAIN =
  /^(?:nice|ionice|chrt|taskset|numactl|timeout|stdbuf|watch|xargs|parallel|flock|ssh|perf|strace|xvfb-run|nsys|ncu|py-spy|rocprof\S*|conda|mamba|micromamba|kubectl)$/;

/** Whether the word at a place before what is started is part of a request for machines. */
export function asksForMachines(texts: readonly string[], at: number): boolean {
  const names = texts.slice(0, at + 1).map((text) => text.split('/').at(-1) ?? '');
  const asker = names.findLastIndex((name) => ASKER.test(name));
  if (names.findLastIndex((name) => PLAIN.test(name)) > asker) return false;
  // Of MPI it is how many processes each machine has (Open MPI 5.0, `mpirun(1)`).
  const each = names.slice(-2).includes('-N');
  return !(each && /^mpi/.test(names[asker] ?? ''));
}
