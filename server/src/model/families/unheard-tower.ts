import type { Stage } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';

/**
 * A tower that no sample of the run feeds: its weights lie on the GPU, and nothing of it is computed. `body` plays one pass,
 * from which the weights are read, adapters of its linear layers included.
 */
export function unheardStage(name: string, count: number, body: (t: Tracer) => void): Stage {
  return { name, role: 'norm', count, trace: (t) => t.registerWeightsOf(body) };
}

/** What samples of sound go through, to the embedding of the text; where they hold none, its weights alone are there. */
export function heardStage(name: string, body: (t: Tracer) => Tensor): Stage {
  const unheard = unheardStage(name, 1, body);
  return {
    ...unheard,
    trace: (t, flow) => {
      if (t.settings.sound) flow.set('sound', body(t));
      else unheard.trace(t, flow);
    },
  };
}
