import fc from 'fast-check';

/**
 * Properties are tried on the same inputs each time, so that a change fails for what it changed alone; `OOMLINT_SEED=random`, or a
 * number, tries others.
 */
const SEED = 20_261_127;
const asked = process.env.OOMLINT_SEED ?? String(SEED);

if (asked !== 'random') fc.configureGlobal({ seed: Number(asked) });
