type Config = Readonly<Record<string, unknown>>;

/** Types whose class is an encoder with a decoder where its config states nothing else (`configuration_*.py`, `is_encoder_decoder`). */
const WITH_DECODER =
  /^(?:t5|mt5|umt5|bart|plbart|mbart|pegasus|m2m_100|marian|blenderbot|whisper|speecht5|megatron_t5)$/;
/** Those of them whose decoder takes a text that is as long as its data, not as a model fixes it. */
const OF_TEXTS = /^(?!whisper$|speecht5$)/;

/** Whether a decoder stands beside an encoder, with tokens of its own. */
function hasOwnDecoder({ model_type: type, is_encoder_decoder: stated }: Config): boolean {
  return typeof stated === 'boolean' ? stated : WITH_DECODER.test(String(type));
}

/** Whether both sides take texts. */
export const readsTargets = (config: Config): boolean =>
  hasOwnDecoder(config) && OF_TEXTS.test(String(config.model_type));
