import type { Browser } from 'playwright-core';

/** Path of a Chromium on this machine, or the one that the environment variable CHROMIUM names. */
export function findBrowser(): string | undefined;

/** A headless browser from the machine; throws where there is none. */
export function launchBrowser(): Promise<Browser>;
