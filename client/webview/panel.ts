import './panel.css';
import type { Breakdown } from '../../server/src/shared/protocol';
import { speak } from '../../server/src/shared/words';
import { Announcer } from './announcer';
import { PAPER_WIDTH } from './export/printed-page';
import { keepPlace, unfold, unfoldedIn } from './keep-place';
import { keepPresses } from './kept-press';
import { KeptScroll } from './kept-scroll';
import type { AppliedMessage, EditorMessage, PageMessage, PageState, PanelContent } from './messages';
import { OpenedFigures } from './opened-figures';
import { PanelState } from './panel-state';
import { t } from './strings';
import type { View } from './surroundings';
import { textureDefinitions } from './textures';
import { view } from './view';

interface EditorApi {
  postMessage(message: PageMessage): void;
  setState(state: PageState): void;
  getState(): PageState | undefined;
}
declare function acquireVsCodeApi(): EditorApi;

/** Answers usually come at once: a progress bar that flashes would only unsettle. */
const LOADING_DELAY_MS = 250;
/** Knobs that rest for so long are where a person wants them. */
const PLAN_DELAY_MS = 150;
/** So long it is shown that something was written. */
const DONE_MS = 8000;

const editor = acquireVsCodeApi();
const announcer = new Announcer();
const opened = new OpenedFigures((message) => editor.postMessage(message));
const state = new PanelState();
const stage = document.createElement('div');
const notice = document.createElement('p');
notice.className = 'notice';
notice.setAttribute('role', 'status');
const main = document.getElementById('panel') ?? document.body;
main.append(textureDefinitions(), notice, stage, announcer.element);
keepPresses(stage);

let current: View | undefined;
let loading: number | undefined;
let uri: string | undefined;
let turning: number | undefined;
let planning: number | undefined;
let replacing: number | undefined;
/** What is in view, where it has figures. */
let estimated: Breakdown | undefined;

const kept = editor.getState();
state.tab = kept?.tab ?? state.tab;
state.turned = kept?.turned ?? {};
state.keepsGlobalBatch = kept?.keepsBatch ?? true;
state.locked = kept?.locked ?? false;
state.comparedWith = kept?.compared;
opened.sample = kept?.sample;
for (const row of kept?.rows ?? []) opened.rows.add(row);
const scroll = new KeptScroll(stage, kept?.scroll, () => keep());
let unfolded: readonly string[] | undefined = kept?.unfolded;
/** As last written. */
let written: string | undefined;
let awaiting = kept?.uri;
/** What was shown last, as it came. */
let shown: string | undefined;

window.addEventListener('message', ({ data, origin }: MessageEvent<EditorMessage | undefined>) => {
  // The editor hands messages on from the frame around this one, which has the same origin.
  if (origin !== window.origin) return;
  switch (data?.type) {
    case 'show': {
      // What came while the page was loading comes again once it tells that it listens.
      const given = JSON.stringify(data);
      if (given === shown) break;
      shown = given;
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
    }
    case 'opened':
      if (opened.take(data)) current?.update();
      break;
    case 'tried':
      if (!state.isTurned) break;
      state.tried = data.tried?.breakdown ? data.tried : undefined;
      state.problem = data.error ?? data.tried?.problem;
      state.plan = undefined;
      plan();
      current?.refresh();
      break;
    case 'compared':
      // Whoever picks nothing keeps what is there.
      if (!data.comparison && data.error === undefined) break;
      state.compared = data;
      state.comparedWith = data.other ?? state.comparedWith;
      state.isComparisonOld = false;
      keep();
      if (data.turns) current?.showTab?.('compare');
      current?.refresh();
      break;
    case 'applied':
      tellOutcome(data);
      // What was written is in the file now, and what was not is no longer tried.
      if (!data.error) {
        state.turned = {};
        state.fix = undefined;
        state.history.clear();
        state.tried = undefined;
        state.plan = undefined;
      }
      keep();
      current?.refresh();
      break;
    case 'planned':
      // What was turned since is another change.
      if (data.planned && !isAboutTried(data.planned.values)) break;
      state.plan = data.planned;
      if (data.error) state.problem = data.error;
      current?.refresh();
      break;
    case 'fixes':
      if (data.fixes) state.fixes = data.fixes;
      state.fixesAreOld = data.fixes === undefined;
      current?.refresh();
      break;
    case 'preset':
      current?.preset?.(data);
      break;
    case 'cursor':
      current?.point(data);
      break;
    case 'asked':
      current?.act?.(data.action);
      break;
  }
});
window.addEventListener('beforeprint', () => current?.layOut(PAPER_WIDTH));
window.addEventListener('afterprint', () => current?.refresh());
// A page that is hidden is gone without a word, so what a person opens is written down at once.
for (const event of ['click', 'keyup']) stage.addEventListener(event, () => window.setTimeout(keep));
editor.postMessage({ type: 'ready' });

