import { defaultTargets, feedForwardModules } from '../model/families/lora-targets';
import { endsGroup } from '../model/grown-model';
import type { Model } from '../model/model';
import { promptSizes } from '../model/prompt-sizes';
import type { AdapterSettings, ExpertAdapter, LinearRole } from '../model/trace-settings';
import { addsVirtualTokens } from '../model/virtual-tokens';
import { behaviours } from '../run/behaviours';
import type { RunValues, TrainingRun } from '../run/fields';
import { linearPattern, type TextPattern } from '../run/linear-pattern';
import { literalPattern } from '../run/literal-pattern';
import type { DType } from '../terms/dtypes';
import { WEIGHT_PREFIXES } from '../terms/weight-prefixes';
import { handlesStacks } from './packed-experts';

/** Feed-forward modules of IA3, whose input is scaled, of types of which PEFT lists none: a config has to name them. */
const FEED_FORWARD =
  /(^|\.)(wo|w2|down_proj|fc2|fc_out|dense_4h_to_h|mlp\.c_proj|mlp\.dense_4h_to_h|output\.dense)$/;

/** Kinds of which PEFT finds no modules by itself where it has none listed for the model type; others list all or have rules. */
const NEED_TARGETS: ReadonlySet<TrainingRun['lora.kind']> = new Set([
  'lora',
  'adalora',
  'vera',
  'vblora',
  'fourierft',
  'loha',
  'lokr',
  'oft',
  'boft',
  'miss',
  'ia3',
  'ln-tuning',
]);

/**
 * Types whose experts PEFT finds by the names that their modules had in transformers 4 (peft 0.21.2,
 * `utils/transformers_weight_conversion.py`, with `conversion_mapping.py` of each release of transformers from 5.0 to 5.24:
 * `_MODEL_TO_CONVERSION_PATTERN`, those that are alike Mixtral or Qwen2-MoE). Types that only some releases convert are in
 * `convertsExpertsBeside`. Of others a name reaches linear layers alone.
 */
const CONVERTED: ReadonlySet<string> = new Set([
  'mixtral',
  'minimax',
  'minimax_m2',
  'deepseek_v2',
  'deepseek_v3',
  'deepseek_v32',
  'dots1',
  'ernie4_5_moe',
  'glm4_moe',
  'glm4_moe_lite',
  'glm_moe_dsa',
  'glm4v_moe',
  'longcat_flash',
  'solar_open',
  'mellum',
  'qwen3_moe',
  'qwen3_omni_moe',
  'qwen3_omni_moe_thinker',
  'qwen3_omni_moe_text',
  'qwen3_next',
  'hunyuan_v1_moe',
  'flex_olmo',
  'olmoe',
  'exaone_moe',
  'cohere2_moe',
]);

/** Of these the experts had the names of Mixtral, of the others those of Qwen2-MoE (`_MOE_TARGET_MODULE_MAPPING`). */
const LIKE_MIXTRAL = /^(?:mixtral|minimax|minimax_m2)$/;
const NAMES_OF_MIXTRAL = { joint: ['w1', 'w3'], down: ['w2'] } as const;
const NAMES_OF_QWEN = { joint: ['gate_proj', 'up_proj'], down: ['down_proj'] } as const;

/**
 * Whether PEFT stops because nothing names the modules to adapt: `Please specify target_modules in peft_config` where the
 * run names none and PEFT lists none for the model type (peft 0.21, `tuners_utils.py`, `_prepare_adapter_config`). Parameters
 * that are named do instead (`lora/model.py`).
 */
export function lacksTargets(values: RunValues, model: Model): boolean {
  const kind = values['lora.kind'] ?? 'lora';
  return (
    values['method.kind'] === 'lora' &&
    NEED_TARGETS.has(kind) &&
    (values['lora.targets'] ?? []).length === 0 &&
    (values['lora.targetParameters'] ?? []).length === 0 &&
    values['lora.targetPattern'] === undefined &&
    defaultTargets(kind, model.modelType).length === 0
  );
}

/** Where a stage lies in the model. */
export interface ModulePlace {
  /** Name of the list of layers, where the stage is one of them. */
  readonly list?: string;
  readonly index?: number;
}

function innerPath(path: string, { list, index }: ModulePlace): string {
  return list === undefined ? path : `${list}.${index}.${path}`;
}

function pathsOf(path: string, place: ModulePlace): string[] {
  const inner = innerPath(path, place);
  return WEIGHT_PREFIXES.map((prefix) => prefix + inner);
}

