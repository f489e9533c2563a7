import { textOf } from '../../config/scalar';
import { fileIn, MS_SWIFT } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { trainerWords } from '../hf/hf-words';
import { rejectMisfits } from '../key-check';
import type { Launch } from '../launch/launch';
import { launcherOf } from '../launch/launcher';
import { linkConfig } from '../launch/linked-config';
import type { Program } from '../launch/program';
import { megatronWords } from '../megatron/megatron-words';
import { forbid } from '../refusal';
import { Section } from '../section';
import { msSwift, readSwift } from './ms-swift';
import { MS_SWIFT_KEYS, MS_SWIFT_TABLE } from './ms-swift-keys';
import { checkSwift } from './ms-swift-rules';
import type { SwiftCommand } from './swift-command';

const SOURCE = fileIn(MS_SWIFT, 'swift/');

type Name = 'pt' | 'sft' | 'rlhf';

/** `swift sft`, `megatron pt`, `swift/cli/rlhf.py` and `-m swift.cli.sft` under a launcher; undefined for anything else. */
function commandOf(launch: Launch): SwiftCommand | undefined {
  const [program, name] = launch.program;
  if ((program === 'swift' || program === 'megatron') && /^(pt|sft|rlhf)$/.test(name ?? ''))
    return { megatron: program === 'megatron', name: name as Name };
  const script = launch.script ?? '';
  const main = SUBCOMMANDS.exec(script);
  const asked = main && launch.words[0];
  if (asked && /^(pt|sft|rlhf)$/.test(asked.text))
    return { megatron: main[1] !== undefined, name: asked.text as Name };
  const inner = /(?:^|[/.])cli[/.](_megatron[/.])?(pt|sft|rlhf)(?:\.py)?$/.exec(script);
  if (inner && (/swift/.test(script) || launch.arguments.entries.some(({ key }) => TYPES.has(key))))
    return { megatron: inner[1] !== undefined, name: inner[2] as Name };
  return /(^|\/)llm_sft\.py$/.test(script) ? { megatron: false, name: 'sft' } : undefined;
}

/** What the commands `swift` and `megatron` start (`setup.py`). */
const SUBCOMMANDS = /(?:^|[/.])swift[/.]cli[/.](_megatron[/.])?main(?:\.py)?$/;

const TYPES = new Set(['tuner_type', 'train_type', 'sft_type', 'rlhf_type']);

/** ms-swift, with flags of its own, a config, or both. */
export const swiftProgram: Program = {
  name: 'ms-swift',
  refusesOthers: true,
  vocabulary: MS_SWIFT_TABLE.released,
  keys: MS_SWIFT_KEYS,
  words: trainerWords,
  config: msSwift,
  parser: () => ({ table: MS_SWIFT_TABLE, others: ['config'], dashes: true }),
  match: (launch) => (commandOf(launch)?.megatron === false ? 1 : 0),
  read(launch, draft, context) {
    const command = commandOf(launch);
    if (!command) return;
    draft.assume('framework', 'ms-swift', say('the script starts {0}', 'ms-swift'));
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`, MS_SWIFT_TABLE);
    const linked = linkConfig({ ...launch, words: [] }, section, []);
    if (linked) draft.assumesNothing();
    readSwift(section, command, draft, context);
    // What `qwen_vl_utils` scales an image down to.
    new Section(launch.environment, draft).stateInteger('batch.imagePixels', 'MAX_PIXELS');
    if (!linked) {
      rejectMisfits(launch.arguments, MS_SWIFT_TABLE, draft);
      checkSwift(launch.arguments, section, command, context, draft);
    }
    if (!command.megatron && launcherOf(launch) === 'swift') checkSpread(launch, section, draft);
  },
};

/** Over Megatron, whose names its flags have. */
export const swiftMegatronProgram: Program = {
  ...swiftProgram,
  words: megatronWords,
  match: (launch) => (commandOf(launch)?.megatron ? 1 : 0),
};

/** One process that sees several GPUs spreads the layers over them (`swift/utils/env.py`, `is_mp`). */
function checkSpread(launch: Launch, section: Section, draft: Draft): void {
  const environment = new Section(launch.environment, draft);
  const visible = environment.find('CUDA_VISIBLE_DEVICES');
  const count = (textOf(visible?.node) ?? '').split(',').filter((id) => /^\d+$/.test(id)).length;
  const processes = environment.has('NPROC_PER_NODE') || environment.has('NNODES');
  if (!visible || count < 2 || processes || environment.text('SWIFT_SINGLE_DEVICE_MODE') === '1') return;
  const sharding = section.find(['deepspeed', 'fsdp']);
  forbid(sharding !== undefined, sharding?.node, draft, {
    code: 'sharding-without-processes',
    message: say(
      'One process that sees {0} GPUs spreads the model over them, which DeepSpeed and FSDP exclude: set NPROC_PER_NODE={0}.',
      String(count),
    ),
    source: `${SOURCE}arguments/sft_args.py`,
  });
  if (sharding) return;
  const spread = say('one process spreads the layers over the GPUs that it sees');
  draft.state('parallel.pipeline', count, visible.node, visible.key, spread);
  draft.state('parallel.pipelineSchedule', 'sequential', visible.node, visible.key, spread);
  draft.report(
    'layers-spread',
    'information',
    say(
      'One process spreads the layers over the {0} GPUs that it sees: only one of them works at a time. NPROC_PER_NODE={0} starts a process for each.',
      String(count),
    ),
    visible.node.range,
    { source: `${SOURCE}utils/env.py` },
  );
}
