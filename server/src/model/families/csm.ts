import { say } from '../../wording/say';
import type { ConfigReader } from '../config';
import type { Flow, Stage } from '../model';
import type { Tracer } from '../tracer';
import type { Architecture, ModelFamily } from './family';
import { llama } from './llama';
import { mimiCodec } from './mimi-codec';
import { unheardStage } from './unheard-tower';
import { mustFit } from './vision-tower';

/** Weights of stages that are not played, adapters included. */
function unplayed(name: string, { trace, count }: Stage, width: number): Stage {
  return unheardStage(name, count, (probe) => {
    const flow: Flow = new Map();
    flow.set('hidden', probe.input([1, 1, width], probe.settings.computeDtype, false, 'hidden'));
    trace(probe, flow);
  });
}

/** Llama's layers from the fields of one of CSM's configs, with the defaults of its class. */
function llamaOf(config: ConfigReader, type: string): Architecture {
  return llama.build(config.fixed({ tie_word_embeddings: false }).as('llama', type));
}

/**
 * The decoder that speaks the other codebooks of each frame: its table is that of all codebooks, its head one matrix for each but the
 * first (transformers 5.23, `CsmDepthDecoderForCausalLM`).
 */
function depthDecoder(config: ConfigReader, tableTiedTo: string | undefined): Stage[] {
  const hidden = config.size('hidden_size');
  const outer = config.size('backbone_hidden_size');
  const codebooks = config.size('num_codebooks');
  const vocabulary = config.size('vocab_size');
  const layers = llamaOf(config, 'csm_depth_decoder_model').stages.filter(({ role }) => role === 'layer');
  const prefix = 'depth_decoder.';
  const rest = unheardStage('depth_decoder', 1, (t) => {
    const table = { name: `${prefix}model.embed_tokens.weight`, shape: [codebooks * vocabulary, outer] };
    t.weight({ ...table, role: 'embedding', tiedTo: tableTiedTo });
    const entered = t.input([1, 1, outer], t.settings.computeDtype, false, 'frames');
    t.linear(entered, { name: `${prefix}model.inputs_embeds_projector`, out: hidden });
    t.weight({ name: `${prefix}model.norm.weight`, shape: [hidden] });
    t.weight({ name: `${prefix}codebooks_head.weight`, shape: [codebooks - 1, hidden, vocabulary] });
  });
  return [rest, ...layers.map((stage) => unplayed('depth_decoder.layers', stage, hidden))];
}

/**
 * CSM: a Llama reads text and frames of sound and speaks the first codebook; a small one speaks the others, of as many frames as the data
 * holds, which is not known; a codec makes the frames, without gradients. What is played is the first, with text alone.
 */
function build(config: ConfigReader): Architecture {
  const backbone = llamaOf(config, 'csm');
  const hidden = backbone.figures.hiddenSize;
  const codebooks = config.size('num_codebooks');
  const rows = config.size('text_vocab_size');
  const depth = config
    .nested('csm_depth_decoder_model', 'depth_decoder_config')
    .as('csm_depth_decoder_model');
  // The table of codebooks is one for both.
  mustFit(depth, 'backbone_hidden_size', hidden, depth.size('backbone_hidden_size'));
  mustFit(depth, 'num_codebooks', codebooks, depth.size('num_codebooks'));
  mustFit(depth, 'vocab_size', config.size('vocab_size'), depth.size('vocab_size'));
  const audio = 'backbone_model.embed_tokens.embed_audio_tokens.weight';
  const tied = config.flag(true, 'tie_codebooks_embeddings');
  const lookUp = (t: Tracer, flow: Flow) => {
    const ids = t.input([t.settings.batch, t.settings.sequence], 'int64', false, 'input_ids');
    flow.set('hidden', t.embedding(ids, { name: 'embed_text_tokens', rows, columns: hidden, tokens: true }));
    const shape = [codebooks * config.size('vocab_size'), hidden];
    t.weight({ name: audio, shape, role: 'embedding' });
  };
  const [first, ...rest] = backbone.stages;
  return {
    ...backbone,
    figures: { ...backbone.figures, vocabulary: rows },
    stages: [
      ...mimiCodec(config.nested('mimi', 'codec_config').as('mimi')),
      ...depthDecoder(depth, tied ? audio : undefined),
      { name: 'embed_text_tokens', role: 'embedding', count: 1, trace: lookUp },
      ...(first?.role === 'embedding' ? rest : backbone.stages),
    ],
    unplayed: ['speech-generator'],
    notes: [
      say(
        'what speaks the other codebooks of each frame, and the codec, are loaded; what they compute is not estimated',
      ),
    ],
  };
}

export const csm: ModelFamily = { modelTypes: ['csm'], build };
