import {
  ACCELERATE,
  DEEPSPEED,
  fileIn,
  MEGATRON,
  MS_SWIFT,
  PEFT,
  PYTORCH,
  TRANSFORMERS,
  TRL,
  TRLX,
  VLLM,
} from '../sources/repositories';
import { doubtful, ignored, memory, ourPage, reading, refused } from './rule';

// Where the frameworks have it, at the release that is described.
const accelerate = (path: string) => fileIn(ACCELERATE, `src/accelerate/commands/${path}`);
const deepspeed = (path: string) => fileIn(DEEPSPEED, `deepspeed/runtime/${path}`);
const megatron = (path: string) => fileIn(MEGATRON, `megatron/${path}`);
const msSwift = (path: string) => fileIn(MS_SWIFT, `swift/arguments/base_args/${path}`);
const peft = (path: string) => fileIn(PEFT, `src/peft/utils/${path}`);
const transformers = (path: string) => fileIn(TRANSFORMERS, `src/transformers/integrations/${path}`);
const trl = (path: string) => fileIn(TRL, `trl/trainer/${path}`);
const trlx = (path: string) => fileIn(TRLX, `trlx/models/${path}`);

/** Rules about a run and its files, whatever its framework. */
export const RUN_RULES = {
  'does-not-fit': memory(
    'The run needs more memory than the GPU has.',
    'Take one of the quick fixes, or run `oomlint fix FILE`: each is estimated before it is offered.',
    ourPage('docs/accuracy.md#bands-and-verdicts'),
    {
      severity: 'error',
      reason:
        'The peak of one GPU, over all moments of the run, is above its memory beyond the band of the estimate. Where something that decides the run was not understood or is set nowhere, such as how long its samples are, it is a warning.',
    },
  ),
  tight: memory(
    'The peak comes so near the memory of the GPU that the run may or may not fit.',
    'Lower the micro batch or the sequence length, or try the run with a few steps first.',
    ourPage('docs/accuracy.md#bands-and-verdicts'),
    { reason: 'The memory of the GPU lies inside the band of the estimate.' },
  ),
  'feature-not-modelled': memory(
    'A feature of the run is not part of the estimate, so there is no verdict.',
    'Read the figure as a least or a most, or try the run with a few steps first.',
    ourPage('docs/accuracy.md#not-modelled-yet'),
    {
      severity: 'information',
      reason:
        'What takes more memory than is estimated leaves no run that is sure to fit; what saves some, none that is sure not to.',
    },
  ),
  'host-memory': memory(
    'A node needs more host memory than it has.',
    'Offload less, keep fewer copies of the weights while loading, or take nodes with more memory.',
    ourPage('CONTRIBUTING.md#how-a-figure-comes-about'),
    { reason: 'Offloaded states, pinned buffers and the loading of every process are added up for a node.' },
  ),
  'nothing-trained': memory(
    'No parameter is trained.',
    'Name modules that the model has, or take the freezing back.',
    ourPage('CONTRIBUTING.md#how-a-figure-comes-about'),
  ),
  'no-lora-targets': memory(
    'None of the named modules is in the model, so no adapter is built.',
    'Name modules of this architecture, or `all-linear`.',
    peft('constants.py'),
  ),
  'experts-dropout': refused(
    'Adapters of stacked experts are asked for with dropout, which PEFT builds none with.',
    'Set the dropout to 0, or name modules that no experts have.',
    fileIn(PEFT, 'src/peft/tuners/lora/layer.py'),
    {
      reason:
        'A change of a stacked parameter is added to it before the product, so that no input of the adapter is there to drop out. Where releases are assumed it is a warning.',
    },
  ),
  'mamba-targets': refused(
    'Adapters are asked for of modules whose weights the kernels of Mamba read themselves, which PEFT refuses.',
    'Name other modules, or leave `out_proj` and `conv1d` out (`exclude_modules`).',
    fileIn(PEFT, 'src/peft/tuners/tuners_utils.py'),
    {
      reason:
        'The kernel multiplies by the weight of the last projection, past the module and its adapter, which would train nothing. Where the release is assumed it is a warning.',
    },
  ),
  'engine-share': refused(
    'The share of a GPU that vLLM may take beside the training does not hold the weights.',
    'Raise its share, or let more GPUs hold one copy of the weights (tensor parallelism).',
    fileIn(VLLM, 'vllm/v1/worker/gpu_worker.py'),
    {
      reason:
        'vLLM takes its weights out of its share and stops where nothing is left for keys and values. Where the share is a default it is a warning.',
    },
  ),
  'search-under-zero3': refused(
    'A micro batch that fits is to be looked for under ZeRO stage 3, which the Trainer refuses.',
    'Set the micro batch itself, or take ZeRO stage 2, or FSDP.',
    fileIn(TRANSFORMERS, 'src/transformers/trainer.py'),
    {
      reason: 'Where the release of transformers is assumed it is a warning: those before 4.45 do not look.',
    },
  ),
  'no-figure': memory(
    'The sizes of the run together lead to no figure that a run can have.',
    'Look at the largest of them: one is likely a slip.',
    ourPage('CONTRIBUTING.md#how-a-figure-comes-about'),
  ),
  'unknown-fields': reading(
    'Something that the estimate needs is set nowhere.',
    'State it in the config, in a comment `# oomlint: name=value`, or in an `oomlint.yaml`.',
    ourPage('README.md#what-a-config-does-not-say'),
  ),
  'cross-file-conflict': refused(
    'Two files of one run disagree on a value.',
    'State it once, or write `auto` where the file takes what the Trainer says.',
    transformers('deepspeed.py'),
    { reason: 'The Trainer compares its arguments with the DeepSpeed file and stops where they differ.' },
  ),
  'batch-triangle': refused(
    'Global batch, micro batch, accumulation and data-parallel GPUs do not multiply up.',
    'Leave one of them out, or put it right.',
    deepspeed('config.py'),
  ),
  'world-size': refused(
    'The number of GPUs is not a multiple of those that one copy of the model takes.',
    'Change the number of GPUs, or a degree of parallelism.',
    megatron('training/arguments.py'),
  ),
  'allocator-settings': refused(
    "A setting of PyTorch's allocator is of a name or a value that it does not take.",
    'Write it as PyTorch spells it: `expandable_segments:True,max_split_size_mb:512`.',
    fileIn(PYTORCH, 'c10/cuda/CUDAAllocatorConfig.cpp'),
    {
      reason:
        'The settings are read as the program first takes memory of a GPU, which stops on the first one that it does not take.',
    },
  ),
  'overridden-value': ignored(
    'Another file or the launch of the run sets the value too, and that one counts.',
    'Keep the one that is meant.',
    ourPage('docs/configs.md#files-that-make-up-one-run'),
    { severity: 'information' },
  ),
  'directive-overruled': ignored(
    'A comment for Oomlint sets what the file itself sets otherwise.',
    'Remove it from the comment: the file counts.',
    ourPage('README.md#what-a-config-does-not-say'),
  ),
  'directive-empty': reading(
    'A comment for Oomlint says nothing.',
    'Write `name=value` pairs, or `off`.',
    ourPage('README.md#what-a-config-does-not-say'),
    {
      severity: 'warning',
    },
  ),
  'directive-repeated': reading(
    'A comment for Oomlint sets a field twice.',
    'Keep one.',
    ourPage('README.md#what-a-config-does-not-say'),
    {
      severity: 'warning',
    },
  ),
  'directive-word': reading(
    'A comment for Oomlint holds a word that is no `name=value` pair.',
    'Write `name=value` pairs, or `off`.',
    ourPage('README.md#what-a-config-does-not-say'),
    { severity: 'warning' },
  ),
  'unknown-field': reading(
    'A comment for Oomlint or an `oomlint.yaml` names a field that there is not.',
    'Take the name that is offered, or one of the documentation.',
    ourPage('README.md#what-a-config-does-not-say'),
    { severity: 'warning' },
  ),
  'wrong-value': reading(
    'A value cannot be what the field takes.',
    'Write a value of its kind.',
    ourPage('README.md#what-it-reads'),
    {
      severity: 'error',
    },
  ),
  'bad-value': reading(
    'A value cannot be what its key takes.',
    'Write a value of its kind.',
    ourPage('server/schemas/README.md'),
    {
      severity: 'error',
    },
  ),
  'project-file': reading(
    'A part of the `oomlint.yaml` has another shape than it takes.',
    'Write `targets`, `defaults`, `files`, `vocabularies` or `rules`.',
    ourPage('README.md#what-a-config-does-not-say'),
    { severity: 'warning' },
  ),
  vocabulary: reading(
    'A vocabulary of a team’s own flags has another shape than it takes.',
    'Write a mapping with `keys`.',
    ourPage('docs/vocabulary.md'),
    { severity: 'error' },
  ),
  'unused-ignore': reading(
    'A comment silences a rule that reports nothing there.',
    'Remove it: it would hide the next problem.',
    ourPage('docs/rules.md'),
    { severity: 'warning' },
  ),
  'unknown-rule': reading(
    'There is no rule of this name.',
    'Take a name from this page.',
    ourPage('docs/rules.md'),
    {
      severity: 'warning',
    },
  ),
  syntax: reading(
    'The text cannot be parsed.',
    'Put it right: what stands behind may not be read.',
    ourPage('docs/configs.md'),
    {
      severity: 'error',
    },
  ),
  'conflict-marker': reading(
    'A merge conflict is not resolved.',
    'Resolve it: the first side is read.',
    'https://git-scm.com/docs/git-merge#_how_conflicts_are_presented',
    {
      severity: 'error',
    },
  ),
  'duplicate-key': doubtful(
    'A key is set twice.',
    'Keep one: DeepSpeed refuses the file, other readers silently take the last.',
    deepspeed('config_utils.py'),
    { severity: 'error' },
  ),
  'multiple-documents': reading(
    'The file holds several YAML documents, and only the first is read.',
    'Put them in files of their own.',
    'https://pyyaml.org/wiki/PyYAMLDocumentation',
    { severity: 'hint' },
  ),
  binary: reading(
    'The file holds binary data.',
    'Nothing, unless it is to be a config.',
    ourPage('docs/configs.md'),
  ),
  'too-large': reading(
    'The file is larger than a config is.',
    'Nothing, unless it is to be a config.',
    ourPage('docs/configs.md'),
  ),
  placeholder: reading(
    'A value is still to be filled in.',
    'Fill it in: a shell stops here.',
    'https://www.gnu.org/software/bash/manual/bash.html#Redirections',
    {
      severity: 'warning',
    },
  ),
  'missing-file': reading(
    'A file that is named is not there, or cannot be read.',
    'Put the path right, or the file.',
    ourPage('docs/configs.md#files-that-make-up-one-run'),
    {
      severity: 'warning',
      reason:
        'What it says is no part of the estimate. Paths that only exist where the run starts are told milder.',
    },
  ),
  'link-cycle': reading(
    'Files name each other in a circle.',
    'Break the circle.',
    ourPage('docs/configs.md#files-that-make-up-one-run'),
    { severity: 'error' },
  ),
  'internal-error': reading(
    'Oomlint failed on the file.',
    'Please report it, with the file.',
    ourPage('CONTRIBUTING.md#rules'),
    {
      severity: 'error',
    },
  ),
  'another-launch': reading(
    'A script launches several trainings, and another one is estimated.',
    'Nothing, or put them in scripts of their own.',
    ourPage('docs/configs.md#files-that-make-up-one-run'),
  ),
  'python-model-unknown': reading(
    'A Python file trains a model that is not seen, or that is not estimated.',
    'Nothing. Where the model is known, `# oomlint: model=NAME` sets it.',
    ourPage('docs/python.md'),
  ),
  'trainer-argument': refused(
    'A trainer is given an argument that none of its releases takes.',
    'Take the quick fix, or give the argument to the config that has it.',
    fileIn(TRANSFORMERS, 'src/transformers/trainer.py'),
  ),
  'evaluation-data': refused(
    'Evaluations are asked for, and the trainer gets no data for them.',
    'Pass `eval_dataset` to the trainer, or set the strategy to `no`.',
    fileIn(TRANSFORMERS, 'src/transformers/trainer.py'),
  ),
  'adapters-twice': refused(
    'A trainer is given a model that has adapters already, and a config of more.',
    'Leave out `peft_config`, or pass the model without the adapters.',
    fileIn(TRL, 'trl/trainer/sft_trainer.py'),
  ),
  'scaled-gradients': refused(
    '`fp16` scales the gradients of weights that are trained in 16 bits.',
    'Train with `bf16`, or load what is trained in fp32.',
    fileIn(PYTORCH, 'torch/amp/grad_scaler.py'),
  ),
  'argument-release': refused(
    'A release that is named does not take an argument of the config.',
    'Give the argument by the name that the release has, or name a release that has it.',
    fileIn(TRANSFORMERS, 'src/transformers/training_args_seq2seq.py'),
  ),
  'auto-class': refused(
    'An Auto class of transformers is given a model of a type that it takes in no release.',
    'Load the model with the class that the message names, or with that of its own type.',
    fileIn(TRANSFORMERS, 'src/transformers/models/auto/auto_factory.py'),
  ),
  'imported-name': doubtful(
    'A release of a library that is pinned does not have a name that the code imports.',
    'Pin a release that has it, or import what took its place.',
    fileIn(TRANSFORMERS, 'src/transformers/__init__.py'),
  ),
  'python-syntax': reading(
    'A Python file could not be parsed at a place: what stands there is not read.',
    'Finish the line, or write it for Python 3.',
    ourPage('docs/python.md'),
    { severity: 'hint' },
  ),
  'lost-flags': doubtful(
    'Flags reach no program: the command ended before them.',
    'Add the missing backslash, or move the comment that stands between the lines.',
    'https://www.gnu.org/software/bash/manual/bash.html#Escape-Character',
  ),
  'unknown-key': ignored(
    'The framework does not know the key.',
    'Put its name right. Whether the framework stops at it or ignores it, the message says.',
    ourPage('server/schemas/README.md'),
  ),
  'deprecated-key': doubtful(
    'A key has an old spelling.',
    'Take the quick fix, which writes the new one.',
    'https://www.deepspeed.ai/docs/config-json/#bfloat16-training-options',
    {
      severity: 'hint',
    },
  ),
  'removed-key': refused(
    'A key was removed from the framework.',
    'Write what took its place.',
    deepspeed('config.py'),
  ),
  'removed-flag': refused(
    'A flag was removed from the framework.',
    'Write what took its place.',
    megatron('training/arguments.py'),
  ),
  'dead-key': ignored(
    'A key has no effect beside what else is set.',
    'Remove it, or set what it needs.',
    trl('utils.py'),
  ),
  'ignored-key': ignored(
    'A key has no effect beside what else is set.',
    'Remove it, or set what it needs.',
    accelerate('launch.py'),
  ),
  'no-effect': ignored(
    'A key has no effect beside what else is set.',
    'Remove it, or set what it needs.',
    megatron('training/arguments.py'),
    {
      severity: 'information',
    },
  ),
  'wrong-type': refused(
    'A value is of another type than the framework takes.',
    'Write it without quotes, or as a mapping.',
    deepspeed('config.py'),
  ),
  'out-of-range': refused(
    'A number is outside the range that the framework takes.',
    'Write one inside it.',
    deepspeed('zero/config.py'),
  ),
  'unknown-optimizer': refused(
    'The framework knows no optimizer of this name.',
    'Write one that it knows.',
    deepspeed('engine.py'),
  ),
  'unknown-vocabulary': reading(
    'The size of the vocabulary is not known.',
    'State it: the model’s size hangs on it.',
    megatron('core/tokenizers/utils/build_tokenizer.py'),
  ),
  'unknown-model': reading(
    'The model is not in the catalog, and no `config.json` of it is at hand.',
    'Download it, name its folder, or set its sizes.',
    ourPage('README.md#what-it-reads'),
  ),
  'unknown-gpu': reading(
    'The GPU is none that Oomlint knows.',
    'Take a name that is offered, or set its memory.',
    ourPage('server/data/gpus.json'),
    {
      severity: 'warning',
    },
  ),
  'adapter-not-modelled': reading(
    'Oomlint does not model adapters of this kind.',
    'Nothing: the message says what is estimated in its place, and on which side that lies.',
    ourPage('docs/accuracy.md#not-modelled-yet'),
  ),
  'fp8-not-modelled': reading(
    'Oomlint does not model this way of training in fp8.',
    'Nothing: the estimate takes bf16.',
    ourPage('docs/accuracy.md#not-modelled-yet'),
  ),
  'heads-not-modelled': reading(
    'Oomlint does not model these heads.',
    'Nothing: the run needs more than the estimate.',
    trlx('modeling_ilql.py'),
  ),
  'trainer-not-modelled': reading(
    'The config is of a trainer that Oomlint knows and does not model.',
    'Nothing: there is no estimate.',
    ourPage('docs/configs.md'),
  ),
  'not-estimated': reading(
    'Oomlint does not estimate runs on this hardware.',
    'Nothing.',
    ourPage('docs/configs.md'),
  ),
  'measured-elsewhere': reading(
    'What a run measured does not count any more: the run is another now.',
    'Measure again, or remove the entry from `measured` in `oomlint.yaml`.',
    ourPage('docs/measured.md#learning-from-a-run'),
    {
      reason:
        'A measurement is a fact of the run that was made. With another card, another layout, other lengths or other data nobody knows what it would be.',
    },
  ),
  'missing-length-cap': doubtful(
    'Nothing limits the length of a sample, so one long sample decides the peak.',
    'Set the longest length.',
    msSwift('base_args.py'),
    { severity: 'information' },
  ),
};

declare module './rule-id' {
  interface RuleNames extends Record<keyof typeof RUN_RULES, true> {}
}
