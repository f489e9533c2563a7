/** What a head that is split by rows of the vocabulary gives each tensor-parallel rank: its part of the logits, or all. */
export const HEAD_OUTPUTS = ['split', 'gathered'] as const;
export type HeadOutput = (typeof HEAD_OUTPUTS)[number];
