// Pictures of Oomlint outside VS Code for the README, in media/screenshots/: the comment on a pull request, the view beside an
// agent's conversation, Neovim. Each shows what the built server really answers; nothing on them is written by hand but the
// words around.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { build } from 'esbuild';
import { launchBrowser } from './browser.mjs';
import { CACHE, npmInstall } from './npm-cache.mjs';
import { smallPng } from './small-png.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const pictures = path.join(root, 'media', 'screenshots');
const cli = path.join(root, 'server', 'dist', 'cli.js');

/** How GitHub draws Markdown, a terminal that draws what a program sends, and signs that no font of this machine may have. */
const DRAWN_BY = [
  'github-markdown-css@5.9.0',
  'markdown-it@15.0.3',
  '@xterm/xterm@6.0.0',
  'twemoji-colr-font@15.0.3',
];
const drawing = path.join(CACHE, `pictures-${DRAWN_BY.map((one) => one.split('@').at(-1)).join('-')}`);
const brought = (name, encoding = 'utf8') => readFile(path.join(drawing, 'node_modules', name), encoding);

if (!existsSync(path.join(drawing, 'node_modules', '@xterm', 'xterm'))) await npmInstall(drawing, DRAWN_BY);
await mkdir(pictures, { recursive: true });
const folder = await mkdtemp(path.join(os.tmpdir(), 'oomlint-doors-'));
const browser = await launchBrowser();
try {
  await pullRequest();
  await agentView();
  await neovim();
} finally {
  await browser.close();
  await rm(folder, { recursive: true, force: true });
}

async function newPage(width, height) {
  return browser.newPage({ viewport: { width, height }, deviceScaleFactor: 1.25 });
}

async function shoot(shown, name) {
  const picture = smallPng(await shown.screenshot());
  await writeFile(path.join(pictures, `${name}.png`), picture);
  console.log(`media/screenshots/${name}.png, ${Math.round(picture.length / 1000)} kB`);
}

/** What `oomlint diff` writes for the comment, of a commit that lengthens the samples of two runs with one DeepSpeed file. */
async function pullRequest() {
  const repository = path.join(folder, 'runs');
  await mkdir(path.join(repository, 'configs'), { recursive: true });
  const put = (name, text) => writeFile(path.join(repository, 'configs', name), text);
  const recipe = (model, length) =>
    `model_name_or_path: ${model}\nstage: sft\ndo_train: true\nfinetuning_type: full\ndataset: support\ntemplate: llama3\ncutoff_len: ${length}\noutput_dir: out\nper_device_train_batch_size: 2\nmax_steps: 2000\nbf16: true\ndeepspeed: ds.json\n`;
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: repository,
    });
  git('init', '-q', '-b', 'main');
  await put('ds.json', '{ "zero_optimization": { "stage": 3 }, "bf16": { "enabled": true } }\n');
  await put('assistant.yaml', recipe('meta-llama/Llama-3.1-8B', 2048));
  await put('judge.yaml', recipe('Qwen/Qwen2.5-7B', 2048));
  git('add', '-A');
  git('commit', '-qm', 'Runs');
  await put('ds.json', '{ "zero_optimization": { "stage": 2 }, "bf16": { "enabled": true } }\n');
  await put('assistant.yaml', recipe('meta-llama/Llama-3.1-8B', 16384));
  git('commit', '-qam', 'Longer samples, fewer gathers');
  const { stdout } = spawnSync(
    process.execPath,
    [cli, 'diff', 'HEAD~1..HEAD', '--format', 'markdown', '--gpu', 'H100', '--gpus', '8'],
    { cwd: repository, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } },
  );
  const markdownIt = createRequire(path.join(drawing, 'package.json'))('markdown-it');
  const body = markdownIt({ html: true }).render(stdout);
  const page = await newPage(860, 700);
  await page.setContent(`<!doctype html><meta charset="utf-8"><style>${await brought('github-markdown-css/github-markdown-light.css')}
    @font-face { font-family: Signs; src: url(data:font/woff2;base64,${await brought('twemoji-colr-font/twemoji.woff2', 'base64')}); unicode-range: U+2600-27BF, U+1F300-1FAFF; }
    body { margin: 0; padding: 16px; background: #fff; }
    .comment { border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden; }
    .head { padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; font: 14px -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; color: #59636e; }
    .head b { color: #1f2328; }
    .markdown-body { padding: 16px; font-family: Signs, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
    </style><div class="comment"><div class="head"><b>oomlint</b> commented on this pull request</div><div class="markdown-body">${body}</div></div>`);
  for (const details of await page.locator('details').all())
    await details.evaluate((element) => element.setAttribute('open', ''));
  await page.evaluate(() => document.fonts.load('16px Signs', '❌'));
  await shoot(page.locator('body'), 'pull-request');
  await page.close();
}

