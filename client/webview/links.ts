/** Only the web's own secure addresses become links; a path or another scheme stays text. */
export function isHttps(link: string | undefined): link is string {
  return link !== undefined && URL.canParse(link) && new URL(link).protocol === 'https:';
}
