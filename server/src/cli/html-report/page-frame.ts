import { createHash } from 'node:crypto';
import { contributes, version } from '../../../../package.json';
import { inlinedScript, inlinedStyle, type PanelFiles } from '../../features/panel-files';
import { say } from '../../wording/say';
import { EDITOR_COLOURS } from './editor-colours';
import type { PageContent } from './page-content';

/** Controls that ask or change something outside of the page. */
const OUTSIDE = `.knobs, .buttons, .try, .fixes, button.reveal, [data-key="supply"], #tab-compare, #panel-compare { display: none !important; }
[data-key="file"] { pointer-events: none; color: inherit !important; }`;

/** The editor's end of the panel: its messages, once there is a content. Runs in a browser as it stands. */
const EDITOR = `
  let content;
  let isReady = false;
  const answer = (data) => setTimeout(() => window.dispatchEvent(new MessageEvent('message', { data, origin: window.origin })));
  const show = (given) => { content = given; if (isReady) answer(content.show); };
  const dress = (isDark) => { document.body.className = isDark ? 'vscode-dark' : 'vscode-light'; };
  window.acquireVsCodeApi = () => ({
    getState: () => undefined,
    setState: () => undefined,
    postMessage: (message) => {
      if (message.type === 'ready') { isReady = true; if (content) answer(content.show); }
      if (message.type === 'open-figures' && content)
        answer(message.sample === undefined ? content.peak : { ...content.other, sample: message.sample });
    },
  });`;

/** A report: colours of the system, and the content that the page carries. */
const REPORT = `(() => {${EDITOR}
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dress(dark.matches);
  dark.addEventListener('change', () => dress(dark.matches));
  show(JSON.parse(document.getElementById('content').textContent));
})();`;

/** Where a tool's answer to an agent holds the content, among what is not for the model. */
export const CONTENT_KEY = 'oomlint/breakdown';

/**
 * A view beside an agent's conversation: colours of its host, and the content of the tool's answer. It follows the protocol of MCP
 * Apps (https://github.com/modelcontextprotocol/ext-apps/blob/3719bd1386978bc326d4acafdf15e8ae462e6801/specification/2026-01-26/apps.mdx): a handshake, the answer, the
 * height. Its library would make the page three times as large; the tests hold this to the library's end of the host.
 */
const VIEW = `(() => {${EDITOR}
  const send = (message) => window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const dressAs = (context) => {
    const theme = context && context.theme;
    if (theme !== 'dark' && theme !== 'light') return;
    document.documentElement.dataset.theme = theme;
    dress(theme === 'dark');
  };
  dress(matchMedia('(prefers-color-scheme: dark)').matches);
  const height = () => send({ method: 'ui/notifications/size-changed', params: { height: Math.ceil(document.body.getBoundingClientRect().height) } });
  window.addEventListener('message', ({ data, source }) => {
    if (source !== window.parent || !data || data.jsonrpc !== '2.0') return;
    const { id, method, params, result } = data;
    if (id === 'initialize' && result) {
      dressAs(result.hostContext);
      send({ method: 'ui/notifications/initialized', params: {} });
      new ResizeObserver(height).observe(document.body);
    } else if (method === 'ui/notifications/host-context-changed') dressAs(params);
    else if (method === 'ui/notifications/tool-result') {
      const given = params._meta && params._meta['${CONTENT_KEY}'];
      if (given) show(given);
      else document.getElementById('panel').textContent = params.content.map(({ text }) => text || '').join('');
    } else if (id !== undefined && (method === 'ping' || method === 'ui/resource-teardown')) send({ id, result: {} });
  });
  // A frame in a sandbox opens nothing by itself: its host does, and may ask before.
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element && event.target.closest('a[href^="https:"]');
    if (!link) return;
    event.preventDefault();
    send({ id: 'link', method: 'ui/open-link', params: { url: link.href } });
  });
  send({ id: 'initialize', method: 'ui/initialize', params: { appInfo: { name: 'oomlint', version: '${version}' }, appCapabilities: {}, protocolVersion: '2026-01-26' } });
})();`;

/** Variables of a theme, as VS Code names them for pages: only the first dot becomes a dash. */
function variables(kind: 'dark' | 'light'): string {
  const own = Object.entries(EDITOR_COLOURS[kind]);
  const ours = contributes.colors.map(({ id, defaults }) => [id.replace('.', '-'), defaults[kind]] as const);
  return [...own, ...ours].map(([name, value]) => `--vscode-${name}:${value}`).join(';');
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
const hashed = (script: string) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`;

const FOOT =
  'footer{box-sizing:border-box;max-width:920px;margin:0 auto;padding:0 24px 32px;color:var(--vscode-descriptionForeground)}@media print{footer{padding:0}}';

/** A report is sent on and read later: who made it, and when. */
const madeBy = (language: string) =>
  say(
    'Estimated by Oomlint {0}, {1}',
    version,
    new Date().toLocaleDateString(language, { dateStyle: 'long' }),
  );

/** The panel as a file of its own: nothing is fetched, and nothing but the two scripts in it runs. */
export function reportPage(
  files: PanelFiles,
  {
    title,
    language,
    content,
  }: { readonly title: string; readonly language: string; readonly content: PageContent },
): string {
  const data = JSON.stringify(content).replaceAll('<', '\\u003c');
  return pageOf(files, {
    title,
    language,
    host: REPORT,
    style: `@media (prefers-color-scheme: dark){:root{${variables('dark')}}}\n${FOOT}`,
    body: `<script type="application/json" id="content">${data}</script>\n`,
    foot: `<footer>${escaped(madeBy(language))}</footer>\n`,
  });
}

/** The panel as the view of a tool, for hosts of agents that show views: the same for every config. */
export function viewPage(files: PanelFiles): string {
  const dark = variables('dark');
  return pageOf(files, {
    title: 'Oomlint',
    language: 'en',
    host: VIEW,
    style: `@media (prefers-color-scheme: dark){:root:not([data-theme=light]){${dark}}}\n:root[data-theme=dark]{${dark}}`,
    body: '',
  });
}

interface Frame {
  readonly title: string;
  readonly language: string;
  /** Script that plays the editor. */
  readonly host: string;
  /** Colours beside the light ones. */
  readonly style: string;
  readonly body: string;
  readonly foot?: string;
}

function pageOf(
  { script, style }: PanelFiles,
  { title, language, host, style: more, body, foot = '' }: Frame,
): string {
  const panel = inlinedScript(script);
  const policy = Object.entries({
    'default-src': "'none'",
    'style-src': "'unsafe-inline'",
    'script-src': [host, panel].map(hashed).join(' '),
    'img-src': 'data:',
    'base-uri': "'none'",
    'form-action': "'none'",
  })
    .map((rule) => rule.join(' '))
    .join('; ');
  const fonts =
    '--vscode-font-family:system-ui,sans-serif;--vscode-font-size:13px;--vscode-editor-font-family:monospace';
  return `<!DOCTYPE html>
<html lang="${escaped(language)}">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>
:root{${fonts};${variables('light')}}
${more}
${inlinedStyle(style)}
body{background:var(--vscode-editor-background)}
${OUTSIDE}
</style>
</head>
<body>
<main id="panel"></main>
${foot}${body}<script>${host}</script>
<script>${panel}</script>
</body>
</html>
`;
}
