/** Splits SQL into its statements, because ClickHouse takes one at a time over HTTP. */

/** A statement ends at a semicolon outside of strings, quoted names and comments. Comments alone are not a statement. */
export function statementsOf(sql: string): string[] {
  const statements: string[] = []
  let statement = ''
  let empty = true
  for (const token of tokensOf(sql)) {
    if (token === ';') {
      if (!empty) statements.push(statement.trim())
      statement = ''
      empty = true
      continue
    }
    statement += token
    if (!isComment(token) && token.trim() !== '') empty = false
  }
  if (!empty) statements.push(statement.trim())
  return statements
}

/** Whether the last statement ends with a semicolon; a prompt waits for it. */
export function isEnded(sql: string): boolean {
  return tokensOf(sql).findLast((token) => !isComment(token) && token.trim() !== '') === ';'
}

function tokensOf(sql: string): string[] {
  return Array.from(sql.matchAll(TOKEN), ([token]) => token)
}

/** A string, a quoted name, a heredoc, a comment of each kind, a semicolon, or a run of anything else. One that is not closed lasts until the end. */
const TOKEN = new RegExp(
  [
    ...["'", '`', '"'].map((quote) => String.raw`${quote}(?:[^${quote}\\]|\\[\s\S])*(?:${quote}|$)`),
    String.raw`(?<![\w$])\$(?<tag>\w*)\$[\s\S]*?(?:\$\k<tag>\$|$)`,
    String.raw`--[^\n]*|#[ !][^\n]*|/\*[\s\S]*?(?:\*/|$)`,
    String.raw`;|[^'\`"\-/;#$]+|[\s\S]`,
  ].join('|'),
  'g',
)

function isComment(token: string): boolean {
  return /^(?:--|#[ !]|\/\*)/.test(token)
}
