/**
 * Which statements SQL_PORT runs. It is decided on the engine's parse of the statement, as `EXPLAIN AST` prints it: one node a line, a child one space
 * deeper than its parent. Nodes, functions and tables pass by name, so a node that a later engine adds is refused. A quoted name may contain line
 * breaks and so add lines to the tree, but removes none: no rule passes a node because of another one, except because of the first line.
 */
import { MARKET_VIEWS } from '../engine/engine-users.ts'
import { isListedFunction, isListedTableFunction } from './sql-functions.ts'

export type SqlRule = 'requests' | 'statements' | 'functions' | 'tables' | 'settings' | 'formats'

/** A broken rule of infra/docs/sql.md, and the part of the statement that breaks it. */
export type Breach = { rule: SqlRule; reason: string }

/** `formatted`: the statement as the engine spells it. Its first word decides whether `EXPLAIN AST` reads the statement as the engine does. */
export function breachOfKind(formatted: string): Breach | undefined {
  return /^(SELECT |WITH |DESCRIBE |\()/.test(formatted) ? undefined : { rule: 'statements', reason: STATEMENTS }
}

/** Statements that pass as they are. The engine prints the tree of SHOW without its condition, so none may have one. */
export function isListedStatement(formatted: string, database: string): boolean {
  const tables = MARKET_VIEWS.flatMap((view) => [view, `${database}.${view}`])
  const shown = tables.flatMap((table) => [`SHOW CREATE TABLE ${table}`, `SHOW CREATE VIEW ${table}`])
  return ['SHOW TABLES', 'SHOW DATABASES', ...shown].includes(formatted)
}

/** `functions`: the lower-case names of all that the engine has, for it takes `arrayMap(file, …)` as a call; `database`: that of the views. */
export type EngineNames = { database: string; functions: ReadonlySet<string> }

/** `tree`: the answer of `EXPLAIN AST`. */
export function breachOfTree(tree: string, names: EngineNames): Breach | undefined {
  const lines = tree.split('\n').filter((line) => line !== '')
  if (!/^(SelectWithUnionQuery|DescribeQuery) /.test(lines[0] ?? '')) return { rule: 'statements', reason: STATEMENTS }
  const parents: string[] = []
  for (const line of lines) {
    const depth = line.search(/[^ ]|$/)
    const [kind = '', ...words] = line.slice(depth).split(' ')
    const breach = breachOfNode({ kind, name: nameIn(words), depth, parent: parents[depth - 1] }, names)
    if (breach) return breach
    parents[depth] = kind
  }
  return undefined
}

/** Undefined where an answer may have the format, which formats of whole texts, of other protocols and with schemas of their own are not. */
export function breachOfFormat(format: string): Breach | undefined {
  return FORMATS.test(format)
    ? undefined
    : { rule: 'formats', reason: `${shortened(format)} is not a format of the list.` }
}

const STATEMENTS = 'one SELECT, DESCRIBE, SHOW TABLES, SHOW DATABASES or SHOW CREATE of a view runs.'

const FORMATS =
  /^(Arrow|ArrowStream|Avro|CSV\w*|CustomSeparated\w*|JSON\w*|Markdown|MsgPack|NDJSON|Native|Null|ORC|Parquet|Pretty\w*|RowBinary\w*|SQLInsert|TSKV|TSV\w*|TabSeparated\w*|Values|Vertical|XML)$/

/** Nodes that read nothing by themselves. `ColumnsApplyTransformer` is not one: the tree leaves out the function that it calls. */
const NODES: ReadonlySet<string> = new Set([
  ...['SelectWithUnionQuery', 'SelectIntersectExceptQuery', 'SelectQuery', 'Subquery', 'WithElement', 'ExpressionList'],
  ...['Identifier', 'Literal', 'Asterisk', 'QualifiedAsterisk', 'ColumnsRegexpMatcher', 'ColumnsListMatcher'],
  ...[
    'QualifiedColumnsRegexpMatcher',
    'QualifiedColumnsListMatcher',
    'ColumnsTransformerList',
    'ColumnsExceptTransformer',
  ],
  ...['ColumnsReplaceTransformer', 'ColumnsReplaceTransformer::Replacement', 'TablesInSelectQuery', 'TableExpression'],
  ...[
    'TablesInSelectQueryElement',
    'TableJoin',
    'ArrayJoin',
    'OrderByElement',
    'InterpolateElement',
    'WindowDefinition',
  ],
  ...['WindowListElement', 'DescribeQuery'],
])

/** Tools list views, columns and types by these. The engine shows in them no table that the user may not read. */
const SYSTEM_TABLES = ['databases', 'tables', 'columns', 'functions', 'table_engines', 'data_type_families', 'one']

type Node = { kind: string; name: string; depth: number; parent: string | undefined }

function breachOfNode({ kind, name, depth, parent }: Node, { database, functions }: EngineNames): Breach | undefined {
  switch (kind) {
    case 'Function':
      return breachOfFunction(name, parent === 'TableExpression' ? isListedTableFunction : isListedFunction)
    case 'TableIdentifier':
      return breachOfTable(name, database)
    case 'Set':
      return { rule: 'settings', reason: 'a statement has no SETTINGS: tools send them in the URL.' }
    case 'ColumnsApplyTransformer':
      return { rule: 'functions', reason: 'APPLY does not run: call the function of each column.' }
    // At this depth alone: where the rows are written.
    case 'Literal':
      return depth === 1 ? { rule: 'statements', reason: 'INTO OUTFILE does not run.' } : undefined
    case 'Identifier':
      if (depth === 1) return breachOfFormat(name)
      return functions.has(name.toLowerCase()) ? breachOfFunction(name, isListedFunction) : undefined
    default:
      return NODES.has(kind) ? undefined : { rule: 'statements', reason: `${shortened(kind)} does not run.` }
  }
}

function breachOfFunction(name: string, isListed: (name: string) => boolean): Breach | undefined {
  return isListed(name) ? undefined : { rule: 'functions', reason: `${shortened(name)} is not a function of the list.` }
}

/** A name without a database is a view or a subquery of WITH: of others the user has no rights. */
function breachOfTable(name: string, database: string): Breach | undefined {
  if (!name.includes('.')) return undefined
  const known = [...MARKET_VIEWS.map((view) => `${database}.${view}`), ...SYSTEM_TABLES.map((it) => `system.${it}`)]
  return known.includes(name) ? undefined : { rule: 'tables', reason: `${shortened(name)} is not a table of the list.` }
}

function nameIn(words: readonly string[]): string {
  return words.join(' ').replace(/ ?\((alias .*|children \d+)\)$/, '')
}

function shortened(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, 64)
}
