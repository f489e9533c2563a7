import { flagOf, integerOf, textOf, textsOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { AXOLOTL, fileIn } from '../../sources/repositories';
import type { DType } from '../../terms/dtypes';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import { namedChoice, readHostCopies } from '../hf/fsdp-argument';
import { isNoFsdp } from '../hf/fsdp-version';
import type { Section } from '../section';

const SOURCE = fileIn(AXOLOTL, 'src/axolotl/utils/schemas/');

const STRATEGIES: Readonly<Record<string, FieldValue<'fsdp.strategy'>>> = {
  full_shard: 'full',
  shard_grad_op: 'grad-op',
  hybrid_shard: 'hybrid',
  hybrid_shard_zero2: 'hybrid-grad-op',
  no_shard: 'none',
};

/** What Axolotl puts in the place of Accelerate's `fsdp2_prepare_model`. */
const PREPARATION = fileIn(AXOLOTL, 'src/axolotl/monkeypatch/accelerate/fsdp2.py');

/** Whether `fsdp_version`, wherever it stands, is 2. */
function isSecond(section: Section): boolean {
  const config = section.section('fsdp_config');
  const stated = section.find('fsdp_version') ?? config.find(['fsdp_version', 'version']);
  return integerOf(stated?.node) === 2;
}

/** FSDP 2 shards 8-bit weights, stacked experts too: Axolotl patches `FSDPParam` for them. */
export function assumeShardedInt8(section: Section, draft: Draft): void {
  if (isSecond(section))
    draft.assume(
      'quantization.storage',
      'int8',
      say('Axolotl has FSDP 2 shard 8-bit weights'),
      fileIn(AXOLOTL, 'src/axolotl/monkeypatch/fsdp2_qlora.py'),
    );
}

/**
 * Trained weights under FSDP's mixed precision: Accelerate upcasts them, but for FSDP 2, where Axolotl prepares the model itself and
 * leaves them as they were loaded (`fsdp2_prepare_model`). Adapters are fp32 as PEFT makes them.
 */
export function readAxolotlMasters(section: Section, draft: Draft, compute: DType): void {
  if (isSecond(section) && !section.has('adapter'))
    draft.assume(
      'precision.masterWeights',
      compute,
      say("Axolotl's own preparation for FSDP 2 leaves weights in the type that they are loaded in"),
      PREPARATION,
    );
  else
    draft.assume(
      'precision.masterWeights',
      'fp32',
      say('Accelerate upcasts trained weights to fp32 under FSDP mixed precision'),
      `${SOURCE}config.py`,
    );
}

/**
 * `fsdp_config`, with or without the prefix `fsdp_`, and the old list `fsdp`. Without a version it is FSDP 1
 * (`validation.py`, `check_fsdp_version_in_fsdp_config`). True where the run is FSDP.
 */
export function readAxolotlFsdp(section: Section, draft: Draft): boolean {
  const list = section.find('fsdp');
  const words = textsOf(list?.node) ?? [];
  const config = section.section('fsdp_config');
  const block = section.find('fsdp_config');
  const because = words.length > 0 && list ? list : block?.node.kind === 'map' ? block : undefined;
  if (!because) return false;
  const stated = section.find('fsdp_version') ?? config.find(['fsdp_version', 'version']);
  const second = integerOf(stated?.node) === 2;
  if (stated && isNoFsdp(stated.node)) section.leave(stated, ['parallel.data']);
  else section.state('parallel.data', second ? 'fsdp2' : 'fsdp1', stated ?? because);
  if (second)
    draft.assume(
      'fsdp.separateEnds',
      false,
      say("Axolotl's own preparation for FSDP 2 wraps the layers alone"),
      PREPARATION,
    );
  const strategy = config.find('fsdp_sharding_strategy') ?? config.find('sharding_strategy');
  const reshard = second ? config.find(namedChoice('reshard_after_forward')) : undefined;
  const resharded = flagOf(reshard?.node);
  const option = words.find((word) => Object.hasOwn(STRATEGIES, word));
  const byName = STRATEGIES[textOf(strategy?.node)?.toLowerCase() ?? ''];
  if (reshard && resharded === undefined) section.leave(reshard, ['fsdp.strategy']);
  if (reshard && resharded !== undefined)
    section.state('fsdp.strategy', resharded ? 'full' : 'grad-op', reshard);
  else if (strategy && !byName) section.leave(strategy, ['fsdp.strategy']);
  else if (strategy && byName) section.state('fsdp.strategy', byName, strategy);
  else if (option && list) section.state('fsdp.strategy', STRATEGIES[option] ?? 'full', list);
  const offload = config.find(namedChoice('offload_params'));
  const moves = flagOf(offload?.node) ?? words.includes('offload');
  const mover = offload ?? list;
  if (mover && moves) {
    section.state('offload.parameters', 'cpu', mover);
    section.state('offload.optimizer', 'cpu', mover, say('FSDP steps weights that are offloaded on the CPU'));
  }
  const policy = config.find(namedChoice('auto_wrap_policy'));
  const size = /SIZE/i.test(textOf(policy?.node) ?? '');
  const layers = config.find(namedChoice('transformer_layer_cls_to_wrap'));
  if (size && policy) {
    section.state('fsdp.wrap', 'size', policy);
    config.take(...namedChoice('min_num_params'));
  } else if (policy ?? layers) section.state('fsdp.wrap', 'layer', policy ?? layers ?? because);
  else if (words.includes('auto_wrap') && list) section.state('fsdp.wrap', 'layer', list);
  else
    draft.assume(
      'fsdp.wrap',
      'none',
      say('without a wrap policy the whole model is gathered at once'),
      `${SOURCE}fsdp.py`,
    );
  config.take(...namedChoice('use_orig_params'));
  readHostCopies(config);
  const checkpointing = config.find(namedChoice('activation_checkpointing'));
  if (checkpointing && flagOf(checkpointing.node) === true) {
    section.state('activations.checkpointing', 'full', checkpointing);
    section.state('activations.reentrant', false, checkpointing);
  }
  return true;
}
