/** The site has every document, each once. `npm run site` builds it, and fails at a dead link. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PAGES, SECTIONS } from '../../infra/site/pages.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Text of the OpenAPI document, which is a page as the reference. */
const WITHIN = ['api/schema/overview.md']

test('every document is a page of the site', () => {
  const documents = ['api/extras/docs', 'infra/docs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).flatMap((name) => (name.endsWith('.md') ? [`${folder}/${name}`] : [])),
  )
  expect(documents.filter((path) => !PAGES.has(path) && !WITHIN.includes(path))).toEqual([])
})

test('every page is of a document that is there, and has a name of its own', () => {
  const names = Object.values(SECTIONS).flatMap((section) => Object.keys(section))
  expect(new Set(names).size).toBe(PAGES.size)
  expect([...PAGES.keys()].filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})
