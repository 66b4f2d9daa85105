/** A folder of its own for documented commands: links to the project, in which `npm run` starts what `entries.ts` built. */
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from './candlepool.ts'

const ROOT = join(import.meta.dirname, '../..')
const PACKAGE = 'package.json'

export async function openCheckout(): ReturnType<typeof temporaryFolder> {
  const folder = await temporaryFolder()
  for (const name of await readdir(ROOT)) {
    if (name !== PACKAGE) await symlink(join(ROOT, name), join(folder.path, name))
  }
  const entries = process.env['TEST_ENTRIES']
  const text = await readFile(join(ROOT, PACKAGE), 'utf8')
  const built = entries ? text.replace(/node --import tsx infra\/bin\/(\w+)\.ts/g, `node ${entries}/$1.mjs`) : text
  await writeFile(join(folder.path, PACKAGE), built)
  return folder
}
