/** Reached functions, by the coverage of bundles. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/candlepool.ts'
import { byFolder, reachedFunctions } from './reached.ts'

const BUNDLE = `// node_modules/other/index.js
function theirs() {}
// api/market/rows.ts
function used() {}
function unused() {}
`

test('functions of the product are counted, once over all processes, and not those of packages', async () => {
  const { path, remove } = await temporaryFolder()
  onTestFinished(remove)
  const [coverage, entries] = [join(path, 'coverage'), join(path, 'entries-1')]
  await mkdir(coverage)
  await mkdir(entries)
  await writeFile(join(entries, 'api.mjs'), BUNDLE)
  const functions = (count: number) =>
    ['theirs', 'used', 'unused'].map((functionName) => ({
      functionName,
      ranges: [
        { startOffset: BUNDLE.indexOf(`function ${functionName}`), count: functionName === 'unused' ? 0 : count },
      ],
    }))
  const result = (count: number) => [{ url: `file://${entries}/api.mjs`, functions: functions(count) }]
  await writeFile(join(coverage, '1.json'), JSON.stringify({ result: result(0) }))
  await writeFile(join(coverage, '2.json'), JSON.stringify({ result: result(2) }))
  await writeFile(join(coverage, '3.json'), '{"result":[')
  expect(byFolder(await reachedFunctions(coverage, entries))).toEqual([['api/market', 1, 2]])
})
