import './panel.css';
import { Announcer } from './announcer';
import type { OpenedMessage, PageMessage, PageState, PanelContent, ShowMessage } from './messages';
import { OpenedFigures } from './opened-figures';
import { textureDefinitions } from './textures';
import { type View, view } from './view';

interface EditorApi {
  postMessage(message: PageMessage): void;
  setState(state: PageState): void;
}
declare function acquireVsCodeApi(): EditorApi;

/** Answers usually come at once: a progress bar that flashes would only unsettle. */
const LOADING_DELAY_MS = 250;

const editor = acquireVsCodeApi();
const announcer = new Announcer();
const opened = new OpenedFigures((message) => editor.postMessage(message));
const stage = document.createElement('div');
const main = document.getElementById('panel') ?? document.body;
main.append(textureDefinitions(), stage, announcer.element);

let current: View | undefined;
let loading: number | undefined;

window.addEventListener('message', (event: MessageEvent<ShowMessage | OpenedMessage>) => {
  const message = event.data;
  if (message?.type === 'opened') {
    if (opened.take(message)) current?.update();
  } else if (message?.type === 'show') {
    editor.setState({ uri: message.uri });
    window.clearTimeout(loading);
    if (message.content.kind === 'loading') {
      loading = window.setTimeout(() => show(message.content), LOADING_DELAY_MS);
    } else {
      show(message.content);
    }
  }
});
editor.postMessage({ type: 'ready' });

/** Draws anew, and leaves the person where they were: same focus, same open tables. */
function show(content: PanelContent): void {
  const focused = keyOf(document.activeElement);
  const open = new Set([...stage.querySelectorAll('details[open]')].map(keyOf));
  current?.dispose();
  current = view(content, announcer, (message) => editor.postMessage(message), opened);
  stage.replaceChildren(...current.nodes);
  for (const details of stage.querySelectorAll('details')) {
    details.open = open.has(keyOf(details));
  }
  if (focused !== undefined) {
    stage.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

function keyOf(element: Element | null): string | undefined {
  return element instanceof HTMLElement ? element.dataset.key : undefined;
}
