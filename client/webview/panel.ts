import './panel.css';
import { speak } from '../../server/src/wording/say';
import { Announcer } from './announcer';
import { PAPER_WIDTH } from './export/printed-page';
import { keepPlace, unfold, unfoldedIn } from './keep-place';
import { KeptScroll } from './kept-scroll';
import type { EditorMessage, PageMessage, PageState, PanelContent } from './messages';
import { OpenedFigures } from './opened-figures';
import { PanelState } from './panel-state';
import { t } from './strings';
import { textureDefinitions } from './textures';
import { type View, view } from './view';

interface EditorApi {
  postMessage(message: PageMessage): void;
  setState(state: PageState): void;
  getState(): PageState | undefined;
}
declare function acquireVsCodeApi(): EditorApi;

/** Answers usually come at once: a progress bar that flashes would only unsettle. */
const LOADING_DELAY_MS = 250;

const editor = acquireVsCodeApi();
const announcer = new Announcer();
const opened = new OpenedFigures((message) => editor.postMessage(message));
const state = new PanelState();
const stage = document.createElement('div');
const main = document.getElementById('panel') ?? document.body;
main.append(textureDefinitions(), stage, announcer.element);

let current: View | undefined;
let loading: number | undefined;
let uri: string | undefined;
let turning: number | undefined;

const kept = editor.getState();
state.tab = kept?.tab ?? state.tab;
state.turned = kept?.turned ?? {};
state.locked = kept?.locked ?? false;
state.comparedWith = kept?.compared;
opened.sample = kept?.sample;
for (const row of kept?.rows ?? []) opened.rows.add(row);
const scroll = new KeptScroll(stage, kept?.scroll, () => keep());
let unfolded: readonly string[] | undefined = kept?.unfolded;
/** As last written. */
let written: string | undefined;
let awaiting = kept?.uri;

window.addEventListener('message', ({ data }: MessageEvent<EditorMessage | undefined>) => {
  switch (data?.type) {
    case 'show':
      // What was tried belongs to the file that it was tried on.
      if (awaiting !== undefined && data.uri !== undefined && data.uri !== awaiting) forgetKept();
      if (data.uri !== undefined) awaiting = undefined;
      if (uri !== undefined && data.uri !== uri) scroll.forget();
      uri = data.uri;
      state.locked = data.locked ?? state.locked;
      speak(data.language ?? 'en', data.bundle);
      document.documentElement.lang = data.bundle ? (data.language ?? 'en') : 'en';
      keep();
      window.clearTimeout(loading);
      if (data.content.kind === 'loading') {
        loading = window.setTimeout(() => show(data.content), LOADING_DELAY_MS);
      } else {
        show(data.content);
      }
      break;
    case 'opened':
      if (opened.take(data)) current?.update();
      break;
    case 'tried':
      if (!state.isTurned) break;
      state.tried = data.tried?.breakdown ? data.tried : undefined;
      state.problem = data.error ?? data.tried?.problem;
      current?.refresh();
      break;
    case 'compared':
      // Whoever picks nothing keeps what is there.
      if (!data.comparison && data.error === undefined) break;
      state.compared = data;
      state.comparedWith = data.other ?? state.comparedWith;
      state.isComparisonOld = false;
      keep();
      current?.refresh();
      break;
    case 'applied':
      state.outcome = data.error
        ? t('notApplied', data.error)
        : data.left && data.left.length > 0
          ? t('appliedPartly', data.left.join('; '))
          : t('applied');
      // What was written is in the file now, and what was not is no longer tried.
      if (!data.error) {
        state.turned = {};
        state.tried = undefined;
      }
      keep();
      current?.refresh();
      break;
    case 'cursor':
      current?.point(data);
      break;
  }
});
window.addEventListener('beforeprint', () => current?.layOut(PAPER_WIDTH));
window.addEventListener('afterprint', () => current?.refresh());
// A page that is hidden is gone without a word, so what a person opens is written down at once.
for (const event of ['click', 'keyup']) stage.addEventListener(event, () => window.setTimeout(keep));
editor.postMessage({ type: 'ready' });

function keep(): void {
  const rows = [...opened.rows];
  const tables = unfolded ?? unfoldedIn(stage);
  const now: PageState = {
    uri,
    locked: state.locked,
    tab: state.tab,
    turned: state.turned,
    ...(state.comparedWith && { compared: state.comparedWith }),
    ...(rows.length > 0 && { rows }),
    ...(tables.length > 0 && { unfolded: tables }),
    ...(opened.sample !== undefined && { sample: opened.sample }),
    ...(scroll.top > 0 && { scroll: scroll.top }),
  };
  const text = JSON.stringify(now);
  if (text !== written) editor.setState(now);
  written = text;
}

/** Another file is shown than the one before the reload: what was open and tried there is not here. */
function forgetKept(): void {
  state.turned = {};
  state.comparedWith = undefined;
  opened.sample = undefined;
  opened.rows.clear();
  scroll.forget();
  unfolded = undefined;
}

/** While a slider is dragged, one request a frame is enough; the server cancels those that are outdated. */
function send(message: PageMessage): void {
  if (message.type !== 'try') {
    editor.postMessage(message);
    return;
  }
  window.cancelAnimationFrame(turning ?? 0);
  turning = window.requestAnimationFrame(() => editor.postMessage(message));
}

function show(content: PanelContent): void {
  keepPlace(stage, () => {
    current?.dispose();
    current = view(content, { announcer, opened, state, send, keep });
    stage.replaceChildren(...current.nodes);
  });
  if (content.kind !== 'breakdown' || !unfolded) return;
  unfold(stage, unfolded);
  unfolded = undefined;
}
