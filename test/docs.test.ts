/** The documents: their links, commands and variables exist, and the README stays short. */
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { VARIABLES } from '../infra/config/config.ts'
import { DOCUMENTS } from './support/documents.ts'
import { isIgnored, ROOT } from './support/files.ts'

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

test('the README has at most 6,000 bytes', () => {
  expect(readFileSync(join(ROOT, 'README.md')).length).toBeLessThanOrEqual(6_000)
})

test('configuration.md has every variable', () => {
  const table = readFileSync(join(ROOT, 'infra/docs/configuration.md'), 'utf8')
  expect(VARIABLES.filter((name) => !table.includes(`\`${name}\``))).toEqual([])
})

describe.each(DOCUMENTS)('$path', ({ path, text }) => {
  test('links to files and headings that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)]
    const broken = links.filter(([, file = '', heading]) => {
      const target = file === '' ? path : posix.join(posix.dirname(path), file)
      if (!existsSync(join(ROOT, target))) return true
      return heading !== undefined && !headingsOf(target).has(heading)
    })
    expect(broken.map(([link]) => link)).toEqual([])
  })

  test('has commands write to places that git ignores', () => {
    const places = [...text.matchAll(/(?: > | -o |--out )([a-z.][\w./-]*)/g)].map(([, place = '']) => place)
    expect(places.filter((place) => !isIgnored(place))).toEqual([])
  })

  test('names only scripts of package.json', () => {
    const commands = [...text.matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name = '']) => name)
    expect(commands.filter((name) => !(name in scripts))).toEqual([])
  })
})

/** GitHub's anchors: lower case, blanks as hyphens, no punctuation. */
function headingsOf(path: string): ReadonlySet<string> {
  const headings = readFileSync(join(ROOT, path), 'utf8').matchAll(/^#+ (.*)$/gm)
  return new Set(
    [...headings].map(([, text = '']) =>
      text
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .trim()
        .replace(/\s/g, '-'),
    ),
  )
}
