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
import { sourceAddress } from './source-address';

const percent = (share: number) => `${factor(String(Number((100 * share).toFixed(1))))} %`;

/** Capacity, bounds, and what PyTorch and the driver would report. Bytes per GPU, host memory per node. */
export function deviceFigures(estimate: Estimate, input: EstimateInput): DetailNode[] {
  const figures = [
    processFigure(estimate, input),
    usableFigure(estimate, input),
    ...boundFigures(estimate, input),
    ...hostFigures(estimate),
  ];
  return figures.map((figure) => settleIntegers(figure));
}

/** What nvidia-smi shows of the process, and what it is made of. */
function processFigure(estimate: Estimate, { run, accelerator, model }: EstimateInput): FigureDraft {
  const { peak } = estimate;
  const others = run['hardware.otherProcesses'];
  const context: FigureDraft = {
    ...named('CUDA context'),
    value: peak.processBytes - peak.reservedBytes - others,
    unit: 'bytes',
    formula: contextFormula(run, accelerator, model.hiddenSize),
    source: communicators(run) > 0 ? SOURCES.nccl : SOURCES.cudaContext,
  };
  const tenants: FigureDraft[] =
    others > 0
      ? [
          {
            ...named('other processes'),
            value: others,
            unit: 'bytes',
            formula: say('set by {0}', 'hardware.otherProcesses'),
            source: SOURCES.memoryStatistics,
          },
        ]
      : [];
  return {
    ...named('process'),
    value: peak.processBytes,
    unit: 'bytes',
    formula: say('reserved + CUDA context: what nvidia-smi shows'),
    source: SOURCES.cudaContext,
    children: [reservedFigure(estimate), context, ...tenants],
  };
}

/** What PyTorch's allocator holds of the GPU, and how much of it is handed out. */
function reservedFigure({ peak, bands }: Estimate): FigureDraft {
  const { allocatedBytes, reservedBytes } = peak;
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
    formula: say('caching-allocator fragmentation: blocks kept beyond what is handed out (steps simulated)'),
    source: SOURCES.allocator,
  };
  return {
    ...named('reserved'),
    value: reservedBytes,
    unit: 'bytes',
    formula: say('allocated + allocator overhead: torch.cuda.max_memory_reserved'),
    why: say(
      'published runs of this kind: from {0} below to {1} above',
      percent(bands.reserved.below),
      percent(bands.reserved.above),
    ),
    source: SOURCES.allocator,
    children: [allocated, overhead],
  };
}

function usableFigure({ capacityBytes }: Estimate, { run, accelerator }: EstimateInput): FigureDraft {
  const stated = run['hardware.gpuMemory'] !== undefined;
  return {
    ...named('usable memory'),
    value: capacityBytes,
    unit: 'bytes',
    formula: stated
      ? say('set by {0}', 'hardware.gpuMemory')
      : say(
          'of {0} on {1}, what the driver leaves to a process',
          formatBytes(accelerator.totalBytes),
          accelerator.name,
        ),
    source: cardSource(accelerator.name, accelerator.sources),
  };
}

/** What the verdict compares with the usable memory. */
function boundFigures({ peak, bands }: Estimate, { run, accelerator, model }: EstimateInput): FigureDraft[] {
  const outside = besideAllocator(run, accelerator, model.hiddenSize);
  const from = run['batch.varied'] && !run['batch.packed'] ? peak.allocatedBytes : peak.reservedBytes;
  return [
    {
      ...named('lower bound'),
      value: peak.lowerBytes,
      unit: 'bytes',
      why: say('the run does not fit where even this exceeds the usable memory'),
      formula: say(
        'allocated {0} less {1} (few published runs of this kind lie lower) + {2} outside the allocator',
        formatBytes(peak.allocatedBytes),
        percent(bands.allocated.below),
        formatBytes(outside.lower),
      ),
      source: SOURCES.accuracy,
    },
    {
      ...named('upper bound'),
      value: peak.upperBytes,
      unit: 'bytes',
      why: say('the run fits where even this is within the usable memory'),
      formula: say(
        '{0} and {1} of allocated (few published runs of this kind lie higher) + {2} outside the allocator',
        formatBytes(from),
        percent(bands.allocated.above),
        formatBytes(outside.upper),
      ),
      source: SOURCES.accuracy,
    },
  ];
}

/** Nothing where nothing of the run lies in host memory. */
function hostFigures({ host }: Estimate): FigureDraft[] {
  if (host.bytesPerNode <= 0) return [];
  const children = host.parts.map(({ label, bytes }) => ({
    ...named(label),
    value: bytes,
    unit: 'bytes' as const,
    formula: say('{0} over the processes of one node', formatBytes(bytes)),
    source: hostSource(label),
  }));
  return [
    {
      ...named('host memory'),
      value: host.bytesPerNode,
      unit: 'bytes',
      formula: say('{0}, per node', host.parts.map(({ label }) => say(label)).join(' + ')),
      source: hostSource(host.parts[0]?.label ?? ''),
      children,
    },
  ];
}

/** Checkpoints are read and written by the library of the model; what a step keeps on the host is offloaded. */
function hostSource(label: string): Source {
  return /checkpoint|load|sav/.test(label) ? SOURCES.loading : SOURCES.zeroOffload;
}

/** The first source of a card that has an address: a page, or a file of a repository at a commit. */
function cardSource(name: string, sources: readonly string[]): Source | undefined {
  for (const source of sources) {
    const url = sourceAddress(source);
    if (url) return { label: name, url };
  }
  return undefined;
}
