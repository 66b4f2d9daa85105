/** Whether the folders `extras` are there: the core is tested without them, too. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './files.ts'

export const HAS_EXTRAS = existsSync(join(ROOT, 'api/extras'))

/** Operations of the extras in the API document. */
export const ADDED_APIS = HAS_EXTRAS ? (await import('../../api/extras/added-api.ts')).ADDED_APIS : []

/** Options of a core test that asks an interface of the extras. */
export const withExtras = { skip: !HAS_EXTRAS }

/** None where the extras are absent. */
export function ofExtras<T>(...cases: readonly T[]): readonly T[] {
  return HAS_EXTRAS ? cases : []
}
