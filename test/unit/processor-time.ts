/** Milliseconds of processor time that a piece of work takes: its own, whatever else the machine does meanwhile. */
export async function processorMs(work: () => unknown): Promise<number> {
  const started = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1000;
}
