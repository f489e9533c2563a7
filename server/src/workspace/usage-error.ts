/** Arguments that cannot be meant: the command line ends with exit code 2. */
export class UsageError extends Error {}
