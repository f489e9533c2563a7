import type { Breakdown, Category } from '../../server/src/shared/protocol';
import { fieldLabel, joinWords } from '../../server/src/shared/words';
import { assumptionTables } from './assumptions';
import { keysOfPart } from './causing-keys';
import { changesTable } from './changes';
import type { ChartFrame } from './chart-frame';
import { compareView } from './compare-view';
import { componentLabel } from './components';
import { computeView } from './compute-view';
import { button, h } from './element';
import { exportPanel } from './export/export-panel';
import { breakdownMarkdown, comparisonMarkdown } from './export/markdown';
import { fixCards } from './fix-cards';
import { ranksSection } from './gpu-ranks';
import { headline, verdictText } from './headline';
import { hostSection } from './host-bar';
import { keepPlace } from './keep-place';
import { sizedLegend } from './legend';
import { measuredSection } from './measured-section';
import { OtherFigures } from './other-figures';
import { peakSection } from './peak-section';
import { factList, runFacts } from './run-facts';
import { sentence } from './sentence';
import { t } from './strings';
import type { Surroundings, View } from './surroundings';
import { Tabs } from './tabs';
import { timelineSection } from './timeline-section';
import { toolbar } from './toolbar';
import { knobLabel, positionLabel, TryControls } from './try-controls';
import { tryingStrip } from './trying-strip';

