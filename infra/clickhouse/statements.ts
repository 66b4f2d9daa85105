/** Splits a file of SQL into its statements, because ClickHouse takes one at a time over HTTP. */

/** Statements end at a semicolon that is neither in a string, in a quoted name nor in a comment; what holds only comments is none. */
export function statementsOf(sql: string): string[] {
  const statements: string[] = []
  let statement = ''
  let empty = true
  for (const [token] of sql.matchAll(TOKEN)) {
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

/** A string, a quoted name, a comment of either kind, a semicolon, or a run of anything else. */
const TOKEN = /'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*"|--[^\n]*|\/\*[\s\S]*?\*\/|;|[^'`"\-/;]+|[\s\S]/g

function isComment(token: string): boolean {
  return token.startsWith('--') || token.startsWith('/*')
}
