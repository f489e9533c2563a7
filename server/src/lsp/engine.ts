import { type DetectedGpus, detectGpus } from '../hardware/detect';
import { Workspace } from '../workspace/analyze';
import { breakdownOf, openedOf } from '../workspace/breakdown';
import type { Host } from '../workspace/host';
import type { Engine, Preferences } from './runtime';

/** The engine behind the server, loaded when the first document asks for it. */
export function createEngine(host: Host, preferences: Preferences): Engine {
  let detected: Promise<DetectedGpus | undefined> | undefined;
  const workspace = new Workspace(host, {
    settings: (uri) => preferences.values(uri),
    detect: async (uri) => {
      if (!(await preferences.mayDetect(uri))) {
        return undefined;
      }
      // The driver is asked once: the cards of a machine do not change under a running editor.
      detected ??= detectGpus();
      return detected;
    },
  });
  return {
    isCandidate: (uri, text) => workspace.isCandidate(uri, text),
    teaches: (uri) => Workspace.teaches(uri),
    analyze: (uri) => workspace.analyze(uri),
    checkProjectFile: (uri) => workspace.checkProjectFile(uri),
    invalidate: (uri) => workspace.invalidate(uri),
    invalidateAll: () => workspace.invalidateAll(),
    dependents: (uri) => workspace.dependents(uri),
    breakdown: breakdownOf,
    opened: openedOf,
  };
}
