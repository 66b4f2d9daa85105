/** The files that git knows or would take: what a command leaves in an ignored place is none of them, so that no check looks at it. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

/** Paths from the root, in the order of their names. */
export const FILES: readonly string[] = [
  ...new Set(git('ls-files', '--cached', '--others', '--exclude-standard', '-z').split('\0')),
]
  // One that is deleted is listed until that is committed; another repository is listed as a folder.
  .filter((path) => path !== '' && !path.endsWith('/') && existsSync(join(ROOT, path)))
  .sort()

/** Whether git leaves out what lies there. */
export function isIgnored(path: string): boolean {
  try {
    return git('check-ignore', '--no-index', path) !== ''
  } catch {
    return false
  }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
