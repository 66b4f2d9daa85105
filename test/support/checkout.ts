/** A copy of the project for documented commands, as git has it, in which `npm run` starts what `entries.ts` built. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { entryOf, temporaryFolder } from './candlepool.ts'
import { FILES, ROOT } from './files.ts'

const PACKAGE = 'package.json'
const AUTHOR = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'commit.gpgsign=false']
const execute = promisify(execFile)

/** A command that makes all files those that git has. */
export const RESTORE = `git update-index --no-assume-unchanged ${PACKAGE} && git checkout --quiet -- ${PACKAGE}`

export async function openCheckout(): ReturnType<typeof temporaryFolder> {
  const folder = await temporaryFolder()
  for (const file of FILES) {
    await mkdir(join(folder.path, dirname(file)), { recursive: true })
    await copyFile(join(ROOT, file), join(folder.path, file))
  }
  await symlink(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
  const git = (...args: readonly string[]) => execute('git', [...AUTHOR, ...args], { cwd: folder.path })
  await git('init', '--quiet')
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'As it is')
  const text = await readFile(join(ROOT, PACKAGE), 'utf8')
  const started = (_: string, program: string) => `node ${entryOf(program).join(' ')}`
  await writeFile(join(folder.path, PACKAGE), text.replace(/node --import tsx infra\/bin\/(\w+)\.ts/g, started))
  await git('update-index', '--assume-unchanged', PACKAGE)
  return folder
}
