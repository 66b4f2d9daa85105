/** The documents: their links, commands and variables exist, and the README stays short. */
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { VARIABLES } from '../infra/config/config.ts'
import { DOCUMENTS } from './support/documents.ts'
import { isIgnored, ROOT } from './support/files.ts'
import { SOURCES } from './support/sources.ts'

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

test.each([
  'infra/.env.example',
  ...['start', 'ingest', 'aggregate', 'api'].map((name) => `infra/bin/processes/${name}.ts`),
])('%s names the document that has the variables', (path) => {
  const [named = ''] = /[\w/]+\.md\b|README/.exec(readFileSync(join(ROOT, path), 'utf8')) ?? []
  const place = [named, posix.join(posix.dirname(path), named)].find((it) => existsSync(join(ROOT, it))) ?? ''
  expect(place).toBe('infra/docs/configuration.md')
})

test('infra/README.md names every file that asks for a kind of the configuration', () => {
  const readme = readFileSync(join(ROOT, 'infra/README.md'), 'utf8')
  const asking = SOURCES.filter(
    ({ path, text }) => path.startsWith('infra/') && /\b(?:store|log|chain)\.kind [!=]==/.test(text),
  ).map(({ path }) => path.replace(/^infra\/(?:bin\/(?:processes\/)?(\w+)\.ts)?/, '$1'))
  expect(asking.length).toBeGreaterThan(8)
  expect(asking.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
})

/** Sentences, items and rows that name the bench have its figures: those of one line of it. */
test('a figure that a document has of the bench is that of the bench', () => {
  const bench = readFileSync(join(ROOT, 'test/bench/README.md'), 'utf8').split('\n').map(figuresOf)
  const others = DOCUMENTS.filter(({ path }) => path !== 'test/bench/README.md')
  const cited = others.flatMap(({ path, text }) =>
    passagesOf(text)
      .filter((passage) => /bench\/README\.md|npm run bench -- /.test(passage))
      .map((passage) => ({ place: `${path}: ${passage}`, figures: figuresOf(passage) })),
  )
  expect(cited.filter(({ figures }) => figures.length > 0).length).toBeGreaterThan(2)
  const without = ({ figures }: { figures: readonly string[] }) =>
    !bench.some((line) => figures.every((figure) => line.includes(figure)))
  expect(cited.filter(without).map(({ place }) => place)).toEqual([])
})

function passagesOf(text: string): readonly string[] {
  return text
    .split(/\n(?=[-|]|\d+\. |\n)/)
    .flatMap((block) => block.replaceAll(/\s+/g, ' ').split(/(?<=[.;]) (?=[A-Z])/))
}

/** Numbers with a unit, and in rows of a table those without one; `9 and 13 ms` are two. */
function figuresOf(passage: string): readonly string[] {
  const words = passage.replaceAll(/`[^`]*`|\]\([^)]*\)|\(p\d+\)/g, '')
  const figures = words.trim().startsWith('|')
    ? words.matchAll(/(?<![\w.,])\d+(?:[.,]\d+)*/g)
    : words.matchAll(
        /(?<![\w.,])\d+(?:[.,]\d+)*(?=(?: (?:and|to) \d+(?:[.,]\d+)*)? (?:ms|µs|s|bytes|MiB|requests|a second)\b)/g,
      )
  return [...figures].map(([figure]) => figure)
}

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
