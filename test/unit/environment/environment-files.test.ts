import assert from 'node:assert/strict';
import { imageVersions } from '../../../server/src/environment/container-images';
import {
  environmentFormatOf,
  installedPackages,
  poetrySpecifier,
} from '../../../server/src/environment/environment-files';
import { requiredSpecifier } from '../../../server/src/environment/required-releases';
import { parseRequirement } from '../../../server/src/environment/requirement';

const NOWHERE = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

/** Name and specifier of all that a file names. */
function read(name: string, text: string): string[] {
  const format = environmentFormatOf(name);
  assert.ok(format, name);
  return format.read(text, name).map((each) => `${each.name} ${each.specifier}`.trim());
}

describe('files that name versions', () => {
  it('locked packages of uv, Poetry and PDM', () => {
    const lock =
      'version = 1\n\n[[package]]\nname = "torch"\nversion = "2.6.0+cu124"\nsource = { registry = "x" }\n\n[[package]]\nname = "Liger_Kernel"\nversion = "0.5.2"\n\n[package.metadata]\nversion = "9"\n';
    assert.deepEqual(read('uv.lock', lock), ['torch ==2.6.0', 'liger-kernel ==0.5.2']);
    const [torch] = environmentFormatOf('uv.lock')?.read(lock, 'uv.lock') ?? [];
    assert.equal(torch?.exact, '2.6.0');
    assert.equal(torch?.range.start.line, 4);
  });

  it('a Pipfile.lock', () => {
    const lock =
      '{\n    "default": {\n        "trl": {\n            "hashes": [],\n            "version": "==0.12.1"\n        }\n    }\n}\n';
    assert.deepEqual(read('Pipfile.lock', lock), ['trl ==0.12.1']);
  });

  it('lines of requirements, without options, comments and bare settings', () => {
    const text = [
      '# versions',
      '--extra-index-url https://example.org',
      '-r base.txt',
      'transformers==4.57.1  # pinned',
      'accelerate >= 1.0, <2 ; python_version >= "3.9"',
      'deepspeed[sp]~=0.16',
      'trl @ git+https://github.com/huggingface/trl.git@v0.19.0',
      'git+https://github.com/huggingface/accelerate@v1.2.0',
      '-e git+https://github.com/huggingface/datasets@abc123#egg=datasets',
      'https://example.org/d/flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp311-cp311-linux_x86_64.whl',
      'vllm[audio] @ https://example.org/vllm-0.10.2%2Bcu129-cp38-abi3-manylinux1_x86_64.whl#sha256=00',
      'peft',
      'torch',
    ].join('\n');
    assert.deepEqual(read('requirements.txt', text), [
      'transformers ==4.57.1',
      'accelerate >=1.0,<2',
      'deepspeed ~=0.16',
      'trl ==0.19.0',
      'accelerate ==1.2.0',
      'datasets',
      'flash-attn ==2.7.4.post1',
      'vllm ==0.10.2',
      'peft',
      'torch',
    ]);
  });

  it('a project, its groups, and the tables of Poetry', () => {
    const text = [
      '[project]',
      'name = "x"',
      'dependencies = ["torch>=2.4", "transformers==4.50.0"]',
      '[project.optional-dependencies]',
      'fast = ["liger_kernel>=0.5"]',
      '[dependency-groups]',
      'train = ["deepspeed==0.16.4"]',
      '[tool.poetry.dependencies]',
      'trl = "^0.12"',
      'accelerate = { version = "~1.2", optional = true }',
    ].join('\n');
    assert.deepEqual(read('pyproject.toml', text), [
      'torch >=2.4',
      'transformers ==4.50.0',
      'deepspeed ==0.16.4',
      'liger-kernel >=0.5',
      'trl >=0.12,<0.13',
      'accelerate >=1.2,<1.3',
    ]);
    const optional = environmentFormatOf('pyproject.toml')
      ?.read(text, 'pyproject.toml')
      .filter((one) => one.optional);
    assert.deepEqual(
      optional?.map(({ name }) => name),
      ['liger-kernel', 'accelerate'],
    );
    const setup =
      '[options]\ninstall_requires =\n    torch>=2.4\n[options.extras_require]\nfast =\n    trl==0.9.6\n';
    const extras = environmentFormatOf('setup.cfg')
      ?.read(setup, 'setup.cfg')
      .filter((one) => one.optional);
    assert.deepEqual(
      extras?.map(({ name }) => name),
      ['trl'],
    );
  });

  it("Poetry's carets keep the first number that is not 0", () => {
    assert.equal(poetrySpecifier('^4.40.1'), '>=4.40.1,<5');
    assert.equal(poetrySpecifier('^0.12.1'), '>=0.12.1,<0.13');
    assert.equal(poetrySpecifier('^0.0.3'), '>=0.0.3,<0.0.4');
    assert.equal(poetrySpecifier('~4'), '>=4,<5');
    assert.equal(poetrySpecifier('1.2.3'), '==1.2.3');
    assert.equal(poetrySpecifier('>=1,<2'), '>=1,<2');
    assert.equal(poetrySpecifier('*'), '');
  });

  it('Conda environments with packages of pip', () => {
    const text =
      'name: x\ndependencies:\n  - python=3.11\n  - conda-forge::pytorch=2.4.1=cuda_0\n  - pytorch-cuda=12.1\n  - pip:\n      - transformers==4.44.2\n';
    assert.deepEqual(read('environment.yml', text), [
      'python ==3.11.*',
      'torch ==2.4.1.*',
      'pytorch-cuda ==12.1.*',
      'transformers ==4.44.2',
    ]);
  });

  it('images of a Dockerfile by its arguments, where they have a value', () => {
    const from = 'FROM nvcr.io/nvidia/pytorch:${YEAR}.${MONTH}-py3 AS base\n';
    assert.deepEqual(read('Dockerfile', `ARG YEAR=25\nARG MONTH="03"\n\n${from}`), ['torch ==2.7.*']);
    assert.deepEqual(read('Dockerfile', `ARG YEAR=24 MONTH=07\n${from}`), ['torch ==2.4.*']);
    assert.deepEqual(read('Dockerfile', `ARG YEAR=24\nARG MONTH\n${from}`), []);
    const byDefault = 'ARG T=2.5.1\nARG TAG=$T-cuda12.4\nFROM pytorch/pytorch:${TAG:-2.0.0}\n';
    assert.deepEqual(read('Dockerfile', byDefault), ['torch ==2.5.1']);
    const pinned = 'RUN pip install torch==${RELEASE} numpy';
    assert.deepEqual(read('Dockerfile', `ARG RELEASE=2.7.0\n${pinned}`), ['torch ==2.7.0']);
    assert.deepEqual(read('Dockerfile', `ARG RELEASE\n${pinned}`), []);
    assert.deepEqual(read('Dockerfile', 'FROM pytorch/pytorch:${TAG:-2.0.0}\n'), ['torch ==2.0.0']);
  });

  it('images and installs of a Dockerfile; quoted requirements of a setup.py', () => {
    const docker =
      'FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel AS base\nRUN pip install "transformers==4.46.3" trl[peft]==0.12.0 numpy\n';
    assert.deepEqual(read('Dockerfile', docker), ['torch ==2.5.1', 'transformers ==4.46.3', 'trl ==0.12.0']);
    assert.deepEqual(
      read('setup.py', 'setup(install_requires=["accelerate>=0.33", "einops"], version="1.2")\n'),
      ['accelerate >=0.33'],
    );
  });

  it('containers by their release, as far as the table goes', () => {
    const torch = (image: string) => imageVersions(image, NOWHERE).map(({ specifier }) => specifier);
    assert.deepEqual(torch('nvcr.io#nvidia/pytorch:24.07-py3'), ['==2.4.*']);
    assert.deepEqual(torch('nvcr.io/nvidia/pytorch:25.09-py3'), ['==2.9.*']);
    assert.deepEqual(torch('nvcr.io/nvidia/pytorch:39.01-py3'), []);
    assert.deepEqual(torch('nvcr.io/nvidia/nemo:24.07'), []);
  });

  it('what is installed', () => {
    const names = ['torch', 'torch-2.8.0+cu128.dist-info', 'liger_kernel-0.6.2.dist-info', 'x.pth'];
    assert.deepEqual(
      installedPackages(names).map(({ name, exact }) => `${name} ${exact}`),
      ['torch 2.8.0', 'liger-kernel 0.6.2'],
    );
  });

  it('is no requirement', () => {
    for (const text of ['', '-e .', 'x = 1', 'name @ file:///x', 'a'.repeat(100_000), '<'.repeat(600)])
      assert.equal(parseRequirement(text, NOWHERE), undefined);
  });
});

describe('what releases of vLLM require', () => {
  it('is what their own patch requires, where patches of one minor version differ', () => {
    for (const [release, torch] of [
      ['0.4.0', '2.1.2'],
      ['0.4.1', '2.2.1'],
      ['0.4.2', '2.3.0'],
      ['0.5.0', '2.3.0'],
      ['0.5.3', '2.3.1'],
      ['0.5.4', '2.4.0'],
      ['0.6.3.post1', '2.4.0'],
      ['0.6.4', '2.5.1'],
      ['0.10.0', '2.7.1'],
      ['0.10.1', '2.7.1'],
      ['0.10.2', '2.8.0'],
      ['0.11.0', '2.8.0'],
      ['0.11.1', '2.9.0'],
    ] as const)
      assert.equal(requiredSpecifier('vllm', release, 'torch'), `==${torch}`, release);
  });
});
