import type { OutOfMemory } from '../../measured/out-of-memory';
import type { Frame } from '../../measured/traceback';
import { hostMomentLabel, momentLabel } from '../../results/labels';
import { fieldLabel } from '../../run/field-labels';
import { formatBytes, formatInteger } from '../../wording/figures';
import { say } from '../../wording/say';
import type { Analysis } from '../../workspace/analysis';
import { causingKeys } from '../causing-keys';
import type { Cause, Diagnosis } from './diagnose';
import type { Match } from './matches';
import type { Solution } from './solutions';

/** What is reported of one message: a heading and sentences, those that explain it first. */
export interface ExplainedSection {
  readonly heading: string;
  readonly lines: readonly string[];
}

/** What a person reads of a diagnosis. `analysis` is the run it was held to. */
export function sectionsOf(
  diagnosis: Diagnosis,
  analysis: Analysis | undefined,
  settings: string | undefined,
): ExplainedSection[] {
  const sections: ExplainedSection[] = [
    { heading: say('Why'), lines: diagnosis.causes.map((cause) => causeWords(cause, diagnosis, settings)) },
    { heading: say('Memory'), lines: memoryLines(diagnosis) },
    { heading: say('When'), lines: whenLines(diagnosis) },
    { heading: say('What was asked for'), lines: tensorLines(diagnosis, analysis) },
    { heading: say('Estimate'), lines: estimateLines(diagnosis) },
  ];
  return sections.filter(({ lines }) => lines.length > 0);
}

/** One line: `CUDA out of memory: 1.96 GiB asked for, 1.0 GiB free`. */
export function titleOf({ torch, other, rank }: OutOfMemory): string {
  const device = { cuda: 'CUDA', hip: 'HIP', xpu: 'XPU', mps: 'MPS', other: say('device') }[
    torch?.device ?? 'cuda'
  ];
  const what = torch
    ? say('{0} out of memory: {1} asked for', device, formatBytes(torch.requested.bytes))
    : other?.requested
      ? say('Out of memory: {0} asked for', formatBytes(other.requested.bytes))
      : say('Out of memory');
  return rank === undefined ? what : `${what} (${say('rank {0}', String(rank))})`;
}

function causeWords(
  { kind, sure, bytes = 0 }: Cause,
  diagnosis: Diagnosis,
  settings: string | undefined,
): string {
  const size = formatBytes(bytes);
  const { expected, occupied, message } = diagnosis;
  switch (kind) {
    case 'excess':
      return excessWords(sure, diagnosis);
    case 'fragmentation':
      return /expandable_segments:True/i.test(settings ?? '')
        ? say(
            'Fragmentation: the allocator holds {0} that no tensor uses, more than was asked for, but no piece of it is large enough. Expandable segments are on already: blocks of other streams or in pools of their own cannot be joined.',
            size,
          )
        : say(
            'Fragmentation: the allocator holds {0} that no tensor uses, more than was asked for, but no piece of it is large enough. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets pieces grow together.',
            size,
          );
    case 'other-process': {
      const pids = message.torch?.others.map(({ pid }) => String(pid)) ?? [];
      const who = pids.length > 0 ? say(' (process {0})', pids.join(', ')) : '';
      return sure
        ? say('Somebody else holds {0} of the card{1}: without it the request would have fit.', size, who)
        : say(
            "About {0} of the card is in use outside this process's allocator, more than a CUDA context and communicators take: most likely another process. `nvidia-smi` lists them.",
            size,
          );
    }
    case 'process-limit':
      return say('The process limits itself to {0} of the card (`set_per_process_memory_fraction`).', size);
    case 'more-than-stated':
      return say(
        'The run held at least {0} more than this config explains: {1} in tensors and asked for, at most {2} by the estimate. Lengths, batch or settings were other ones than in the config, memory leaked, or the estimate misses something of this run.',
        size,
        formatBytes((occupied?.allocatedBytes ?? 0) + (message.torch?.requested.bytes ?? 0)),
        formatBytes((expected?.estimate.peak.allocatedBytes ?? 0) * 1.08),
      );
    case 'leak':
      return say(
        'Memory in use grew by {0} over the steps of the log: something keeps tensors from step to step, such as a loss that is summed up without `.item()`.',
        size,
      );
    case 'evaluation':
      return say(
        'It happened in evaluation, not in a training step: its batch size and the logits that it keeps decide.',
      );
    case 'saving':
      return say(
        'It happened while a checkpoint was saved, not in a training step: gathering whole weights on one GPU takes what the steps do not.',
      );
    case 'generation':
      return say('It happened while completions were generated, not in a training step.');
    case 'outside-allocator':
      return say(
        "A library beside PyTorch's allocator found no room: what the allocator reserves leaves too little for it. A smaller peak, or `torch.cuda.set_per_process_memory_fraction`, leaves it some.",
      );
    case 'host':
      return sure
        ? say('The machine ran out of its own memory, not the GPU.')
        : say(
            "The process was killed by signal 9: most often the machine has run out of its own memory. The kernel's log (`dmesg`) says whether it was that.",
          );
    default:
      return say('The message does not say why, and nothing here decides it.');
  }
}

