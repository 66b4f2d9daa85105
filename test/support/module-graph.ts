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

/**
 * How many imports lie between a file and the nearest of `changed`; absent where it loads none of them. A suite that starts processes loads their
 * entry points, and a file that names a query loads the file of the query.
 */
export function distancesFrom(changed: readonly string[]): ReadonlyMap<string, number> {
  const found = new Map(changed.map((path) => [path, 0]))
  const isProcess = (path: string) => path.startsWith('infra/bin/')
  for (let nearest = new Set(changed), distance = 1; nearest.size > 0; distance++) {
    const next = new Set<string>()
    for (const [path, targets] of LOADED) {
      if (found.has(path)) continue
      const isNext =
        targets.some((target) => nearest.has(target)) ||
        (path === PROCESSES && [...nearest].some(isProcess)) ||
        [...nearest].some((file) => file.endsWith('.sql') && names(path, file))
      if (isNext) next.add(path)
    }
    for (const path of next) found.set(path, distance)
    nearest = next
  }
  return found
}

/** Starts the entry points of `infra/bin`. */
const PROCESSES = 'test/support/candlepool.ts'

function names(path: string, file: string): boolean {
  return (
    posix.dirname(path) === posix.dirname(file) && readFileSync(join(ROOT, path), 'utf8').includes(posix.basename(file))
  )
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
