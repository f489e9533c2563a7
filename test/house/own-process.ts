/** What tests run in their own process with another folder, variables and language: one at a time, as all of these are the process's. */
let latest: Promise<unknown> = Promise.resolve();

const ROOT = process.cwd();

/** Runs a task once those before it are over, however they ended. */
export function inTurn<R>(task: () => Promise<R>): Promise<R> {
  const run = latest.then(task);
  latest = run.catch(() => undefined);
  return run;
}

/** Longer than any task that ends. Milliseconds. */
const PATIENCE = 120_000;

/**
 * On a busy machine a task may outlive its test, whose limit is over: the tests that follow would find its folder in the place of theirs.
 * A file leaves the process where it found it.
 */
export const mochaHooks = {
  async afterEach(this: Mocha.Context): Promise<void> {
    this.timeout(PATIENCE);
    await latest;
  },
  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(PATIENCE);
    await latest;
    process.chdir(ROOT);
  },
};
