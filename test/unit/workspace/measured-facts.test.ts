import assert from 'node:assert/strict';
import { assumptionsOf } from '../../../server/src/workspace/assumptions';
import { parseProjectFile } from '../../../server/src/workspace/project-file';
import { ALPACA } from './alpaca';
import { smallWorkspace } from './small-workspace';

const TARGETS = 'targets:\n  gpu: A100-SXM4-80GB\n  gpus: 1\n';
const DATA = `measured:
  - source: runs/7/train.log
    match: train.yaml
    when:
      batch.sequence: 4096
    keys:
      datasets: [{path: tatsu-lab/alpaca, type: alpaca}]
    batch.longestSequence: 1024
    batch.varied: true
  - source: runs/7/train.log
    match: train.yaml
    when:
      hardware.gpu: A100-80GB
      hardware.gpus: 1
    hardware.outsideAllocator: 2GiB
    hardware.otherProcesses: 3GiB
`;

async function analyzed(config: string, project: string) {
  const { analyze } = smallWorkspace({ 'train.yaml': config, 'oomlint.yaml': project });
  const analysis = await analyze('train.yaml');
  assert.ok(analysis.estimate, JSON.stringify(analysis.resolved.unknown));
  return { ...analysis, estimate: analysis.estimate, problems: analysis.problems };
}

const stated = (problems: readonly { readonly code: string; readonly message: string }[]) =>
  problems.filter(({ code }) => code === 'measured-elsewhere').map(({ message }) => message);

describe('what a run measured', () => {
  it('counts for a run that is still like it, as an assumption with its source', async () => {
    const plain = await analyzed(ALPACA, TARGETS);
    const measured = await analyzed(ALPACA, TARGETS + DATA);
    assert.deepEqual(stated(measured.problems), []);
    const { values, origins } = measured.resolved;
    assert.equal(values['batch.longestSequence'], 1024);
    assert.equal(origins['batch.longestSequence']?.note, 'measured in runs/7/train.log');
    const assumed = assumptionsOf(measured).find(({ field }) => field === 'hardware.outsideAllocator');
    assert.equal(assumed?.source, 'oomlint.yaml: measured in runs/7/train.log');
    assert.equal(values['batch.sequence'], 1024);
    assert.equal(origins['batch.sequence']?.kind, 'file');
    assert.match(origins['batch.sequence']?.note ?? '', /no sample is longer than 1024 tokens/);
    assert.ok(measured.estimate.peak.allocatedBytes < plain.estimate.peak.allocatedBytes);
    const part = (category: string) =>
      measured.estimate.parts.find((one) => one.category === category)?.bytes;
    assert.equal(part('cuda-context'), 2 * 2 ** 30);
    assert.equal(part('reserved-for-others'), 3 * 2 ** 30);
    const { processBytes, reservedBytes } = measured.estimate.peak;
    assert.equal(processBytes - reservedBytes, 5 * 2 ** 30);
  });

  it('is dropped, and that is reported, when the run has moved away', async () => {
    const length = await analyzed(ALPACA.replace('4096', '2048'), TARGETS + DATA);
    assert.equal(length.resolved.values['batch.sequence'], 2048);
    assert.deepEqual(stated(length.problems), [
      'What train.log measured (batch.longestSequence, batch.varied) does not count here: sequence was 4096 and is 2048.',
    ]);
    const place = length.problems.find(({ code }) => code === 'measured-elsewhere')?.range.start.line;
    assert.equal(place, 4);
    const data = await analyzed(ALPACA.replace('tatsu-lab/alpaca', 'my/books'), TARGETS + DATA);
    assert.equal(data.resolved.values['batch.longestSequence'], undefined);
    assert.match(stated(data.problems).join(), /datasets was .*alpaca.* and is .*my\/books/);
    const card = await analyzed(ALPACA, TARGETS.replace('A100-SXM4-80GB', 'H100-SXM5-80GB') + DATA);
    assert.equal(card.resolved.values['hardware.outsideAllocator'], undefined);
    assert.equal(card.resolved.values['batch.longestSequence'], 1024);
    assert.match(stated(card.problems).join(), /hardware\.outsideAllocator, hardware\.otherProcesses/);
  });

  it('is nothing to other configs', async () => {
    const other = await analyzed(ALPACA, TARGETS + DATA.replaceAll('train.yaml', 'other.yaml'));
    assert.equal(other.resolved.values['batch.longestSequence'], undefined);
    assert.deepEqual(stated(other.problems), []);
  });

  it('is not carried to runs that are tried out and were not measured', async () => {
    const { alternative } = await analyzed(ALPACA, TARGETS + DATA);
    assert.equal(alternative?.({ 'batch.micro': 2 })?.run['hardware.outsideAllocator'], 2 * 2 ** 30);
    assert.equal(alternative?.({ 'hardware.gpus': 2 })?.run['hardware.outsideAllocator'], undefined);
    assert.equal(alternative?.({ 'batch.sequence': 8192 })?.run['batch.sequence'], 8192);
    assert.equal(alternative?.({ 'hardware.gpus': 2 })?.run['batch.sequence'], 1024);
  });

  it('does not shorten batches of full packs', async () => {
    const packed = await analyzed(`${ALPACA}sample_packing: true\n`, TARGETS + DATA);
    assert.equal(packed.resolved.values['batch.sequence'], 4096);
  });

  it('gives versions, until the environment states others', async () => {
    const versions = 'measured:\n  - source: a.log\n    match: "*.yaml"\n    version.torch: "2.6.0"\n';
    const files = { 'train.yaml': ALPACA, 'oomlint.yaml': TARGETS + versions };
    const alone = await smallWorkspace(files).analyze('train.yaml');
    assert.equal(alone.resolved.values['version.torch'], '2.6.0');
    const installed = { ...files, 'requirements.txt': 'torch==2.8.0\naxolotl\n' };
    const other = await smallWorkspace(installed).analyze('train.yaml');
    assert.equal(other.resolved.values['version.torch'], '2.8.0');
    assert.match(stated(other.problems).join(), /version\.torch was 2\.6\.0 and is 2\.8\.0/);
  });

  it('is reported at its place where it cannot be read', () => {
    const text =
      'measured:\n  - match: a.yaml\n    batch.meanSequence: 3\n  - 4\n  - source: x.log\n    what: 1\n';
    const { problems, measured } = parseProjectFile('file:///repo/oomlint.yaml', text);
    assert.deepEqual(
      problems.map(({ code, range }) => [code, range.start.line]),
      [
        ['bad-value', 1],
        ['project-file', 3],
        ['bad-value', 4],
        ['unknown-field', 5],
      ],
    );
    assert.equal(measured.length, 1);
  });
});
