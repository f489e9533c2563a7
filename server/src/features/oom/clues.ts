import type { Frame } from '../../measured/traceback';
import type { Moment } from '../../results/estimate';

/** What a traceback states of the moment at which memory ran out. */
export interface Clues {
  readonly moment?: Moment;
  /** The call that states it. */
  readonly frame?: Frame;
  /** Inside backward, while activation checkpointing computes a layer again. */
  readonly recomputes: boolean;
  /** Words of the innermost calls that operators and weights are named by, innermost first. */
  readonly words: readonly string[];
}

interface Sign {
  readonly moment: Moment;
  /** In the function, the file or the statement of a call. */
  readonly call?: RegExp;
  readonly file?: RegExp;
  readonly code?: RegExp;
}

/** Signs of what goes on around the model's own pass: any call that has one decides. */
const AROUND: readonly Sign[] = [
  {
    moment: 'evaluation',
    call: /^(?:evaluate|evaluation_loop|prediction_step|validation_step|eval_step|_evaluate|validate|test_step|run_evaluation|evaluate_and_print_results)$/,
  },
  {
    moment: 'saving',
    call: /^(?:save_checkpoint|_save_checkpoint|_save|save_model|save_pretrained|save_state|_save_to_state_dict|get_state_dict|get_model_state_dict|_zero3_consolidated_16bit_state_dict|save_16bit_model|full_state_dict|_full_post_state_dict_hook)$/,
  },
  {
    moment: 'generation',
    call: /^(?:generate|_generate\w{0,40}|_sample|beam_search|greedy_search|sample|generate_completions|unwrap_model_for_generation|_prepare_inputs_for_generation)$/,
  },
  { moment: 'generation', file: /[\\/](?:vllm|sglang)[\\/]/ },
  {
    moment: 'initialization',
    call: /^(?:from_pretrained|_load_pretrained_model|_load_state_dict\w{0,40}|load_state_dict|load_model|load_checkpoint|_configure_\w{0,40}optimizer|_configure_distributed_model|initialize_optimizer_states|_create_fp16_partitions\w{0,30}|_create_fp32_partitions|_init_param_handle\w{0,30}|materialize_meta_module|dispatch_model|_materialize\w{0,30}|prepare_model|_prepare_deepspeed|get_model|build_model|initialize|setup_model\w{0,30})$/,
  },
];

const INSIDE: readonly Sign[] = [
  {
    moment: 'optimizer-step',
    file: /[\\/]optim(?:izer)?s?[\\/](?!__init__)/,
    call: /^(?:step|_step|_single_tensor_\w{1,30}|_multi_tensor_\w{1,30}|_fused_\w{1,30}|_init_group|init_state\w{0,10}|update_step|optimizer_step)$/,
  },
  { moment: 'optimizer-step', code: /\boptimizer\.step\(|clip_grad_norm_?\(|\.unscale_\(/ },
  {
    moment: 'backward',
    call: /^(?:_engine_run_backward|run_backward|backward|backward_step|_run_backward)$/,
  },
  { moment: 'backward', code: /\.backward\(/ },
  {
    moment: 'loss',
    call: /^(?:cross_entropy|fixed_cross_entropy|ForCausalLMLoss|loss_function|log_softmax|compute_loss_func|fused_linear_cross_entropy|vocab_parallel_cross_entropy|_compute_loss|selective_log_softmax|get_batch_logps)$/,
  },
  {
    moment: 'loss',
    code: /lm_head\(|logits\b.{0,40}\.float\(|logits\.(?:to|contiguous)\(|shift_logits|cross_entropy\(|log_softmax\(/,
  },
  {
    moment: 'forward',
    call: /^(?:forward|_call_impl|_wrapped_call_impl|training_step|compute_loss|forward_step)$/,
  },
];

/** Operators as code and tape both name them. */
const OPERATORS =
  /q_proj|k_proj|v_proj|o_proj|qkv\w{0,5}|gate_up_proj|gate_proj|up_proj|down_proj|lm_head|embed_tokens|wte\b|wpe\b|log_softmax|softmax|cross_entropy|logits|rotary|apply_rotary|attention|attn|layernorm|layer_norm|rms_?norm|norm\b|mlp|act_fn|silu|swiglu|gelu|dropout|experts?|router|float\(|loss|embedding|baddbmm|matmul/gi;

const INNERMOST = 8;

/** Reads a traceback, outermost call first. */
export function cluesOf(frames: readonly Frame[]): Clues {
  const recomputes = frames.some(
    ({ file, function: name }) => /checkpoint/.test(file) && /unpack|recompute|backward/.test(name),
  );
  const inner = [...frames].reverse();
  const words: string[] = [];
  for (const { code = '', function: name } of inner.slice(0, INNERMOST)) {
    for (const [word] of `${code} ${name}`.matchAll(OPERATORS))
      if (!words.includes(word.toLowerCase())) words.push(word.toLowerCase());
  }
  const training = frames.some(({ function: name }) =>
    /^(?:training_step|train_step|train_batch|backward)$/.test(name),
  );
  for (const frame of frames) {
    const sign = AROUND.find((one) => has(frame, one));
    // A step of training loads and builds nothing; what runs inside it is its own.
    if (sign && !(training && sign.moment === 'initialization'))
      return { moment: sign.moment, frame, recomputes, words };
  }
  for (const sign of INSIDE) {
    const frame = inner.find((one) => has(one, sign));
    if (frame) return { moment: sign.moment, frame, recomputes, words };
  }
  return { recomputes, words };
}

function has({ file, function: name, code = '' }: Frame, sign: Sign): boolean {
  if (sign.file && !sign.file.test(file)) return false;
  const short = name.replace(/^.*\./, '').replace(/\(.*$/, '');
  if (sign.call && !sign.call.test(short)) return false;
  return !(sign.code && !sign.code.test(code));
}
