/**
 * What CONTRIBUTING states, by the first words of each sentence of the sections that describe the house, and where a test would
 * fail if it were not so: its file in `test/unit` or `test/sweep`, and how its title begins.
 */
export const CLAIMS: Readonly<Record<string, readonly (readonly [file: string, title: string])[]>> = {
  // How a figure comes about
  '**A model plays its forward pass': [['memory/oracle', 'forward: within 1 %']],
  'Each call records what': [
    ['memory/oracle', 'kept by a layer: within 1 %'],
    ['memory/oracle', 'forward FLOPs: within 0.5 %'],
  ],
  'Parameter counts, activations and FLOPs': [
    ['model/operators', 'of the whole model are about twice the active parameters per token'],
    ['memory/oracle', 'meets every parameter count exactly'],
  ],
  '**A stage is played, not summed.**': [['memory/oracle', 'backward: within 1 %']],
  'The result is an excursion': [['memory/level', 'is never below nothing in any category']],
  '`memory/segment.ts` wraps stages': [
    ['memory/invariants', 'checkpointing never needs more than keeping everything'],
  ],
  '**A step is walked.**': [['memory/step', '${name}: within one percent']],
  'Identical layers change the level': [['memory/invariants', 'depth costs nothing: the ends']],
  'A test holds that shortcut': [['memory/invariants', 'depth costs nothing: the ends']],
  'Around the step stand the other moments': [
    ['memory/initialization', 'comes first in the timeline'],
    ['memory/saving', 'is looked at only where the run states how it saves'],
    ['memory/evaluation', 'is not looked at unless the run states that it evaluates'],
  ],
  'The peak is the highest of all': [['memory/evaluation', 'can be the peak, whose parts add up']],
  '`host-memory.ts` does the same': [['memory/host-memory', 'parts add up, and the moment that needs most']],
  '**Sharding adds to the plain step.**': [['memory/oracle-sharded', 'peaks of every scheme']],
  'It states once what lies at rest': [
    ['memory/sharding', 'asks a scheme what it does, never which it is'],
    ['memory/one-plan', 'comes down to the gradients that the scheme states'],
  ],
  '**The device turns allocated into occupied.**': [
    ['memory/outside-allocator', 'is a band in order on every card'],
    ['memory/simulate', 'hand out at most what the walk has'],
    ['memory/simulate', 'are two alike where batches are'],
  ],
  'The verdict is `exceeds` only': [['memory/bands', 'decide the verdict']],
  'Every figure opens.': [['memory/detail', 'opens every other figure of the estimate']],
  '`explanation/` plays the step again': [
    ['memory/detail', 'adds up at every sample of the timeline'],
    ['memory/ledger', 'has nothing left of what is freed'],
  ],
  'What a scheme holds is opened weight by weight': [
    ['memory/detail', 'tells weights and states by kind of module'],
  ],
  'Outside `journaled` nothing is noted': [['memory/ledger', 'notes what its bytes are only inside']],
  "Addresses of frameworks' sources": [['source-links', 'are made of repositories']],
  'A post that a test finds unexplained': [['memory/detail', 'adds up whatever a field']],
  '`test/oracle` runs real transformers models': [['memory/oracle', 'peaks: within 1 %']],
  'Differences there are the place to start': [['contributing', 'of variables of the environment']],
  'prints the relative error': [['contributing', 'of variables of the environment']],
  '`npm run accuracy` scores published': [['accuracy/measurements', 'that are not met say why']],
  '[docs/glossary.md](docs/glossary.md) has': [['glossary', 'names files, types and fields that are there']],

  // Where to add things
  '**A config family**': [['contributing', 'of a family is so']],
  '**Keys of a framework**': [
    ['dialects/framework-keys', 'are those of releases, with what changed'],
    ['dialects/framework-keys', 'the rows of ${id} say what the newest release does'],
    ['contributing', 'of what needs Python is so'],
  ],
  '**Names of a library**': [
    ['dialects/imported-names', 'are read with the first release that has them'],
    ['dialects/imported-names', 'tell of which release the file is'],
  ],
  '**Which releases go together**': [
    [
      'workspace/joint-releases',
      'stand together where each is inferred by itself: transformers is the newest that TRL takes',
    ],
    [
      'workspace/joint-releases',
      'have requirements that are understood, of the last patch of every minor version since 0.7',
    ],
  ],
  'Neither users nor that test need Python.': [['contributing', 'of what needs Python is so']],
  '**What a release runs with**': [
    ['workspace/oldest-releases', 'runs with the oldest of the packages around it'],
  ],
  'A range of releases begins no earlier': [
    ['workspace/oldest-releases', 'has what a script imports'],
    ['workspace/oldest-releases', 'runs with the oldest of the packages around it'],
  ],
  '**Flags of a team**': [
    ['dialects/vocabulary', 'teach flags of any team'],
    ['dialects/vocabulary', 'the built-in one has nothing to complain about'],
  ],
  '**A model family**': [['model/model-counts', 'are exact in every field that changes their count']],
  'A type of transformers without a family': [
    ['model/config', 'reads no type of transformers as a Llama for want of a builder'],
    ['model/config', 'refuses an unknown type that it would have to guess'],
  ],
  '**A model or GPU**': [
    ['hardware/catalog', 'states integer bytes with a source'],
    ['model/catalog', 'counts the parameters of every entry exactly'],
  ],
  '**A rule**': [
    ['rules/rules', 'has every table that stands in a folder of a family'],
    ['rules/examples', '${rule}: is reported of its example, and its quick fixes put it right'],
    ['rules/rules', 'is the page of the documentation'],
  ],
  '**What a framework does otherwise**': [
    ['behaviours', 'name their source at a version'],
    ['behaviours', 'are on a page of the documentation'],
  ],
  'Formulas ask `behaviours(run)`': [['behaviours', 'are what formulas ask for']],
  '**An optimizer**': [['memory/optimizers', 'recorded every optimizer that the table of this test names']],
  '**An adapter**': [
    ['memory/adapters', '${name}: ${trainable} trainable parameters, as peft counts them'],
    ['memory/adapters', '${adapter}, '],
  ],
  '**A quantized base**': [['memory/quantization', '${name}: ']],
  '**A run field**': [
    ['run/parse-field', 'accepts every default of the vocabulary'],
    ['dialects/registry', 'of ${dialect.name} are up to date'],
  ],
  'Its words in `run/field-labels.ts`.': [['wording/field-labels', 'say every field in words']],
  '**A text that people see**': [
    ['l10n', 'exist for every text that goes through `say`'],
    ['l10n', 'reach the editor and its page'],
  ],
  'Its Russian stands by the English text': [
    ['l10n', 'exist for nothing else'],
    ['l10n-details', 'covers every text about them'],
  ],
  'A word that goes with a number': [['l10n', 'have three forms where a Russian word goes with a number']],
  'Texts of `package.json` stand': [['l10n', 'cover the manifest']],
  '**How texts are translated**': [['contributing', 'of kinds of files, and of what depends on nothing']],
  'What is built has hashes': [['wording/text-keys', 'stand in what is built in place of the English texts']],
  'That is done when the text is made': [['l10n', 'are asked for when something is shown']],
  'Numbers go in as numbers': [
    ['wording/say', 'groups whole numbers by thousands'],
    ['wording/say', 'does not fill places that an argument brings along'],
  ],
  'Tests find words that are shown': [['l10n', 'are not missed by words that are shown']],
  '**Documentation of a key or a run field**': [['l10n-keys', 'covers every text of the tables']],
  'Shown by `keyDocumentation`': [
    ['dialects/registry', 'are made once, and are the same whichever language'],
  ],
  '**Summary of a rule**': [['features/hover-russian', 'a rule of the project file is explained']],
  '**Words of the Russian**': [['l10n-keys', 'use one word for one thing']],
  '**What a field shapes**': [['memory/causes-perturbed', 'names a part that moves with the field']],
  '**An editor feature**': [['contributing', 'of features and knobs is so']],
  '**A knob of the panel**': [['contributing', 'of features and knobs is so']],
  '**A text of the panel**': [['l10n', 'reach the editor and its page']],

  // A config family
  'A family is one folder in `dialects/`': [['contributing', 'of a family is so']],
  'Ludwig came last': [['contributing', 'of a family is so']],
  '`litgpt/` is a small example': [['contributing', 'of a family is so']],
  'Besides the code come its schema': [
    ['dialects/registry', 'of ${dialect.name} are up to date'],
    ['configs-page', 'names every family'],
  ],
  '**The table** (`litgpt-keys.ts`)': [['dialects/registry', 'of ${dialect.name} state each key once']],
  'The row is the one place': [['dialects/rows', 'say alone what ${folder} reads plainly']],
  '`releasedBlock` in place of `block`': [['dialects/framework-keys', 'give rows their types and defaults']],
  'Names of `inertKeys` under `released`': [
    ['dialects/framework-keys', 'are known to a release where a row has its type from there'],
  ],
  'What a release changes is then': [['dialects/framework-keys', 'every exception is still one']],
  '`sets`: the run field': [['dialects/section', 'states the field that it sets']],
  'It is read by the type of the field': [['dialects/section', 'states the field that it sets']],
  '`spellings`: the words': [['dialects/section', 'reads each spelling of a value']],
  'All are read, the first is written.': [['dialects/section', 'reads each spelling of a value']],
  '`means` (node to value': [['dialects/section', 'reads by its meaning where it has both']],
  '`assumes`: the default counts': [['dialects/section', 'assumes its default where the key is left out']],
  'It is the address of the source': [['dialects/section', 'assumes its default where the key is left out']],
  'Its note is `{family} default`.': [['dialects/section', 'assumes its default where the key is left out']],
  'A `null` of a flag is false': [['dialects/section', 'assumes its default where the key is left out']],
  '`defaults`: a default that a release changed': [
    ['dialects/section', 'has the default of the release in use'],
  ],
  '`deprecated`: the key to use instead.': [['dialects/section', 'reads an old key where the new one']],
  'An old key that sets the same field': [['dialects/section', 'reads an old key where the new one']],
  '`fields`: further fields': [['dialects/section', 'shapes first what it sets']],
  '**Reading**: `new Section': [['dialects/section', 'states the field that it sets']],
  'Of several statements about a field': [
    ['dialects/section', 'counts the first of several statements'],
    ['dialects/section', 'is a block of the file'],
  ],
  '`takeFirst(a, b)` reads the first': [['dialects/section', 'takes the first of two keys']],
  '`takeElse(key, ': [['dialects/section', 'takes another default than that of the row']],
  'Code by hand (`find`': [['dialects/rows', 'read every key of one type but those that are listed']],
  '`test/unit/dialects/rows.test.ts` fails': [
    ['dialects/rows', 'read every key of one type but those that are listed'],
  ],
  '**Writing**: a field that a row sets': [['advice/words', 'are those of a row that sets the field']],
  'The others stand in `litgpt-words.ts`': [['contributing', 'of files and folders is so']],
  '**Launches**: a `Program`': [
    ['dialects/launch-script', 'Axolotl, torchtune, litgpt and torchtitan: configs with overrides'],
  ],
  'Helpers are in `launch/`': [['contributing', 'of names in the code is so']],
  '**The rest of the folder**': [
    ['contributing', 'of files and folders is so'],
    ['rules/rules', 'has every table that stands in a folder of a family'],
  ],
  'That one is listed in `families.ts`.': [['contributing', 'of a family is so']],
  'The repository that its addresses lead to': [
    ['source-links', 'are made of repositories, each of which is listed once, at a version'],
  ],
  'What lies in `test/fixtures/configs`': [['fuzz', '${family}: as it stands']],
  'To convert a family': [['contributing', 'of commands is what package.json has']],

  // Rules
  'Sizes are bytes inside': [
    ['memory/detail-integers', 'add up at every level, whatever the fractions'],
    ['wording/figures', 'writes bytes in the unit that fits'],
  ],
  'FLOPs count a multiply-add as two.': [['model/operators', 'of Llama equal the closed form']],
  'Errors are plain data at a place': [['dialects/rules', 'report and state nothing']],
  'Reading never throws on user text.': [['fuzz', '${family}: changed at random']],
  "The user's text changes only": [['contributing', 'of who writes files is so']],
  'Nothing leaves the machine': [['contributing', 'of what looks outside']],
  'A constant that came from somewhere': [['constants', 'have words beside them']],
  'Functions are read at once': [['function-length', '']],
  'A function of `model/`, `memory/`': [
    ['docstrings', 'stand at every function that another file may call'],
    ['docstrings', 'give the unit of what is a number'],
    ['docstrings', 'give the shapes of the tensors'],
  ],
  "Names and comments have the field's terms": [['names', 'have the terms of the field']],
};

/** What is asked of whoever writes code, and can be seen in no file. */
export const ASKED: readonly string[] = [
  'No factor is fitted to a measurement.',
  'A bug gets its test first.',
];
