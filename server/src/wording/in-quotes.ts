/** A message where it is shown as plain text, in which backticks stand as they are: names have quotes, as the others have them. */
export function inQuotes(message: string): string {
  return message.replace(/`([^`]*)`/g, (_, name: string) => (name.includes('"') ? name : `"${name}"`));
}
