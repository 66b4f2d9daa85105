/** A folder of its own for documented commands: links to the project, in which `npm run` starts what `entries.ts` built. */
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { entryOf, temporaryFolder } from './candlepool.ts'

const ROOT = join(import.meta.dirname, '../..')
const PACKAGE = 'package.json'

export async function openCheckout(): ReturnType<typeof temporaryFolder> {
  const folder = await temporaryFolder()
  for (const name of await readdir(ROOT)) {
    if (name !== PACKAGE) await symlink(join(ROOT, name), join(folder.path, name))
  }
  const text = await readFile(join(ROOT, PACKAGE), 'utf8')
  const started = (_: string, program: string) => `node ${entryOf(program).join(' ')}`
  await writeFile(join(folder.path, PACKAGE), text.replace(/node --import tsx infra\/bin\/(\w+)\.ts/g, started))
  return folder
}
