import { commands, l10n, ProgressLocation, type QuickPickItem, Uri, window } from 'vscode';
import {
  type Breakdown,
  type Option,
  SUPPLY_COMMAND,
  type SupplyArguments,
} from '../../server/src/shared/protocol';
import {
  formatBytes,
  formatBytesOf,
  formatDuration,
  formatUsd,
  threeFigures,
} from '../../server/src/shared/words';
import type { LanguageServer } from './language-server';
import { done } from './walkthrough-steps';
import { writeRun } from './write-run';

interface Scope extends QuickPickItem {
  readonly maxGpus?: number;
  readonly instances?: boolean;
}

interface OptionItem extends QuickPickItem {
  readonly option: Option;
}

/** `Oomlint: What Fits?`: searches runs that fit, shows those that no other beats, and writes the chosen one. */
export async function whatFits(server: LanguageServer, uri: Uri | undefined): Promise<void> {
  if (uri === undefined) {
    await window.showInformationMessage(l10n.t('Open a training config first: the search starts from it.'));
    return;
  }
  const present = (await server.breakdown(uri.toString()).catch(() => null)) ?? undefined;
  if (present && !present.peak && present.unknown.length > 0) {
    await offerToSupply(uri, present);
    return;
  }
  const scope = await chooseScope(present?.hardware?.gpus ?? 1);
  if (!scope) return;
  let isCancelled = false;
  const found = await window.withProgress(
    { location: ProgressLocation.Notification, title: l10n.t('Searching what fits'), cancellable: true },
    (_progress, token) => {
      token.onCancellationRequested(() => {
        isCancelled = true;
      });
      return server.search(
        { uri: uri.toString(), maxGpus: scope.maxGpus, instances: scope.instances },
        token,
      );
    },
  );
  if (!found) {
    if (!isCancelled)
      await window.showInformationMessage(
        l10n.t('The search starts from an estimate, and there is none of this config yet.'),
      );
    return;
  }
  if (found.front.length === 0) {
    await window.showInformationMessage(
      l10n.t('None of {0} runs fits. More or larger GPUs, or a smaller model, would.', found.tried),
    );
    return;
  }
  done('fittingFound');
  const picked = await window.showQuickPick(itemsOf(found.front), {
    title: l10n.t(
      'What fits: {0} of {1} runs; best trade-offs of memory, time and cost',
      found.fitting,
      found.tried,
    ),
    placeHolder: present && nowText(present),
    matchOnDetail: true,
  });
  if (picked) {
    const { changes, label } = picked.option;
    await writeRun(server, { uri: uri.toString(), values: changes, label }, l10n.t('Write the chosen run?'));
  }
}

/** Without an estimate there is nothing to search from: what is missing is asked for. */
async function offerToSupply(uri: Uri, { unknown }: Breakdown): Promise<void> {
  const supply = l10n.t('Set Missing Values');
  const picked = await window.showInformationMessage(
    l10n.t('The search starts from an estimate, and there is none of this config yet.'),
    supply,
  );
  if (picked !== supply) return;
  const fields = [...new Set(unknown.map(({ field }) => field))];
  const missing: SupplyArguments = { uri: uri.toString(), fields };
  await commands.executeCommand(SUPPLY_COMMAND, missing);
}

/** As many GPUs as the run has are no choice of their own. */
async function chooseScope(gpus: number): Promise<Scope | undefined> {
  const scopes: Scope[] = [
    { label: l10n.t('With the GPUs of this run') },
    ...[8, 64]
      .filter((most) => most > gpus)
      .map((most) => ({ label: l10n.t('With up to {0} GPUs', most), maxGpus: most })),
    { label: l10n.t('On cloud machines, cheapest first'), instances: true },
  ];
  return window.showQuickPick(scopes, { title: l10n.t('What Fits?') });
}

/** Where the run stands, to hold the others against. */
function nowText({ peak, hardware, compute }: Breakdown): string | undefined {
  if (!peak || !hardware) return undefined;
  const seconds = compute?.time?.stepSeconds.likely;
  const figures = [
    formatBytesOf(peak.processBytes, hardware.capacityBytes),
    ...(seconds === undefined ? [] : [l10n.t('{0} per step', formatDuration(seconds))]),
    ...(seconds && compute ? [throughput(compute.tokensPerStep / seconds)] : []),
  ];
  return l10n.t('Now: {0}', figures.join(' · '));
}

/** Over all GPUs: a step may hold another number of tokens in each row. */
const throughput = (perSecond: number) => l10n.t('{0} tokens/s', threeFigures(perSecond));

/** How full the GPU is, as a bar: grey stands out from light and dark lists alike. */
function levelIcon(share: number): Uri {
  const height = Math.max(1, Math.round(12 * Math.min(1, share)));
  const bar = `<rect x="4.5" y="1.5" width="7" height="13" rx="1" fill="none" stroke="#808080"/><rect x="6" y="${14 - height}" width="4" height="${height}" fill="#808080"/>`;
  const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">${bar}</svg>`;
  return Uri.parse(`data:image/svg+xml;base64,${btoa(drawing)}`);
}

const hardwareOf = ({ gpus, gpu }: Option): string => `${gpus}×${gpu}`;

function itemsOf(options: readonly Option[]): OptionItem[] {
  // Where there is little room, the same GPUs are not repeated in each row.
  const differ = new Set(options.map(hardwareOf)).size > 1;
  return options.map((option) => itemOf(option, differ));
}

function itemOf(option: Option, withHardware: boolean): OptionItem {
  const { peakBytes, capacityBytes, stepSeconds, tokensPerSecond, usdPerBillionTokens, label, current } =
    option;
  const figures = [
    withHardware ? hardwareOf(option) : undefined,
    `${formatBytes(peakBytes)} / ${formatBytes(capacityBytes)}`,
    stepSeconds === undefined ? undefined : l10n.t('{0} per step', formatDuration(stepSeconds)),
    tokensPerSecond === undefined ? undefined : throughput(tokensPerSecond),
    usdPerBillionTokens === undefined
      ? undefined
      : l10n.t('{0} per billion tokens', formatUsd(usdPerBillionTokens)),
  ];
  return {
    label: current ? `$(check) ${label}` : label,
    iconPath: levelIcon(peakBytes / capacityBytes),
    detail: figures.filter((figure) => figure !== undefined).join(' · '),
    option,
  };
}
