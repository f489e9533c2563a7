import { TestServer } from '../protocol/server-process';
import { longConfig, PROJECT, report, timed } from './samples';

const ROUNDS = 240;
const WARM_UP = 40;
const ALL = { start: { line: 0, character: 0 }, end: { line: 5000, character: 0 } };

/** From the keystroke to what an editor draws: the edit is sent, then lens and hints are asked for, as editors do. */
async function main(): Promise<void> {
  const server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
  const text = longConfig();
  const uri = await server.open('ds.json', text);
  await server.published(uri);
  const textDocument = { uri };
  const hints: number[] = [];
  const both: number[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    // Another value each time: nothing can be answered from an earlier round.
    const edited = text.replace('200000000', String(200000001 + i));
    await server.change(uri, edited);
    hints.push(await timed(() => server.request('textDocument/inlayHint', { textDocument, range: ALL })));
  }
  for (let i = 0; i < ROUNDS; i += 1) {
    const edited = text.replace('200000000', String(300000001 + i));
    both.push(
      await timed(async () => {
        await server.change(uri, edited);
        await Promise.all([
          server.request('textDocument/codeLens', { textDocument }),
          server.request('textDocument/inlayHint', { textDocument, range: ALL }),
        ]);
      }),
    );
  }
  await server.stop();
  report({
    'inlay hints after an edit, 1,000 lines': hints.slice(WARM_UP),
    'keystroke to lens and hints, 1,000 lines': both.slice(WARM_UP),
  });
}

void main();