/** A name in which `*` stands for anything, as a pattern; none where it has no such place. */
function wildcard(name: string): TextPattern | undefined {
  if (!name.includes('*')) return undefined;
  return linearPattern(name.split('*').map(literalPattern).join('.*'), true);
}

function endsWith(path: string, module: string): boolean {
  return path === module || path.endsWith(`.${module}`);
}

/** A pattern that numbers tell layers apart in, beside `\d` and counts. */
function namesLayers(pattern: string): boolean {
  return /\d/.test(pattern.replace(/[A-Za-z_]\d+/g, ''));
}

/** First layer with a prompt of its own (litgpt `adapter.py`, `adapter_start_layer`). */
const FIRST_PROMPTED = 2;

/** The linear layer of a module that bounds what enters and leaves it. */
const INSIDE = '.linear';

function isPrompt(kind: TrainingRun['lora.kind']): boolean {
  return kind === 'llama-adapter' || kind === 'llama-adapter-v2';
}

/** Layers that a run adapts alone; none: all. */
function adaptedLayers(run: TrainingRun, model: Model): readonly number[] {
  if (isPrompt(run['lora.kind']) && run['lora.layers'].length === 0)
    return Array.from({ length: Math.max(0, model.layers - FIRST_PROMPTED) }, (_, i) => i + FIRST_PROMPTED);
  if (!run['method.spreadLayers']) return run['lora.layers'].map(Number);
  const trained = Math.abs(run['method.trainableLayers'] ?? 2) || 1;
  return Array.from({ length: model.layers }, (_, i) => i).filter((i) => endsGroup(i, model.layers, trained));
}

/** What tells layers apart, by layer, as long as no further module is asked about: each pattern is matched once. */
class Signatures {
  private readonly known = new Map<string, string>();

  of({ list, index }: ModulePlace, make: () => string): string {
    const key = `${list}.${index}`;
    const signature = this.known.get(key) ?? make();
    this.known.set(key, signature);
    return signature;
  }

  forget(): void {
    this.known.clear();
  }
}

/**
 * Which modules of a run get an adapter, and of what rank, as PEFT decides it (`tuners_utils.py`,
 * `check_target_module_exists`; `other.py`, `get_pattern_key`).
 */
export class AdapterSelection {
  /** Layers differ in what they adapt. */
  readonly tellsLayersApart: boolean;
  private readonly targets: readonly string[];
  private readonly saved: readonly string[];
  private readonly pattern: TextPattern | undefined;
  /** The prefix under which the pattern has matched: a model has one. */
  private prefix: string | undefined;
  private readonly layers: ReadonlySet<number>;
  /** Modules without an adapter: the last parts of their paths, or a pattern of the whole. */
  private readonly excluded: readonly (string | TextPattern)[];
  private readonly ranks: readonly { readonly pattern: TextPattern; readonly rank: number }[];
  private readonly asked = new Map<string, LinearRole>();
  private readonly askedExperts = new Set<string>();
  private readonly signatures = new Signatures();

  constructor(
    private readonly run: TrainingRun,
    private readonly model: Model,
    private readonly dtype: DType,
  ) {
    const named = run['lora.targets'];
    const written = run['lora.targetPattern'];
    this.pattern = written === undefined ? undefined : linearPattern(written, true);
    this.targets = named.length > 0 ? named : this.defaults();
    this.saved = savedModules(run, model);
    this.layers = new Set(adaptedLayers(run, model));
    this.excluded = run['lora.exclude'].map((module) => wildcard(module) ?? module);
    this.ranks = Object.entries(run['lora.rankPattern']).flatMap(([key, rank]) => {
      const pattern = linearPattern(`(.*\\.)?(${key})`, true);
      return pattern && typeof rank === 'number' ? [{ pattern, rank }] : [];
    });
    const patterns = [
      written ?? '',
      ...named,
      ...run['lora.targetParameters'],
      ...run['lora.exclude'],
      ...Object.keys(run['lora.rankPattern']),
    ];
    this.tellsLayersApart = this.layers.size > 0 || patterns.some(namesLayers);
  }

  private defaults(): readonly string[] {
    return defaultTargets(this.run['lora.kind'], this.model.modelType);
  }

  private isTarget(path: string, role: LinearRole, place: ModulePlace): boolean {
    if (isPrompt(this.run['lora.kind'])) return this.isPrompted(path, role, place);
    const outer = this.wrapperOf(path);
    return this.isNamed(path, role, place) || (outer !== undefined && this.isNamed(outer, role, place));
  }

