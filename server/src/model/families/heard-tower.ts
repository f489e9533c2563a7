import { say } from '../../wording/say';
import type { Block } from '../layers/block';
import type { Stage } from '../model';
import type { Tensor } from '../tape';
import { inputDtype } from '../trace-settings';
import type { Tracer } from '../tracer';
import { take } from './decoder-model';
import { unheardStage } from './unheard-tower';

/** A tower that hears one clip a sample. Where samples hold no sound, its weights alone are there. */
interface HeardTower {
  /** A spectrogram to `[clips, frames, hidden]`. */
  readonly embed: { readonly name: string; readonly body: (t: Tracer, clips: number) => Tensor };
  readonly layers: { readonly name: string; readonly count: number; readonly body: Block };
  /** What the layers give, to what the text reads. */
  readonly after?: { readonly name: string; readonly body: Block };
  /** Elements of a frame. */
  readonly hidden: number;
}

/** Extractors cut each clip to as much (`max_length` of 480,000 values); several in a sample take more. */
export const clipNote = () =>
  say('a sample holds sound where the run says so: one clip of 30 seconds, to which the processor cuts it');

/**
 * Whether Unsloth makes the spectrogram require a gradient, so that all that is computed of it is kept: it does where the layers of a tower
 * have adapters and checkpoints are set anywhere (`peft_utils.py`, `requires_grad_for_gradient_checkpointing`: neither tower has input embeddings, and
 * no front end of theirs has the form of `_frozen_frontend`).
 */
function isHooked(t: Tracer, layers: readonly string[]): boolean {
  const { unsloth, inputRequiresGrad, adapter } = t.settings;
  if (unsloth !== true || inputRequiresGrad !== true || t.settings.evaluating === true) return false;
  return layers.some((name) => adapter?.targets(name, 'matrix') === true);
}

/**
 * The batch's own tensor, `[clips, 1, frames, bins]` in fp32, which whoever gave it to the model has until it returns. `layers`: paths of linear
 * layers of the tower.
 */
export function spectrogram(
  t: Tracer,
  [clips, frames, bins]: readonly [number, number, number],
  layers: readonly string[],
): Tensor {
  const shape = [clips, 1, frames, bins];
  if (isHooked(t, layers)) return t.holdInModel(t.input(shape, 'fp32', true, 'input_features'));
  const features = t.fused({ name: 'input_features', inputs: [], outputs: [{ shape, dtype: 'fp32' }] });
  return t.holdInModel(t.hold(features));
}

/** Stages of the tower; they leave `sound` for the embedding of the text. No checkpoint is set around its layers, which are compiled as those of the text are. */
export function heardStages({ embed, layers, after, hidden }: HeardTower): Stage[] {
  const through = (name: string, count: number, body: Block): Stage => {
    const unheard = unheardStage(name, count, (t) => {
      body(t, t.input([1, 1, hidden], inputDtype(t.settings), false, 'sound'));
    });
    return {
      ...unheard,
      trace: (t, flow) => {
        if (t.settings.sound) flow.set('sound', body(t, t.enter(take(flow, 'sound'), 'sound')));
        else unheard.trace(t, flow);
      },
    };
  };
  const front = unheardStage(embed.name, 1, (t) => {
    embed.body(t, 1);
  });
  return [
    {
      ...front,
      trace: (t, flow) => {
        if (t.settings.sound)
          flow.set(
            'sound',
            t.scope(() => embed.body(t, t.settings.batch)),
          );
        else front.trace(t, flow);
      },
    },
    { ...through(layers.name, layers.count, layers.body), compiles: true },
    ...(after ? [through(after.name, 1, after.body)] : []),
  ];
}
