import type { EstimateInput } from '../estimate';
import { communicators } from '../memory/communicators';
import { besideAllocator } from '../memory/device';
import { contextFormula } from '../memory/explain';
import { SOURCES } from '../memory/sources';
import { type DetailNode, type FigureDraft, named, settleIntegers } from '../results/detail-node';
import type { Estimate } from '../results/estimate';
import type { Source } from '../results/source';
import { formatBytes } from '../wording/figures';
import { factor, say } from '../wording/say';

const percent = (share: number) => `${factor(String(Number((100 * share).toFixed(1))))} %`;

/** Capacity, bounds, and what PyTorch and the driver would report. Bytes per GPU, host memory per node. */
export function deviceFigures(estimate: Estimate, { run, accelerator }: EstimateInput): DetailNode[] {
  const { peak, capacityBytes } = estimate;
  const { allocatedBytes, reservedBytes, processBytes, lowerBytes, upperBytes } = peak;
  const outside = besideAllocator(run, accelerator);
  const groups = communicators(run);
  const others = run['hardware.otherProcesses'];
  const stated = run['hardware.gpuMemory'] !== undefined;
  const { allocated: shares, reserved: kept } = estimate.bands;
  const allocated: FigureDraft = {
    ...named('allocated'),
    value: allocatedBytes,
    unit: 'bytes',
    formula: say('highest point of the walked step: {0}', peak.label),
    source: SOURCES.memoryStatistics,
  };
  const overhead: FigureDraft = {
    ...named('allocator overhead'),
    value: reservedBytes - allocatedBytes,
    unit: 'bytes',
    formula: say(
      'blocks that the caching allocator keeps beyond what is handed out, from playing steps on it',
    ),
    source: SOURCES.allocator,
  };
  const context: FigureDraft = {
    ...named('CUDA context'),
    value: processBytes - reservedBytes - others,
    unit: 'bytes',
    formula: contextFormula(run, accelerator),
    source: groups > 0 ? SOURCES.nccl : SOURCES.cudaContext,
  };
  const reserved: FigureDraft = {
    ...named('reserved'),
    value: reservedBytes,
    unit: 'bytes',
    formula: say('allocated + allocator overhead: torch.cuda.max_memory_reserved'),
    why: say(
      'of runs of this kind it is published from {0} below to {1} above',
      percent(kept.below),
      percent(kept.above),
    ),
    source: SOURCES.allocator,
    children: [allocated, overhead],
  };
  const tenants: FigureDraft[] =
    others > 0
      ? [
          {
            ...named('other processes'),
            value: others,
            unit: 'bytes',
            formula: say('stated by {0}', 'hardware.otherProcesses'),
            source: SOURCES.memoryStatistics,
          },
        ]
      : [];
  const figures: FigureDraft[] = [
    {
      ...named('process'),
      value: processBytes,
      unit: 'bytes',
      formula: say('reserved + CUDA context: what nvidia-smi shows'),
      source: SOURCES.cudaContext,
      children: [reserved, context, ...tenants],
    },
    {
      ...named('usable memory'),
      value: capacityBytes,
      unit: 'bytes',
      formula: stated
        ? say('stated by {0}', 'hardware.gpuMemory')
        : say(
            'of {0} on {1}, what the driver leaves to a process',
            formatBytes(accelerator.totalBytes),
            accelerator.name,
          ),
      source: cardSource(accelerator.name, accelerator.sources),
    },
    {
      ...named('lower bound'),
      value: lowerBytes,
      unit: 'bytes',
      why: say('the run does not fit where even this exceeds the usable memory'),
      formula: say(
        'allocated {0} less {1}, below which hardly a published run of this kind lies, + {2} outside the allocator',
        formatBytes(allocatedBytes),
        percent(shares.below),
        formatBytes(outside.lower),
      ),
      source: SOURCES.accuracy,
    },
    {
      ...named('upper bound'),
      value: upperBytes,
      unit: 'bytes',
      why: say('the run fits where even this is within the usable memory'),
      formula: say(
        '{0} and {1} of allocated, above which hardly a published run of this kind lies, + {2} outside the allocator',
        formatBytes(run['batch.varied'] && !run['batch.packed'] ? allocatedBytes : reservedBytes),
        percent(shares.above),
        formatBytes(outside.upper),
      ),
      source: SOURCES.accuracy,
    },
  ];
  if (estimate.host.bytesPerNode > 0) {
    figures.push({
      ...named('host memory'),
      value: estimate.host.bytesPerNode,
      unit: 'bytes',
      formula: say('{0}, per node', estimate.host.parts.map(({ label }) => say(label)).join(' + ')),
      source: hostSource(estimate.host.parts[0]?.label ?? ''),
      children: estimate.host.parts.map(({ label, bytes }) => ({
        ...named(label),
        value: bytes,
        unit: 'bytes',
        formula: say('{0} over the processes of one node', formatBytes(bytes)),
        source: hostSource(label),
      })),
    });
  }
  return figures.map((figure) => settleIntegers(figure));
}

/** Checkpoints are read and written by the library of the model; what a step keeps on the host is offloaded. */
function hostSource(label: string): Source {
  return /checkpoint|load|sav/.test(label) ? SOURCES.loading : SOURCES.zeroOffload;
}

/** The first source of a card that has an address: a page, or a file of a repository at a commit. */
function cardSource(name: string, sources: readonly string[]): Source | undefined {
  for (const source of sources) {
    const [, page] = /(https:\/\/\S+)/.exec(source) ?? [];
    if (page) return { label: name, url: page };
    const [, repository, commit, file] = /^([\w.-]+\/[\w.-]+)@([0-9a-f]{7,40}) (\S+)/.exec(source) ?? [];
    if (file) return { label: name, url: `https://github.com/${repository}/blob/${commit}/${file}` };
  }
  return undefined;
}
