import { spawn } from 'node:child_process';
import { TestServer } from '../protocol/server-process';
import { type Figures, longConfig, longRecipe, PROJECT, report, timed } from './samples';

const STARTS = 12;
const ROUNDS = 240;
const OTHER = `{\n${Array.from({ length: 998 }, (_, i) => `  "entry_${i}": ${i},`).join('\n')}\n  "last": 0\n}\n`;

/** What starting any program under Node costs here: the floor below the server's start, and a measure of how busy the machine is. */
async function floor(): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < STARTS; i += 1) {
    times.push(
      await timed(async () => {
        const child = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' });
        await new Promise((resolve) => child.once('exit', resolve));
      }),
    );
  }
  return times;
}

async function starts(): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < STARTS; i += 1) {
    let server: TestServer | undefined;
    times.push(
      await timed(async () => {
        server = await TestServer.start();
      }),
    );
    await server?.stop();
  }
  return times;
}

async function rounds(server: TestServer): Promise<Figures> {
  const text = longConfig();
  const uri = await server.open('ds.json', text);
  await server.published(uri);
  const line = text.split('\n').findIndex((candidate) => candidate.includes('reduce_bucket_size'));
  const edited = (i: number) => text.replace('200000000', String(200000001 + i));
  const hover: number[] = [];
  const diagnostics: number[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    await server.change(uri, edited(i));
    hover.push(await timed(() => server.hover(uri, line, 8)));
  }
  for (let i = 0; i < ROUNDS; i += 1) {
    const version = await server.change(uri, edited(i + ROUNDS));
    diagnostics.push(
      await timed(async () => {
        await server.save(uri);
        await server.published(uri, (params) => params.version === version);
      }),
    );
    server.forget();
  }
  const recipe = longRecipe();
  const yaml = await server.open('recipe.yaml', recipe);
  await server.published(yaml);
  const hoverYaml: number[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    // In the long part of the file: reading is measured here, estimating a run that never came before above.
    await server.change(yaml, recipe.replace('data-set-500: 0.500', `data-set-500: 0.${1000 + i}`));
    hoverYaml.push(await timed(() => server.hover(yaml, 2, 8)));
  }
  const other = await server.open('data.json', OTHER);
  const ignored: number[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    await server.change(other, OTHER.replace('"last": 0', `"last": ${i}`));
    ignored.push(await timed(() => server.hover(other, 3, 5)));
  }
  return {
    'hover after an edit, 1,000 lines': hover.slice(40),
    'hover after an edit, 1,000 lines of YAML': hoverYaml.slice(40),
    'diagnostics after an edit, 1,000 lines': diagnostics.slice(40),
    'hover after an edit, 1,000 lines of no config': ignored.slice(40),
  };
}

async function main(): Promise<void> {
  const empty = await floor();
  const start = await starts();
  const server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
  const figures = await rounds(server);
  await server.stop();
  report({ 'an empty Node program': empty, 'server, spawn to initialize': start, ...figures });
}

void main();
