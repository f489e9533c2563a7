import type { ReadContext } from '../dialect';

/** Parts of a vision-language model that tools freeze by a switch. */
interface FrozenParts {
  readonly language: boolean;
  readonly vision: boolean;
  readonly projector: boolean;
}

/** From the start of parameter names, in every nesting that transformers has had. */
const NAMES: Readonly<Record<keyof FrozenParts, string>> = {
  language: '(?:model\\.)?(?:language_model\\.)?(?:model\\.)?(?:layers|embed_tokens|norm|lm_head)\\b',
  vision: '(?:model\\.)?(?:visual(?!\\.merger)|vision_tower|vision_model|audio_tower(?!\\.proj))\\b',
  projector:
    '(?:model\\.)?(?:multi_modal_projector|visual\\.merger|audio_tower\\.proj\\d?|mlp1|connector)\\b',
};

/** Whether the model looks at images or hears: its config states it. */
export function isMultimodal({ model }: ReadContext): boolean {
  const config = model?.config;
  return (
    config !== undefined && ['vision_config', 'audio_config', 'thinker_config'].some((name) => name in config)
  );
}

/** Modules of towers and of what leads from them to the text, as patterns that keep adapters off them. */
export const TOWER_MODULES: readonly string[] = [
  '*visual.*',
  '*vision_tower*',
  '*vision_model*',
  '*audio_tower*',
  '*multi_modal_projector*',
  '*embed_vision*',
  '*embed_audio*',
  '*connector*',
];

/** Patterns of what is trained (`method.trainable`) where some parts are frozen; undefined where none is. */
export function trainedParts(frozen: FrozenParts): string[] | undefined {
  const parts = ['language', 'vision', 'projector'] as const;
  const trained = parts.filter((part) => !frozen[part]);
  return trained.length === parts.length || trained.length === 0
    ? undefined
    : trained.map((part) => NAMES[part]);
}