function excessWords(sure: boolean, { expected, occupied }: Diagnosis): string {
  if (!expected) {
    return say(
      'Tensors and what was asked for come to more than the card can give: {0} in tensors on a card of {1}.',
      formatBytes(occupied?.allocatedBytes ?? 0),
      formatBytes(occupied?.totalBytes ?? 0),
    );
  }
  const { peak, capacityBytes } = expected.estimate;
  return sure
    ? say(
        'The run needs more than the card has: at least {0} by the estimate, {1} on the card.',
        formatBytes(peak.lowerBytes),
        formatBytes(capacityBytes),
      )
    : say(
        'The run is at the edge of the card: {0} to {1} by the estimate, {2} on the card.',
        formatBytes(peak.lowerBytes),
        formatBytes(peak.upperBytes),
        formatBytes(capacityBytes),
      );
}

function memoryLines({ occupied }: Diagnosis): string[] {
  if (!occupied) return [];
  const { totalBytes, allocatedBytes, unallocatedBytes, outsideBytes, othersBytes, freeBytes } = occupied;
  const parts = [
    allocatedBytes !== undefined && say('{0} in tensors', formatBytes(allocatedBytes)),
    unallocatedBytes !== undefined &&
      say('{0} held by the allocator beside them', formatBytes(unallocatedBytes)),
    outsideBytes !== undefined && say('{0} of the process outside the allocator', formatBytes(outsideBytes)),
    // The driver keeps some of every card.
    othersBytes !== undefined && othersBytes > 2 ** 28 && say('{0} of others', formatBytes(othersBytes)),
    freeBytes !== undefined && say('{0} free', formatBytes(freeBytes)),
  ].filter((part) => part !== false);
  const lines = [say('{0} on the card: {1}', formatBytes(totalBytes), parts.join(', '))];
  if (occupied.spilled)
    lines.push(
      say('More is in use than the card has: the driver had put some of it into the memory of the machine.'),
    );
  return lines;
}

function whenLines({ clues, message }: Diagnosis): string[] {
  const { frames } = message;
  const lines: string[] = [];
  if (clues.moment)
    lines.push(
      clues.recomputes
        ? say('{0}, while a checkpointed layer is computed again', momentLabel(clues.moment))
        : momentLabel(clues.moment),
    );
  const inner = frames.at(-1);
  if (inner) lines.push(frameWords(inner));
  if (clues.frame && clues.frame !== inner) lines.push(say('called by {0}', frameWords(clues.frame)));
  return lines;
}

function frameWords({ file, line, function: name, code }: Frame): string {
  const short = file.split(/[\\/]/).slice(-2).join('/');
  return `${short}:${line} ${name}${code ? `: ${code}` : ''}`;
}

const MOST_TENSORS = 4;

