/** Which file imports which, as a process loads them: imports of types are none. */
import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'
import { FILES, ROOT } from './files.ts'

const LOADED: ReadonlyMap<string, readonly string[]> = new Map(
  FILES.filter((path) => /\.(ts|mjs)$/.test(path)).map((path) => [path, loadedBy(path)]),
)

/** The files that load one of `gone`, directly or through others, and those of `gone`. */
export function lost(isGone: (path: string) => boolean): ReadonlySet<string> {
  const found = new Set(FILES.filter(isGone))
  for (let before = -1; before < found.size; ) {
    before = found.size
    for (const [path, targets] of LOADED) if (targets.some((target) => found.has(target))) found.add(path)
  }
  return found
}

function loadedBy(path: string): string[] {
  const tree = ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.Latest)
  return tree.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return []
    const { moduleSpecifier: from } = statement
    if (!from || !ts.isStringLiteral(from) || !from.text.startsWith('.') || isOfTypes(statement)) return []
    return [posix.join(posix.dirname(path), from.text)]
  })
}

function isOfTypes(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly
  const { importClause: clause } = statement
  if (!clause || clause.isTypeOnly || clause.name) return clause?.isTypeOnly ?? false
  const { namedBindings: named } = clause
  return named !== undefined && ts.isNamedImports(named) && named.elements.every((element) => element.isTypeOnly)
}
