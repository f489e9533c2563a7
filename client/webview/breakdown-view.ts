import type { Breakdown, Category } from '../../server/src/shared/protocol';
import { joinWords } from '../../server/src/shared/words';
import { firstKeyOf, keysOfPart } from './causing-keys';
import { changesTable } from './changes';
import { compareView } from './compare-view';
import { componentLabel } from './components';
import { computeView } from './compute-view';
import { Drawn } from './drawn';
import { button, h } from './element';
import { fixCards } from './fix-cards';
import { ranksSection } from './gpu-ranks';
import { headline, verdictText } from './headline';
import { hostSection } from './host-bar';
import { keepPlace } from './keep-place';
import { sizedLegend } from './legend';
import { measuredSection } from './measured-section';
import type { CursorMessage, PanelAction, Preset, PresetMessage } from './messages';
import { OtherFigures } from './other-figures';
import { peakSection } from './peak-section';
import { factList, runFacts } from './run-facts';
import { type RunHeader, runHeader } from './run-header';
import { missingFields, runRemarks } from './run-remarks';
import { section } from './section';
import { type ShownRun, shownRun, triedLine, triedText } from './shown-run';
import { t } from './strings';
import type { Surroundings, View } from './surroundings';
import { Tabs } from './tabs';
import { timelineSection } from './timeline-section';
import type { TriedChange, TriedStep } from './tried-history';
import { TryControls } from './try-controls';
import { tryingStrip } from './trying-strip';

/**
 * The panel about one run: the answer, what it is made of, and what it would be otherwise. What a person chose lies in
 * the `PanelState`; each region shows a part of it and of the run, and is drawn anew when either changes.
 */
