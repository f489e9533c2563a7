import type { Estimate, EstimateInput } from '../../estimate-types';
import { formatBytes } from '../../wording/figures';
import { factor, say } from '../../wording/say';
import { communicators } from '../communicators';
import { outsideAllocator } from '../device';
import { contextFormula } from '../explain';
import { BAND } from '../reserved';
import { SOURCES, type Source } from '../sources';
import { type DetailNode, type Draft, named, settleIntegers } from './node';

const percent = (share: number) => `${factor(String(Number((100 * share).toFixed(1))))} %`;

/** Capacity, bounds, and what PyTorch and the driver would report. Bytes per GPU, host memory per node. */
export function deviceFigures(estimate: Estimate, { run, accelerator }: EstimateInput): DetailNode[] {
  const { peak, capacityBytes } = estimate;
  const { allocatedBytes, reservedBytes, processBytes, lowerBytes, upperBytes } = peak;
  const outside = outsideAllocator(run, accelerator);
  const groups = communicators(run);
  const stated = run['hardware.gpuMemory'] !== undefined;
  const allocated: Draft = {
    ...named('allocated'),
    value: allocatedBytes,
    unit: 'bytes',
    formula: say('highest point of the walked step: {0}', peak.label),
    source: SOURCES.memoryStatistics,
  };
  const overhead: Draft = {
    ...named('allocator overhead'),
    value: reservedBytes - allocatedBytes,
    unit: 'bytes',
    formula: say(
      'blocks that the caching allocator keeps beyond what is handed out, from playing steps on it',
    ),
    source: SOURCES.allocator,
  };
  const context: Draft = {
    ...named('CUDA context'),
    value: processBytes - reservedBytes,
    unit: 'bytes',
    formula: contextFormula(run, accelerator),
    source: groups > 0 ? SOURCES.nccl : SOURCES.cudaContext,
  };
  const reserved: Draft = {
    ...named('reserved'),
    value: reservedBytes,
    unit: 'bytes',
    formula: say('allocated + allocator overhead: torch.cuda.max_memory_reserved'),
    source: SOURCES.allocator,
    children: [allocated, overhead],
  };
  const figures: Draft[] = [
    {
      ...named('process'),
      value: processBytes,
      unit: 'bytes',
      formula: say('reserved + CUDA context: what nvidia-smi shows'),
      source: SOURCES.cudaContext,
      children: [reserved, context],
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
        'allocated {0} less {1}, within which 90 % of published runs lie, + {2} outside the allocator',
        formatBytes(allocatedBytes),
        percent(BAND.lower),
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
        'allocated {0} and the larger of {1}, beyond which no published run lies, and the allocator overhead, + {2} outside the allocator',
        formatBytes(allocatedBytes),
        percent(BAND.upper),
        formatBytes(outside.upper),
      ),
      source: SOURCES.accuracy,
    },
  ];
  if (estimate.hostBytesPerNode > 0) {
    figures.push({
      ...named('host memory'),
      value: estimate.hostBytesPerNode,
      unit: 'bytes',
      formula: say('{0}, per node', estimate.hostParts.map(({ label }) => say(label)).join(' + ')),
      source: hostSource(estimate.hostParts[0]?.label ?? ''),
      children: estimate.hostParts.map(({ label, bytes }) => ({
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
