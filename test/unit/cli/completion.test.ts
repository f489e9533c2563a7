import assert from 'node:assert/strict';
import { type ExecFileOptions, execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { oomlint } from './oomlint';

const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;

const run = promisify(execFile);
const output = async (program: string, args: readonly string[], options: ExecFileOptions): Promise<string> =>
  String((await run(program, args, options)).stdout);

/** Lines as they are typed, the cursor at their end, with what every shell has to offer and what it may not. */
const TYPED: readonly (readonly [line: string, offered: readonly string[], not?: readonly string[]])[] = [
  ['oomlint ch', ['check'], ['estimate']],
  ['oomlint ', ['check', 'diff', 'mcp', 'completion', 'man'], []],
  ['oomlint check --req', ['--require-verdict'], ['--gpu']],
  ['oomlint check --format sa', ['sarif'], ['text']],
  ['oomlint check --gpu H100-P', ['H100-PCIe-80GB'], ['A100-PCIe-80GB']],
  ['oomlint check --gpu H100-PCIe-80GB --fail-on w', ['warning'], ['error']],
  ['oomlint estimate --set batch.mi', ['batch.micro='], ['zero.stage=']],
  ['oomlint rule does-', ['does-not-fit'], ['tight']],
  ['oomlint completion z', ['zsh'], ['bash']],
  ['oomlint estimate con', ['config.yaml'], ['check']],
  ['oomlint check --output con', ['config.yaml'], ['check']],
  ['oomlint mcp run', ['runs'], ['runs.yaml']],
];

describe('completions of shells', function () {
  this.timeout(60_000);
  let folder = '';
  const scripts: Record<string, string> = {};

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'oomlint-completion-'));
    await mkdir(path.join(folder, 'runs'));
    for (const name of ['config.yaml', 'runs.yaml']) await writeFile(path.join(folder, name), '');
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, out, err } = await oomlint(['completion', shell], folder);
      assert.equal(code, 0, err);
      scripts[shell] = path.join(folder, `oomlint.${shell}`);
      await writeFile(scripts[shell], out);
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Asks a shell what it offers after each line, all of them at once: most of the time they wait for their terminals. */
  async function holds(offers: (line: string, place: number) => Promise<string>) {
    const answers = await Promise.all(TYPED.map(([line], place) => offers(line, place)));
    for (const [place, [line, offered, not = []]] of TYPED.entries()) {
      const rows = answers[place]?.split('\n') ?? [];
      const found = rows.map((word) => word.split('\t', 1)[0]?.trim().replace(/\/$/, '') ?? '');
      for (const word of offered) assert.ok(found.includes(word), `${line}: ${word} in ${found}`);
      for (const word of not) assert.ok(!found.includes(word), `${line}: no ${word} in ${found}`);
    }
  }

  it('are taken by bash', async function () {
    if (!has('bash', '--version')) this.skip();
    // As readline does it: words of the line, the function, and names of files where it finds nothing.
    const ask = `source "$1"; words=($2); [[ "$2" == *' ' ]] && words+=(''); COMP_WORDS=("\${words[@]}"); COMP_CWORD=$((\${#words[@]} - 1))
      _oomlint; if ((\${#COMPREPLY[@]})); then printf '%s\\n' "\${COMPREPLY[@]}"; else compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"; fi`;
    await holds((line) =>
      output('bash', ['--norc', '-c', ask, 'bash', scripts.bash ?? '', line], { cwd: folder }),
    );
  });

  it('are taken by zsh', async function () {
    if (!has('zsh', '--version')) this.skip();
    // A shell on a terminal of its own, as zsh's own tests have it: the widget lists what it would show.
    const drive = `
      zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell "cd \${(q)3}; autoload -Uz compinit; compinit -u -D; source \${(q)1}"
      zpty -w shell "PS1='' ; zstyle ':completion:*' list-colors ''; zstyle ':completion:*' verbose no; LISTMAX=10000; unsetopt list_ambiguous; unsetopt auto_menu; unsetopt menu_complete"
      zpty -w shell 'shown() { compadd() { local -a found; builtin compadd -O found "$@"; builtin compadd "$@"; offered+=("\${found[@]}"); }; typeset -ga offered=(); _main_complete; unfunction compadd; print -rl -- "<<" "\${offered[@]}" ">>" > '\${(q)4}' }; zle -C shown list-choices shown; bindkey "^X" shown'
      sleep 0.5
      zpty -n -w shell "$2"$'\\x18'
      for i in {1..500}; do sleep 0.05; [[ -s $4 && "$(<$4)" == *'>>' ]] && break; done
      cat $4
      zpty -d shell`;
    // Not in the folder: a name there would be offered.
    const answers = await mkdtemp(path.join(tmpdir(), 'oomlint-offered-'));
    await holds((line, place) =>
      output(
        'zsh',
        ['-f', '-c', drive, 'zsh', scripts.zsh ?? '', line, folder, path.join(answers, `${place}.txt`)],
        { env: { ...process.env, TERM: 'xterm' } },
      ),
    );
    await rm(answers, { recursive: true });
  });

  it('are taken by fish', async function () {
    if (!has('fish', '--version')) this.skip();
    await holds((line) =>
      output(
        'fish',
        ['--no-config', '-c', 'source $argv[1]; complete --do-complete $argv[2]', scripts.fish ?? '', line],
        { cwd: folder, env: { ...process.env, HOME: folder } },
      ),
    );
  });

  it('refuse a shell that nobody wrote them for', async () => {
    const { code, err } = await oomlint(['completion', 'tcsh'], folder);
    assert.equal(code, 2);
    assert.match(err, /tcsh/);
  });
});

describe('the manual page', () => {
  it('has every command and option of the help, and reads well', async function () {
    const { out: page, code } = await oomlint(['man'], process.cwd());
    assert.equal(code, 0);
    const folder = await mkdtemp(path.join(tmpdir(), 'oomlint-man-'));
    const file = path.join(folder, 'oomlint.1');
    await writeFile(file, page);
    const readers = [
      { program: 'mandoc', args: ['-T', 'utf8', '-W', 'error', file] },
      { program: 'man', args: ['--warnings', '-l', file] },
    ].filter(({ program }) => spawnSync(program, [file]).error === undefined);
    if (readers.length === 0) this.skip();
    for (const { program, args } of readers) {
      const read = spawnSync(program, args, {
        encoding: 'utf8',
        env: { ...process.env, MANWIDTH: '500', LC_ALL: 'C.UTF-8', MAN_KEEP_FORMATTING: '0' },
      });
      assert.equal(read.status, 0, `${program}: ${read.stderr}`);
      assert.equal(read.stderr, '', program);
      // Bold as a typewriter has it: each letter twice.
      const text = read.stdout.replace(/.[\b]/g, '').replace(/\s+/g, ' ');
      const { out: help } = await oomlint(['--help'], process.cwd());
      const commands = [...help.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name = '']) => name);
      assert.ok(commands.length > 10);
      for (const command of commands) {
        assert.ok(text.includes(`oomlint ${command}`), `${program}: ${command}`);
        if (command === 'help') continue;
        const { out } = await oomlint([command, '--help'], process.cwd());
        for (const [, option = ''] of out.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm))
          assert.ok(text.includes(option), `${program}: ${command} ${option}`);
      }
      assert.match(text, /3 no config was found/);
    }
    await rm(folder, { recursive: true });
  });
});
