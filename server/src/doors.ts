/**
 * What the packages of npm and PyPI start, in one bundle: each is read and run when it is opened. Command line and language server
 * begin their work by being loaded; of the engine its names are taken.
 */
export const cli = () => import('./cli');
export const server = () => import('./main');
export const engine = () => import('./engine');
