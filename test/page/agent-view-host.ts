import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

/** A host of agents that shows a view, with the protocol's own library; bundled and run in the browser of the test. */
export async function showView(html: string, result: object, theme: 'dark' | 'light'): Promise<AppBridge> {
  const frame = document.createElement('iframe');
  // As hosts have it: an origin of its own, and nothing but scripts.
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.style.cssText = 'width:800px;height:200px;border:0';
  document.body.append(frame);
  const inside = frame.contentWindow;
  if (!inside) throw new Error('The frame has no window.');
  const bridge = new AppBridge(
    null,
    { name: 'host', version: '1' },
    { openLinks: {} },
    { hostContext: { theme } },
  );
  const initialized = new Promise<void>((resolve) => {
    bridge.oninitialized = () => resolve();
  });
  bridge.onopenlink = async ({ url }) => {
    Object.assign(globalThis, { asked: url });
    return {};
  };
  bridge.onsizechange = ({ height }) => {
    if (height !== undefined) frame.style.height = `${height}px`;
  };
  await bridge.connect(new PostMessageTransport(inside, inside));
  frame.srcdoc = html;
  await initialized;
  await bridge.sendToolInput({ arguments: {} });
  await bridge.sendToolResult(result as Parameters<AppBridge['sendToolResult']>[0]);
  return bridge;
}

Object.assign(globalThis, { showView });
