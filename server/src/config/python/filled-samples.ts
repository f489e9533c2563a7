/** How much a sample lacks of a length: `max_length - len(ids)`. */
const LACK = String.raw`[\w.]+(?:\[[^\]\n]*\])?\s*-\s*len\([^()\n]*\)`;
const NAMED = new RegExp(String.raw`(\w+)\s*=\s*\(?\s*(?:max\(\s*0\s*,\s*)?${LACK}`, 'g');

/** As much of a list, `[pad] * (n - len(ids))`, or of a tensor, `torch.full((n - len(ids),), pad)`. */
function fills(lack: string): RegExp {
  const list = String.raw`\]\s*\*\s*\(?\s*${lack}|${lack}\s*\)?\s*\*\s*\[`;
  const tensor = String.raw`\b(?:full|zeros|ones|pad|new_full|new_zeros|new_ones)\([^\n]{0,200}?${lack}`;
  return new RegExp(`${list}|${tensor}`);
}

/**
 * Whether code of a text fills samples up by as much as they lack of a length. Read as text: a function that nothing here follows may do it, in a
 * class of the file's own data.
 */
export function fillsSamples(text: string): boolean {
  if (!/-\s*len\(/.test(text)) return false;
  const names = [...text.matchAll(NAMED)].flatMap(([, name]) => name ?? []);
  return [LACK, ...names.map((name) => String.raw`\b${name}\b`)].some((lack) => fills(lack).test(text));
}
