/**
 * Text for a terminal or a log: written here, and nowhere else. Nodes, tokens, clients and Kafka may put control characters into printed text,
 * and a terminal would move its cursor, answer, or open a link.
 */

/** Control characters but the line feed, marks that turn the direction of writing, and separators of lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNPRINTABLE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** With such characters as escapes: `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Line feeds as well: a text of others would begin a line that looks like one of ours. */
export function inOneLine(text: string): string {
  return printable(text.replaceAll('\n', ' '))
}

export function printLine(text: string, output: NodeJS.WriteStream = process.stdout): void {
  output.write(`${printable(text)}\n`)
}

/** On a terminal: takes the place of the last one. */
export function printProgress(line: string, isLast: boolean, output: NodeJS.WriteStream = process.stdout): void {
  output.write(`\r\u001b[K${printable(line)}${isLast ? '\n' : ''}`)
}