  /**
   * The module that bounds what enters and leaves a linear layer of Gemma 4's towers (`Gemma4ClippableLinear`). PEFT adapts no such module;
   * Unsloth gives it the layer inside (`vision.py`, `_patched_car`).
   */
  private wrapperOf(path: string): string | undefined {
    if (!this.run['kernels.unsloth'] || !this.model.modelType.startsWith('gemma4')) return undefined;
    return path.endsWith(INSIDE) ? path.slice(0, -INSIDE.length) : undefined;
  }

  /** Names of transformers 4 that PEFT takes for the stacked parameters instead; none: it leaves them. */
  private convertedNames():
    | { readonly joint: readonly string[]; readonly down: readonly string[] }
    | undefined {
    const { run, model } = this;
    const { stacksExperts, convertsNamesOfExperts, convertsPatternsOfExperts, convertsExpertsBeside } =
      behaviours(run);
    // `convert_peft_config_for_transformers` takes LoRA alone.
    if (!stacksExperts || !convertsNamesOfExperts || run['lora.kind'] !== 'lora') return undefined;
    if (this.pattern && !convertsPatternsOfExperts) return undefined;
    if (!CONVERTED.has(model.modelType) && !convertsExpertsBeside.includes(model.modelType)) return undefined;
    return LIKE_MIXTRAL.test(model.modelType) ? NAMES_OF_MIXTRAL : NAMES_OF_QWEN;
  }

  private isNamed(path: string, role: LinearRole, place: ModulePlace): boolean {
    const inner = innerPath(path, place);
    // A name that PEFT takes for the stack is no target any more: shared experts and dense layers get none.
    const taken = this.convertedNames();
    const last = path.split('.').at(-1) ?? '';
    if (taken && [...taken.joint, ...taken.down].includes(last)) return false;
    // What is trained in full is no target (`_check_target_module_exists`).
    if (this.isExcluded(inner) || isSaved(`${path}.`, this.saved)) return false;
    const { pattern } = this;
    if (pattern) return this.matches(pattern, inner);
    if (this.layers.size > 0 && (place.index === undefined || !this.layers.has(place.index))) return false;
    if (
      this.targets.includes('all-linear') &&
      (role === 'matrix' || (role === 'router' && this.adaptsRouters()))
    )
      return true;
    const paths = pathsOf(path, place);
    return this.targets.some((target) => paths.some((p) => endsWith(p, target)));
  }

  /** By the last parts of its path; one with `*` is matched to the whole of it. */
  private isExcluded(inner: string): boolean {
    return this.excluded.some((module) =>
      typeof module === 'string'
        ? endsWith(inner, module)
        : module.test(inner) || module.test(`model.${inner}`),
    );
  }

  /** The prompts of some layers; with the second version every linear layer and the head. */
  private isPrompted(path: string, role: LinearRole, { index }: ModulePlace): boolean {
    if (path.endsWith('adapter_wte')) return index !== undefined && this.layers.has(index);
    return this.run['lora.kind'] === 'llama-adapter-v2' && role !== 'router';
  }

  private matches(pattern: TextPattern, inner: string): boolean {
    if (this.prefix !== undefined) return pattern.test(this.prefix + inner);
    this.prefix = WEIGHT_PREFIXES.find((prefix) => pattern.test(prefix + inner));
    return this.prefix !== undefined;
  }

  /** Routers are linear layers, or modules of a parameter that PEFT takes for them, but where they are written out. */
  private adaptsRouters(): boolean {
    return !/^(deepseek|gpt_oss)/.test(this.model.modelType);
  }

  /**
   * Adapters of stacked experts. transformers 4 has a module per expert, but for gpt-oss and Llama 4. For transformers 5
   * PEFT takes names of the old modules, and `all-linear`, for the stacked parameters of types that it converts, since 0.19; gate
   * and up joined have twice the rank.
   */
  private expertsOf(path: string, place: ModulePlace): ExpertAdapter | undefined {
    const { run } = this;
    const paths = pathsOf(path, place);
    const parameter = run['lora.targetParameters'].some((target) => paths.some((p) => endsWith(p, target)));
    const found = this.namedExperts(path, place);
    // What is named as a parameter is a linear layer of each expert where experts are made of such: of gpt-oss one for gate and up.
    if (parameter && run['model.linearExperts'] === true)
      return { as: 'modules', rank: this.rankOf(path, place), together: true };
    // Unsloth leaves the stack as it is, and adds the products of the adapter (`moe_utils.py`, `_should_use_separated_lora`).
    if (parameter && handlesStacks(run, this.model.modelType))
      return { as: 'modules', rank: found?.rank ?? this.rankOf(path, place), together: true };
    if (parameter) return { as: 'parameter', rank: found?.rank ?? this.rankOf(path, place) };
    return found;
  }

