import type { ReadContext } from '../dialect';

/** Parts of a vision-language model that tools freeze by a switch. */
export interface FrozenParts {
  readonly language: boolean;
  readonly vision: boolean;
  readonly projector: boolean;
}

/** From the start of parameter names, in every nesting that transformers has had. */
const NAMES: Readonly<Record<keyof FrozenParts, string>> = {
  language: '(?:model\\.)?(?:language_model\\.)?(?:model\\.)?(?:layers|embed_tokens|norm|lm_head)\\b',
  vision: '(?:model\\.)?(?:visual(?!\\.merger)|vision_tower|vision_model)\\b',
  projector: '(?:model\\.)?(?:multi_modal_projector|visual\\.merger|mlp1|connector)\\b',
};

/** Whether the model looks at images: its config states it. */
export function isMultimodal({ model }: ReadContext): boolean {
  return model?.config !== undefined && 'vision_config' in model.config;
}

/** Patterns of what is trained (`method.trainable`) where some parts are frozen; undefined where none is. */
export function trainedParts(frozen: FrozenParts): string[] | undefined {
  const parts = ['language', 'vision', 'projector'] as const;
  const trained = parts.filter((part) => !frozen[part]);
  return trained.length === parts.length || trained.length === 0
    ? undefined
    : trained.map((part) => NAMES[part]);
}
