import { isDict, type Plain } from './plain-pickle';

/**
 * Phase of a run in which memory was asked for; `older`: before the record, `other`: none of the three, `uncalled`: no call
 * was recorded.
 */
export type AllocationPhase = 'older' | 'forward' | 'backward' | 'optimizer' | 'other' | 'uncalled';

/** Bytes that are alive, by the phase that asked for them. */
export type PhaseBytes = Readonly<Record<AllocationPhase, number>>;

const OPTIMIZER_FILE = /[\\/]optim(?:izer)?s?[\\/]|[\\/](?:bitsandbytes|apex)[\\/].{0,40}optim/;
const OPTIMIZER_CALL =
  /^(?:step|_step|_single_tensor_\w{1,30}|_multi_tensor_\w{1,30}|_fused_\w{1,30}|_init_group|init_state\w{0,10}|update_step)$/;
const ENGINE = /\bautograd::(?:Engine|python::PythonEngine)\b/;
const BACKWARD = /^(?:backward|_engine_run_backward|run_backward|backward_step)$/;
const FORWARD = /^(?:forward|_call_impl|_wrapped_call_impl|training_step|compute_loss|forward_step)$/;

/** What the name of a function, or of a file, stands for. A snapshot repeats each of them thousands of times. */
const functions = new Map<
  string,
  { engine: boolean; backward: boolean; optimizer: boolean; forward: boolean }
>();
const files = new Map<string, { python: boolean; optimizer: boolean }>();
/** Beyond so many names a file is made to fill memory. */
const MOST_NAMES = 2 ** 17;

function callOf(name: string) {
  const known = functions.get(name);
  if (known) return known;
  const found = {
    engine: ENGINE.test(name),
    backward: BACKWARD.test(name),
    optimizer: OPTIMIZER_CALL.test(name),
    forward: FORWARD.test(name),
  };
  if (functions.size < MOST_NAMES) functions.set(name, found);
  return found;
}

function ownerOf(file: string) {
  const known = files.get(file);
  if (known) return known;
  const found = { python: file.endsWith('.py'), optimizer: OPTIMIZER_FILE.test(file) };
  if (files.size < MOST_NAMES) files.set(file, found);
  return found;
}

/** The phase of calls, innermost first, as a snapshot lists them. What runs inside backward is backward's, recomputation too. */
export function phaseOfCalls(frames: readonly Plain[]): AllocationPhase {
  if (frames.length === 0) return 'uncalled';
  let found: AllocationPhase = 'other';
  for (const frame of frames) {
    if (!isDict(frame)) continue;
    const { name, filename } = frame;
    if (typeof name !== 'string' || typeof filename !== 'string') continue;
    const call = callOf(name);
    if (call.engine) return 'backward';
    if (call.backward && ownerOf(filename).python) return 'backward';
    if (call.optimizer && ownerOf(filename).optimizer) return 'optimizer';
    if (call.forward) found = 'forward';
  }
  return found;
}

/**
 * On CUDA autograd's backward runs in a thread of its own, of which a record of Python's calls has none
 * (`torch/csrc/autograd/engine.cpp`, `Engine::thread_init`): where other requests have calls, those without are backward's.
 */
export function settledPhases(phases: PhaseBytes, hasCalls: boolean): PhaseBytes {
  const { uncalled, backward, other } = phases;
  return hasCalls
    ? { ...phases, uncalled: 0, backward: backward + uncalled }
    : { ...phases, uncalled: 0, other: other + uncalled };
}
