/** A text as its lines, without their breaks: those of YAML 1.2, JSON and TOML, and the lone CR of old editors. At most so many, where a limit is given. */
export function linesOf(text: string, most?: number): string[] {
  return text.split(/\r\n|\n|\r/, most);
}
