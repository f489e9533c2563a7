import { createHash } from 'node:crypto';
import { contributes } from '../../../../package.json';
import { EDITOR_COLOURS } from './editor-colours';

/** The panel's page as it is built. */
export interface PanelFiles {
  readonly script: string;
  readonly style: string;
}

/** What the page gets in place of an editor's messages. */
export interface PageContent {
  readonly title: string;
  readonly language: string;
  /** The editor's message that shows a breakdown. */
  readonly show: object;
  /** Its answers where a person opens a figure: of the peak, and of any other moment. */
  readonly peak: object;
  readonly other: object;
}

/** Controls that ask or change something outside of the page. */
const OUTSIDE = `.toolbar, .knobs, .buttons, .try, .fixes, button.reveal, [data-key="supply"], #tab-compare, #panel-compare { display: none !important; }
[data-key="file"] { pointer-events: none; color: inherit !important; }`;

/** Plays the editor: colours as the system has them, and the answers that the page carries. Runs in a browser as it stands. */
const HOST = `(() => {
  const content = JSON.parse(document.getElementById('content').textContent);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const dress = () => { document.body.className = dark.matches ? 'vscode-dark' : 'vscode-light'; };
  dress();
  dark.addEventListener('change', dress);
  const answer = (data) => setTimeout(() => window.dispatchEvent(new MessageEvent('message', { data })));
  window.acquireVsCodeApi = () => ({
    getState: () => undefined,
    setState: () => undefined,
    postMessage: (message) => {
      if (message.type === 'ready') answer(content.show);
      if (message.type === 'open-figures') answer(message.sample === undefined ? content.peak : { ...content.other, sample: message.sample });
    },
  });
})();`;

/** Variables of a theme, as VS Code names them for pages: only the first dot becomes a dash. */
function variables(kind: 'dark' | 'light'): string {
  const own = Object.entries(EDITOR_COLOURS[kind]);
  const ours = contributes.colors.map(({ id, defaults }) => [id.replace('.', '-'), defaults[kind]] as const);
  return [...own, ...ours].map(([name, value]) => `--vscode-${name}:${value}`).join(';');
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
/** A script cannot hold the end of its element. */
const inlined = (script: string) => script.replace(/<\/(script)/gi, '<\\/$1').replaceAll('<!--', '<\\!--');
const hashed = (script: string) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`;

/** The panel as one file: nothing is fetched, and nothing but the two scripts in it runs. */
export function pageFrame(
  { script, style }: PanelFiles,
  { title, language, ...content }: PageContent,
): string {
  const panel = inlined(script);
  const policy = Object.entries({
    'default-src': "'none'",
    'style-src': "'unsafe-inline'",
    'script-src': [HOST, panel].map(hashed).join(' '),
    'img-src': 'data:',
    'base-uri': "'none'",
    'form-action': "'none'",
  })
    .map((rule) => rule.join(' '))
    .join('; ');
  const data = JSON.stringify(content).replaceAll('<', '\\u003c');
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
@media (prefers-color-scheme: dark){:root{${variables('dark')}}}
${style.replace(/<\/style/gi, '<\\/style')}
body{background:var(--vscode-editor-background)}
${OUTSIDE}
</style>
</head>
<body>
<main id="panel"></main>
<script type="application/json" id="content">${data}</script>
<script>${HOST}</script>
<script>${panel}</script>
</body>
</html>
`;
}