function isAboutTried(values: object): boolean {
  return state.tried !== undefined && JSON.stringify(values) === JSON.stringify(state.tried.values);
}

/** What would be written is asked for once the knobs rest. */
function plan(): void {
  window.clearTimeout(planning);
  const { tried } = state;
  if (!tried) return;
  planning = window.setTimeout(() => {
    if (state.tried === tried) editor.postMessage({ type: 'plan', values: tried.values });
  }, PLAN_DELAY_MS);
}

function tellOutcome({ error, left, byHand }: AppliedMessage): void {
  const text = error
    ? t('notApplied', error)
    : left && left.length > 0
      ? t('appliedPartly', left.join('; '))
      : byHand && byHand.length > 0
        ? t('appliedByHand')
        : t('applied');
  const outcome = { text, byHand: byHand ?? [] };
  state.outcome = outcome;
  // What is done is no news for long; what is left to do stays until a person has read it.
  if (error || outcome.byHand.length > 0 || (left && left.length > 0)) return;
  window.setTimeout(() => {
    if (state.outcome !== outcome) return;
    state.outcome = undefined;
    current?.refresh();
  }, DONE_MS);
}

function keep(): void {
  const rows = [...opened.rows];
  const tables = unfolded ?? unfoldedIn(stage);
  const now: PageState = {
    uri,
    locked: state.locked,
    tab: state.tab,
    turned: state.turned,
    ...(!state.keepsGlobalBatch && { keepsBatch: false }),
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
  state.fix = undefined;
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

/** A value that is replaced is gone for a moment: so long the last figures stay, greyed. */
const REPLACING_MS = 1500;

/** Why the figures of a file that are in view go on to stand, though its text has none now; undefined where they do not. */
function holdsOn(content: PanelContent): 'syntax' | 'replacing' | undefined {
  if (content.kind !== 'breakdown' || content.breakdown.peak || !estimated) return undefined;
  if (estimated.file !== content.breakdown.file) return undefined;
  if (content.breakdown.diagnostics.some(({ code }) => code === 'syntax')) return 'syntax';
  return 'replacing';
}

function show(content: PanelContent): void {
  window.clearTimeout(replacing);
  const hold = holdsOn(content);
  stage.classList.toggle('outdated', hold !== undefined);
  notice.textContent = hold === 'syntax' ? t('fixSyntaxFirst') : '';
  if (hold === 'replacing') replacing = window.setTimeout(() => draw(content), REPLACING_MS);
  if (hold) return;
  draw(content);
}

function draw(content: PanelContent): void {
  stage.classList.remove('outdated');
  estimated = content.kind === 'breakdown' && content.breakdown.peak ? content.breakdown : undefined;
  keepPlace(stage, () => {
    current?.dispose();
    current = view(content, { announcer, opened, state, send, keep });
    stage.replaceChildren(...current.nodes);
  });
  if (content.kind !== 'breakdown' || !unfolded) return;
  unfold(stage, unfolded);
  unfolded = undefined;
}
