/** One version: a release changes all of its places together. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/files.ts'

const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const { version } = JSON.parse(textOf('package.json')) as { version: string }

test.each([
  ['package-lock.json', /^ {2}"version": "([^"]+)"/m],
  ['api/extras/clients/typescript/package.json', /^ {2}"version": "([^"]+)"/m],
  ['api/extras/clients/python/pyproject.toml', /^version = "([^"]+)"/m],
  ['api/extras/docs/server.json', /^ {2}"version": "([^"]+)"/m],
  ['api/extras/docs/server.json', /^ {6}"version": "([^"]+)"/m],
  ['infra/Dockerfile', /^ARG VERSION=(\S+)/m],
  ['CHANGELOG.md', /^## (\d\S*)/m],
])('%s has the version of the package', (path, pattern) => {
  expect(pattern.exec(textOf(path))?.[1]).toBe(version)
})
