import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Frame, Page } from 'playwright-core';
import { ROOT } from './panel-page';

const AXE = readFileSync(path.join(ROOT, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What axe finds, rule by rule with the places. */
export async function accessibilityViolations(page: Page | Frame): Promise<string[]> {
  // Evaluated by the browser's debugger, so the page's own policy stays as strict as it ships.
  await page.evaluate(AXE);
  const violations = await page.evaluate(
    () => Reflect.get(window, 'axe').run() as Promise<{ violations: Violation[] }>,
  );
  return violations.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
  );
}
