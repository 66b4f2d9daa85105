/** Whether the folders `extras` are there: the core is tested without them, too. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './files.ts'

export const HAS_EXTRAS = existsSync(join(ROOT, 'api/extras'))
