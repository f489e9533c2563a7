import { inlinedScript, inlinedStyle, type PanelFiles } from '../../server/src/shared/page';

/**
 * The page. Nothing but what stands in it runs or styles, and it cannot reach any network. A file of the extension would be asked of the
 * window by way of a worker, and of a machine far away where the extension runs there: that takes longer than all the page does.
 */
export function panelHtml({ script, style }: PanelFiles): string {
  const nonce = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18))));
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `script-src 'nonce-${nonce}'`,
    // A chart becomes a PNG by way of a picture of its own SVG.
    'img-src data:',
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Memory breakdown</title>
<style nonce="${nonce}">
${inlinedStyle(style)}
</style>
</head>
<body>
<main id="panel"></main>
<script nonce="${nonce}">
${inlinedScript(script)}
</script>
</body>
</html>`;
}
