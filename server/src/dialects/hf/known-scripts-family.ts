import type { Family } from '../family';
import { knownScriptProgram } from './known-script-program';

/** Published scripts around the Trainer, whose defaults are known. */
export const knownScriptsFamily: Family = { programs: [knownScriptProgram] };
