// What an editor draws of an analysis: read with the engine, as the server's start has no use for it.
export { codeLens } from '../features/code-lens';
export { drawnAlike } from '../features/drawn';
export { hasSchema } from '../features/editor-schema';
export { hover } from '../features/hover';
export { withBreakdown } from '../features/hover-breakdown';
export { atLineEnds, inlayHints } from '../features/inlay-hints';
export { measuredLens } from '../features/measured-lens';
export { runLens } from '../features/run-lens';
export { status, statusBefore } from '../features/status';
export { trainingPlace } from '../features/training-place';
export { isFieldPath } from '../run/fields';
export { toDiagnostic } from './convert-problem';