  private namedExperts(path: string, place: ModulePlace): ExpertAdapter | undefined {
    const { run } = this;
    const rank = run['lora.rank'];
    if (this.layers.size > 0 && (place.index === undefined || !this.layers.has(place.index)))
      return undefined;
    if (/^(gpt_oss|llama4)/.test(this.model.modelType)) return undefined;
    const joint = path.endsWith('gate_up_proj');
    if (!behaviours(run).stacksExperts) {
      const modules = joint ? ['gate_proj', 'up_proj', 'w1', 'w3'] : [path.split('.').at(-1) ?? '', 'w2'];
      return !this.pattern && this.namesOne(modules) ? { as: 'modules', rank } : undefined;
    }
    const converted = this.convertedNames();
    const names = joint ? converted?.joint : converted?.down;
    if (!names) return undefined;
    const { pattern } = this;
    // A pattern is tried on the names that the modules had (`_resolve_string_target_modules`).
    const inner = innerPath(path, place).replace(/[^.]+$/, '');
    const named = pattern ? names.some((name) => this.matches(pattern, inner + name)) : this.namesOne(names);
    return named ? { as: 'parameter', rank: joint ? 2 * rank : rank } : undefined;
  }

  /** Whether one of these names is a target, and none is excluded. */
  private namesOne(modules: readonly string[]): boolean {
    const named =
      this.targets.includes('all-linear') || modules.some((module) => this.targets.includes(module));
    return named && !this.run['lora.exclude'].some((module) => modules.includes(module));
  }

  private rankOf(path: string, place: ModulePlace): number {
    const paths = pathsOf(path, place);
    const found = this.ranks.find(({ pattern }) => paths.some((p) => pattern.test(p)));
    return found?.rank ?? this.run['lora.rank'];
  }

  /** What tells a copy of a layer from its neighbours: the answers for every module that was asked about so far. */
  signature(list: string, index: number): string {
    if (!this.tellsLayersApart) return '';
    const place = { list, index };
    return this.signatures.of(place, () =>
      [
        ...[...this.asked].map(([path, role]) =>
          this.isTarget(path, role, place) ? this.rankOf(path, place) : 0,
        ),
        ...[...this.askedExperts].map((path) => this.expertsOf(path, place)?.rank ?? 0),
      ].join(),
    );
  }

  /** Settings for the modules of a stage; `list` and `index` where it is a layer. */
  at(place: ModulePlace): AdapterSettings {
    const { run, model, dtype } = this;
    return {
      kind: run['lora.kind'],
      rank: run['lora.rank'],
      dropout: run['lora.dropout'],
      dtype,
      dora: run['lora.dora'],
      ...(keepsMagnitudes(run, dtype) ? { magnitudes: 'fp32' } : {}),
      ownBias: run['lora.ownBias'],
      frozenFirst: run['lora.frozenFirst'],
      blockSize: run['lora.blockSize'],
      vectors: run['lora.vectors'],
      vectorLength: run['lora.vectorLength'],
      virtualTokens: run['lora.virtualTokens'],
      encoderSize: run['lora.encoderSize'],
      projectsPrefix: run['lora.prefixProjection'],
      tokens: run['lora.tokens'],
      prompt: addsVirtualTokens(run['lora.kind']) ? promptSizes(model) : undefined,
      feedForward: (path) =>
        run['lora.feedForward']?.some((module) => path.endsWith(module)) ??
        feedForwardModules(model.modelType)?.some((module) => endsWith(path, module)) ??
        FEED_FORWARD.test(path),
      experts: (path) => {
        if (place.index !== undefined && !this.askedExperts.has(path)) {
          this.askedExperts.add(path);
          this.signatures.forget();
        }
        return this.expertsOf(path, place);
      },
      targets: (path, role) => {
        if (place.index !== undefined && this.asked.get(path) !== role) {
          this.asked.set(path, role);
          this.signatures.forget();
        }
        return this.isTarget(path, role, place);
      },
      rankOf: (path) => this.rankOf(path, place),
    };
  }
}

/** Base weights that are trained because their names match a pattern from the start (`re.match`). */
export class WeightSelection {
  readonly tellsLayersApart: boolean;
  private readonly patterns: readonly TextPattern[];
  private readonly asked = new Set<string>();
  private readonly signatures = new Signatures();

