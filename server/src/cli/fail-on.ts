/** From which problem on the exit code states it; `tight` counts runs that may not fit besides errors. */
export const FAIL_ON = ['error', 'tight', 'warning', 'never'] as const;
export type FailOn = (typeof FAIL_ON)[number];
