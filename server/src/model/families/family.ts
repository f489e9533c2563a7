import type { ConfigReader } from '../config';
import type { Stage } from '../model';

/** Figures of a model that others show or divide by. */
export interface Figures {
  readonly hiddenSize: number;
  readonly layers: number;
  readonly attentionHeads: number;
  readonly keyValueHeads: number;
  readonly vocabulary: number;
  readonly maxPositions?: number;
}

export interface Architecture {
  readonly stages: readonly Stage[];
  readonly figures: Figures;
  /**
   * Stages that the published parameter count covers, where it leaves something out: encoders are published without
   * their task heads.
   */
  readonly counted?: readonly Stage[];
  readonly notes?: readonly string[];
}

/** How one family of architectures is built from its config. */
export interface Family {
  readonly modelTypes: readonly string[];
  build(config: ConfigReader): Architecture;
}
