/** Exit codes: what a script can rely on. */
export const EXIT = { fine: 0, foundErrors: 1, couldNotRun: 2, foundNothing: 3 } as const;