/** The panel about one run: the answer, what it is made of, and what it would be otherwise. */
export function breakdownView(file: string, base: Breakdown, around: Surroundings): View {
  const { announcer, opened, state, send } = around;
  state.renew(base.file);
  const regions = {
    headline: h('div'),
    trying: h('div', { class: 'trying' }),
    fixes: h('div'),
    bar: h('div'),
    changes: h('div', { class: 'changes' }),
    rest: h('div'),
    timeline: h('div'),
    compute: h('div'),
    compare: h('div'),
    facts: h('div'),
  };
  const knobs = base.knobs ?? [];
  const controls =
    knobs.length > 0
      ? new TryControls(knobs, state.turned, (turned) => {
          state.turned = turned;
          turn();
        })
      : undefined;
  const root = h('div');
  let charts: ChartFrame[] = [];
  let updates: (() => void)[] = [];
  let disposals: (() => void)[] = [];
  let pointed: readonly Category[] | undefined;
  let emphasize: (categories: readonly Category[] | undefined) => void = () => undefined;
  /** Where the keys of the cursor are told. */
  const cursor = h('p', { class: 'at-cursor quiet' });

  function turn(): void {
    state.plan = undefined;
    state.outcome = undefined;
    if (state.isTurned) {
      send({ type: 'try', ...state.asked });
      keepPlace(regions.trying, () => regions.trying.replaceChildren(...tryingNodes()));
    } else {
      state.tried = undefined;
      state.problem = undefined;
      send({ type: 'try', turned: {} });
      redraw();
    }
    around.keep();
  }

  function clear(): void {
    for (const chart of charts) chart.dispose();
    for (const dispose of disposals) dispose();
    charts = [];
    updates = [];
    disposals = [];
  }

  function redraw(): void {
    keepPlace(root, () => {
      clear();
      draw();
    });
  }

  function draw(): void {
    const tried = state.isTurned ? state.tried?.breakdown : undefined;
    const shown = tried ?? base;
    opened.renew(base.file, tried ? state.asked : undefined);
    const figures = shown.peak ? new OtherFigures(opened) : undefined;
    if (figures) updates.push(() => figures.update());
    const reveal = (name: string) => {
      tabs.show('overview');
      figures?.reveal(name);
    };
    regions.headline.replaceChildren(
      headline(
        shown,
        figures && button(t('bounds'), { class: 'link', 'data-key': 'bounds' }, () => reveal('upper bound')),
      ),
    );
    regions.trying.replaceChildren(...tryingNodes());
    drawFixes();
    regions.changes.replaceChildren(
      ...(tried ? [h('div', { class: 'wide' }, changesTable(base, tried))] : []),
    );
    drawPeak(shown, tried ? base : undefined);
    drawRest(shown);
    drawTimeline(shown);
    const compute = computeView(shown, announcer, opened);
    const time = runFacts(shown);
    regions.compute.replaceChildren(
      ...(time.length > 0 ? [section(t('run'), factList(time, figures && reveal))] : []),
      ...(compute?.nodes ?? []),
    );
    if (compute) {
      charts.push(...compute.charts);
      updates.push(() => compute.update());
    }
    drawCompare();
    regions.facts.replaceChildren(...(figures ? [figures.element] : []), ...facts(shown));
  }

  function drawPeak(shown: Breakdown, before: Breakdown | undefined): void {
    if (!shown.peak || shown.parts.length === 0) {
      regions.bar.replaceChildren();
      return;
    }
    const peak = peakSection(shown, announcer, opened, {
      before,
      about: (category) => keysOfPart(base.keys, category, (key) => send({ type: 'reveal', key })),
      onOpen: (category) => {
        const key = (base.keys ?? []).findIndex(({ categories }) => categories.includes(category));
        if (key >= 0) send({ type: 'reveal', key });
      },
    });
    charts.push(peak.chart);
    updates.push(() => peak.update());
    regions.bar.replaceChildren(h('h2', {}, t('atPeak')), peak.bar, sizedLegend(shown.parts), cursor);
    regions.rest.replaceChildren(peak.table);
    emphasize = peak.emphasize;
    emphasize(pointed);
  }

  /** What makes the run of the file fit; nothing where it fits. */
  function drawFixes(): void {
    const { hardware, verdict } = base;
    if (!hardware || (verdict !== 'exceeds' && verdict !== 'tight')) {
      regions.fixes.replaceChildren();
      return;
    }
    const cards = fixCards({
      fixes: state.fixes,
      stale: state.fixesAreOld,
      capacityBytes: hardware.capacityBytes,
      tried: state.fix?.id,
      onTry: (fix) => {
        state.fix = state.fix?.id === fix.id ? undefined : fix;
        state.turned = {};
        controls?.set({});
        turn();
      },
      onApply: (fix) => send({ type: 'apply', values: fix.values, fix: fix.id }),
    });
    keepPlace(regions.fixes, () => regions.fixes.replaceChildren(cards));
  }

  function drawRest(shown: Breakdown): void {
    const nodes: Node[] = shown.peak ? [...regions.rest.childNodes] : [];
    const { hardware } = shown;
    const before = shown === base ? undefined : base;
    const ranks = ranksSection('ranks', [{ breakdown: shown, before }], announcer, state.openRanks);
    if (ranks) {
      charts.push(ranks.chart);
      nodes.push(ranks.element);
    } else if (shown.peak && hardware && hardware.gpus > 1) {
      nodes.push(h('p', { class: 'quiet alike' }, t('ranksAlike', hardware.gpus)));
    }
    // What was measured is of the config, not of what is tried.
    const measured = shown === base ? measuredSection(shown, announcer) : undefined;
    if (measured) {
      charts.push(...measured.charts);
      nodes.push(measured.element);
    }
    const host = hostSection(shown, announcer);
    if (host) {
      charts.push(host.chart);
      nodes.push(host.element);
    }
    regions.rest.replaceChildren(...nodes);
  }

  function drawTimeline(shown: Breakdown): void {
    if (shown.timeline.length <= 1) {
      regions.timeline.replaceChildren(h('p', { class: 'quiet' }, t('noEstimate')));
      return;
    }
    const timeline = timelineSection(shown, announcer, opened);
    charts.push(timeline.chart);
    updates.push(() => timeline.update());
    disposals.push(() => timeline.dispose());
    regions.timeline.replaceChildren(timeline.element);
  }

  function drawCompare(): void {
    const compare = compareView(state, announcer, send, () => {
      state.compared = undefined;
      state.comparedWith = undefined;
      around.keep();
      redraw();
    });
    charts.push(...compare.charts);
    regions.compare.replaceChildren(...compare.nodes);
  }

  /** Once for each content, and only while somebody looks. */
  function compareAgain(): void {
    if (state.tab !== 'compare' || !state.isComparisonOld || !state.comparedWith) return;
    state.isComparisonOld = false;
    send({ type: 'compare', ...state.comparedWith });
  }

  function triedText(): string | undefined {
    const turned = knobs.flatMap((knob) => {
      const to = state.turned[knob.id];
      return to === undefined
        ? []
        : [t('changedFrom', knobLabel(knob.id), positionLabel(knob, knob.value), positionLabel(knob, to))];
    });
    const all = [...(state.fix ? [state.fix.name] : []), ...turned];
    return all.length > 0 ? all.join(', ') : undefined;
  }

  function triedLine(): string | undefined {
    const text = triedText();
    return text && t('trying', text);
  }

  function tryingNodes(): Node[] {
    return tryingStrip({
      trying: triedText(),
      base,
      problem: state.problem,
      plan: state.plan,
      outcome: state.outcome,
      onApply: () => {
        if (!state.tried) return;
        const isFixAlone = state.fix && Object.keys(state.turned).length === 0;
        send({ type: 'apply', values: state.tried.values, ...(isFixAlone && { fix: state.fix?.id }) });
      },
      onReset: () => {
        state.turned = {};
        state.fix = undefined;
        controls?.set({});
        turn();
        root.querySelector<HTMLElement>('.knobs input, .knobs select')?.focus({ preventScroll: true });
      },
      onClose: () => {
        state.outcome = undefined;
        redraw();
      },
    });
  }

  function facts(shown: Breakdown): Node[] {
    const nodes: Node[] = [];
    if (shown.notes.length > 0) {
      nodes.push(section(t('notes'), h('ul', {}, ...shown.notes.map((note) => h('li', {}, note)))));
    }
    const list = (sentences: readonly string[]) =>
      h('ul', {}, ...sentences.map((sentence) => h('li', {}, sentence)));
    const { open = [], notUnderstood = [] } = shown;
    if (open.length > 0) nodes.push(section(t('decides'), list(open.map(({ sentence }) => sentence))));
    if (notUnderstood.length > 0)
      nodes.push(section(t('notUnderstood'), list(notUnderstood.map(({ message }) => message))));
    if (shown.assumptions.length > 0) {
      nodes.push(section(t('assumptions'), ...assumptionTables(shown.assumptions)));
    }
    return nodes;
  }

  const panel = (...nodes: Node[]) => h('div', { class: 'tab-panel' }, ...nodes);
  const tabs = new Tabs(
    t('views'),
    [
      {
        id: 'overview',
        label: t('overview'),
        panel: panel(
          h(
            'div',
            { class: 'answer' },
            regions.fixes,
            h('section', {}, regions.bar),
            h('section', { class: 'parts' }, regions.rest),
          ),
          ...(controls
            ? [trySection(h('p', { class: 'quiet' }, t('tryHint')), controls.element, regions.changes)]
            : []),
          h('section', { class: 'behind' }, regions.facts),
        ),
      },
      { id: 'timeline', label: t('timeline'), panel: panel(regions.timeline) },
      { id: 'compute', label: t('compute'), panel: panel(regions.compute) },
      { id: 'compare', label: t('compare'), panel: panel(regions.compare) },
    ],
    state.tab,
    (id) => {
      state.tab = id;
      around.keep();
      compareAgain();
    },
  );
  const header = h(
    'header',
    {},
    h(
      'div',
      { class: 'top' },
      h(
        'p',
        { class: 'origin quiet' },
        button(file, { class: 'link', 'data-key': 'file' }, () => send({ type: 'open-file' })),
        ` ${base.dialect.name}`,
      ),
      toolbar({
        locked: state.locked,
        lock: (locked) => {
          state.locked = locked;
          send({ type: 'lock', locked });
          around.keep();
        },
        copy: () => {
          const shown = state.tried?.breakdown ?? base;
          // What is in view is what is meant.
          const compared =
            state.tab === 'compare' && state.compared ? comparisonMarkdown(state.compared) : undefined;
          send({ type: 'copy', text: compared ?? breakdownMarkdown(file, shown, triedLine()) });
          announcer.say(t('copied'));
        },
        save: (format) => {
          const shown = state.tried?.breakdown ?? base;
          void exportPanel(format, { root, file, breakdown: shown, layOut }).then(
            (data) => send({ type: 'save', format, data }),
            (error: unknown) => announcer.say(String(error)),
          );
        },
      }),
    ),
    regions.headline,
  );
  root.append(header, regions.trying);
  if (base.unknown.length > 0) root.append(unknownSection(base, send));
  const estimated = base.peak !== undefined;
  if (estimated) root.append(tabs.element);
  root.append(...tabs.panels.filter((_, index) => estimated || index === 0));
  draw();
  if (state.isTurned) turn();
  if (estimated) compareAgain();

  function layOut(width: number): void {
    for (const chart of charts) chart.drawAt(width);
  }

  return {
    nodes: [root],
    update() {
      for (const update of updates) update();
    },
    refresh() {
      controls?.set(state.turned);
      redraw();
      // Said once for each answer; what is drawn says it to those who see it.
      const { tried, problem, outcome } = state;
      if (problem) announcer.say(t('cannotTry', problem));
      else if (tried?.breakdown) announcer.say(`${triedLine() ?? ''}. ${verdictText(tried.breakdown)}`);
      else if (outcome) announcer.say(outcome.text);
    },
    point({ key, categories }) {
      pointed = categories && categories.length > 0 ? categories : undefined;
      const held = (pointed ?? []).filter((category) =>
        base.parts.some((part) => part.category === category && part.bytes > 0),
      );
      const names = held.map((category) => componentLabel(category).toLowerCase());
      cursor.textContent = key && names.length > 0 ? t('atCursor', key, joinWords(names)) : '';
      emphasize(held.length > 0 ? held : undefined);
    },
    layOut,
    dispose: clear,
  };
}

function trySection(...children: Node[]): HTMLElement {
  const element = section(t('try'), ...children);
  element.classList.add('try');
  return element;
}

function section(title: string, ...children: Node[]): HTMLElement {
  return h('section', {}, h('h2', {}, title), ...children);
}

function unknownSection(breakdown: Breakdown, send: Surroundings['send']): HTMLElement {
  const fields = breakdown.unknown.map(({ field }) => field);
  return section(
    t('missing'),
    h(
      'ul',
      {},
      ...breakdown.unknown.map(({ field, reason }) =>
        h(
          'li',
          {},
          h('strong', {}, sentence(fieldLabel(field))),
          h('span', { class: 'quiet' }, ` ${reason}`),
        ),
      ),
    ),
    h(
      'p',
      { class: 'buttons' },
      button(t('supply'), { 'data-key': 'supply' }, () => send({ type: 'supply', fields })),
    ),
  );
}
