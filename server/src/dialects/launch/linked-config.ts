import { textOf } from '../../config/scalar';
import type { Section } from '../section';
import type { Launch } from './launch';

const CONFIG = /\.(ya?ml|json|toml)$/i;

/** The config that a launch names: by one of the flags, or by the first word that is one. True where it names one. */
export function linkConfig(launch: Launch, section: Section, flags: readonly string[] = ['config']): boolean {
  for (const flag of flags) if (CONFIG.test(section.text(flag) ?? '')) return section.link(flag, 'include');
  const words = [...launch.programNodes.slice(1), ...launch.words];
  const node = words.find((word) => CONFIG.test(textOf(word) ?? ''));
  const path = textOf(node);
  if (!node || path === undefined) return false;
  section.linkNode(path, node, 'include');
  return true;
}
