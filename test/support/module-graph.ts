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
  return new Set(distances(FILES.filter(isGone)).keys())
}

/**
 * How many imports lie between a file and the nearest of `changed`; absent where it loads none of them. A suite that starts processes loads their
 * entry points, and a file that names a query loads the file of the query.
 */
export function distancesFrom(changed: readonly string[]): ReadonlyMap<string, number> {
  return distances(changed, (path, file) => {
    if (file.startsWith('infra/bin/')) return path === PROCESSES
    return file.endsWith('.sql') && names(path, file)
  })
}

/** Starts the entry points of `infra/bin`. */
const PROCESSES = 'test/support/candlepool.ts'

function names(path: string, file: string): boolean {
  if (posix.dirname(path) !== posix.dirname(file)) return false
  return readFileSync(join(ROOT, path), 'utf8').includes(posix.basename(file))
}

/** `loadsOtherwise`: whether a file loads another one without an import. */
function distances(
  from: readonly string[],
  loadsOtherwise: (path: string, file: string) => boolean = () => false,
): ReadonlyMap<string, number> {
  const found = new Map(from.map((path) => [path, 0]))
  for (let nearest = new Set(from), distance = 1; nearest.size > 0; distance++) {
    const next = [...LOADED].flatMap(([path, targets]) => {
      const isNext =
        !found.has(path) &&
        (targets.some((target) => nearest.has(target)) || [...nearest].some((file) => loadsOtherwise(path, file)))
      return isNext ? [path] : []
    })
    for (const path of next) found.set(path, distance)
    nearest = new Set(next)
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
