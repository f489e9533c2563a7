import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type PanelFiles, withoutMap } from '../../features/panel-files';

/** Beside the bundle of the command line; in the extension, where the client lies; else where the client is built. */
const PLACES = ['.', '../../../client/dist', '../../../../client/dist'];

/** The panel's files. Rejects where they are nowhere. */
export async function panelFiles(): Promise<PanelFiles> {
  const text = async (name: string) => {
    for (const place of PLACES) {
      const found = await readFile(path.join(__dirname, place, name), 'utf8').catch(() => undefined);
      if (found !== undefined) return withoutMap(found);
    }
    throw new Error(`${name} is not here`);
  };
  return { script: await text('panel.js'), style: await text('panel.css') };
}
