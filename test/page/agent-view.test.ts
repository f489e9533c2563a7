import assert from 'node:assert/strict';
import path from 'node:path';
import { build } from 'esbuild';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../../scripts/browser.mjs';
import { EDITOR_COLOURS } from '../../server/src/cli/html-report/editor-colours';
import { McpAgent } from '../protocol/mcp-client';
import type { showView } from './agent-view-host';

const FILE = 'zero3-llama-8b.json';

/** The breakdown beside an agent's conversation: server and host are the protocol's own libraries. */
describe('the view of an estimate for agents', function () {
  this.timeout(120_000);
  let browser: Browser;
  let agent: McpAgent;
  let host = '';

  before(async () => {
    browser = await launchBrowser();
    agent = await McpAgent.start(path.resolve('examples'), { views: true });
    const { outputFiles } = await build({
      entryPoints: ['test/page/agent-view-host.ts'],
      bundle: true,
      write: false,
      platform: 'browser',
      format: 'iife',
      target: 'es2022',
    });
    host = outputFiles[0]?.text ?? '';
  });
  after(async () => {
    await agent?.close();
    await browser?.close();
  });

  const page = async () => {
    const { tools } = await agent.client.listTools();
    const ui = tools.find(({ name }) => name === 'estimate_run')?._meta?.ui;
    assert.ok(typeof ui === 'object' && ui !== null && 'resourceUri' in ui);
    const uri = String(ui.resourceUri);
    const { contents } = await agent.client.readResource({ uri });
    const [content] = contents;
    assert.equal(content?.mimeType, 'text/html;profile=mcp-app');
    assert.ok(content && 'text' in content);
    return content.text;
  };
  const estimated = () => agent.client.callTool({ name: 'estimate_run', arguments: { file: FILE } });

  for (const theme of ['light', 'dark'] as const)
    it(`shows verdict and parts in the ${theme} colours of its host, and opens figures`, async () => {
      const shown = await browser.newPage({ viewport: { width: 820, height: 1400 } });
      const faults: string[] = [];
      shown.on('pageerror', (error) => faults.push(error.message));
      // The library tells of each message.
      shown.on('console', (message) => message.type() !== 'debug' && faults.push(message.text()));
      await shown.addScriptTag({ content: host });
      await shown.evaluate(
        ([html, result, name]) =>
          (Reflect.get(globalThis, 'showView') as typeof showView)(html, result, name).then(() => undefined),
        [await page(), await estimated(), theme] as const,
      );
      const view = shown.frameLocator('iframe');
      await view.locator('h1', { hasText: /Fits: 35\.8 of 79\.1 GiB/ }).waitFor();
      const [red, green, blue] = [1, 3, 5].map((at) =>
        Number.parseInt((EDITOR_COLOURS[theme]['editor-background'] ?? '').slice(at, at + 2), 16),
      );
      const background = await view
        .locator('body')
        .evaluate((body) => getComputedStyle(body).backgroundColor);
      assert.equal(background, `rgb(${red}, ${green}, ${blue})`);
      // The frame is as high as what it shows.
      await shown.waitForFunction(() => (document.querySelector('iframe')?.clientHeight ?? 0) > 600);
      await view
        .locator('[aria-expanded="false"]', { hasText: /optimizer states/i })
        .first()
        .click();
      await view
        .locator('[role="treeitem"], tr, li', { hasText: /AdamW|adamw|elements/ })
        .first()
        .waitFor();
      // What a figure comes from is read in a browser, which the host opens.
      const link = view.locator('a[href^="https:"]').first();
      const address = await link.getAttribute('href');
      await link.click();
      await shown.waitForFunction((url) => Reflect.get(globalThis, 'asked') === url, address);
      assert.equal(await view.locator('.knobs, #tab-compare').locator('visible=true').count(), 0);
      if (process.env.OOMLINT_PICTURES)
        await shown.screenshot({ path: path.join('out', 'pictures', `agent-view-${theme}.png`) });
      assert.deepEqual(faults, []);
      await shown.close();
    });

  it('gives its content to clients that show views alone, and no path of the machine', async () => {
    const { _meta: meta, structuredContent } = await estimated();
    const content = JSON.stringify(meta);
    assert.match(content, /"oomlint\/breakdown"/);
    assert.ok(!content.includes(path.resolve('examples')), 'a path of the machine');
    assert.ok(!JSON.stringify(structuredContent).includes('oomlint/breakdown'));
    const plain = await McpAgent.start(path.resolve('examples'));
    try {
      const { tools } = await plain.client.listTools();
      assert.ok(tools.every(({ _meta }) => _meta === undefined));
      const answer = await plain.client.callTool({ name: 'estimate_run', arguments: { file: FILE } });
      assert.equal(answer._meta?.['oomlint/breakdown'], undefined);
    } finally {
      await plain.close();
    }
  });

  it('is one resource, and no other file is', async () => {
    const { resources } = await agent.client.listResources();
    assert.deepEqual(
      resources.map(({ uri }) => uri),
      ['ui://oomlint/breakdown'],
    );
    await assert.rejects(agent.client.readResource({ uri: 'file:///etc/passwd' }), /There is no resource/);
  });
});
