import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { McpAgent } from './mcp-client';

const MODEL = 'meta-llama/Llama-3.1-8B';
const ZERO3 = `{
  // oomlint: model=${MODEL} gpu=RTX-4090 gpus=2 sequence=4096
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "bf16": { "enabled": true },
  "zero_optimization": { "stage": 3 },
  "optimizer": { "type": "AdamW", "params": { "lr": 2e-5 } }
}
`;
const BARE =
  '{ "train_micro_batch_size_per_gpu": 1, "bf16": { "enabled": true }, "zero_optimization": { "stage": 2 } }\n';

const HANDSHAKE = { protocolVersion: '2025-06-18', clientInfo: { name: 'test', version: '1' } };

interface Answer {
  readonly id: number | string;
  readonly result?: { readonly structuredContent?: { readonly runs?: readonly unknown[] } };
}

const lines = (stream: NodeJS.ReadableStream) => createInterface(stream)[Symbol.asyncIterator]();

/** A program whose input ends with its last question, as from `printf` in a pipe. */
async function piped(
  command: readonly string[],
  messages: readonly object[],
): Promise<{ readonly code: unknown; readonly answers: readonly Answer[] }> {
  const child = spawn(process.execPath, command, { stdio: 'pipe' });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  child.stdin.end(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
  const answers: Answer[] = [];
  for await (const line of createInterface(child.stdout)) answers.push(JSON.parse(line) as Answer);
  return { code: await ended, answers };
}

interface Option {
  readonly id: string;
  readonly title: string;
  readonly diff: string;
  readonly files: readonly { readonly file: string }[];
  readonly peak_after_bytes: number;
}

/** `oomlint mcp` as agents have it: the built program, and the client of the protocol's authors. */
describe('the server for agents', function () {
  this.timeout(120_000);
  let folder = '';
  let agent: McpAgent;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(path.join(tmpdir(), 'oomlint-mcp-')));
    await mkdir(path.join(folder, 'configs'));
    await writeFile(path.join(folder, 'configs', 'zero3.json'), ZERO3);
    await writeFile(path.join(folder, 'bare.json'), BARE);
    agent = await McpAgent.start(folder);
  });
  afterEach(async () => {
    await agent.close();
    await rm(folder, { recursive: true, force: true });
  });

  const options = async (input: Readonly<Record<string, unknown>> = {}) => {
    const { data } = await agent.call('make_run_fit', { file: 'configs/zero3.json', ...input });
    return data.options as readonly Option[];
  };

  it('offers tools of which one writes, with schemas of their answers', async () => {
    const { tools } = await agent.client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      [
        'find_runs',
        'estimate_run',
        'make_run_fit',
        'apply_change',
        'explain_figure',
        'compare_runs',
        'explain_oom',
        'list_hardware',
      ],
    );
    for (const { name, annotations, inputSchema, outputSchema, description } of tools) {
      assert.equal(annotations?.readOnlyHint, name !== 'apply_change', name);
      assert.equal(annotations?.destructiveHint, name === 'apply_change', name);
      assert.equal(inputSchema.type, 'object');
      assert.ok(Object.keys(outputSchema?.properties ?? {}).length > 0, name);
      assert.ok(description && description.length > 80, name);
    }
    assert.match(agent.client.getInstructions() ?? '', /find_runs/);
  });

  it('finds runs, and reports what is missing', async () => {
    const { data, text } = await agent.call('find_runs');
    const runs = data.runs as readonly { file: string; verdict: string; missing: readonly string[] }[];
    assert.deepEqual(
      runs.map(({ file, verdict }) => [file, verdict]),
      [
        ['bare.json', 'unknown'],
        ['configs/zero3.json', 'exceeds'],
      ],
    );
    assert.ok(runs[0]?.missing.some((question) => /^Which model/.test(question)));
    assert.match(text, /configs\/zero3\.json: does not fit/);
  });

  it('asks exactly for what is unknown, and takes the answers', async () => {
    const { data, text } = await agent.call('estimate_run', { file: 'bare.json' });
    const unknown = data.unknown as readonly { field: string; question: string; argument: string }[];
    assert.equal(data.verdict, 'unknown');
    assert.equal(data.peak, null);
    assert.deepEqual(
      unknown.map(({ field, argument }) => [field, argument]),
      [
        ['model.id', 'model'],
        ['batch.sequence', 'set'],
        ['hardware.gpu', 'gpu'],
        ['hardware.gpus', 'gpus'],
      ],
    );
    for (const { question } of unknown) assert.ok(text.includes(question), question);
    const answered = await agent.call('estimate_run', {
      file: 'bare.json',
      model: MODEL,
      gpu: 'H100',
      gpus: 8,
      set: { 'batch.sequence': 2048 },
    });
    assert.deepEqual(answered.data.unknown, []);
    assert.notEqual(answered.data.verdict, 'unknown');
    const peak = answered.data.peak as { bytes: number; lower_bytes: number; upper_bytes: number };
    assert.ok(peak.lower_bytes <= peak.bytes && peak.bytes <= peak.upper_bytes);
  });

  it('makes a run fit: each option is proven, and its diff is what git applies', async () => {
    const found = await options();
    assert.ok(found.length > 0);
    execFileSync('git', ['init', '-q'], { cwd: folder });
    for (const { diff, title } of found) {
      execFileSync('git', ['apply', '-'], { cwd: folder, input: diff });
      const { data } = await agent.call('estimate_run', { file: 'configs/zero3.json' });
      assert.equal(data.verdict, 'fits', title);
      execFileSync('git', ['apply', '-R', '-'], { cwd: folder, input: diff });
      assert.equal(await readFile(path.join(folder, 'configs', 'zero3.json'), 'utf8'), ZERO3, title);
    }
  });

  it('makes a run of several files fit: one diff and one id for all that change', async () => {
    const recipe = `# oomlint: gpu=A100-80GB gpus=8\nmodel_name_or_path: Qwen/Qwen2.5-14B\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\nmax_length: 4096\nbf16: true\ngradient_checkpointing: true\ndataset_name: x/y\noutput_dir: out\ndeepspeed: ds.json\n`;
    const shared =
      '{\n  "train_micro_batch_size_per_gpu": 4,\n  "bf16": { "enabled": true },\n  "zero_optimization": { "stage": 2 }\n}\n';
    const names = ['sft.yaml', 'ds.json'];
    const texts = () => Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')));
    await writeFile(path.join(folder, 'sft.yaml'), recipe);
    await writeFile(path.join(folder, 'ds.json'), shared);
    execFileSync('git', ['init', '-q'], { cwd: folder });
    const found = (await options({ file: 'sft.yaml' })).filter(({ files }) =>
      names.every((name) => files.some(({ file }) => file === name)),
    );
    const [first] = found;
    assert.ok(first, 'an option changes both files');
    for (const { diff, title } of found) {
      execFileSync('git', ['apply', '-'], { cwd: folder, input: diff });
      assert.equal((await agent.call('estimate_run', { file: 'sft.yaml' })).data.verdict, 'fits', title);
      execFileSync('git', ['apply', '-R', '-'], { cwd: folder, input: diff });
    }
    // One of two files has changed meanwhile: neither is written.
    await writeFile(path.join(folder, 'ds.json'), shared.replace('2 }', '1 }'));
    assert.ok((await agent.call('apply_change', { id: first.id })).isError);
    assert.deepEqual(await texts(), [recipe, shared.replace('2 }', '1 }')]);
    await writeFile(path.join(folder, 'ds.json'), shared);
    await options({ file: 'sft.yaml' });
    const { data, isError, text } = await agent.call('apply_change', { id: first.id });
    assert.equal(isError, false, text);
    assert.equal((data.run as { verdict: string }).verdict, 'fits');
    const [changedRecipe, changedShared] = await texts();
    assert.ok(changedRecipe !== recipe && changedShared !== shared);
  });

  it('leaves alone what is to be kept', async () => {
    const all = await options();
    const kept = await options({ keep: ['micro_batch', 'optimizer', 'hardware'] });
    assert.ok(kept.length < all.length);
    for (const { diff } of kept) assert.doesNotMatch(diff, /^\+.*(?:micro_batch|AdamW8bit|Adafactor)/m);
  });

  it('writes nothing but what is chosen, and only that', async () => {
    const file = path.join(folder, 'configs', 'zero3.json');
    const [first] = await options();
    assert.ok(first);
    assert.equal(await readFile(file, 'utf8'), ZERO3);
    const { data, isError, text } = await agent.call('apply_change', { id: first.id });
    assert.equal(isError, false, text);
    assert.deepEqual(
      data.written,
      first.files.map(({ file: name }) => name),
    );
    assert.ok(first.files.some(({ file: name }) => name === 'configs/zero3.json'));
    assert.equal((data.run as { verdict: string }).verdict, 'fits');
    assert.notEqual(await readFile(file, 'utf8'), ZERO3);
    const again = await agent.call('apply_change', { id: first.id });
    assert.ok(again.isError, 'an option is written once');
  });

  it('refuses an option of a text that has changed since', async () => {
    const file = path.join(folder, 'configs', 'zero3.json');
    const [first] = await options();
    const edited = ZERO3.replace('"stage": 3', '"stage": 2');
    await writeFile(file, edited);
    const { isError, text } = await agent.call('apply_change', { id: first?.id });
    assert.ok(isError);
    assert.match(text, /has changed since.*make_run_fit/);
    assert.equal(await readFile(file, 'utf8'), edited);
  });

  it('refuses an option that does not fit any more because another file states it', async () => {
    const file = path.join(folder, 'configs', 'zero3.json');
    const text = ZERO3.replace(/ gpu=RTX-4090 gpus=2/, ' gpu=RTX-4090');
    await writeFile(file, text);
    await writeFile(path.join(folder, 'oomlint.yaml'), 'defaults:\n  hardware: { gpus: 2 }\n');
    const [first] = await options();
    assert.ok(first);
    await writeFile(
      path.join(folder, 'oomlint.yaml'),
      'defaults:\n  hardware: { gpus: 1 }\n  batch: { sequence: 131072 }\n  model: { id: meta-llama/Llama-3.1-405B }\n',
    );
    await writeFile(file, text);
    const answer = await agent.call('apply_change', { id: first.id });
    assert.ok(answer.isError, answer.text);
    assert.equal(await readFile(file, 'utf8'), text);
  });

  it('stays in its folder, links included', async () => {
    const outside = await mkdtemp(path.join(tmpdir(), 'oomlint-outside-'));
    await writeFile(path.join(outside, 'zero3.json'), ZERO3);
    await symlink(outside, path.join(folder, 'linked'));
    for (const file of [
      path.join(outside, 'zero3.json'),
      '../zero3.json',
      `configs/../../${path.basename(outside)}/zero3.json`,
      'linked/zero3.json',
      `file://${outside}/zero3.json`,
      '~/zero3.json',
    ]) {
      const { isError, text } = await agent.call('estimate_run', { file });
      assert.ok(isError, file);
      assert.match(text, /outside of the folder/, file);
    }
    const { isError } = await agent.call('explain_oom', { log: '../secret.log' });
    assert.ok(isError);
    await rm(outside, { recursive: true });
  });

  it('reads nothing that configs name elsewhere, but in folders that it was given', async () => {
    const outside = await realpath(await mkdtemp(path.join(tmpdir(), 'oomlint-outside-')));
    await writeFile(path.join(outside, 'zero3.json'), ZERO3.replace(/\n.*oomlint:.*/, ''));
    const recipe = (deepspeed: string) =>
      `# oomlint: gpu=H100 gpus=8\nmodel_name_or_path: ${MODEL}\nper_device_train_batch_size: 1\nmax_length: 2048\nbf16: true\ndataset_name: x/y\ndeepspeed: ${deepspeed}\n`;
    await symlink(path.join(outside, 'zero3.json'), path.join(folder, 'linked.json'));
    await writeFile(path.join(folder, 'far.yaml'), recipe(path.join(outside, 'zero3.json')));
    await writeFile(path.join(folder, 'link.yaml'), recipe('linked.json'));
    await writeFile(path.join(folder, 'near.yaml'), recipe('configs/zero3.json'));
    execFileSync('git', ['init', '-q'], { cwd: folder });
    execFileSync('git', ['add', '.'], { cwd: folder });
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-qm', 'first'], {
      cwd: folder,
    });
    const filesOf = async (one: McpAgent, file: string) => {
      const { data } = await one.call('find_runs');
      const runs = data.runs as readonly { file: string; files: readonly string[] }[];
      return runs.find((run) => run.file === file)?.files ?? [];
    };
    assert.deepEqual(await filesOf(agent, 'near.yaml'), ['configs/zero3.json']);
    for (const file of ['far.yaml', 'link.yaml']) {
      assert.deepEqual(await filesOf(agent, file), [], file);
      const { text } = await agent.call('estimate_run', { file });
      assert.match(text, /outside the folder that agents may look at|is not on this machine/, file);
    }
    const past = await agent.call('compare_runs', { before: 'near.yaml', after: 'far.yaml' });
    assert.ok(
      (past.data.differences as readonly { fields: readonly string[] }[]).some(({ fields }) =>
        fields.includes('zero.stage'),
      ),
    );
    const wider = await McpAgent.start(folder, { options: ['--also-read', outside] });
    assert.deepEqual(await filesOf(wider, 'far.yaml'), [path.join(outside, 'zero3.json')]);
    const { isError } = await wider.call('estimate_run', { file: path.join(outside, 'zero3.json') });
    assert.ok(isError, 'what may be read is not what may be asked for');
    await wider.close();
    await rm(outside, { recursive: true });
  });

  it('explains a figure down to its formula', async () => {
    const { data, text } = await agent.call('explain_figure', {
      file: 'configs/zero3.json',
      figure: 'optimizer states',
    });
    const figure = data.figure as { value: number; unit: string };
    assert.equal(figure.unit, 'bytes');
    assert.ok(figure.value > 0);
    assert.match(text, /GiB/);
    const { isError, text: near } = await agent.call('explain_figure', {
      file: 'configs/zero3.json',
      figure: 'nonsense',
    });
    assert.ok(isError);
    assert.match(near, /There are: .*activations/);
  });

  it('compares two configs, and one with its version in git', async () => {
    await writeFile(path.join(folder, 'configs', 'stage2.json'), ZERO3.replace('"stage": 3', '"stage": 2'));
    const { data } = await agent.call('compare_runs', {
      before: 'configs/stage2.json',
      after: 'configs/zero3.json',
    });
    const differences = data.differences as readonly { fields: readonly string[]; bytes: number }[];
    assert.ok(differences.some(({ fields, bytes }) => fields.includes('zero.stage') && bytes < 0));
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: folder });
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'first');
    await writeFile(path.join(folder, 'configs', 'zero3.json'), ZERO3.replace('per_gpu": 2', 'per_gpu": 4'));
    const past = await agent.call('compare_runs', { before: 'configs/zero3.json', revision: 'HEAD' });
    const changed = past.data.differences as readonly { fields: readonly string[]; bytes: number }[];
    assert.ok(changed.some(({ fields, bytes }) => fields.includes('batch.micro') && bytes > 0));
    const option = await agent.call('compare_runs', {
      before: 'configs/zero3.json',
      revision: '--output=pwned',
    });
    assert.ok(option.isError);
  });

  it('explains a message, held to the run', async () => {
    const message =
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 23.53 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 22.31 GiB memory in use. Of the allocated memory 20.10 GiB is allocated by PyTorch, and 1.80 GiB is reserved by PyTorch but unallocated.';
    const { data } = await agent.call('explain_oom', { text: message, file: 'configs/zero3.json' });
    assert.equal(data.run, 'configs/zero3.json');
    const [first] = data.messages as readonly { title: string; explanation: string }[];
    assert.match(first?.title ?? '', /3\.9 GiB/);
    assert.ok((first?.explanation ?? '').length > 100);
  });

  it('lists hardware', async () => {
    const { data } = await agent.call('list_hardware', { query: 'H100' });
    const cards = data.cards as readonly { name: string; usable_bytes: number }[];
    assert.ok(cards.length >= 2 && cards.every(({ name }) => /H100/.test(name)));
    assert.ok((await agent.call('list_hardware', { query: 'RTX 9999' })).isError);
  });

  it('reports what is wrong with an input, and goes on', async () => {
    for (const [name, input] of [
      ['estimate_run', {}],
      ['estimate_run', { file: 'bare.json', gpus: 'many' }],
      ['estimate_run', { file: 'bare.json', gpu: 'H1000' }],
      ['estimate_run', { file: 'bare.json', set: { 'no.such': 1 } }],
      ['apply_change', { id: 'fit-0' }],
      ['no_such_tool', {}],
    ] as const) {
      const { isError, text } = await agent.call(name, input);
      assert.ok(isError, JSON.stringify(input));
      assert.ok(text.length > 10, text);
    }
    assert.equal((await agent.call('find_runs')).isError, false);
  });

  it('asks the person before it writes, where the client can ask', async () => {
    const asked: string[] = [];
    for (const answer of [false, true]) {
      const asking = await McpAgent.start(folder, {
        ask: (message) => {
          asked.push(message);
          return answer;
        },
      });
      const { data } = await asking.call('make_run_fit', { file: 'configs/zero3.json' });
      const [first] = data.options as readonly Option[];
      const { isError } = await asking.call('apply_change', { id: first?.id });
      assert.equal(isError, !answer);
      assert.ok(asked.at(-1)?.includes(first?.diff ?? 'nothing'));
      const text = await readFile(path.join(folder, 'configs', 'zero3.json'), 'utf8');
      assert.equal(text === ZERO3, !answer);
      await asking.close();
    }
    assert.equal(asked.length, 2);
  });

  it('has no tool that writes where it may not', async () => {
    const reading = await McpAgent.start(folder, { options: ['--read-only'] });
    const { tools } = await reading.client.listTools();
    assert.ok(!tools.some(({ name }) => name === 'apply_change'));
    const { data } = await reading.call('make_run_fit', { file: 'configs/zero3.json' });
    const [first] = data.options as readonly Option[];
    assert.ok((await reading.call('apply_change', { id: first?.id })).isError);
    assert.equal(await readFile(path.join(folder, 'configs', 'zero3.json'), 'utf8'), ZERO3);
    await reading.close();
  });

  for (const [program, args] of [
    ['server/dist/cli.js', ['mcp']],
    ['server/dist/mcp.js', []],
  ] as const)
    it(`${program} answers what it was asked before its input ended`, async () => {
      const asked = [
        { id: 1, method: 'initialize', params: { ...HANDSHAKE, capabilities: {} } },
        { method: 'notifications/initialized' },
        { id: 2, method: 'tools/list' },
        { id: 'three', method: 'tools/call', params: { name: 'find_runs', arguments: {} } },
        { id: 4, method: 'tools/call', params: { name: 'find_runs', arguments: {} } },
        { method: 'notifications/cancelled', params: { requestId: 4 } },
      ];
      const { code, answers } = await piped([program, ...args, folder], asked);
      assert.deepEqual(
        answers.map(({ id }) => id),
        [1, 2, 'three'],
      );
      assert.equal(answers[2]?.result?.structuredContent?.runs?.length, 2);
      assert.equal(code, 0);
    });

  it('does not wait for a person that nobody can ask any more', async () => {
    const child = spawn(process.execPath, ['server/dist/cli.js', 'mcp', folder], { stdio: 'pipe' });
    const received = lines(child.stdout);
    const ask = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    ask({ id: 1, method: 'initialize', params: { ...HANDSHAKE, capabilities: { elicitation: {} } } });
    ask({ method: 'notifications/initialized' });
    await received.next();
    const call = (id: number, name: string, input: object) =>
      ask({ id, method: 'tools/call', params: { name, arguments: input } });
    call(2, 'make_run_fit', { file: 'configs/zero3.json' });
    const offered = JSON.parse((await received.next()).value ?? '');
    call(3, 'apply_change', { id: offered.result.structuredContent.options[0].id });
    assert.equal(JSON.parse((await received.next()).value ?? '').method, 'elicitation/create');
    child.stdin.end();
    assert.equal(await new Promise((resolve) => child.on('exit', resolve)), 0);
    assert.equal(await readFile(path.join(folder, 'configs', 'zero3.json'), 'utf8'), ZERO3);
  });

  it('ends with its client', async () => {
    const child = spawn(process.execPath, ['server/dist/cli.js', 'mcp', folder], { stdio: 'pipe' });
    child.stdin.end();
    assert.equal(await new Promise((resolve) => child.on('exit', resolve)), 0);
    const wrong = spawn(process.execPath, ['server/dist/cli.js', 'mcp', path.join(folder, 'none')]);
    assert.equal(await new Promise((resolve) => wrong.on('exit', resolve)), 2);
  });
});
