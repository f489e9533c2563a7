/** The page's frame. Nothing but its own two files runs or styles, and it cannot reach any network. */
export function panelHtml(cspSource: string, script: string, style: string): string {
  const nonce = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18))));
  const policy = [
    "default-src 'none'",
    `style-src ${cspSource}`,
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
<link rel="stylesheet" href="${style}">
<title>Memory breakdown</title>
</head>
<body>
<main id="panel"></main>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
