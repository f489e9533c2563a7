import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { paintFor, shown } from '../../../server/src/cli/output';
import { CLI } from './oomlint';

describe('what a terminal is given', () => {
  it('shows control characters of a file instead of obeying them', () => {
    assert.equal(shown('\u001b]52;c;cm0gLXJmIH4=\u0007'), '\\x1b]52;c;cm0gLXJmIH4=\\x07');
    assert.equal(shown('n\u001b[31m.json\u009b2J\u007f\r'), 'n\\x1b[31m.json\\x9b2J\\x7f\\x0d');
    assert.equal(shown('a\tb\nż中🙂'), 'a\tb\nż中🙂');
  });

  it('keeps its own colours', () => {
    const paint = paintFor(true, {});
    assert.equal(shown(paint('red', 'a\u001b[32mb')), '\u001b[31ma\\x1b[32mb\u001b[39m');
    assert.equal(shown(paintFor(true, { NO_COLOR: '1' })('red', 'a')), 'a');
  });
});

describe('the end of a command', function () {
  this.timeout(60_000);

  it('is after the last byte, however slowly it is read', async () => {
    const whole = spawnSync(process.execPath, [CLI, 'rule', '--json'], { encoding: 'utf8' });
    assert.equal(whole.status, 0);
    assert.ok(whole.stdout.length > 2 ** 17, 'more than a pipe holds');
    const child = spawn(process.execPath, [CLI, 'rule', '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.stdout.setEncoding('utf8');
    let read = '';
    for await (const part of child.stdout) {
      read += part;
      await pause(400);
    }
    assert.equal(await closed, 0);
    assert.equal(read, whole.stdout);
  });

  it('is the same for whoever stops reading', async () => {
    const child = spawn(process.execPath, [CLI, 'rule', '--json'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.once('data', () => child.stdout.destroy());
    let complaint = '';
    child.stderr.on('data', (part) => {
      complaint += part;
    });
    assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0);
    assert.equal(complaint, '');
  });

  it('is a failure where nothing can be written', function () {
    // Linux alone has a device on which every write fails.
    if (!existsSync('/dev/full')) this.skip();
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, [CLI, 'rule'], {
      encoding: 'utf8',
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    assert.equal(status, 2);
    assert.match(stderr, /The output cannot be written/);
  });
});