  constructor(patterns: readonly string[]) {
    this.patterns = patterns.flatMap((pattern) => linearPattern(pattern, false) ?? []);
    this.tellsLayersApart = patterns.some(namesLayers);
  }

  private isTrained(name: string, place: ModulePlace): boolean {
    const paths = pathsOf(name, place);
    return this.patterns.some((pattern) => paths.some((path) => pattern.test(path)));
  }

  /** What tells a copy of a layer from its neighbours: the answers for every weight that was asked about so far. */
  signature(list: string, index: number): string {
    if (!this.tellsLayersApart) return '';
    const place = { list, index };
    return this.signatures.of(place, () =>
      [...this.asked].map((name) => Number(this.isTrained(name, place))).join(''),
    );
  }

  at(place: ModulePlace): (name: string) => boolean {
    return (name) => {
      if (place.index !== undefined && !this.asked.has(name)) {
        this.asked.add(name);
        this.signatures.forget();
      }
      return this.isTrained(name, place);
    };
  }
}

/** Norms that LLaMA-Adapter v2 trains: those between and after the parts of a layer, not of single heads. */
const NORMS = /(^|\.)(?!q_norm|k_norm|q_layernorm|k_layernorm)(\w*norm\w*|ln_\w+)\.(weight|bias)$/i;

/** Base weights that a run with adapters trains in full beside them, by name inside their stage. */
export function trainedBeside(
  run: TrainingRun,
  model: Model,
  targets: AdapterSettings['targets'],
): (name: string, linear?: boolean) => boolean {
  const modules = savedModules(run, model);
  const bias = run['lora.bias'];
  const tunesNorms = run['lora.kind'] === 'llama-adapter-v2';
  return (name, linear = false) => {
    if (run['lora.trainsRest']) return !(linear && targets(name.replace(/\.weight$/, ''), 'matrix'));
    if (isSaved(name, modules)) return true;
    if (tunesNorms && NORMS.test(name)) return true;
    if (bias === 'none' || !name.endsWith('bias')) return false;
    return bias === 'all' || targets(name.replace(/\.bias$/, ''), 'matrix');
  };
}

/** Heads that PEFT adds to the modules trained in full, by the task that it is given (`peft_model.py`, `PeftModelFor...`). */
const HEADS: Readonly<Record<NonNullable<TrainingRun['lora.task']>, readonly string[]>> = {
  classification: ['classifier', 'score'],
  'question-answering': ['qa_outputs'],
  other: [],
};
/** The task of the model, where PEFT's is not known. */
const TASKS: Partial<Record<TrainingRun['method.objective'], keyof typeof HEADS>> = {
  classification: 'classification',
  reward: 'classification',
  'token-classification': 'classification',
  'question-answering': 'question-answering',
};

/** Modules that a run with adapters trains in full, by the ends of their paths. LN tuning trains copies of its targets (`ln_tuning/layer.py`, `LNTuningLayer`). */
export function savedModules(run: TrainingRun, { modelType }: Pick<Model, 'modelType'>): readonly string[] {
  const task = run['lora.task'] ?? TASKS[run['method.objective']];
  const own = run['lora.targets'].length > 0 ? run['lora.targets'] : defaultTargets('ln-tuning', modelType);
  const tuned =
    run['lora.kind'] === 'ln-tuning' ? own.filter((module) => !run['lora.exclude'].includes(module)) : [];
  // A target is a whole part of a path.
  const named = [...run['lora.modulesToSave'], ...tuned.map((module) => `.${module}`)];
  return task ? [...named, ...HEADS[task]] : named;
}

/**
 * A weight of a module that PEFT trains as a copy beside the frozen original (`ModulesToSaveWrapper`): one whose path ends in a name, be it
 * within a part of the path, as `pre_classifier` does in `classifier` (`utils/other.py`, `_set_trainable`).
 */
export function isSaved(weight: string, modules: readonly string[]): boolean {
  return modules.some((module) => `.${weight}`.includes(`${module}.`));
}

/**
 * PEFT casts all of an adapter to fp32, and trainers of TRL bring the rest of it down beside quantized weights. An engine that lowers what it is
 * given, or what it gathers, lowers magnitudes with the rest.
 */
function keepsMagnitudes(run: TrainingRun, adapters: DType): boolean {
  const { keepsMagnitudes: keeps, lowersAdapters } = behaviours(run);
  return adapters === 'bf16' && run['quantization.kind'] !== 'none' && keeps && !lowersAdapters;
}
