import type { ConfigNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import type { Launch } from '../launch/launch';
import type { Program } from '../launch/program';
import { Section } from '../section';
import { GPT_NEOX_KEYS } from './gpt-neox-keys';

const STARTER = /(^|\/)deepy\.py$/;
const CONFIG = /\.ya?ml$/;

/** The nodes of a flag's values: one, or a list of them. */
function nodesOf(node: ConfigNode | undefined): readonly ConfigNode[] {
  return node?.kind === 'list' ? node.items : node ? [node] : [];
}

function starts(launch: Launch): boolean {
  return STARTER.test(launch.script ?? '') || launch.program.some((word) => STARTER.test(word));
}

/**
 * GPT-NeoX: `deepy.py train.py -d configs 125M.yml local_setup.yml` merges its configs into one run; each may lack `.yml`
 * (`neox_arguments/arguments.py`, `consume_deepy_args`).
 */
export const neoxProgram: Program = {
  name: 'GPT-NeoX',
  keys: GPT_NEOX_KEYS,
  // The configs say how many, or all that there are work (`neox_arguments/arguments.py`, `global_num_gpus`).
  countsGpus: () => true,
  match(launch) {
    return starts(launch) ? 1 : 0;
  },
  read(launch, draft) {
    const flags = new Section(launch.arguments, draft, `${launch.path}.arguments`);
    const folderFlag = flags.find(['d', 'conf_dir']);
    const [folderNode, ...behind] = nodesOf(folderFlag?.node);
    const folder = textOf(folderNode);
    // `python deepy.py train.py a.yml` and `./deepy.py train.py a.yml` alike.
    const words = [...launch.programNodes, ...launch.words, ...behind].filter(
      (node) => !/\.py$/.test(textOf(node) ?? ''),
    );
    for (const node of words) {
      const word = textOf(node);
      if (word === undefined || word === '' || word === folder || /[$`]|^python[\d.]*$/.test(word)) continue;
      const name = CONFIG.test(word) ? word : `${word}.yml`;
      const path = folder === undefined ? name : `${folder.replace(/\/$/, '')}/${name}`;
      flags.linkNode(path, node, 'include');
    }
  },
};
