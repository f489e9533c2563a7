/** What puts the panel's page into a document. Part of the door through which the client sees the engine. */

export { inlinedScript, inlinedStyle, type PanelFiles, withoutMap } from '../features/panel-files';
