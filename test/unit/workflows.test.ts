import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseDocument } from 'yaml';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly 'runs-on': string;
  readonly needs?: string | readonly string[];
  readonly container?: string;
  readonly env?: Readonly<Record<string, unknown>>;
  readonly strategy?: { readonly matrix: Readonly<Record<string, unknown>> };
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly name: string;
  readonly on: Readonly<Record<string, unknown>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly {
    readonly type: string;
    readonly id?: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
}

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};

function yamlFile<T>(file: string): T {
  const document = parseDocument(readFileSync(file, 'utf8'), { prettyErrors: true });
  assert.deepEqual([...document.errors, ...document.warnings].map(String), [], file);
  return document.toJS() as T;
}

function jsonFile<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

function filesOf(folder: string): string[] {
  return readdirSync(folder).map((name) => path.join(folder, name));
}

/** Scripts of package.json and files that a text tells somebody to run and that are not there. */
function missing(text: string): string[] {
  const named = [
    ...text.matchAll(/\bnpm (?:run )?(?:--silent )?(test|start|(?<=run )[\w:-]+)(?=[\s`;"')]|$)/gm),
  ];
  const files = [...text.matchAll(/(?:^|[\s`])((?:node )?(?:scripts\/[\w.-]+\.[cm]js|\.ci\/run))/gm)];
  return [
    ...named.map(([, name = '']) => name).filter((name) => scripts[name] === undefined),
    ...files.map(([, file = '']) => file.replace('node ', '')).filter((file) => !existsSync(file)),
  ];
}

describe('workflows', () => {
  const files = filesOf('.github/workflows');

  it('are there for tests and releases', () => {
    assert.deepEqual(files.map((file) => path.basename(file)).sort(), ['release.yml', 'test.yml']);
  });

  for (const file of files) {
    it(`${file} is one, and names only what there is`, () => {
      const workflow = yamlFile<Workflow>(file);
      assert.ok(workflow.name && Object.keys(workflow.on).length > 0);
      for (const [name, job] of Object.entries(workflow.jobs)) {
        assert.ok(job['runs-on'], name);
        for (const other of [job.needs ?? []].flat())
          assert.ok(workflow.jobs[other], `${name} needs ${other}`);
        const matrix = Object.keys(job.strategy?.matrix ?? {});
        for (const [, key = ''] of JSON.stringify(job).matchAll(/matrix\.(\w+)/g))
          assert.ok(matrix.includes(key), `${name}: matrix.${key}`);
        for (const step of job.steps) {
          assert.equal(Number(step.uses !== undefined) + Number(step.run !== undefined), 1, name);
          if (step.uses) assert.match(step.uses, /^[\w-]+\/[\w-]+@v\d+$/);
          assert.deepEqual(missing(step.run ?? ''), [], step.run);
        }
      }
    });
  }

  it('try every case of the long tests, and a machine with Node and nothing else, at every push', () => {
    const { on, jobs } = yamlFile<Workflow>('.github/workflows/test.yml');
    assert.ok('push' in on);
    const runsIn = (job: Job, command: string) => job.steps.some(({ run }) => run === command);
    for (const suite of ['unit', 'sweep']) {
      const command = `npm run test:${suite}`;
      assert.ok(
        Object.values(jobs).some((job) => job.env?.OOMLINT_LONG === '1' && runsIn(job, command)),
        command,
      );
    }
    const bare = Object.values(jobs).find((job) => runsIn(job, '.ci/run')) ?? assert.fail('nobody runs it');
    assert.match(bare.container ?? '', /^node:\d+-\w+-slim$/);
    const commands = readFileSync('.ci/run', 'utf8').match(/^npm .*$/gm);
    assert.deepEqual(commands, ['npm ci', 'npm test']);
    assert.ok(readFileSync('README.md', 'utf8').includes('npm ci && npm test '));
  });

  it('test the oldest VS Code that the manifest allows', () => {
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
    const oldest = engines.vscode.replace(/^\^|\.\d+$/g, '');
    assert.ok(readFileSync('.github/workflows/test.yml', 'utf8').includes(`'${oldest}.`), oldest);
  });
});

describe('forms of issues', () => {
  for (const file of filesOf('.github/ISSUE_TEMPLATE').filter((name) => !name.endsWith('config.yml'))) {
    it(`${file} has fields of known kinds, each once`, () => {
      const form = yamlFile<Form>(file);
      assert.ok(form.name && form.description);
      const fields = form.body.filter(({ type }) => type !== 'markdown');
      assert.ok(fields.length > 0);
      for (const { type, id, attributes } of fields) {
        assert.ok(['input', 'textarea', 'dropdown', 'checkboxes'].includes(type), type);
        assert.match(id ?? '', /^\w+$/);
        assert.ok(attributes.label);
        assert.equal(Array.isArray(attributes.options), type === 'dropdown');
      }
      assert.equal(new Set(fields.map(({ id }) => id)).size, fields.length);
    });
  }
});

describe('what people are asked to run', () => {
  const texts = ['README.md', 'CONTRIBUTING.md', '.ci/run', '.github/PULL_REQUEST_TEMPLATE.md'];
  for (const file of [...texts, ...filesOf('docs').filter((name) => name.endsWith('.md'))]) {
    it(`in ${file} is there`, () => {
      assert.deepEqual(missing(readFileSync(file, 'utf8')), []);
    });
  }

  it('by tasks and debug configurations of the editor is there', () => {
    const { tasks } = jsonFile<{
      tasks: { label: string; type: string; script?: string; command?: string }[];
    }>('.vscode/tasks.json');
    for (const task of tasks) {
      if (task.type === 'npm') assert.ok(scripts[task.script ?? ''], task.label);
      else assert.deepEqual(missing(task.command ?? ''), [], task.label);
    }
    const { configurations } = jsonFile<{
      configurations: { name: string; preLaunchTask?: string; args?: string[] }[];
    }>('.vscode/launch.json');
    for (const { name, preLaunchTask, args = [] } of configurations) {
      if (preLaunchTask)
        assert.ok(
          tasks.some(({ label }) => label === preLaunchTask),
          name,
        );
      for (const arg of args.filter((text) => text.startsWith('./'))) assert.ok(existsSync(arg), arg);
    }
  });

  it('is found missing where it is', () => {
    assert.deepEqual(missing('run `npm run nonsense` and npm test -- x, then node scripts/none.mjs'), [
      'nonsense',
      'scripts/none.mjs',
    ]);
  });
});