export class BreakdownView implements View {
  readonly nodes: readonly Node[];
  readonly #base: Breakdown;
  readonly #around: Surroundings;
  readonly #drawn = new Drawn();
  readonly #root = h('div');
  readonly #regions = {
    headline: h('div'),
    trying: h('div', { class: 'trying' }),
    fixes: h('div'),
    bar: h('div'),
    changes: h('div', { class: 'changes' }),
    rest: h('div'),
    timeline: h('div'),
    compute: h('div'),
    compare: h('div'),
    searching: h('p', { class: 'quiet searching' }),
    facts: h('div'),
  };
  /** What the keys at the cursor shape. */
  readonly #cursor = h('p', { class: 'at-cursor quiet' });
  readonly #controls: TryControls | undefined;
  readonly #tabs: Tabs;
  readonly #top: RunHeader;
  /** Parts that the keys at the cursor shape. */
  #pointed: readonly Category[] | undefined;
  #emphasize: (categories: readonly Category[] | undefined) => void = () => undefined;

  constructor(file: string, base: Breakdown, around: Surroundings) {
    this.nodes = [this.#root];
    this.#base = base;
    this.#around = around;
    const { state } = around;
    state.renew(base.file);
    this.#controls = this.#knobs();
    this.#tabs = this.#tabsOf();
    this.#top = runHeader(file, base, around, { root: this.#root, layOut: (width) => this.layOut(width) });
    this.#root.append(h('header', {}, this.#top.element, this.#regions.headline), this.#regions.trying);
    if (base.unknown.length > 0) this.#root.append(missingFields(base, around.send));
    const estimated = base.peak !== undefined;
    if (estimated) this.#root.append(this.#tabs.element);
    this.#root.append(...this.#tabs.panels.filter((_, index) => estimated || index === 0));
    this.#draw();
    if (state.isTurned) this.#turn();
    if (estimated) this.#compareAgain();
  }

  update(): void {
    this.#drawn.update();
  }

  refresh(): void {
    const { announcer, state } = this.#around;
    this.#controls?.set(state.turned);
    this.#redraw();
    // Announced once for each answer; what is drawn tells those who see it.
    const { tried, problem, outcome } = state;
    if (problem) announcer.say(t('cannotTry', problem));
    else if (tried?.breakdown)
      announcer.say(`${triedLine(this.#base, state) ?? ''}. ${verdictText(tried.breakdown)}`);
    else if (outcome) announcer.say(outcome.text);
  }

  point({ key, categories }: CursorMessage): void {
    this.#pointed = categories && categories.length > 0 ? categories : undefined;
    const held = (this.#pointed ?? []).filter((category) =>
      this.#base.parts.some((part) => part.category === category && part.bytes > 0),
    );
    const names = held.map((category) => componentLabel(category).toLowerCase());
    this.#cursor.textContent = key && names.length > 0 ? t('atCursor', key, joinWords(names)) : '';
    this.#emphasize(held.length > 0 ? held : undefined);
  }

  layOut(width: number): void {
    this.#drawn.layOut(width);
  }

  act(action: PanelAction): void {
    this.#top.act(action);
  }

  showTab(id: string): void {
    this.#tabs.show(id);
  }

  dispose(): void {
    this.#drawn.clear();
  }

  #knobs(): TryControls | undefined {
    const { state } = this.#around;
    const { knobs = [] } = this.#base;
    if (knobs.length === 0) return undefined;
    return new TryControls(
      knobs,
      state.turned,
      (turned) => this.#step({ turned, fix: state.fix }),
      () => state.keepsGlobalBatch,
    );
  }

  /** Ready-made changes, found by a search, and whether a step keeps its samples. */
  #presets(): HTMLElement {
    const { state, send } = this.#around;
    const search = (which: Preset) => () => {
      state.searching = t('searching');
      this.#drawSearching();
      send({ type: 'preset', which });
    };
    const box = h('input', { type: 'checkbox', id: 'keep-batch', 'data-key': 'keep-batch' });
    box.checked = state.keepsGlobalBatch;
    box.addEventListener('change', () => {
      state.keepsGlobalBatch = box.checked;
    });
    return h(
      'div',
      { class: 'presets' },
      button(t('fastest'), { class: 'secondary', 'data-key': 'preset-fastest' }, search('fastest')),
      button(t('cheapest'), { class: 'secondary', 'data-key': 'preset-cheapest' }, search('cheapest')),
      h('label', { class: 'keep-batch', for: 'keep-batch' }, box, ' ', t('keepGlobalBatch')),
    );
  }

  #tabsOf(): Tabs {
    const { state, keep } = this.#around;
    const { fixes, bar, rest, changes, facts, timeline, compute, compare } = this.#regions;
    const panel = (...nodes: Node[]) => h('div', { class: 'tab-panel' }, ...nodes);
    const answer = h(
      'div',
      { class: 'answer' },
      fixes,
      h('section', {}, bar),
      h('section', { class: 'parts' }, rest),
    );
    const trying = this.#controls
      ? [trySection(this.#controls, this.#presets(), this.#regions.searching, changes)]
      : [];
    const overview = panel(answer, ...trying, h('section', { class: 'behind' }, facts));
    return new Tabs(
      t('views'),
      [
        { id: 'overview', label: t('overview'), panel: overview },
        { id: 'timeline', label: t('timeline'), panel: panel(timeline) },
        { id: 'compute', label: t('compute'), panel: panel(compute) },
        { id: 'compare', label: t('compare'), panel: panel(compare) },
      ],
      state.tab,
      (id) => {
        state.tab = id;
        keep();
        this.#drawTrying();
        this.#compareAgain();
      },
    );
  }

  /** Something else is tried, and what was before can be gone back to. */
  #step(next: TriedStep): void {
    const { state } = this.#around;
    state.history.leave({ turned: state.turned, fix: state.fix }, next, performance.now());
    this.#take(next);
  }

  #take({ turned, fix }: TriedStep): void {
    const { state } = this.#around;
    state.turned = turned;
    state.fix = fix;
    this.#controls?.set(turned);
    this.#turn();
  }

  /** Something else is tried than before, or nothing any more. */
  #turn(): void {
    const { state, send, keep } = this.#around;
    state.plan = undefined;
    state.outcome = undefined;
    if (state.isTurned) {
      send({ type: 'try', ...state.asked });
      keepPlace(this.#regions.trying, () => this.#drawTrying());
    } else {
      state.tried = undefined;
      state.problem = undefined;
      send({ type: 'try', turned: {} });
      this.#redraw();
    }
    keep();
  }

  /** Once for each content, and only while somebody looks. */
  #compareAgain(): void {
    const { state, send } = this.#around;
    if (state.tab !== 'compare' || !state.isComparisonOld || !state.comparedWith) return;
    state.isComparisonOld = false;
    send({ type: 'compare', ...state.comparedWith });
  }

  #redraw(): void {
    keepPlace(this.#root, () => {
      this.#drawn.clear();
      this.#draw();
    });
  }

  #draw(): void {
    const { opened, state } = this.#around;
    const shown = shownRun(this.#base, state);
    opened.renew(this.#base.file, shown.before && state.asked);
    const figures = shown.breakdown.peak ? new OtherFigures(opened) : undefined;
    if (figures) this.#drawn.add(figures);
    const reveal =
      figures &&
      ((name: string) => {
        this.#tabs.show('overview');
        figures.reveal(name);
      });
    this.#drawHeadline(shown, reveal);
    this.#drawTrying();
    this.#drawFixes();
    this.#drawChanges(shown);
    this.#drawPeak(shown);
    this.#drawTimeline(shown);
    this.#drawCompute(shown, reveal);
    this.#drawCompare();
    this.#regions.facts.replaceChildren(
      ...(figures ? [figures.element] : []),
      ...runRemarks(shown.breakdown),
    );
  }

  #drawHeadline({ breakdown }: ShownRun, reveal: ((figure: string) => void) | undefined): void {
    const bounds =
      reveal && button(t('bounds'), { class: 'link', 'data-key': 'bounds' }, () => reveal('upper bound'));
    const onTry = (change: TriedChange) => {
      this.#try(change);
      // What was pressed is gone once it is tried.
      this.#root.querySelector<HTMLElement>('[data-key=reset]')?.focus({ preventScroll: true });
    };
    keepPlace(this.#regions.headline, () =>
      this.#regions.headline.replaceChildren(
        headline(breakdown, { more: bounds, onTry: this.#controls && onTry }),
      ),
    );
  }

  #drawTrying(): void {
    const { state, send } = this.#around;
    const { history } = state;
    const moved = (step: TriedStep | undefined) => step && this.#take(step);
    const present = { turned: state.turned, fix: state.fix };
    const trying = triedText(this.#base, state);
    // The way back alone is of use where something is tried, and is in the way elsewhere.
    const isShown = trying !== undefined || state.outcome !== undefined || state.tab === 'overview';
    const nodes = tryingStrip({
      trying,
      base: this.#base,
      tried: state.isTurned ? state.tried?.breakdown : undefined,
      onUndo: history.canUndo ? () => moved(history.undo(present)) : undefined,
      onRedo: history.canRedo ? () => moved(history.redo(present)) : undefined,
      problem: state.problem,
      plan: state.plan,
      outcome: state.outcome,
      onApply: () => {
        if (!state.tried) return;
        const isFixAlone = state.fix && Object.keys(state.turned).length === 0;
        send({
          type: 'apply',
          values: state.tried.values,
          ...(isFixAlone && state.fix?.id && { fix: state.fix.id }),
        });
      },
      onReset: () => {
        this.#try(undefined);
        this.#root.querySelector<HTMLElement>('.knobs input, .knobs select')?.focus({ preventScroll: true });
      },
      onClose: () => {
        state.outcome = undefined;
        this.#redraw();
      },
    });
    this.#regions.trying.replaceChildren(...(isShown ? nodes : []));
  }

  /** A fix in place of all that is tried; undefined: the run as the files state it. */
  #try(fix: TriedChange | undefined): void {
    this.#step({ turned: {}, fix });
  }

  /** A run that a search found; what it is called and what it changes, or why there is none. */
  preset({ found, error }: PresetMessage): void {
    const { announcer, state } = this.#around;
    state.searching = error;
    this.#drawSearching();
    if (error) announcer.say(error);
    if (found) this.#try(found);
  }

  #drawSearching(): void {
    this.#regions.searching.textContent = this.#around.state.searching ?? '';
  }

  /** What makes the run of the file fit; nothing where it fits. */
  #drawFixes(): void {
    const { state, send } = this.#around;
    const { hardware, verdict } = this.#base;
    const region = this.#regions.fixes;
    if (!hardware || (verdict !== 'exceeds' && verdict !== 'tight')) {
      region.replaceChildren();
      return;
    }
    const cards = fixCards({
      fixes: state.fixes,
      stale: state.fixesAreOld,
      capacityBytes: hardware.capacityBytes,
      tried: state.fix?.id,
      onTry: (fix) => this.#try(state.fix?.id === fix.id ? undefined : fix),
      onApply: (fix) => send({ type: 'apply', values: fix.values, fix: fix.id }),
    });
    keepPlace(region, () => region.replaceChildren(cards));
  }

  #drawChanges({ breakdown, before }: ShownRun): void {
    const table = before ? [h('div', { class: 'wide' }, changesTable(before, breakdown))] : [];
    this.#regions.changes.replaceChildren(...table);
  }

  #drawPeak(shown: ShownRun): void {
    const { announcer, opened, send } = this.#around;
    const { breakdown, before } = shown;
    const { bar, rest } = this.#regions;
    if (!breakdown.peak || breakdown.parts.length === 0) {
      bar.replaceChildren();
      rest.replaceChildren(...this.#besidePeak(shown));
      return;
    }
    const { keys = [] } = this.#base;
    const peak = peakSection(breakdown, announcer, opened, {
      before,
      about: (category) => keysOfPart(this.#base.keys, category, (key) => send({ type: 'reveal', key })),
      onOpen: (category) => {
        const key = firstKeyOf(keys, category);
        if (key !== undefined) send({ type: 'reveal', key });
      },
    });
    this.#drawn.add(peak);
    bar.replaceChildren(h('h2', {}, t('atPeak')), peak.bar, sizedLegend(breakdown.parts), this.#cursor);
    rest.replaceChildren(peak.table, peak.map, ...this.#besidePeak(shown));
    this.#emphasize = peak.emphasize;
    this.#emphasize(this.#pointed);
  }

  /** The other GPUs, what was measured, and the memory of the node. */
  #besidePeak({ breakdown, before }: ShownRun): Node[] {
    const { announcer, state } = this.#around;
    const { peak, hardware } = breakdown;
    const ranks = ranksSection('ranks', [{ breakdown, before }], announcer, state.openRanks);
    const alike =
      !ranks && peak && hardware && hardware.gpus > 1
        ? [h('p', { class: 'quiet alike' }, t('ranksAlike', hardware.gpus))]
        : [];
    // What was measured is of the config, not of what is tried.
    const measured = before ? undefined : measuredSection(breakdown, announcer);
    const host = hostSection(breakdown, announcer);
    const shown = [ranks, measured, host].filter((part) => part !== undefined);
    for (const part of shown) this.#drawn.add(part);
    return [...alike, ...shown.map(({ element }) => element)];
  }

  #drawTimeline({ breakdown }: ShownRun): void {
    const { announcer, opened, state } = this.#around;
    if (breakdown.timeline.length <= 1) {
      this.#regions.timeline.replaceChildren(h('p', { class: 'quiet' }, t('noEstimate')));
      return;
    }
    const timeline = timelineSection(breakdown, announcer, opened, state);
    this.#drawn.add(timeline);
    this.#regions.timeline.replaceChildren(timeline.element);
  }

  #drawCompute({ breakdown }: ShownRun, reveal: ((figure: string) => void) | undefined): void {
    const { announcer, opened } = this.#around;
    const time = runFacts(breakdown);
    const run = time.length > 0 ? [section(t('run'), factList(time, reveal))] : [];
    const compute = computeView(breakdown, announcer, opened);
    if (compute) this.#drawn.add(compute);
    this.#regions.compute.replaceChildren(...run, ...(compute?.nodes ?? []));
  }

  #drawCompare(): void {
    const { announcer, state, send, keep } = this.#around;
    const compare = compareView(state, announcer, send, () => {
      state.compared = undefined;
      state.comparedWith = undefined;
      keep();
      this.#redraw();
    });
    this.#drawn.add(compare);
    this.#regions.compare.replaceChildren(...compare.nodes);
  }
}

/** Knobs, ready-made changes and their search above them, and what comes of it below. */
function trySection(
  controls: TryControls,
  presets: HTMLElement,
  searching: HTMLElement,
  changes: HTMLElement,
): HTMLElement {
  const hint = h('p', { class: 'quiet' }, t('tryHint'));
  const element = section(t('try'), hint, presets, searching, controls.element, changes);
  element.classList.add('try');
  return element;
}
