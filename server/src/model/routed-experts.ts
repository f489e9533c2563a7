/** How configs of language models name the number of routed experts of a layer (Mixtral, Qwen, DeepSeek, ERNIE). */
const COUNTS = ['num_local_experts', 'num_experts', 'n_routed_experts', 'moe_num_experts'] as const;

/** The config of the language model inside one that has other parts beside it. */
export function languageConfig(config: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { text_config: text } = config;
  return typeof text === 'object' && text !== null ? (text as Record<string, unknown>) : config;
}

/** Routed experts of a layer of the language model; 0 where the config states none. */
export function routedExperts(config: Readonly<Record<string, unknown>> | undefined): number {
  const own = config ? languageConfig(config) : {};
  for (const key of COUNTS) {
    const count = own[key];
    if (typeof count === 'number' && count > 0) return count;
  }
  return 0;
}
