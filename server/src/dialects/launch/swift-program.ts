import { readSwift, type SwiftCommand } from '../ms-swift/ms-swift';
import { MS_SWIFT_KEYS } from '../ms-swift/ms-swift-keys';
import { checkSwift } from '../ms-swift/ms-swift-rules';
import { Section } from '../section';
import type { Launch } from './launch';
import { linkConfig } from './linked-config';
import type { Program } from './program';

type Name = 'pt' | 'sft' | 'rlhf';

/** `swift sft`, `megatron pt`, `swift/cli/rlhf.py` and `-m swift.cli.sft` under a launcher; undefined for anything else. */
function commandOf(launch: Launch): SwiftCommand | undefined {
  const [program, name] = launch.program;
  if ((program === 'swift' || program === 'megatron') && /^(pt|sft|rlhf)$/.test(name ?? ''))
    return { megatron: program === 'megatron', name: name as Name };
  const script = launch.script ?? '';
  const inner = /(?:^|[/.])cli[/.](_megatron[/.])?(pt|sft|rlhf)(?:\.py)?$/.exec(script);
  if (inner && (/swift/.test(script) || launch.arguments.entries.some(({ key }) => TYPES.has(key))))
    return { megatron: inner[1] !== undefined, name: inner[2] as Name };
  return /(^|\/)llm_sft\.py$/.test(script) ? { megatron: false, name: 'sft' } : undefined;
}

const TYPES = new Set(['tuner_type', 'train_type', 'sft_type', 'rlhf_type']);

/** ms-swift, with flags of its own, a config, or both. */
export const swiftProgram: Program = {
  name: 'ms-swift',
  keys: MS_SWIFT_KEYS,
  match: (launch) => (commandOf(launch) ? 1 : 0),
  read(launch, draft, context) {
    const command = commandOf(launch);
    if (!command) return;
    draft.assume('framework', 'ms-swift', 'the script starts ms-swift');
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`);
    const linked = linkConfig({ ...launch, words: [] }, section, []);
    if (linked) draft.assumesNothing();
    readSwift(section, command, draft, context);
    if (!linked) checkSwift(launch.arguments, section, command, draft);
  },
};