function tensorLines(
  { matched, solutions, message, fields }: Diagnosis,
  analysis: Analysis | undefined,
): string[] {
  if (!matched) return [];
  if (matched.tooSmall)
    return [
      say(
        'A segment of {0}, as the allocator asks for small tensors: it names none of them. The card was full already.',
        formatBytes(message.torch?.requested.bytes ?? 0),
      ),
    ];
  const [best] = matched.matches;
  const likely = matched.matches.filter(({ support }) => support > 0 || support === best?.support);
  const shown = likely.slice(0, MOST_TENSORS);
  const lines = shown.map(matchWords);
  const more = matched.matches.length - shown.length;
  if (more > 0) lines.push(say('and {0} {0|tensor|tensors} more of this size', more));
  if (matched.matches.length === 0) {
    lines.push(
      say(
        'No tensor of this run as configured has this size: other lengths, another batch or another model.',
      ),
    );
    const near = matched.nearest.map(({ name, bytes }) => `${name} ${formatBytes(bytes)}`);
    if (near.length > 0) lines.push(say('Nearest: {0}.', near.join(', ')));
  }
  for (const name of new Set(solutions.map(({ request }) => request.name)))
    lines.push(
      solutionWords(
        name,
        solutions.filter(({ request }) => request.name === name),
      ),
    );
  const keys = analysis && matched.matches.length > 0 ? keysOf(fields, analysis) : [];
  if (keys.length > 0) lines.push(say('Shaped by: {0}.', keys.join(', ')));
  return lines;
}

function matchWords({ request, places }: Match): string {
  const { name, moment, formula, bytes } = request;
  const where = places.filter((place) => place !== '').join(', ');
  const facts = [where, momentLabel(moment), formula && `${formula} = ${formatBytes(bytes)}`].filter(Boolean);
  return `${name} (${facts.join('; ')})`;
}

function solutionWords(name: string, solutions: readonly Solution[]): string {
  const values = solutions.map(({ field, from, to, stated }) => {
    const value = from === to ? formatInteger(from) : `${formatInteger(from)}-${formatInteger(to)}`;
    const what = field === 'vocabulary' ? say('vocabulary') : fieldLabel(field);
    return say('{0} {1} in place of {2}', what, value, formatInteger(stated));
  });
  return say('{0} would have this size with {1}.', name, values.join(say(', or ')));
}

const MOST_KEYS = 3;

/** Keys of the run's files that state what shapes a part, else the fields themselves. */
function keysOf(fields: Diagnosis['fields'], analysis: Analysis): string[] {
  const keys = new Map(causingKeys(analysis).map((key) => [key.field as string, key]));
  return fields.slice(0, MOST_KEYS).map((field) => {
    const key = keys.get(field);
    if (!key) return fieldLabel(field);
    const name = key.uri.split('/').at(-1) ?? '';
    // Lines of a notebook's file are nothing that people see.
    return `${key.key} (${/\.ipynb$/i.test(name) ? name : `${name}:${key.range.start.line + 1}`})`;
  });
}

function estimateLines({ expected, host }: Diagnosis): string[] {
  if (host) {
    const need = say(
      'By the estimate a node needs {0} of its own memory {1}.',
      formatBytes(host.bytesPerNode),
      hostMomentLabel(host.moment),
    );
    return [need, ...host.parts.map(({ label, bytes }) => `${say(label)} ${formatBytes(bytes)}`)];
  }
  if (!expected) return [];
  const { estimate, allocatedThen, otherCard } = expected;
  const { peak } = estimate;
  const lines = [
    say(
      '{0} in tensors at the highest point, {1} ({2}); the process {3} to {4}.',
      formatBytes(peak.allocatedBytes),
      momentLabel(peak.moment),
      peak.label,
      formatBytes(peak.lowerBytes),
      formatBytes(peak.upperBytes),
    ),
  ];
  if (allocatedThen !== undefined)
    lines.push(say('At the moment of the message: {0} in tensors.', formatBytes(allocatedThen)));
  if (otherCard)
    lines.push(
      say(
        'The card of the message is not the one that the config names: the estimate here is for a card of {0}.',
        formatBytes(estimate.capacityBytes),
      ),
    );
  return lines;
}
