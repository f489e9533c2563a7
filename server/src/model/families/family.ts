import type { Objective } from '../../terms/objectives';
import type { UnmodelledFeature } from '../../terms/unmodelled-features';
import type { ConfigReader } from '../config';
import type { DecoderPart, ImageNote, SampleLength, Stage } from '../model';

/** Figures of a model that others show or divide by. */
export interface Figures {
  readonly hiddenSize: number;
  readonly layers: number;
  readonly attentionHeads: number;
  readonly keyValueHeads: number;
  readonly vocabulary: number;
  readonly maxPositions?: number;
  readonly sampleLength?: SampleLength;
  /** Of what a decoder of its own makes (`batch.targetSequence`). */
  readonly targetLength?: SampleLength;
  /** The decoder behind an encoder (`is_encoder_decoder`); absent where the model is one stack. */
  readonly decoder?: DecoderPart;
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
  readonly imageNotes?: readonly ImageNote[];
  /** Its tower is there, and what it computes of images is not known: runs that show it any are not estimated. */
  readonly playsImages?: false;
  /** What the tower for sound computes is not part of it. */
  readonly playsSound?: false;
  /** What every run of it computes, and no stage plays. */
  readonly unplayed?: readonly UnmodelledFeature[];
  /** It sees an image in tiles, as many as the run states or the processor makes at most. */
  readonly seesTiles?: true;
  /** Objectives whose head is counted, and not played. */
  readonly countedHeads?: readonly Objective[];
  /** Its class takes no activation checkpointing: a run that asks for it stops. */
  readonly recomputes?: false;
  /** It has the heads that label tokens, that look for an answer, and that choose one of several. */
  readonly scoresTokens?: true;
}

/** How one family of architectures is built from its config. */
export interface ModelFamily {
  readonly modelTypes: readonly string[];
  build(config: ConfigReader): Architecture;
}