/** An estimate in a host of MCP Apps: the text that the agent is given, and the view for the person. */
async function agentView() {
  const client = new Client(
    { name: 'pictures', version: '1' },
    {
      capabilities: {
        extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
      },
    },
  );
  const examples = path.join(root, 'examples');
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [cli, 'mcp', examples], cwd: examples }),
  );
  const file = 'does-not-fit.json';
  const estimated = await client.callTool({ name: 'estimate_run', arguments: { file } });
  const { contents } = await client.readResource({ uri: 'ui://oomlint/breakdown' });
  await client.close();
  const { outputFiles } = await build({
    entryPoints: [path.join(root, 'test/page/agent-view-host.ts')],
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
  });
  const page = await newPage(840, 690);
  await page.setContent(`<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; padding: 16px 20px; background: #1f1f1f; color: #ccc; font: 14px/1.5 -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
    .person { margin: 0 0 12px auto; width: fit-content; padding: 6px 12px; border-radius: 8px; background: #313131; }
    .call { color: #9d9d9d; font-family: 'DejaVu Sans Mono', monospace; font-size: 12px; }
    p { margin: 8px 0; }</style>
    <div class="person">Does ${file} fit?</div>
    <div class="call">estimate_run { "file": "${file}" }</div><p></p>`);
  const [answer] = estimated.content;
  await page.locator('p').evaluate((place, text) => {
    place.textContent = text;
  }, answer.text.split('\n')[0]);
  await page.addScriptTag({ content: outputFiles[0].text });
  await page.evaluate(
    ([html, result]) => globalThis.showView(html, result, 'dark').then(() => undefined),
    [contents[0].text, estimated],
  );
  const view = page.frameLocator('iframe');
  await view.locator('h1', { hasText: 'GiB' }).waitFor();
  await page.waitForFunction(() => (document.querySelector('iframe')?.clientHeight ?? 0) > 600);
  await page.waitForTimeout(500);
  await shoot(page, 'agent-view');
  await page.close();
}

/** Neovim of this machine in a terminal, with the configuration of its page. */
async function neovim() {
  const [columns, rows] = [124, 34];
  const place = path.join(folder, 'neovim');
  await mkdir(place);
  await cp(path.join(root, 'examples', 'does-not-fit.json'), path.join(place, 'does-not-fit.json'));
  await cp(path.join(root, 'examples', 'oomlint.yaml'), path.join(place, 'oomlint.yaml'));
  const documentation = await readFile(path.join(root, 'docs', 'editors', 'neovim.md'), 'utf8');
  const newest = spawnSync('nvim', ['--version'], { encoding: 'utf8' }).stdout ?? '';
  const [, minor = 0] = /NVIM v0\.(\d+)/.exec(newest) ?? [];
  const blocks = [...documentation.matchAll(/```lua\n(.*?)```/gs)].map(([, block]) => block);
  await writeFile(
    path.join(place, 'init.lua'),
    `vim.opt.termguicolors = true\nvim.opt.signcolumn = 'yes'\nvim.opt.number = true\nvim.opt.swapfile = false\nvim.cmd('syntax on | filetype on | colorscheme slate')\nvim.cmd('highlight NormalFloat guibg=#333b40 guifg=#d0d0d0')\nvim.cmd('highlight SignColumn guibg=#262626')\n${Number(minor) >= 11 ? blocks[0] : blocks[1]}`,
  );
  await writeFile(
    path.join(place, 'oomlint-language-server'),
    `#!/bin/sh\nexec '${process.execPath}' '${path.join(root, 'server', 'dist', 'server.js')}' "$@"\n`,
    { mode: 0o755 },
  );
  const socket = path.join(place, 'tmux');
  const tmux = (...args) =>
    execFileSync('tmux', ['-S', socket, ...args], {
      cwd: place,
      encoding: 'utf8',
      env: {
        ...process.env,
        PATH: `${place}:${process.env.PATH}`,
        LC_ALL: 'C.UTF-8',
        TERM: 'xterm-256color',
      },
    });
  tmux(
    '-f',
    '/dev/null',
    'new-session',
    '-d',
    '-x',
    String(columns),
    '-y',
    String(rows),
    'nvim -u init.lua does-not-fit.json',
  );
  try {
    tmux('set', '-g', 'status', 'off');
    await until(() => /Does not fit/.test(tmux('capture-pane', '-p')), 'problems in Neovim');
    tmux('send-keys', '/AdamW', 'Enter', ':noh', 'Enter', ':lua vim.lsp.buf.hover()', 'Enter');
    await until(() => /Other values/.test(tmux('capture-pane', '-p')), 'a hover in Neovim');
    tmux('send-keys', 'C-l');
    await new Promise((resolve) => setTimeout(resolve, 500));
    const drawn = tmux('capture-pane', '-e', '-N', '-p').replace(/\n$/, '').replaceAll('\n', '\r\n');
    const page = await newPage(1100, 640);
    await page.setContent(
      `<!doctype html><meta charset="utf-8"><style>${await brought('@xterm/xterm/css/xterm.css')} body { margin: 0; background: #262626; } #t { display: inline-block; padding: 8px; } .xterm-viewport { overflow: hidden !important; }</style><div id="t"></div>`,
    );
    await page.addScriptTag({ content: await brought('@xterm/xterm/lib/xterm.js') });
    await page.evaluate(
      ([text, size]) =>
        new Promise((resolve) => {
          const terminal = new globalThis.Terminal({
            ...size,
            fontSize: 13,
            fontFamily: 'DejaVu Sans Mono, monospace',
            theme: { background: '#262626' },
            scrollback: 0,
            cursorBlink: false,
          });
          terminal.open(document.getElementById('t'));
          terminal.write(text, () => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        }),
      [drawn, { cols: columns, rows }],
    );
    await page.waitForTimeout(300);
    await shoot(page.locator('#t'), 'neovim');
    await page.close();
  } finally {
    tmux('kill-server');
  }
}

async function until(test, what) {
  for (const end = Date.now() + 40_000; !test(); ) {
    if (Date.now() > end) throw new Error(`${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
