/** Texts of the repository: a short list of words and openings that hide who does what, and why. */
import { describe, expect, test } from 'vitest'
import { DOCUMENTS } from './support/documents.ts'
import { SOURCES } from './support/sources.ts'

/** Persons for processes, and phrases with a standard term. Put together from pieces, so that this file does not break its own rule. */
const WORDS = new RegExp(
  `\\b(${['who' + 'ever', '(no|some|any)' + 'body', 'a' + 'new', 'go(es)? ' + 'on', 'MOST' + '_[A-Z]\\w*'].join('|')})\\b`,
  'i',
)
/** A docstring names its subject first. */
const OPENINGS = /\/\*\*\s*(?:\n\s*\*\s*)?(Of|What|Those|Whose|Who)\b.*/g

function breaches(path: string, text: string): string[] {
  const lines = text.split('\n').flatMap((line, index) => {
    const word = WORDS.exec(line)?.[0]
    return word === undefined ? [] : [`${path}:${index + 1}: ${word}`]
  })
  const openings = [...text.matchAll(OPENINGS)].map(([opening]) => `${path}: ${opening.trim()}`)
  return [...lines, ...openings]
}

test('no text has a word of the list', () => {
  const texts = [...SOURCES, ...DOCUMENTS]
  expect(texts.length).toBeGreaterThan(500)
  expect(texts.flatMap(({ path, text }) => breaches(path, text))).toEqual([])
})

describe('the rule', () => {
  test.each([
    `// The lock belongs to ${'who' + 'ever'} came first.`,
    `/** ${'What'} a flush writes. */`,
    `/**\n * ${'Of'} each pool the newest price.\n */`,
    `const ${'MOST' + '_POOLS'} = 3`,
  ])('refuses %s', (text) => {
    expect(breaches('a.ts', text)).toHaveLength(1)
  })

  test.each([`/** The rows of a flush. */`, `const rows = await ask('what')`, `// A candle of a pool.`])(
    'takes %s',
    (text) => {
      expect(breaches('a.ts', text)).toEqual([])
    },
  )
})
